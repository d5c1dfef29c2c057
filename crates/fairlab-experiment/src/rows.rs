//! The table that compares two kernels: one row per figure.

use fairlab_sim::{Distance, LoopRow};
use fairlab_stats::{
    Comparison, ComparisonOptions, Direction, LatencyHistogram, Sample, adjust_for_many,
};
use fairlab_workload::{End, Workload};

use crate::outcome::Outcome;

/// What the numbers of a row are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowUnit {
    /// Microseconds.
    Usec,
    /// Seconds.
    Seconds,
    /// Events per second.
    PerSecond,
    /// Plain numbers.
    Count,
    /// Percent.
    Percent,
}

impl RowUnit {
    /// As a table calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Usec => "usec",
            Self::Seconds => "s",
            Self::PerSecond => "per s",
            Self::Count => "",
            Self::Percent => "%",
        }
    }
}

/// One figure, one value per run on both sides.
#[derive(Clone, Debug)]
pub struct Row {
    /// The table that it belongs to.
    pub group: String,
    /// The figure.
    pub name: String,
    /// What the numbers are.
    pub unit: RowUnit,
    /// The comparison of the medians over runs.
    pub comparison: Comparison,
}

/// Heading of the rows about passes of loops.
pub const LOOPS: &str = "Passes of loops";

/// Percentiles shown of each distribution, in tenths of a percent.
const PERCENTILES: [u64; 4] = [500, 900, 990, 999];

/// CPU time and throttled time of each task group.
fn task_groups(table: &mut Table<'_>, workload: &Workload) {
    let us = |span: fairlab_units::Nanos| Some(span.0 as f64 / 1e3);
    for (index, group) in workload.groups.iter().enumerate() {
        let heading = format!("Task group {}", group.name);
        let time = |o: &Outcome| o.groups.get(index).copied().unwrap_or_default();
        let higher = Direction::HigherIsBetter;
        table.row(&heading, "CPU time", RowUnit::Usec, higher, |o| {
            us(time(o).cpu)
        });
        if group.max.is_some() {
            let lower = Direction::LowerIsBetter;
            table.row(&heading, "throttled", RowUnit::Usec, lower, |o| {
                us(time(o).throttled)
            });
        }
    }
}

/// The rows of arm 0 against arm 1. P values are adjusted for their number (Holm).
///
/// Figures that some run has no value for (a percentile of nothing) are left out.
#[must_use]
pub fn rows(workload: &Workload, outcomes: &[Outcome], confidence: f64, seed: u64) -> Vec<Row> {
    let mut table = Table {
        outcomes,
        confidence,
        seed,
        rows: Vec::new(),
    };
    if matches!(workload.end, End::AllExited | End::AllExitedBy(_)) {
        let group = "Completion";
        let elapsed = |o: &Outcome| Some(o.elapsed.0 as f64 / 1e9);
        table.row(
            group,
            "time",
            RowUnit::Seconds,
            Direction::LowerIsBetter,
            elapsed,
        );
    }
    for (i, metric) in workload.metrics.iter().enumerate() {
        table.percentiles(&metric.title, |o| &o.metrics[i].ns);
        let rate = |o: &Outcome| {
            let seconds = o.elapsed.0.saturating_sub(workload.warmup.0) as f64 / 1e9;
            Some(o.metrics[i].ns.count() as f64 / seconds)
        };
        table.row(
            &metric.title,
            "rate",
            RowUnit::PerSecond,
            Direction::HigherIsBetter,
            rate,
        );
    }
    if workload.logs_loops {
        passes(&mut table);
    }
    task_groups(&mut table, workload);
    table.percentiles("Delay from wakeup to running", |o| &o.wakeup_delay);
    let group = "Scheduler";
    let per_wakeup = |o: &Outcome, n: u64| {
        let wakeups = o.counts.wakeups.max(1);
        Some(n as f64 / wakeups as f64)
    };
    let lower = Direction::LowerIsBetter;
    table.row(group, "probes per placement", RowUnit::Count, lower, |o| {
        Some(o.counts.probes as f64 / o.counts.placements.max(1) as f64)
    });
    table.row(group, "migrations per wakeup", RowUnit::Count, lower, |o| {
        per_wakeup(o, o.counts.migrations.iter().sum())
    });
    table.row(
        group,
        "moves to another LLC per wakeup",
        RowUnit::Count,
        lower,
        |o| {
            per_wakeup(
                o,
                o.counts.migrations[Distance::SameNode as usize..]
                    .iter()
                    .sum(),
            )
        },
    );
    table.row(
        group,
        "preemptions per wakeup",
        RowUnit::Count,
        lower,
        |o| per_wakeup(o, o.counts.preemptions),
    );
    table.row(group, "share of busy time", RowUnit::Percent, lower, |o| {
        Some(o.scheduler_share * 100.0)
    });
    let higher = Direction::HigherIsBetter;
    table.row(group, "CPU utilization", RowUnit::Percent, higher, |o| {
        Some(o.utilization * 100.0)
    });
    table.finish()
}

/// What rt-app's logs say, over all threads.
fn passes(table: &mut Table<'_>) {
    let group = LOOPS;
    let mean = |o: &Outcome, value: fn(&LoopRow) -> f64| {
        let nr = o.loops.len();
        (nr > 0).then(|| o.loops.iter().map(value).sum::<f64>() / nr as f64)
    };
    table.row(
        group,
        "rate",
        RowUnit::PerSecond,
        Direction::HigherIsBetter,
        |o| Some(o.loops.len() as f64 / (o.elapsed.0 as f64 / 1e9)),
    );
    let lower = Direction::LowerIsBetter;
    table.row(group, "mean run", RowUnit::Usec, lower, |o| {
        mean(o, |row| row.run.0 as f64 / 1e3)
    });
    table.row(group, "mean wu_lat", RowUnit::Usec, lower, |o| {
        mean(o, |row| row.woken_late.0 as f64 / 1e3)
    });
    let higher = Direction::HigherIsBetter;
    table.row(group, "mean slack", RowUnit::Usec, higher, |o| {
        mean(o, |row| row.slack as f64 / 1e3)
    });
}

struct Table<'a> {
    outcomes: &'a [Outcome],
    confidence: f64,
    seed: u64,
    rows: Vec<Row>,
}

impl Table<'_> {
    fn row(
        &mut self,
        group: &str,
        name: &str,
        unit: RowUnit,
        direction: Direction,
        value: impl Fn(&Outcome) -> Option<f64>,
    ) {
        let side = |arm: usize| -> Option<Sample> {
            let runs = self.outcomes.iter().filter(|o| o.arm == arm);
            Sample::new(runs.map(&value).collect::<Option<Vec<f64>>>()?).ok()
        };
        let (Some(a), Some(b)) = (side(0), side(1)) else {
            return;
        };
        let options = ComparisonOptions {
            confidence: self.confidence,
            seed: self.seed,
            ..ComparisonOptions::new(direction)
        };
        self.rows.push(Row {
            group: group.to_owned(),
            name: name.to_owned(),
            unit,
            comparison: Comparison::of(&a, &b, &options),
        });
    }

    fn percentiles(&mut self, group: &str, pick: impl Fn(&Outcome) -> &LatencyHistogram) {
        for tenths in PERCENTILES {
            let name = format!("{}.{}th", tenths / 10, tenths % 10);
            self.row(group, &name, RowUnit::Usec, Direction::LowerIsBetter, |o| {
                pick(o).quantile(tenths, 1000).map(|ns| ns as f64 / 1e3)
            });
        }
    }

    fn finish(mut self) -> Vec<Row> {
        let mut comparisons: Vec<Comparison> = self.rows.iter().map(|r| r.comparison).collect();
        adjust_for_many(&mut comparisons);
        for (row, comparison) in self.rows.iter_mut().zip(comparisons) {
            row.comparison = comparison;
        }
        self.rows
    }
}
