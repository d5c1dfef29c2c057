//! What the scheduler counted, as text and as JSON.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use fairlab::policy::Reason;
use fairlab::topology::Distance;
use fairlab_live::{Checked, Program, Stats, quantile};
use serde_json::{Map, Value, json};

/// The program that decides where a task goes, as far as the kernel keeps its name.
const DECIDES: &str = "fairlab_select_";

/// What was idle at a chosen CPU, in the order of [`Stats::found`]: for people and as a key.
const FOUND: [(&str, &str); fairlab_live::FOUND] = [
    ("no idle CPU", "none"),
    ("idle CPU of a busy core", "idle_cpu"),
    ("idle core", "idle_core"),
];

/// One line about the last interval; waits are counted with `--stats` only.
pub fn line(since: &Stats, length: Duration) -> String {
    let placed = format!(
        "{:.0} placements/s, {} straight to an idle CPU, {} queued, {} stolen, {} preempted",
        since.asked as f64 / length.as_secs_f64().max(1e-3),
        since.direct,
        since.queued + since.pinned,
        since.stolen,
        since.preempted,
    );
    if since.latencies.iter().all(|count| *count == 0) {
        return placed;
    }
    let (median, most) = (wait(since, 50), wait(since, 99));
    format!("{placed}; wait: median {median}, 99 % {most}")
}

fn wait(stats: &Stats, percent: u64) -> String {
    quantile(&stats.latencies, percent).map_or_else(
        || "-".to_owned(),
        |ns| format!("< {} us", ns.div_ceil(1000)),
    )
}

/// All about an interval, in several lines.
pub fn block(
    out: &mut impl Write,
    since: &Stats,
    length: Duration,
    cost: Option<u64>,
) -> std::io::Result<()> {
    writeln!(out, "{}", line(since, length))?;
    let by_reason = reasons(since).map(|(reason, count)| (reason.name().to_owned(), count));
    listed(out, "decided by", by_reason)?;
    details(out, since, cost)
}

/// What is counted with `--stats` only.
fn details(out: &mut impl Write, stats: &Stats, cost: Option<u64>) -> std::io::Result<()> {
    let found = FOUND.iter().zip(stats.found);
    listed(
        out,
        "found",
        found.map(|((name, _), count)| ((*name).to_owned(), count)),
    )?;
    by_distance(out, "placed at", &stats.placed)?;
    by_distance(out, "moved to", &stats.moved)?;
    let steps = |n: usize| format!("{}+", 1u64 << n);
    by_bucket(
        out,
        "tasks in the queue, itself included",
        &stats.lengths,
        steps,
    )?;
    by_bucket(out, "waited, us", &stats.latencies, |n| {
        format!("{}+", (1u64 << n) as f64 / 1000.0)
    })?;
    if let Some(ns) = cost {
        writeln!(out, "  cost of a decision: {ns} ns in the mean")?;
    }
    Ok(())
}

fn by_distance(out: &mut impl Write, what: &str, counts: &[u64]) -> std::io::Result<()> {
    let parts = Distance::ALL.iter().zip(counts);
    let parts = parts.map(|(distance, count)| (distance.name().to_owned(), *count));
    listed(out, what, parts)
}

fn by_bucket(
    out: &mut impl Write,
    what: &str,
    counts: &[u64],
    name: impl Fn(usize) -> String,
) -> std::io::Result<()> {
    let parts = counts.iter().enumerate();
    listed(out, what, parts.map(|(n, count)| (name(n), *count)))
}

fn listed(
    out: &mut impl Write,
    what: &str,
    parts: impl Iterator<Item = (String, u64)>,
) -> std::io::Result<()> {
    let parts: Vec<String> = parts
        .filter(|(_, count)| *count != 0)
        .map(|(name, count)| format!("{name}: {count}"))
        .collect();
    if parts.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {what}: {}", parts.join(", "))
}

/// Mean time of a decision between two looks at the programs, ns.
pub fn cost(before: &[Program], now: &[Program]) -> Option<u64> {
    let of = |programs: &[Program]| {
        let found = programs.iter().find(|p| p.name.starts_with(DECIDES));
        found.map_or((0, 0), |program| (program.ran_ns, program.runs))
    };
    let ((ns, runs), (ns_before, runs_before)) = (of(now), of(before));
    ns.saturating_sub(ns_before)
        .checked_div(runs.saturating_sub(runs_before))
}

fn reasons(stats: &Stats) -> impl Iterator<Item = (Reason, u64)> + '_ {
    let counted = Reason::ALL.iter().copied().zip(stats.reasons);
    counted.filter(|(_, count)| *count != 0)
}

/// A whole run.
pub fn table(
    out: &mut impl Write,
    stats: &Stats,
    checked: &Checked,
    cost: Option<u64>,
) -> Result<()> {
    for (reason, count) in reasons(stats) {
        writeln!(out, "{count:>12}  {reason}")?;
    }
    writeln!(out)?;
    for (_, count, sentence) in stats.single() {
        writeln!(out, "{count:>12}  {sentence}")?;
    }
    writeln!(out)?;
    details(out, stats, cost)?;
    if checked.decisions > 0 {
        writeln!(
            out,
            "\n{} decisions asked again outside the kernel, {} with another answer",
            checked.decisions, checked.different
        )?;
    }
    Ok(())
}

/// A whole run.
pub fn summary(stats: &Stats, checked: &Checked, cost: Option<u64>, elapsed: Duration) -> Value {
    let by_reason: Map<String, Value> = reasons(stats)
        .map(|(reason, count)| (reason.name().to_owned(), json!(count)))
        .collect();
    let counts: Map<String, Value> = stats
        .single()
        .into_iter()
        .map(|(name, count, _)| (name.to_owned(), json!(count)))
        .collect();
    let distances = |counts: &[u64]| -> Map<String, Value> {
        let pairs = Distance::ALL.iter().zip(counts);
        let pairs = pairs.map(|(distance, count)| (distance.key().to_owned(), json!(count)));
        pairs.collect()
    };
    let found: Map<String, Value> = FOUND
        .iter()
        .zip(stats.found)
        .map(|((_, key), count)| ((*key).to_owned(), json!(count)))
        .collect();
    json!({
        "seconds": elapsed.as_secs(),
        "reasons": by_reason,
        "counts": counts,
        "found": found,
        "placed_by_distance": distances(&stats.placed),
        "moved_by_distance": distances(&stats.moved),
        "waits_by_power_of_two_ns": stats.latencies,
        "queue_lengths_by_power_of_two": stats.lengths,
        "decision_mean_ns": cost,
        "checked": checked.decisions,
        "different": checked.different,
    })
}
