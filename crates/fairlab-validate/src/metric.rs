//! What is read from a run.

use std::str::FromStr;

use fairlab_experiment::Outcome;
use fairlab_sim::Counts;
use fairlab_workload::Workload;

/// A figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    kind: Kind,
    /// A metric of the workload by its name; its first one when not given.
    of: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Seconds until all is done.
    Time,
    /// Samples per second.
    Rate,
    /// A quantile, in hundredths of a percent.
    Quantile(u64),
    /// Mean of the samples.
    Mean,
    /// The smallest sample.
    Min,
    /// The largest sample.
    Max,
    /// Context switches.
    Switches,
    /// Switches of tasks that would have gone on, per wakeup.
    Preemptions,
    /// Moves to another CPU.
    Migrations,
    /// CPUs that searches looked at.
    Probes,
    /// Part of the busy time that went into the scheduler.
    Scheduler,
}

/// What can be asked for, for messages.
const FORMS: &str = "time, rate, mean, min, max or p50, p99.9 ... (each with the name of a metric of the \
                     workload behind it, if not its first), or switches, preemptions, migrations, probes, \
                     scheduler";

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("'{text}' is not a metric; wanted is {FORMS}");
        let mut words = text.split_whitespace();
        let first = words.next().ok_or_else(wanted)?;
        let of = words.next().map(str::to_owned);
        if words.next().is_some() {
            return Err(wanted());
        }
        let (kind, takes_name) = match first {
            "time" => (Kind::Time, false),
            "rate" => (Kind::Rate, true),
            "mean" => (Kind::Mean, true),
            "min" => (Kind::Min, true),
            "max" => (Kind::Max, true),
            "switches" => (Kind::Switches, false),
            "preemptions" => (Kind::Preemptions, false),
            "migrations" => (Kind::Migrations, false),
            "probes" => (Kind::Probes, false),
            "scheduler" => (Kind::Scheduler, false),
            other => {
                let percent = other.strip_prefix('p').and_then(|n| n.parse::<f64>().ok());
                let percent = percent
                    .filter(|p| (0.0..=100.0).contains(p))
                    .ok_or_else(wanted)?;
                (Kind::Quantile((percent * 100.0).round() as u64), true)
            }
        };
        if of.is_some() && !takes_name {
            return Err(wanted());
        }
        Ok(Self { kind, of })
    }
}

impl Metric {
    /// Its value in a run of `workload`: seconds, nanoseconds, numbers per second or plain numbers. None
    /// when the run has none: no sample was taken, or there is no metric of that name.
    #[must_use]
    pub fn value(&self, workload: &Workload, outcome: &Outcome) -> Option<f64> {
        // What is counted in the warm-up is no part of it.
        let (counts, warmup) = (&outcome.counts, &outcome.warmup_counts);
        let measured = |count: fn(&Counts) -> u64| (count(counts) - count(warmup)) as f64;
        let position = match &self.of {
            None => Some(0),
            Some(name) => workload.metrics.iter().position(|m| m.name == *name),
        };
        let samples = || outcome.metrics.get(position?).map(|m| &m.ns);
        let per_wakeup = |count| measured(count) / measured(|c| c.wakeups).max(1.0);
        match self.kind {
            Kind::Time => Some(outcome.elapsed.0 as f64 / 1e9),
            Kind::Rate => {
                let span = outcome.elapsed.0.saturating_sub(workload.warmup.0);
                Some(samples()?.count() as f64 / (span as f64 / 1e9))
            }
            Kind::Quantile(hundredths) => samples()?.quantile(hundredths, 10_000).map(|n| n as f64),
            Kind::Mean => samples()?.mean(),
            Kind::Min => samples()?.min().map(|n| n as f64),
            Kind::Max => samples()?.max().map(|n| n as f64),
            Kind::Switches => Some(measured(|c| c.switches)),
            Kind::Preemptions => Some(per_wakeup(|c| c.preemptions)),
            Kind::Migrations => Some(per_wakeup(|c| c.migrations.iter().sum())),
            Kind::Probes => Some(measured(|c| c.probes)),
            Kind::Scheduler => Some(outcome.scheduler_share),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_read_and_misspelt_ones_refused() {
        let quantile = |text: &str| text.parse::<Metric>().unwrap().kind;
        assert_eq!(quantile("p99.9"), Kind::Quantile(9_990));
        assert_eq!(quantile("p50 wakeup_latency"), Kind::Quantile(5_000));
        for text in ["", "p101", "px", "time x", "rate a b", "throughput"] {
            assert!(
                text.parse::<Metric>()
                    .unwrap_err()
                    .contains("wanted is time"),
                "{text}"
            );
        }
    }
}
