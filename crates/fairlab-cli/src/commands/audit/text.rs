//! The findings on a screen.

use std::io::Write;

use anyhow::Result;
use fairlab::stats::LatencyHistogram;
use fairlab::stats::table::{Align, Table};
use fairlab::units::Timestamp;
use fairlab_audit::{Cause, Certainty, Level, outcome};
use fairlab_trace::Ledger;

use super::Findings;
use super::check::{busy_ns, percent};
use crate::cli::audit::AuditVerb;
use crate::output::{Output, Style};

/// Seconds as traces print them.
fn at(time: Timestamp) -> String {
    format!(
        "{}.{:06}",
        time.0 / 1_000_000_000,
        time.0 / 1_000 % 1_000_000
    )
}

fn ms(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e6)
}

fn us(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".into(), |ns| format!("{:.1}", ns as f64 / 1e3))
}

fn quantiles(delay: &LatencyHistogram) -> [String; 3] {
    [
        us(delay.quantile(500, 1000)),
        us(delay.quantile(990, 1000)),
        us(delay.max()),
    ]
}

/// Prints the summary and the tables.
pub fn print(out: &mut Output, args: &AuditVerb, findings: &Findings) -> Result<()> {
    head(out, args, findings)?;
    missing(out, findings)?;
    summary(out, findings)?;
    placements(out, findings)?;
    worst(out, findings)?;
    tasks(out, args, findings)?;
    Ok(())
}

fn title(out: &mut Output, text: &str) -> Result<()> {
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

/// What the trace does not tell, and how much can be trusted.
fn missing(out: &mut Output, findings: &Findings) -> Result<()> {
    let ledger = findings.recording.ledger();
    let mut lines = Vec::new();
    if findings.traced.is_guess {
        lines.push(
            "nothing is known about cores, caches and nodes: give --machine for verdicts on them"
                .to_owned(),
        );
    }
    for kind in Ledger::missing(findings.recording.counts()) {
        lines.push(format!("no {}: {}", kind.name, kind.consequence));
    }
    let losses = findings.audit.losses.len();
    if losses > 0 {
        let events: u64 = ledger.losses().iter().filter_map(|loss| loss.count).sum();
        lines.push(format!(
            "events were lost at {losses} places ({events} where counted): verdicts near them are \
             marked not sure"
        ));
    }
    if !findings.is_consistent() {
        lines.push(format!(
            "{} events contradict those before them: more is missing than the trace says, and no \
             verdict is sure",
            findings.audit.contradictions
        ));
    }
    for problem in ledger.problems().iter().take(3) {
        lines.push(problem.to_string());
    }
    for line in lines {
        writeln!(out, "{} {line}", out.paint(Style::Yellow, "note    "))?;
    }
    Ok(())
}

fn summary(out: &mut Output, findings: &Findings) -> Result<()> {
    let audit = &findings.audit;
    let (mut busy, mut idle, mut unknown) = (0, 0, 0);
    for (_, totals) in &audit.cpus {
        busy += totals.busy.0;
        idle += totals.idle.0;
        unknown += totals.unknown.0;
    }
    let all = busy + idle + unknown;
    let mut table = Table::new([("", Align::Left), ("", Align::Left)]);
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    row(
        "CPU time",
        format!(
            "busy {:.1} %, idle {:.1} %, unknown {:.1} %",
            percent(busy, all),
            percent(idle, all),
            percent(unknown, all)
        ),
    );
    let idleness = &audit.idleness;
    row(
        "waiting beside idle CPUs",
        format!(
            "{} ms of CPU time lost ({:.3} % of busy) in {} episodes",
            ms(idleness.lost_ns),
            percent(idleness.lost_ns, busy_ns(audit)),
            idleness.episodes
        ),
    );
    row(
        "cores shared beside idle",
        format!(
            "{} ms of threads ({:.3} % of busy)",
            ms(audit.stacking.thread_ns),
            percent(audit.stacking.thread_ns, busy_ns(audit))
        ),
    );
    let [p50, p99, max] = quantiles(&audit.delays.all.delay);
    row(
        "delay after wakeup",
        format!("median {p50} us, p99 {p99} us, longest {max} us"),
    );
    let migrations = &audit.migrations;
    let by_level: Vec<_> = Level::ALL
        .iter()
        .filter_map(|level| {
            let count: u64 = migrations
                .counts
                .iter()
                .filter(|((_, at), _)| at == level)
                .map(|(_, count)| count)
                .sum();
            (count > 0).then(|| format!("{count} {}", level.name()))
        })
        .collect();
    let by_cause: Vec<_> = [Cause::Wakeup, Cause::Runnable, Cause::Unrecorded]
        .iter()
        .filter(|&&of| migrations.of(of) > 0)
        .map(|&of| format!("{} {}", migrations.of(of), of.name()))
        .collect();
    row(
        "migrations",
        if migrations.total() == 0 {
            "none".to_owned()
        } else {
            format!("{} ({})", by_level.join(", "), by_cause.join(", "))
        },
    );
    let returns: u64 = migrations.ping_pong.values().map(|p| p.returns).sum();
    row(
        "of those",
        format!(
            "{} useless (the CPU left behind idled first), {returns} back and forth ({} tasks)",
            migrations.useless,
            migrations.ping_pong.len()
        ),
    );
    write!(out, "{}", table.to_text())?;
    Ok(())
}

fn placements(out: &mut Output, findings: &Findings) -> Result<()> {
    let placements = &findings.audit.placements;
    let total = placements.count(|_, _, _, _| true);
    if total == 0 {
        return Ok(());
    }
    title(out, "Where tasks were placed")?;
    let mut table = Table::new([
        ("", Align::Left),
        ("", Align::Left),
        ("count", Align::Right),
        ("share", Align::Right),
        ("not sure", Align::Right),
        ("p50 us", Align::Right),
        ("p99 us", Align::Right),
        ("max us", Align::Right),
    ]);
    let mut rows: Vec<_> = placements.rows().collect();
    rows.sort_by_key(|row| (row.kind, row.found, row.missed, row.certainty));
    let mut at = 0;
    while at < rows.len() {
        let key = (rows[at].kind, rows[at].found, rows[at].missed);
        let (mut count, mut unsure, mut delay) = (0, 0, LatencyHistogram::new());
        while at < rows.len() && key == (rows[at].kind, rows[at].found, rows[at].missed) {
            count += rows[at].count;
            if rows[at].certainty == Certainty::Unsure || !findings.is_consistent() {
                unsure += rows[at].count;
            }
            delay.merge(&rows[at].delay);
            at += 1;
        }
        let [p50, p99, max] = quantiles(&delay);
        table.row([
            key.0.name().to_owned(),
            outcome(key.1, key.2).to_owned(),
            count.to_string(),
            format!("{:.1} %", percent(count, total)),
            unsure.to_string(),
            p50,
            p99,
            max,
        ]);
    }
    write!(out, "{}", table.to_text())?;
    if placements.cluster_misses > 0 {
        writeln!(
            out,
            "{} wakeups left their cluster for an idle CPU although one idled in it",
            placements.cluster_misses
        )?;
    }
    Ok(())
}

fn worst(out: &mut Output, findings: &Findings) -> Result<()> {
    let audit = &findings.audit;
    let misses = audit.placements.worst();
    if !misses.is_empty() {
        title(out, "Worst placements")?;
        let mut table = Table::new([
            ("time", Align::Right),
            ("task", Align::Left),
            ("CPU", Align::Right),
            ("better", Align::Right),
            ("delay us", Align::Right),
            ("", Align::Left),
        ]);
        for miss in misses {
            table.row([
                at(miss.time),
                findings.task(miss.task),
                miss.cpu.0.to_string(),
                miss.better.map_or(String::new(), |cpu| cpu.0.to_string()),
                us(Some(miss.delay_ns)),
                outcome(miss.found, miss.missed).to_owned(),
            ]);
        }
        write!(out, "{}", table.to_text())?;
    }
    let episodes = audit.idleness.longest();
    if !episodes.is_empty() {
        title(out, "Worst waits beside idle CPUs")?;
        let mut table = Table::new([
            ("from", Align::Right),
            ("ms", Align::Right),
            ("lost ms", Align::Right),
            ("idle CPU", Align::Right),
            ("busy CPU", Align::Right),
            ("task", Align::Left),
            ("", Align::Left),
        ]);
        for episode in episodes {
            table.row([
                at(episode.from),
                ms(episode.ns),
                ms(episode.lost_ns),
                episode.idle_cpu.0.to_string(),
                episode.busy_cpu.0.to_string(),
                findings.task(episode.task),
                match episode.certainty {
                    Certainty::Sure if findings.is_consistent() => String::new(),
                    _ => "not sure".to_owned(),
                },
            ]);
        }
        write!(out, "{}", table.to_text())?;
    }
    Ok(())
}

fn tasks(out: &mut Output, args: &AuditVerb, findings: &Findings) -> Result<()> {
    let delays = &findings.audit.delays;
    let mut rows: Vec<_> = delays.by_task.iter().collect();
    rows.sort_by_key(|(task, row)| (std::cmp::Reverse(row.delay.max()), **task));
    if !rows.is_empty() {
        title(out, "Tasks with the longest delays after wakeup")?;
        let mut table = Table::new([
            ("task", Align::Left),
            ("wakeups", Align::Right),
            ("p50 us", Align::Right),
            ("p99 us", Align::Right),
            ("max us", Align::Right),
            ("longest at", Align::Right),
        ]);
        for (task, row) in rows.iter().take(args.worst) {
            let [p50, p99, max] = quantiles(&row.delay);
            table.row([
                findings.task(**task),
                row.delay.count().to_string(),
                p50,
                p99,
                max,
                at(row.longest_from),
            ]);
        }
        write!(out, "{}", table.to_text())?;
    }
    let mut pairs: Vec<_> = delays.by_pair.iter().collect();
    pairs.sort_by_key(|(pair, (_, sum, _))| (std::cmp::Reverse(*sum), **pair));
    if !pairs.is_empty() {
        title(out, "Pairs that waited most in all")?;
        let mut table = Table::new([
            ("waker", Align::Left),
            ("wakee", Align::Left),
            ("wakeups", Align::Right),
            ("sum ms", Align::Right),
            ("max us", Align::Right),
        ]);
        for (pair, (count, sum, max)) in pairs.iter().take(args.worst) {
            table.row([
                pair.waker
                    .map_or_else(|| "(interrupt)".to_owned(), |task| findings.task(task)),
                findings.task(pair.wakee),
                count.to_string(),
                ms(*sum),
                us(Some(*max)),
            ]);
        }
        write!(out, "{}", table.to_text())?;
    }
    Ok(())
}
