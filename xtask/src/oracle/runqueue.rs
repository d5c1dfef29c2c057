//! Recordings of kind `runqueue`: picks, placements, accounting and wakeup preemption of EEVDF.
//!
//! Each file is compared twice. `alone`: every event from its own recorded inputs. `whole`: one
//! queue per CPU carries its own state from the first event to the last, never corrected.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use fairlab_kernel::{Area, Feature, Kernel, Release};
use fairlab_runqueue::RqConfig;

mod alone;
mod record;
mod whole;

use record::Record;

/// How many differences are printed in full.
const SHOWN: usize = 10;

/// Compares every recording below `path`.
pub fn run(path: &Path) -> Result<ExitCode> {
    let mut files = Vec::new();
    collect(path, &mut files)?;
    files.sort();
    if files.is_empty() {
        bail!("no recording below {}", path.display());
    }
    let mut tally = Tally::default();
    for file in &files {
        let kernel = kernel_of(file)?;
        let records = read(file)?;
        let name = file.display().to_string();
        tally.file = name;
        tally.release = kernel.kernel().release.name();
        alone::compare(kernel, &records, &mut tally);
        whole::compare(kernel, &records, &mut tally);
    }
    Ok(tally.report())
}

/// Counts per kernel and kind of event, and the first differences.
#[derive(Default)]
pub(crate) struct Tally {
    file: String,
    release: &'static str,
    counts: BTreeMap<(&'static str, &'static str, &'static str), Count>,
    differences: Vec<String>,
    unexplained: usize,
}

#[derive(Default)]
struct Count {
    equal: usize,
    explained: usize,
    all: usize,
}

impl Tally {
    /// Counts one comparison: `None` for equal, or what differs.
    pub(crate) fn add(
        &mut self,
        mode: &'static str,
        event: &'static str,
        seq: u64,
        difference: Option<String>,
    ) {
        let count = self.counts.entry((self.release, mode, event)).or_default();
        count.all += 1;
        match difference {
            None => count.equal += 1,
            Some(text) => {
                self.unexplained += 1;
                if self.differences.len() < SHOWN {
                    self.differences
                        .push(format!("{} seq {seq}: {mode} {event}: {text}", self.file));
                }
            }
        }
    }

    /// Counts a comparison that cannot be made, because the queue is not known yet.
    pub(crate) fn explain(&mut self, mode: &'static str, event: &'static str) {
        let count = self.counts.entry((self.release, mode, event)).or_default();
        count.all += 1;
        count.explained += 1;
    }

    fn report(&self) -> ExitCode {
        for ((release, mode, event), count) in &self.counts {
            print!(
                "{release} {mode} {event}: {} of {} equal",
                count.equal, count.all
            );
            if count.explained > 0 {
                print!(", {} before the queue is known", count.explained);
            }
            println!();
        }
        for difference in &self.differences {
            println!("{difference}");
        }
        if self.unexplained > 0 {
            println!("{} unexplained differences", self.unexplained);
            return ExitCode::FAILURE;
        }
        ExitCode::SUCCESS
    }
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let context = || format!("cannot read {}", path.display());
    if path.is_dir() {
        for entry in fs::read_dir(path).with_context(context)? {
            collect(&entry.with_context(context)?.path(), files)?;
        }
        return Ok(());
    }
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
    if name.ends_with(".jsonl.zst") && !name.starts_with("domains") {
        files.push(path.to_owned());
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<Record>> {
    let context = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(context)?;
    let reader = BufReader::new(zstd::Decoder::new(file).with_context(context)?);
    let mut records = Vec::new();
    for (number, line) in reader.lines().enumerate() {
        let line = line.with_context(context)?;
        let record = serde_json::from_str(&line)
            .with_context(|| format!("{} line {}", path.display(), number + 1))?;
        records.push(record);
    }
    Ok(records)
}

/// The kernel in which a file was recorded, from the folder names and the facts beside it.
fn kernel_of(file: &Path) -> Result<RqConfig> {
    let folder = file.parent().context("a recording lies in a folder")?;
    let release = folder
        .ancestors()
        .filter_map(|p| p.file_name()?.to_str())
        .find_map(Release::from_name)
        .with_context(|| format!("no folder above {} names a kernel", file.display()))?;
    let facts = folder.join("machine.json");
    let text =
        fs::read_to_string(&facts).with_context(|| format!("cannot read {}", facts.display()))?;
    let facts: serde_json::Value = serde_json::from_str(&text)?;
    let mut kernel = Kernel::of(release);
    if let Some(hz) = facts["hz"].as_u64() {
        kernel.tunables.hz = hz;
    }
    let tunables = &facts["outputs"]["tunables"];
    for name in tunables["features"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap_or("");
        let (name, on) = match name.strip_prefix("NO_") {
            Some(name) => (name, false),
            None => (name, true),
        };
        if let Some(feature) = Feature::from_name(name)
            && feature.area() == Area::Runqueue
        {
            kernel = kernel.with(feature, on);
        }
    }
    let nr_cpus = facts["inputs"]["cpus"].as_object().map_or(1, |c| c.len());
    let config = RqConfig::new(&kernel, nr_cpus);
    let recorded = tunables["base_slice_ns"]
        .as_str()
        .and_then(|s| s.parse().ok());
    if recorded != Some(config.base_slice().0) {
        bail!(
            "{}: base slice is {recorded:?} there, {:?} here",
            file.display(),
            config.base_slice()
        );
    }
    Ok(config)
}
