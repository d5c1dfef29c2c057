//! `fairlab audit`: where a kernel placed tasks badly, and what it cost.

pub mod check;
mod json;
pub mod text;
mod tracks;
pub mod what_if;

use std::process::ExitCode;

use anyhow::Result;
use fairlab::units::Nanos;
use fairlab_audit::AuditOptions;

use crate::EXIT_WORSE;
use crate::cli::audit::AuditVerb;
use crate::commands::report;
use crate::findings::{Findings, audit};
use crate::output::Format;

/// Sorts of differences from other kernels that a page lists.
const PAGE_DIFFERENCES: usize = 50;

/// Audits a trace.
pub fn run(args: &AuditVerb) -> Result<ExitCode> {
    // What has a form of its own stands beside the answer.
    let (page, output) = args.output.beside(&["html"]);
    let (tracks, output) = output.beside(&["pftrace", "perfetto-trace"]);
    let (rows, output) = output.beside(&["parquet"]);
    let html = args.html.html.clone().or(page);
    let parquet = args.parquet.clone().or(rows);
    let format = output.format()?;
    let mut options = if html.is_some() || tracks.is_some() {
        report::options(args.html.timeline)
    } else {
        AuditOptions::default()
    };
    options.every_placement |= parquet.is_some();
    options.keep = options.keep.max(args.worst);
    options.ping_pong = Nanos(args.ping_pong_ms.saturating_mul(1_000_000));
    let mut findings = audit(&args.trace, args.machine.as_deref(), options)?;
    let answers = if args.what_if.is_empty() {
        Vec::new()
    } else {
        what_if::ask(&mut findings.recording, &findings.traced, &args.what_if)?
    };
    if let Some(path) = html {
        let mut page = report::of_traces(&[&findings]);
        let most = args.worst.max(PAGE_DIFFERENCES);
        let sections = answers
            .iter()
            .map(|answer| what_if::text::section(answer, most));
        page.sections.extend(sections);
        report::write(&path, &page)?;
    }
    if let Some(path) = parquet {
        report::write_verdicts(&path, &findings)?;
    }
    if let Some(path) = tracks {
        tracks::write(&path, &mut findings)?;
    }
    let failed: Vec<_> = args
        .check
        .iter()
        .filter(|check| !check.holds(&findings.audit))
        .collect();
    let mut out = output.open()?;
    match format {
        Format::Json => out.json(&json::report(args, &findings, &answers))?,
        Format::Text => {
            text::print(&mut out, args, &findings)?;
            for answer in &answers {
                what_if::text::print(&mut out, &findings, answer, args.worst.max(5))?;
            }
        }
    }
    out.finish()?;
    for check in &failed {
        eprintln!("check failed: {}", check.told(&findings.audit));
    }
    Ok(if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_WORSE)
    })
}
