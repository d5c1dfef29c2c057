//! The findings on a screen.

use std::io::Write;

use anyhow::Result;
use fairlab::stats::table::Table;
use fairlab_report::tables;

use crate::cli::audit::AuditVerb;
use crate::findings::{Findings, notes};
use crate::output::{Output, Style};

/// Prints the summary and the tables.
pub fn print(out: &mut Output, args: &AuditVerb, findings: &Findings) -> Result<()> {
    head(out, args, findings)?;
    for note in notes(findings) {
        writeln!(out, "{} {note}", out.paint(Style::Yellow, "note    "))?;
    }
    let audit = &findings.audit;
    let task = |id| findings.task(id);
    write!(out, "{}", tables::summary(audit).to_text())?;
    let section = |out: &mut Output, heading: &str, table: &Table| -> Result<()> {
        if !table.is_empty() {
            title(out, heading)?;
            write!(out, "{}", table.to_text())?;
        }
        Ok(())
    };
    section(out, "Where tasks were placed", &tables::placements(audit))?;
    if audit.placements.cluster_misses > 0 {
        writeln!(
            out,
            "{} wakeups left their cluster for an idle CPU although one idled in it",
            audit.placements.cluster_misses
        )?;
    }
    let worst = args.worst.max(1);
    for (heading, table) in [
        (
            "Worst placements",
            tables::worst_placements(audit, &task, worst),
        ),
        (
            "Worst waits beside idle CPUs",
            tables::worst_waits(audit, &task, worst),
        ),
        (
            "Tasks with the longest delays after wakeup",
            tables::slow_tasks(audit, &task, args.worst),
        ),
        (
            "Pairs that waited most in all",
            tables::slow_pairs(audit, &task, args.worst),
        ),
    ] {
        section(out, heading, &table)?;
    }
    Ok(())
}

pub fn title(out: &mut Output, text: &str) -> Result<()> {
    let text = out.paint(Style::Bold, text);
    writeln!(out, "\n{text}")?;
    Ok(())
}

fn head(out: &mut Output, args: &AuditVerb, findings: &Findings) -> Result<()> {
    let totals = &findings.audit.totals;
    let metadata = findings.recording.metadata();
    let text = format!(
        "{}: {}, {:.6} s",
        args.trace,
        findings.recording.format(),
        (totals.to.0 - totals.from.0) as f64 / 1e9
    );
    writeln!(out, "{}", out.paint(Style::Bold, &text))?;
    let machine = &findings.traced.machine;
    writeln!(
        out,
        "machine  {}: {} CPUs ({})",
        machine.name(),
        machine.cpus().len(),
        findings.traced.known_from
    )?;
    if let Some(release) = &metadata.kernel_release {
        writeln!(out, "kernel   {release}")?;
    }
    writeln!(
        out,
        "events   {} switches, {} wakeups, {} new tasks",
        totals.switches, totals.wakeups, totals.forks
    )?;
    Ok(())
}
