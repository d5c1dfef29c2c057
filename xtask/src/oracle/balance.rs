//! Recordings of kind `balance`: attempts to balance a domain, and beside them runs of the stopper,
//! calls of the newidle balancer, and kick tests.
//!
//! An answer is certain when the recording says that nothing it read changed meanwhile. Differences
//! that come from something that was not recorded are counted by their reason; any other difference
//! in a certain record fails the comparison.

mod active;
mod attempt;
mod kick;
mod newidle;
mod record;
mod report;
mod view;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use fairlab_kernel::{Feature, Kernel};
use serde::de::DeserializeOwned;

use super::decisions::view::read_domains;
use super::decisions::{Source, find_recordings, for_each_line};
use report::{Place, Report};

/// What a file holds, by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Attempts,
    Active,
    Newidle,
    Kick,
}

impl Content {
    const ENDINGS: [(&'static str, Self); 3] = [
        (".active.jsonl.zst", Self::Active),
        (".newidle.jsonl.zst", Self::Newidle),
        (".kick.jsonl.zst", Self::Kick),
    ];

    /// The content of `path`, and the name of the attempts beside it.
    fn of(path: &Path) -> (Self, PathBuf) {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        for (ending, content) in Self::ENDINGS {
            if let Some(stem) = name.strip_suffix(ending) {
                return (content, path.with_file_name(format!("{stem}.jsonl.zst")));
            }
        }
        (Self::Attempts, path.to_owned())
    }
}

/// Compares every recording below `path`.
pub fn run(path: &Path) -> Result<ExitCode> {
    let mut files = Vec::new();
    find_recordings(path, &mut files)?;
    let mut report = Report::default();
    let mut compared = 0;
    for file in &files {
        if holds_balance(file)? {
            compared += 1;
            compare_file(file, &mut report).with_context(|| format!("in {}", file.display()))?;
        }
    }
    if compared == 0 {
        bail!(
            "no recording of balancing below {}: give a .jsonl.zst file, or a folder with some",
            path.display()
        );
    }
    println!("{compared} files");
    Ok(if report.print() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Other kinds of recordings may lie in the same folder.
fn holds_balance(path: &Path) -> Result<bool> {
    let mut found = false;
    for_each_line(path, |line| {
        found = [
            "\"continue_balancing\"",
            "\"active_balance\"",
            "\"searched\"",
            "\"kicked\"",
        ]
        .iter()
        .any(|key| line.contains(key));
        Ok(false)
    })?;
    Ok(found)
}

/// The kernel that was recorded: 6.1.177 lacks the idle-core test of misfit that later updates have.
fn recorded_kernel(kernel: Kernel) -> Kernel {
    if kernel.has(Feature::LB_MISFIT_IDLE_CORE) && !kernel.has(Feature::LB_SMT_BALANCE) {
        kernel.with(Feature::LB_MISFIT_IDLE_CORE, false)
    } else {
        kernel
    }
}

fn compare_file(path: &Path, report: &mut Report) -> Result<()> {
    let (content, attempts) = Content::of(path);
    let source = Source::of(&attempts)?;
    let kernel = recorded_kernel(source.kernel);
    let mut nr_cpu_ids = 0;
    for_each_line(&source.domains, |line| {
        let row: serde_json::Value = serde_json::from_str(line)?;
        let cpu = row["cpu"].as_u64().unwrap_or(0) as usize;
        nr_cpu_ids = nr_cpu_ids.max(cpu + 1);
        Ok(true)
    })?;
    let domains = read_domains(&source.domains, &kernel, nr_cpu_ids)?;
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
    let file = format!("{}/{name}", source.topology);
    let release = kernel.release.to_string();
    let mut at = Place {
        kernel: &release,
        topology: &source.topology,
        file: &file,
        seq: 0,
    };
    for_each_line(path, |line| {
        match content {
            Content::Attempts => {
                let record: record::AttemptRecord = parse(line)?;
                at.seq = record.seq;
                attempt::compare(&record, &kernel, &domains, &at, report)?;
            }
            Content::Active => {
                let record: record::ActiveRecord = parse(line)?;
                at.seq = record.seq;
                active::compare(&record, &kernel, &domains, &at, report)?;
            }
            Content::Newidle => {
                let record: record::NewidleRecord = parse(line)?;
                at.seq = record.seq;
                newidle::compare(&record, &kernel, &domains, &at, report)?;
            }
            Content::Kick => {
                let record: record::KickRecord = parse(line)?;
                at.seq = record.seq;
                kick::compare(&record, &kernel, &domains, &at, report)?;
            }
        }
        Ok(true)
    })
}

fn parse<T: DeserializeOwned>(line: &str) -> Result<T> {
    Ok(serde_json::from_str(line)?)
}
