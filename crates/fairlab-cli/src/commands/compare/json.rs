//! The comparison for programs. Byte for byte the same for the same command, unless what was
//! measured on this host is asked for.

use std::collections::BTreeMap;

use fairlab::kernel::Difference;
use fairlab::stats::{Interval, Sample, Verdict};
use fairlab_experiment::{Outcome, Row};
use serde::Serialize;

use super::Comparison;
use super::idle_core::Figure;
use crate::checkpoint::PointReport;
use crate::commands::latency::Latency;

#[derive(Serialize)]
pub struct Report {
    fairlab: &'static str,
    machine: String,
    workload: String,
    a: String,
    b: String,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<PointReport>,
    runs: u32,
    confidence_percent: f64,
    differences: Vec<DifferenceReport>,
    rows: Vec<RowReport>,
    idle_core: IdleCoreReport,
    reasons: Vec<ReasonReport>,
    beside: BesideReport,
    outcomes: Vec<OutcomeReport>,
}

#[derive(Serialize)]
struct DifferenceReport {
    name: &'static str,
    #[serde(flatten)]
    values: Values,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Values {
    Feature {
        a: bool,
        b: bool,
        meaning: &'static str,
    },
    Tunable {
        a: u64,
        b: u64,
    },
}

#[derive(Serialize)]
struct RowReport {
    group: String,
    name: String,
    unit: &'static str,
    a: f64,
    b: f64,
    difference: IntervalReport,
    change: Option<IntervalReport>,
    p_value: Option<f64>,
    adjusted_p_value: Option<f64>,
    cliffs_delta: f64,
    runs_needed: Option<u64>,
    verdict: &'static str,
}

#[derive(Serialize)]
struct IntervalReport {
    estimate: f64,
    low: f64,
    high: f64,
}

#[derive(Serialize)]
struct IdleCoreReport {
    probes: Option<FigureReport>,
    mask_work: Option<FigureReport>,
    /// Only with `--measured`: not the same twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    ticks: Option<FigureReport>,
}

#[derive(Serialize)]
struct FigureReport {
    a: SampleReport,
    b: SampleReport,
    improvement: Option<IntervalReport>,
}

#[derive(Serialize)]
struct SampleReport {
    n: usize,
    min: f64,
    max: f64,
    median: f64,
    mean: f64,
    stddev: f64,
}

#[derive(Serialize)]
struct ReasonReport {
    reason: &'static str,
    a: f64,
    b: f64,
}

#[derive(Serialize)]
struct BesideReport {
    placements: u64,
    differ: u64,
}

#[derive(Serialize)]
struct OutcomeReport {
    kernel: &'static str,
    run: u32,
    seed: u64,
    elapsed_ns: u64,
    metrics: Vec<Latency>,
    wakeup_delay: Latency,
    events: u64,
    event_hash: String,
}

impl From<&Interval> for IntervalReport {
    fn from(i: &Interval) -> Self {
        Self {
            estimate: i.estimate,
            low: i.low,
            high: i.high,
        }
    }
}

impl From<&Sample> for SampleReport {
    fn from(sample: &Sample) -> Self {
        let s = sample.summary();
        let (n, min, max) = (sample.len(), s.min, s.max);
        Self {
            n,
            min,
            max,
            median: s.median,
            mean: s.mean,
            stddev: s.stddev,
        }
    }
}

impl From<&Figure> for FigureReport {
    fn from(figure: &Figure) -> Self {
        Self {
            a: (&figure.a).into(),
            b: (&figure.b).into(),
            improvement: figure.improvement.as_ref().map(Into::into),
        }
    }
}

pub fn report(c: &Comparison<'_>) -> Report {
    let (placements, differ) = c.beside();
    let idle_core = &c.idle_core;
    Report {
        fairlab: env!("CARGO_PKG_VERSION"),
        machine: c.machine.name().to_owned(),
        workload: c.workload.description.clone(),
        a: c.a.to_string(),
        b: c.b.to_string(),
        seed: c.seed,
        from: c.point.map(From::from),
        runs: c.args.runs,
        confidence_percent: c.args.confidence,
        differences: c.differences.iter().map(difference).collect(),
        rows: c.rows.iter().map(row).collect(),
        idle_core: IdleCoreReport {
            probes: idle_core.probes.as_ref().map(Into::into),
            mask_work: idle_core.mask_work.as_ref().map(Into::into),
            ticks: idle_core
                .ticks
                .as_ref()
                .filter(|_| c.args.measured)
                .map(Into::into),
        },
        reasons: reason_shares(&c.outcomes)
            .map(|(reason, [a, b])| ReasonReport { reason, a, b })
            .collect(),
        beside: BesideReport { placements, differ },
        outcomes: c.outcomes.iter().map(outcome).collect(),
    }
}

fn difference(difference: &Difference) -> DifferenceReport {
    match *difference {
        Difference::Feature { feature, in_a } => DifferenceReport {
            name: feature.name(),
            values: Values::Feature {
                a: in_a,
                b: !in_a,
                meaning: feature.doc(),
            },
        },
        Difference::Tunable { name, a, b } => DifferenceReport {
            name,
            values: Values::Tunable { a, b },
        },
    }
}

fn row(row: &Row) -> RowReport {
    let c = &row.comparison;
    RowReport {
        group: row.group.clone(),
        name: row.name.clone(),
        unit: row.unit.name(),
        a: c.a.median,
        b: c.b.median,
        difference: (&c.difference).into(),
        change: c.change.as_ref().map(Into::into),
        p_value: c.p_value,
        adjusted_p_value: c.adjusted_p_value,
        cliffs_delta: c.delta,
        runs_needed: c.runs_needed,
        verdict: match c.verdict() {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::NoDifferenceProven => "no difference proven",
        },
    }
}

fn outcome(o: &Outcome) -> OutcomeReport {
    OutcomeReport {
        kernel: if o.arm == 0 { "a" } else { "b" },
        run: o.run + 1,
        seed: o.seed,
        elapsed_ns: o.elapsed.0,
        metrics: o.metrics.iter().map(|m| Latency::of(&m.ns)).collect(),
        wakeup_delay: Latency::of(&o.wakeup_delay),
        events: o.events,
        event_hash: format!("{:016x}", o.event_hash),
    }
}

/// Share of each reason among the placements of A and of B, by name.
pub fn reason_shares(outcomes: &[Outcome]) -> impl Iterator<Item = (&'static str, [f64; 2])> {
    let mut counts: BTreeMap<&'static str, [u64; 2]> = BTreeMap::new();
    let mut totals = [0_u64; 2];
    for outcome in outcomes {
        for (reason, count) in &outcome.reasons {
            counts.entry(reason).or_default()[outcome.arm] += count;
            totals[outcome.arm] += count;
        }
    }
    let share = move |arm: usize, n: u64| n as f64 / totals[arm].max(1) as f64;
    counts
        .into_iter()
        .map(move |(reason, [a, b])| (reason, [share(0, a), share(1, b)]))
}
