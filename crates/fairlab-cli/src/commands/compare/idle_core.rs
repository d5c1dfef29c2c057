//! The cost of finding an idle core, per call: the table of the seed of this tool.

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
    /// By how much B is cheaper than A, as a part of A, with its interval over runs. `None` with
    /// fewer than two runs that had calls.
    pub improvement: Option<Interval>,
}

impl IdleCore {
    /// The figures over all runs.
    pub fn of(outcomes: &[Outcome], confidence: f64, seed: u64) -> Self {
        let figure = |pick: fn(&SectionSamples) -> &Vec<u64>| {
            let calls = |arm: usize| -> Vec<&Vec<u64>> {
                let runs = outcomes.iter().filter(|o| o.arm == arm);
                runs.map(|o| pick(&o.idle_core))
                    .filter(|calls| !calls.is_empty())
                    .collect()
            };
            let (a, b) = (calls(0), calls(1));
            let pooled = |runs: &[&Vec<u64>]| {
                Sample::from_integers(runs.iter().flat_map(|r| r.iter().copied())).ok()
            };
            Some(Figure {
                improvement: improvement(&a, &b, confidence, seed),
                a: pooled(&a)?,
                b: pooled(&b)?,
            })
        };
        Self {
            ticks: figure(|s| &s.ticks),
            probes: figure(|s| &s.probes),
            mask_work: figure(|s| &s.mask_work),
        }
    }
}

/// The interval comes from the means of the runs: calls of one run are not independent.
fn improvement(a: &[&Vec<u64>], b: &[&Vec<u64>], confidence: f64, seed: u64) -> Option<Interval> {
    let means = |runs: &[&Vec<u64>]| {
        let mean =
            |calls: &&Vec<u64>| calls.iter().map(|c| *c as f64).sum::<f64>() / calls.len() as f64;
        Sample::new(runs.iter().map(mean).collect::<Vec<f64>>()).ok()
    };
    let (a, b) = (means(a)?, means(b)?);
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let bootstrap = Bootstrap {
        resamples: 5000,
        confidence,
        seed,
    };
    let ratio = bootstrap.ratio(&a, &b, Center::Mean)?;
    Some(ratio.map(|x| 1.0 - x))
}
