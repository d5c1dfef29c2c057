//! Counts, the machine, and what is missing.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use fairlab_trace::{Ledger, Recording};
use serde::Serialize;

use crate::output::{Output, Style};

/// Rows of each list in the text form.
const SHOWN: usize = 10;

/// The JSON form.
#[derive(Serialize)]
pub struct Summary<'a> {
    trace: &'a str,
    format: String,
    nr_cpus: Option<u32>,
    hostname: Option<&'a str>,
    kernel_release: Option<&'a str>,
    kernel_version: Option<&'a str>,
    arch: Option<&'a str>,
    cpu_model: Option<&'a str>,
    clock: Option<&'a str>,
    tool: Option<&'a str>,
    command_line: Option<&'a str>,
    has_topology: bool,
    events: BTreeMap<&'a str, u64>,
    uninterpreted: Vec<&'a str>,
    missing: BTreeMap<&'static str, &'static str>,
    lost_events: u64,
    lost_uncounted: bool,
    losses: Vec<Loss>,
    overruns: BTreeMap<u32, u64>,
    clock_jumps: u64,
    late_events: u64,
    unparsed_lines: u64,
    wakeups_without_effect: u64,
    notes: &'a [String],
    problems: Vec<String>,
}

/// One loss.
#[derive(Serialize)]
struct Loss {
    time_ns: u64,
    cpu: Option<u32>,
    count: Option<u64>,
}

impl<'a> Summary<'a> {
    pub fn new(recording: &'a Recording) -> Self {
        let metadata = recording.metadata();
        let (ledger, counts) = (recording.ledger(), recording.counts());
        Self {
            trace: recording.name(),
            format: recording.format().to_string(),
            nr_cpus: metadata.nr_cpus,
            hostname: metadata.hostname.as_deref(),
            kernel_release: metadata.kernel_release.as_deref(),
            kernel_version: metadata.kernel_version.as_deref(),
            arch: metadata.arch.as_deref(),
            cpu_model: metadata.cpu_model.as_deref(),
            clock: metadata.clock.as_deref(),
            tool: metadata.tool.as_deref(),
            command_line: metadata.command_line.as_deref(),
            has_topology: metadata.topology.is_some(),
            events: counts
                .iter()
                .map(|row| (row.name.as_str(), row.count))
                .collect(),
            uninterpreted: counts
                .iter()
                .filter(|row| !row.is_known)
                .map(|row| row.name.as_str())
                .collect(),
            missing: Ledger::missing(counts)
                .map(|kind| (kind.name, kind.consequence))
                .collect(),
            lost_events: ledger.lost_events().0,
            lost_uncounted: ledger.lost_events().1,
            losses: ledger
                .losses()
                .iter()
                .map(|loss| Loss {
                    time_ns: loss.time.0,
                    cpu: loss.cpu.map(|cpu| cpu.0),
                    count: loss.count,
                })
                .collect(),
            overruns: ledger
                .overruns()
                .iter()
                .map(|(cpu, count)| (cpu.0, *count))
                .collect(),
            clock_jumps: ledger.nr_jumps(),
            late_events: ledger.late_events(),
            unparsed_lines: ledger.nr_unparsed(),
            wakeups_without_effect: ledger.idle_wakeups(),
            notes: ledger.notes(),
            problems: ledger.problems().iter().map(ToString::to_string).collect(),
        }
    }
}

/// The text form.
pub fn write(recording: &Recording, out: &mut Output) -> Result<()> {
    let summary = Summary::new(recording);
    let title = out.paint(Style::Bold, summary.trace);
    writeln!(out, "{title}: {}", summary.format)?;
    let cpus = summary.nr_cpus.map(|count| count.to_string());
    let topology = summary.has_topology.then_some("recorded");
    for (key, value) in [
        ("host", summary.hostname),
        ("kernel", summary.kernel_release),
        ("arch", summary.arch),
        ("processor", summary.cpu_model),
        ("CPUs", cpus.as_deref()),
        ("topology", topology),
        ("clock", summary.clock),
        ("tool", summary.tool),
        ("command", summary.command_line),
    ] {
        if let Some(value) = value {
            writeln!(out, "  {key:<10} {value}")?;
        }
    }
    writeln!(out)?;
    for row in recording.counts().iter() {
        let mark = if row.is_known { "" } else { "  (only counted)" };
        writeln!(out, "{:>12} {}{mark}", row.count, row.name)?;
    }
    if !summary.missing.is_empty() {
        let heading = out.paint(Style::Yellow, "not recorded");
        writeln!(out, "\n{heading}")?;
        for (name, consequence) in &summary.missing {
            writeln!(out, "  {name:<19} {consequence}")?;
        }
    }
    write_ledger(recording.ledger(), &summary, out)
}

fn write_ledger(ledger: &Ledger, summary: &Summary<'_>, out: &mut Output) -> Result<()> {
    if ledger.is_clean() && ledger.notes().is_empty() && ledger.overruns().is_empty() {
        writeln!(out, "\nnothing lost, late or broken")?;
        return Ok(());
    }
    let heading = out.paint(Style::Yellow, "lost, late or broken");
    writeln!(out, "\n{heading}")?;
    if ledger.nr_losses() > 0 {
        let more = if summary.lost_uncounted {
            " and an unknown number more"
        } else {
            ""
        };
        writeln!(
            out,
            "  {} events{more} lost at {} places",
            summary.lost_events,
            ledger.nr_losses()
        )?;
        for loss in summary.losses.iter().take(SHOWN) {
            let cpu = loss.cpu.map_or("?".to_owned(), |cpu| cpu.to_string());
            let count = loss.count.map_or("?".to_owned(), |count| count.to_string());
            writeln!(
                out,
                "    {}.{:09} CPU {cpu}: {count}",
                loss.time_ns / 1_000_000_000,
                loss.time_ns % 1_000_000_000
            )?;
        }
    }
    for (cpu, count) in &summary.overruns {
        writeln!(
            out,
            "  CPU {cpu}: {count} events overwritten or dropped in the kernel's buffer"
        )?;
    }
    for (count, what) in [
        (summary.clock_jumps, "jumps of clocks"),
        (summary.late_events, "events too late to be put in order"),
        (summary.unparsed_lines, "lines that cannot be read"),
    ] {
        if count > 0 {
            writeln!(out, "  {count} {what}")?;
        }
    }
    for (number, line) in ledger.unparsed().iter().take(SHOWN) {
        writeln!(out, "    line {number}: {line}")?;
    }
    for note in summary.notes.iter().take(SHOWN) {
        writeln!(out, "  note: {note}")?;
    }
    for problem in summary.problems.iter().take(SHOWN) {
        writeln!(out, "  problem: {problem}")?;
    }
    Ok(())
}
