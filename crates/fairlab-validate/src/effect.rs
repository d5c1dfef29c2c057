//! The effect of a change over paired runs: same seed, so the same arrivals and the same start.

use fairlab_stats::{Direction, Sample, signed_rank};

/// A value nearer to zero than this counts as this much when gains are computed, so that a share that
/// falls to nothing is a large gain and not an endless one.
const LEAST: f64 = 1e-6;

/// What a change does to a metric, over pairs of runs that have the same seed.
///
/// Every pair gives one gain, the logarithm of the ratio of its values, and the gains are judged by
/// Wilcoxon's signed rank test: what the runs of a pair have in common (arrivals, placement at the start)
/// cancels. Fewer than six pairs prove nothing at 95 percent, and have no interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Pairs of runs.
    pub pairs: usize,
    /// Medians of the metric without and with the change.
    pub medians: [f64; 2],
    /// As a part of the baseline, positive when better: the centre of the gains (Hodges and Lehmann).
    pub estimate: f64,
    /// The ends of its interval. None with too few pairs for the level.
    pub interval: Option<[f64; 2]>,
    /// Two-sided, of the signed rank test.
    pub p_value: f64,
    /// The level of the interval, 0.95 for 95 percent.
    pub confidence: f64,
}

/// The direction that an effect is proven to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Better,
    Worse,
    None,
}

impl Effect {
    /// Of run `i` of `b` with the change against run `i` of `a` without. None without runs.
    #[must_use]
    pub fn of_pairs(a: &[f64], b: &[f64], direction: Direction, confidence: f64) -> Option<Self> {
        let good = |values: &[f64]| -> Vec<f64> {
            let good = |value: &f64| goodness(direction, *value);
            values.iter().map(good).collect()
        };
        let medians = [median(a)?, median(b)?];
        Self::new(medians, &good(a), &good(b), direction, confidence)
    }

    /// The same, from how good the runs were.
    pub(crate) fn of_goodness(
        a: &[f64],
        b: &[f64],
        direction: Direction,
        confidence: f64,
    ) -> Option<Self> {
        let value = |goodness: f64| match direction {
            Direction::HigherIsBetter => goodness.exp(),
            Direction::LowerIsBetter => (-goodness).exp(),
        };
        let medians = [value(median(a)?), value(median(b)?)];
        Self::new(medians, a, b, direction, confidence)
    }

    /// Judges the gains from `a` to `b`, which are goodnesses.
    fn new(
        medians: [f64; 2],
        a: &[f64],
        b: &[f64],
        direction: Direction,
        confidence: f64,
    ) -> Option<Self> {
        let gains: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
        let pairs = gains.len();
        let test = signed_rank(&Sample::new(gains).ok()?, confidence);
        let part = |gain| part_of_gain(direction, gain);
        let bounds = [test.center.low, test.center.high];
        let has_bounds = bounds.iter().all(|bound| bound.is_finite());
        Some(Self {
            pairs,
            medians,
            estimate: part(test.center.estimate),
            interval: has_bounds.then_some(bounds.map(part)),
            p_value: test.p_value,
            confidence,
        })
    }

    /// Estimate and ends of the interval, which are without bounds where there is none.
    pub(crate) fn numbers(&self) -> [f64; 3] {
        let [low, high] = self.interval.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
        [self.estimate, low, high]
    }

    /// Which direction is proven: the test is below its level, and the interval on one side of zero.
    pub(crate) fn sign(&self) -> Sign {
        match self.interval {
            Some([low, _]) if self.is_rare() && low > 0.0 => Sign::Better,
            Some([_, high]) if self.is_rare() && high < 0.0 => Sign::Worse,
            _ => Sign::None,
        }
    }

    fn is_rare(&self) -> bool {
        self.p_value <= 1.0 - self.confidence
    }
}

fn median(values: &[f64]) -> Option<f64> {
    Some(Sample::new(values).ok()?.median())
}

/// How good `value` is, on a scale of which differences are gains.
pub(crate) fn goodness(direction: Direction, value: f64) -> f64 {
    let size = value.max(LEAST).ln();
    match direction {
        Direction::HigherIsBetter => size,
        Direction::LowerIsBetter => -size,
    }
}

/// A gain as a part of the baseline, positive when better.
pub(crate) fn part_of_gain(direction: Direction, gain: f64) -> f64 {
    match direction {
        Direction::HigherIsBetter => gain.exp() - 1.0,
        Direction::LowerIsBetter => 1.0 - (-gain).exp(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs that differ a lot from seed to seed, and by a tenth within each pair.
    const A: [f64; 6] = [10.0, 40.0, 20.0, 70.0, 15.0, 30.0];

    #[test]
    fn what_pairs_have_in_common_cancels() {
        let b = A.map(|a| a * 1.1);
        let effect = Effect::of_pairs(&A, &b, Direction::HigherIsBetter, 0.95).unwrap();
        assert!((effect.estimate - 0.1).abs() < 1e-9);
        let [low, high] = effect.interval.unwrap();
        assert!((low - 0.1).abs() < 1e-9 && (high - 0.1).abs() < 1e-9);
        // All six signs alike: two of 2^6 ways.
        assert!((effect.p_value - 2.0 / 64.0).abs() < 1e-12);
        assert_eq!(effect.sign(), Sign::Better);
        let effect = Effect::of_pairs(&A, &b, Direction::LowerIsBetter, 0.95).unwrap();
        assert!((effect.estimate + 0.1).abs() < 1e-9);
        assert_eq!(effect.sign(), Sign::Worse);
    }

    #[test]
    fn five_pairs_prove_nothing() {
        let b = A.map(|a| a * 2.0);
        let effect = Effect::of_pairs(&A[..5], &b[..5], Direction::HigherIsBetter, 0.95).unwrap();
        assert_eq!((effect.interval, effect.sign()), (None, Sign::None));
        assert!(Effect::of_pairs(&[], &[], Direction::HigherIsBetter, 0.95).is_none());
    }

    #[test]
    fn equal_runs_prove_nothing() {
        let effect = Effect::of_pairs(&A, &A, Direction::HigherIsBetter, 0.95).unwrap();
        assert_eq!((effect.estimate, effect.sign()), (0.0, Sign::None));
    }
}
