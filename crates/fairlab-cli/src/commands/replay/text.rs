//! The comparison as text.

use std::io::Write;

use anyhow::Result;
use fairlab::stats::table::{Align, Table};

use super::Report;
use crate::cli::replay::ReplayVerb;
use crate::output::Output;

fn ms(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e6)
}

fn change(before: u64, after: u64) -> String {
    if before == 0 {
        return "-".into();
    }
    format!("{:+.2} %", (after as f64 / before as f64 - 1.0) * 100.0)
}

pub(super) fn print(out: &mut Output, args: &ReplayVerb, report: &Report) -> Result<()> {
    writeln!(
        out,
        "{} ({}, {}), replayed on {} under {}, seed {}",
        report.trace,
        report.recorded_on,
        report.recorded_on_known_from,
        report.machine,
        report.kernel,
        report.seed
    )?;
    writeln!(out, "{}\n", told(report))?;
    writeln!(out, "{}", totals(report).to_text())?;
    write!(out, "{}", by_task(report, args.top).to_text())?;
    Ok(())
}

/// What was made of the recording, a sentence a line.
pub(super) fn told(report: &Report) -> String {
    let mut lines = vec![format!(
        "{} wakeups wait for the task that made them, {} end sleeps of their recorded length",
        report.edges, report.sleeps
    )];
    if let Some(fitted) = &report.fitted {
        lines.push(format!(
            "fitted: on the recorded machine under {} the replay takes {} ms ({}) and runs {} ms ({})",
            fitted.kernel,
            ms(fitted.elapsed_ns),
            change(report.recorded.elapsed_ns, fitted.elapsed_ns),
            ms(fitted.running_ns),
            change(report.recorded.running_ns, fitted.running_ns),
        ));
    }
    let left = &report.left_out;
    if left.all_wakeups {
        lines.push(
            "no wakeups are recorded: where a task waited for a CPU, its sleep is that much longer"
                .into(),
        );
    }
    for (count, what) in [
        (
            left.events_on_unknown_cpus,
            "events on CPUs that the recorded machine lacks",
        ),
        (left.priority_changes, "later changes of priority"),
    ] {
        if count > 0 {
            lines.push(format!("left out: {count} {what}"));
        }
    }
    lines.join("\n")
}

pub(super) fn totals(report: &Report) -> Table {
    let (a, b) = (&report.recorded, &report.replayed);
    let mut table = Table::new([
        ("", Align::Left),
        ("recorded", Align::Right),
        ("replayed", Align::Right),
        ("", Align::Right),
    ]);
    for (what, before, after) in [
        ("elapsed ms", a.elapsed_ns, b.elapsed_ns),
        ("running ms", a.running_ns, b.running_ns),
        ("waiting ms", a.waiting_ns, b.waiting_ns),
    ] {
        let change = change(before, after);
        table.row([what.to_owned(), ms(before), ms(after), change]);
    }
    for (what, before, after) in [
        ("switches", a.switches, b.switches),
        ("wakeups", a.wakeups, b.wakeups),
        ("migrations", a.migrations, b.migrations),
    ] {
        let change = change(before, after);
        table.row([
            what.to_owned(),
            before.to_string(),
            after.to_string(),
            change,
        ]);
    }
    for ((what, before), (_, after)) in a.delay.figures().into_iter().zip(b.delay.figures()) {
        let (before, after) = (before.unwrap_or(0), after.unwrap_or(0));
        let change = change(before, after);
        table.row([format!("delay {what} ms"), ms(before), ms(after), change]);
    }
    table
}

pub(super) fn by_task(report: &Report, most: usize) -> Table {
    let mut table = Table::new([
        ("task", Align::Left),
        ("run ms", Align::Right),
        ("replayed", Align::Right),
        ("wait ms", Align::Right),
        ("replayed", Align::Right),
        ("sleep ms", Align::Right),
        ("replayed", Align::Right),
    ]);
    for row in report.tasks.iter().take(most) {
        table.row([
            row.task.clone(),
            ms(row.recorded_running_ns),
            ms(row.replayed_running_ns),
            ms(row.recorded_waiting_ns),
            ms(row.replayed_waiting_ns),
            ms(row.recorded_sleeping_ns),
            ms(row.replayed_sleeping_ns),
        ]);
    }
    table
}
