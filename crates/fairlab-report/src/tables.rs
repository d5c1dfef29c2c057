//! What an audit found, as tables; the same for the terminal and the page.

use fairlab_audit::{Audit, Cause, Certainty, Level, outcome};
use fairlab_stats::LatencyHistogram;
use fairlab_stats::table::{Align, Table};
use fairlab_units::{TaskId, Timestamp};

/// How a task is called.
pub type Namer<'a> = &'a dyn Fn(TaskId) -> String;

/// Seconds as traces print them.
#[must_use]
pub fn at(time: Timestamp) -> String {
    format!(
        "{}.{:06}",
        time.0 / 1_000_000_000,
        time.0 / 1_000 % 1_000_000
    )
}

fn ms(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e6)
}

/// Microseconds; a dash for what is not known.
#[must_use]
pub fn us(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".into(), |ns| format!("{:.1}", ns as f64 / 1e3))
}

/// A part in percent; 0 of nothing.
#[must_use]
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64 * 100.0
    }
}

/// Time that tasks ran, in ns.
#[must_use]
pub fn busy_ns(audit: &Audit) -> u64 {
    audit.cpus.iter().map(|(_, totals)| totals.busy.0).sum()
}

fn quantiles(delay: &LatencyHistogram) -> [String; 3] {
    [
        us(delay.quantile(500, 1000)),
        us(delay.quantile(990, 1000)),
        us(delay.max()),
    ]
}

/// Time, delays and migrations: what fits the top of a screen. Two columns, a heading in the first.
#[must_use]
pub fn summary(audit: &Audit) -> Table {
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
            percent(idleness.lost_ns, busy),
            idleness.episodes
        ),
    );
    row(
        "cores shared beside idle",
        format!(
            "{} ms of threads ({:.3} % of busy)",
            ms(audit.stacking.thread_ns),
            percent(audit.stacking.thread_ns, busy)
        ),
    );
    let [p50, p99, max] = quantiles(&audit.delays.all.delay());
    row(
        "delay after wakeup",
        format!("median {p50} us, p99 {p99} us, longest {max} us"),
    );
    let migrations = &audit.migrations;
    row("migrations", moves(audit));
    let returns: u64 = migrations.ping_pong.values().map(|p| p.returns).sum();
    row(
        "of those",
        format!(
            "{} useless (the CPU left behind idled first), {returns} back and forth ({} tasks)",
            migrations.useless,
            migrations.ping_pong.len()
        ),
    );
    table
}

/// Migrations by distance and by cause, in a line.
fn moves(audit: &Audit) -> String {
    let migrations = &audit.migrations;
    if migrations.total() == 0 {
        return "none".to_owned();
    }
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
    format!("{} ({})", by_level.join(", "), by_cause.join(", "))
}

/// What placements got and missed, and the delays that followed.
#[must_use]
pub fn placements(audit: &Audit) -> Table {
    let placements = &audit.placements;
    let total = placements.count(|_, _, _, _| true);
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
    for rows in rows.chunk_by(|a, b| (a.kind, a.found, a.missed) == (b.kind, b.found, b.missed)) {
        let (mut count, mut unsure, mut delay) = (0, 0, LatencyHistogram::new());
        for row in rows {
            count += row.count;
            if row.certainty == Certainty::Unsure || audit.contradictions > 0 {
                unsure += row.count;
            }
            delay.merge(&row.delay);
        }
        let [p50, p99, max] = quantiles(&delay);
        table.row([
            rows[0].kind.name().to_owned(),
            outcome(rows[0].found, rows[0].missed).to_owned(),
            count.to_string(),
            format!("{:.1} %", percent(count, total)),
            unsure.to_string(),
            p50,
            p99,
            max,
        ]);
    }
    table
}

/// The `most` placements that missed something and waited longest.
#[must_use]
pub fn worst_placements(audit: &Audit, task: Namer<'_>, most: usize) -> Table {
    let mut table = Table::new([
        ("time", Align::Right),
        ("task", Align::Left),
        ("CPU", Align::Right),
        ("better", Align::Right),
        ("delay us", Align::Right),
        ("", Align::Left),
    ]);
    for miss in audit.placements.worst().into_iter().take(most) {
        table.row([
            at(miss.time),
            task(miss.task),
            miss.cpu.0.to_string(),
            miss.better.map_or(String::new(), |cpu| cpu.0.to_string()),
            us(Some(miss.delay_ns)),
            outcome(miss.found, miss.missed).to_owned(),
        ]);
    }
    table
}

/// The `most` episodes of waiting beside idle CPUs that lost most.
#[must_use]
pub fn worst_waits(audit: &Audit, task: Namer<'_>, most: usize) -> Table {
    let mut table = Table::new([
        ("from", Align::Right),
        ("ms", Align::Right),
        ("lost ms", Align::Right),
        ("idle CPU", Align::Right),
        ("busy CPU", Align::Right),
        ("task", Align::Left),
        ("", Align::Left),
    ]);
    for episode in audit.idleness.longest().into_iter().take(most) {
        table.row([
            at(episode.from),
            ms(episode.ns),
            ms(episode.lost_ns),
            episode.idle_cpu.0.to_string(),
            episode.busy_cpu.0.to_string(),
            task(episode.task),
            match episode.certainty {
                Certainty::Sure if audit.contradictions == 0 => String::new(),
                _ => "not sure".to_owned(),
            },
        ]);
    }
    table
}

/// The `most` tasks with the longest delays after wakeup.
#[must_use]
pub fn slow_tasks(audit: &Audit, task: Namer<'_>, most: usize) -> Table {
    let mut rows: Vec<_> = audit.delays.by_task.iter().collect();
    rows.sort_by_key(|(task, row)| (std::cmp::Reverse(row.longest()), **task));
    let mut table = Table::new([
        ("task", Align::Left),
        ("wakeups", Align::Right),
        ("p50 us", Align::Right),
        ("p99 us", Align::Right),
        ("max us", Align::Right),
        ("longest at", Align::Right),
    ]);
    for (id, row) in rows.iter().take(most) {
        let [p50, p99, max] = quantiles(&row.delay());
        table.row([
            task(**id),
            row.count().to_string(),
            p50,
            p99,
            max,
            at(row.longest_from),
        ]);
    }
    table
}

/// The `most` pairs of waker and wakee of which the wakee waited most in all.
#[must_use]
pub fn slow_pairs(audit: &Audit, task: Namer<'_>, most: usize) -> Table {
    let mut pairs: Vec<_> = audit.delays.by_pair.iter().collect();
    pairs.sort_by_key(|(pair, (_, sum, _))| (std::cmp::Reverse(*sum), **pair));
    let mut table = Table::new([
        ("waker", Align::Left),
        ("wakee", Align::Left),
        ("wakeups", Align::Right),
        ("sum ms", Align::Right),
        ("max us", Align::Right),
    ]);
    for (pair, (count, sum, max)) in pairs.iter().take(most) {
        table.row([
            pair.waker.map_or_else(|| "(interrupt)".to_owned(), task),
            task(pair.wakee),
            count.to_string(),
            ms(*sum),
            us(Some(*max)),
        ]);
    }
    table
}

/// Time of each CPU, in percent of the whole.
#[must_use]
pub fn cpus(audit: &Audit) -> Table {
    let mut table = Table::new([
        ("CPU", Align::Right),
        ("busy %", Align::Right),
        ("idle %", Align::Right),
        ("unknown %", Align::Right),
    ]);
    for (cpu, totals) in &audit.cpus {
        let all = totals.busy.0 + totals.idle.0 + totals.unknown.0;
        let share = |part: u64| format!("{:.1}", percent(part, all));
        table.row([
            cpu.0.to_string(),
            share(totals.busy.0),
            share(totals.idle.0),
            share(totals.unknown.0),
        ]);
    }
    table
}

/// Quantiles of the delay from wakeup to run, in us, a column for each of the named audits.
#[must_use]
pub fn delays<'a>(audits: impl IntoIterator<Item = (&'a str, &'a Audit)> + Clone) -> Table {
    let columns = audits
        .clone()
        .into_iter()
        .map(|(name, _)| (name.to_owned(), Align::Right));
    let mut table = Table::new(std::iter::once(("us".to_owned(), Align::Left)).chain(columns));
    let mut row = |name: &str, value: &dyn Fn(&LatencyHistogram) -> String| {
        let cells = audits
            .clone()
            .into_iter()
            .map(|(_, audit)| value(&audit.delays.all.delay()));
        table.row(std::iter::once(name.to_owned()).chain(cells));
    };
    row("wakeups that ran", &|delay| delay.count().to_string());
    for (name, part) in [
        ("p50", 500),
        ("p90", 900),
        ("p95", 950),
        ("p99", 990),
        ("p99.9", 999),
    ] {
        row(name, &|delay| us(delay.quantile(part, 1000)));
    }
    row("longest", &|delay| us(delay.max()));
    row("mean", &|delay| {
        us(delay.mean().map(|mean| mean.round() as u64))
    });
    table
}
