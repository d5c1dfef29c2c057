//! The cost of finding an idle core, per call: the table of the seed of this tool.

use fairlab::stats::table::{Rounding, percent};
use fairlab::stats::{Bootstrap, Center, Interval, Sample};
use fairlab_experiment::{Outcome, SectionSamples};

/// Per-call figures of both sides.
pub struct IdleCore {
    /// Ticks of this host, measured while the simulated load ran.
    pub ticks: Option<Figure>,
    /// CPUs whose idle state was read.
    pub probes: Option<Figure>,
    /// Mask operations and bits cleared.
    pub mask_work: Option<Figure>,
}

/// One figure, per call.
pub struct Figure {
    /// Calls under kernel A.
    pub a: Sample,
    /// Calls under kernel B.
    pub b: Sample,
    /// By how much B is cheaper than A in the mean, as a part of A, with its interval over runs.
    /// `None` with fewer than two runs that had calls.
    pub improvement: Option<Interval>,
}

impl Figure {
    /// The improvement in a line, `None` where there is none.
    pub fn improvement_text(&self, confidence: f64) -> Option<String> {
        let interval = self.improvement.as_ref()?;
        let percent = |x| percent(x, Rounding::Nearest);
        Some(format!(
            "improvement of the mean over runs: {} % [{} %, {} %] at {confidence}% confidence \
             (bootstrap)",
            percent(interval.estimate),
            percent(interval.low),
            percent(interval.high),
        ))
    }
}

impl IdleCore {
    /// The figures over all runs.
    pub fn of(outcomes: &[Outcome], confidence: f64, seed: u64) -> Self {
        let figure = |pick: fn(&SectionSamples) -> &Vec<u64>| {
            let runs: Vec<[&Vec<u64>; 2]> = outcomes
                .iter()
                .map(|o| o.idle_core.each_ref().map(pick))
                .filter(|[a, b]| !a.is_empty() && !b.is_empty())
                .collect();
            let pooled = |arm: usize| {
                let calls = runs.iter().flat_map(|run| run[arm].iter().copied());
                Sample::from_integers(calls).ok()
            };
            Some(Figure {
                a: pooled(0)?,
                b: pooled(1)?,
                improvement: improvement(&runs, confidence, seed),
            })
        };
        Self {
            ticks: figure(|s| &s.ticks),
            probes: figure(|s| &s.probes),
            mask_work: figure(|s| &s.mask_work),
        }
    }
}

/// The mean of the runs' improvements. Both kernels were asked in the same states of each run, so a
/// run is a pair; the interval comes from runs, since calls of one run are not independent.
fn improvement(runs: &[[&Vec<u64>; 2]], confidence: f64, seed: u64) -> Option<Interval> {
    let mean = |calls: &Vec<u64>| calls.iter().map(|c| *c as f64).sum::<f64>() / calls.len() as f64;
    let gains: Vec<f64> = runs
        .iter()
        .map(|[a, b]| 1.0 - mean(b) / mean(a))
        .filter(|gain| gain.is_finite())
        .collect();
    let gains = Sample::new(gains).ok().filter(|gains| gains.len() > 1)?;
    let bootstrap = Bootstrap {
        resamples: 5000,
        confidence,
        seed,
    };
    Some(bootstrap.center(&gains, Center::Mean))
}
