//! What one run of a plan said.

use fairlab_sim::{Counts, GroupTime, LoopRow, RunResult};
use fairlab_stats::LatencyHistogram;
use fairlab_units::{Nanos, Timestamp};
use fairlab_workload::{ProgramId, Workload};

use crate::sections::SectionSamples;

/// A metric of the workload in one run.
#[derive(Clone, Debug)]
pub struct MetricOutcome {
    /// Its values in microseconds, as the modelled tools print them; rounded down.
    pub usec: LatencyHistogram,
    /// Its values in nanoseconds.
    pub ns: LatencyHistogram,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which kernel of the plan.
    pub arm: usize,
    /// Which run, from 0.
    pub run: u32,
    /// Its seed.
    pub seed: u64,
    /// Since when figures count: the start, or the point from which the run went on.
    pub began: Timestamp,
    /// Simulated time since then.
    pub elapsed: Nanos,
    /// Per metric of the workload.
    pub metrics: Vec<MetricOutcome>,
    /// From each wakeup to the wakee's first instruction, in ns.
    pub wakeup_delay: LatencyHistogram,
    /// Counts.
    pub counts: Counts,
    /// What of them was counted in the warm-up.
    pub warmup_counts: Counts,
    /// Per task group of the workload.
    pub groups: Vec<GroupTime>,
    /// Placements by reason.
    pub reasons: Vec<(&'static str, u64)>,
    /// Part of the CPU time that was busy.
    pub utilization: f64,
    /// Part of the busy time that went into the scheduler.
    pub scheduler_share: f64,
    /// The calls of the search for an idle core, under each kernel of the plan: the one that
    /// scheduled, and the other where it was asked beside, in the same states.
    pub idle_core: [SectionSamples; 2],
    /// The passes of loops, where the workload logs them.
    pub loops: Vec<LoopRow>,
    /// The program of each task, by number.
    pub programs: Vec<ProgramId>,
    /// Hash of all events.
    pub event_hash: u64,
    /// Number of events.
    pub events: u64,
}

impl Outcome {
    /// When the run ended, since its start.
    #[must_use]
    pub fn end(&self) -> Nanos {
        Nanos(self.began.0) + self.elapsed
    }

    pub(crate) fn of(
        (arm, run, seed): (usize, u32, u64),
        workload: &Workload,
        result: RunResult,
        [main, beside]: [SectionSamples; 2],
    ) -> Self {
        let histogram = |values: &[u64], divisor: u64| {
            let mut histogram = LatencyHistogram::new();
            for value in values {
                histogram.record(value / divisor);
            }
            histogram
        };
        let metrics = workload.metrics.iter().zip(&result.samples);
        let metrics = metrics
            .map(|(_, samples)| MetricOutcome {
                usec: histogram(samples, 1_000),
                ns: histogram(samples, 1),
            })
            .collect();
        let busy: u64 = result.cpu_time.iter().map(|(_, t)| t.busy.0).sum();
        let idle: u64 = result.cpu_time.iter().map(|(_, t)| t.idle.0).sum();
        let part = |a: u64, b: u64| if b == 0 { 0.0 } else { a as f64 / b as f64 };
        Self {
            arm,
            run,
            seed,
            began: result.began,
            elapsed: result.end - result.began,
            metrics,
            wakeup_delay: histogram(&result.wakeup_delay, 1),
            utilization: part(busy, busy + idle),
            scheduler_share: part(result.counts.scheduler.0, busy),
            counts: result.counts,
            warmup_counts: result.warmup_counts,
            groups: result.groups,
            reasons: result.reasons,
            idle_core: if arm == 0 {
                [main, beside]
            } else {
                [beside, main]
            },
            loops: result.loops,
            programs: result.programs,
            event_hash: result.event_hash,
            events: result.events,
        }
    }
}
