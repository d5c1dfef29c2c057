//! Confidence intervals by resampling.

use fairlab_rng::Rng;

use crate::distribution::{normal_cdf, normal_quantile};
use crate::sample::{mean, median_of_sorted, quantile_of_sorted};
use crate::{Interval, Sample};

/// What stands for a whole sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Center {
    /// The middle value: what a typical run does. Outliers do not move it.
    #[default]
    Median,
    /// The arithmetic mean: what all runs cost together.
    Mean,
}

impl Center {
    /// The centre of `sample`.
    #[must_use]
    pub fn of_sample(self, sample: &Sample) -> f64 {
        match self {
            Self::Median => sample.median(),
            Self::Mean => sample.mean(),
        }
    }

    /// The centre of `values`, which must not be empty and may be reordered.
    pub(crate) fn of_values(self, values: &mut [f64]) -> f64 {
        match self {
            Self::Mean => mean(values),
            Self::Median => {
                let upper = values.len() / 2;
                let (below, middle, _) = values.select_nth_unstable_by(upper, f64::total_cmp);
                let middle = *middle;
                match below.iter().copied().max_by(f64::total_cmp) {
                    Some(lower) if values.len().is_multiple_of(2) => {
                        median_of_sorted(&[lower, middle])
                    }
                    _ => middle,
                }
            }
        }
    }

    /// The word for it in a table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::Mean => "mean",
        }
    }
}

/// How intervals are made: by drawing samples of the same size from the sample itself.
///
/// Intervals for medians, differences and ratios are percentile intervals. Intervals for a mean are
/// BCa (bias-corrected and accelerated), which keep their level better for skewed samples; the
/// correction is not defined for medians, whose jackknife has two values only. With fewer than ten
/// values all of them are too narrow, which is why [`crate::Comparison`] asks a test as well.
///
/// The time is that of `resamples` times as many draws as there are values.
///
/// # Source
/// Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapters 13 and 14.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// Samples drawn, at least 1.
    pub resamples: u32,
    /// The level, 0.95 for 95 percent.
    pub confidence: f64,
    /// Where the draws come from.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self {
            resamples: 5000,
            confidence: 0.95,
            seed: 1,
        }
    }
}

impl Bootstrap {
    /// The interval of the centre of `sample`.
    #[must_use]
    pub fn center(&self, sample: &Sample, center: Center) -> Interval {
        let mut rng = Rng::stream(self.seed, "bootstrap");
        let mut scratch = Vec::with_capacity(sample.len());
        let draws = sorted((0..self.resamples.max(1)).map(|_| {
            resample(&mut rng, sample.sorted(), &mut scratch);
            center.of_values(&mut scratch)
        }));
        let estimate = center.of_sample(sample);
        match center {
            Center::Median => self.percentile(estimate, &draws),
            Center::Mean => self.corrected(estimate, &draws, sample),
        }
    }

    /// The interval of the centre of `b` minus that of `a`.
    #[must_use]
    pub fn difference(&self, a: &Sample, b: &Sample, center: Center) -> Interval {
        self.difference_and_ratio(a, b, center).0
    }

    /// The interval of the centre of `b` as a multiple of that of `a`.
    ///
    /// `None` unless all values of `a` have the same sign: a ratio to something around 0 means
    /// nothing.
    #[must_use]
    pub fn ratio(&self, a: &Sample, b: &Sample, center: Center) -> Option<Interval> {
        self.difference_and_ratio(a, b, center).1
    }

    /// Both from the same draws, so that they cannot contradict each other.
    pub(crate) fn difference_and_ratio(
        &self,
        a: &Sample,
        b: &Sample,
        center: Center,
    ) -> (Interval, Option<Interval>) {
        // A stream each, so that the draws of A do not depend on the size of B.
        let mut rng_a = Rng::stream(self.seed, "bootstrap a");
        let mut rng_b = Rng::stream(self.seed, "bootstrap b");
        let mut scratch = Vec::with_capacity(a.len().max(b.len()));
        let mut draw = |rng: &mut Rng, sample: &Sample| {
            resample(rng, sample.sorted(), &mut scratch);
            center.of_values(&mut scratch)
        };
        let pairs: Vec<(f64, f64)> = (0..self.resamples.max(1))
            .map(|_| (draw(&mut rng_a, a), draw(&mut rng_b, b)))
            .collect();
        let of_pairs = |f: fn(f64, f64) -> f64| {
            let draws = sorted(pairs.iter().map(|(a, b)| f(*a, *b)));
            self.percentile(f(center.of_sample(a), center.of_sample(b)), &draws)
        };
        let has_one_sign = a.min() > 0.0 || a.max() < 0.0;
        (
            of_pairs(|a, b| b - a),
            has_one_sign.then(|| of_pairs(|a, b| b / a)),
        )
    }

    fn percentile(&self, estimate: f64, draws: &[f64]) -> Interval {
        let tail = (1.0 - self.confidence) / 2.0;
        Interval {
            estimate,
            low: quantile_of_sorted(draws, tail),
            high: quantile_of_sorted(draws, 1.0 - tail),
            confidence: self.confidence,
        }
    }

    /// BCa: the percentiles are moved by the bias of the draws and the skew of the sample.
    fn corrected(&self, estimate: f64, draws: &[f64], sample: &Sample) -> Interval {
        let below = draws.iter().filter(|draw| **draw < estimate).count() as f64;
        let equal = draws.iter().filter(|draw| **draw == estimate).count() as f64;
        let bias = normal_quantile((below + equal / 2.0) / draws.len() as f64);
        if !bias.is_finite() {
            // All draws lie on one side, as with a sample of equal values.
            return self.percentile(estimate, draws);
        }
        let acceleration = acceleration_of_mean(sample);
        let end = |z: f64| {
            let moved = bias + (bias + z) / (1.0 - acceleration * (bias + z));
            quantile_of_sorted(draws, normal_cdf(moved))
        };
        let z = normal_quantile((1.0 + self.confidence) / 2.0);
        Interval {
            estimate,
            low: end(-z),
            high: end(z),
            confidence: self.confidence,
        }
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Fills `scratch` with as many values of `sorted` as there are, drawn with replacement.
fn resample(rng: &mut Rng, sorted: &[f64], scratch: &mut Vec<f64>) {
    scratch.clear();
    scratch.extend((0..sorted.len()).filter_map(|_| rng.pick(sorted)));
}

/// A sixth of the skewness of the jackknife values, which for a mean are the values themselves.
fn acceleration_of_mean(sample: &Sample) -> f64 {
    let mean = sample.mean();
    let (mut squares, mut cubes) = (0.0, 0.0);
    for value in sample.sorted() {
        let distance = value - mean;
        squares += distance * distance;
        cubes += distance * distance * distance;
    }
    if squares > 0.0 {
        cubes / (6.0 * squares.powf(1.5))
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(rng: &mut Rng, n: u64) -> Sample {
        Sample::from_integers((0..n).map(|_| 1000 + rng.exponential(500))).unwrap()
    }

    #[test]
    fn centers_of_values_are_those_of_the_sample() {
        for n in 1..12_u32 {
            let values: Vec<f64> = (0..n).map(|i| f64::from(i * 7 % 11)).collect();
            let sample = Sample::new(values.clone()).unwrap();
            for center in [Center::Median, Center::Mean] {
                assert_eq!(
                    center.of_values(&mut values.clone()),
                    center.of_sample(&sample)
                );
            }
        }
    }

    #[test]
    fn equal_values_leave_no_doubt() {
        let same = Sample::new([4.0; 9]).unwrap();
        let bootstrap = Bootstrap::default();
        for center in [Center::Median, Center::Mean] {
            let interval = bootstrap.center(&same, center);
            assert_eq!((interval.low, interval.high), (4.0, 4.0));
        }
        let ratio = bootstrap.ratio(&same, &same, Center::Median).unwrap();
        assert_eq!((ratio.low, ratio.high), (1.0, 1.0));
    }

    #[test]
    fn a_ratio_to_something_around_zero_is_refused() {
        let around = Sample::new([-1.0, 1.0]).unwrap();
        let ones = Sample::new([1.0, 1.0]).unwrap();
        assert_eq!(
            Bootstrap::default().ratio(&around, &ones, Center::Mean),
            None
        );
        assert!(
            Bootstrap::default()
                .ratio(&ones, &around, Center::Mean)
                .is_some()
        );
    }

    #[test]
    fn intervals_hold_the_truth_about_as_often_as_they_say() {
        let bootstrap = |seed| Bootstrap {
            resamples: 400,
            seed,
            ..Bootstrap::default()
        };
        // 1000 + an exponential of mean 500: median 1000 + 500 ln 2, mean 1500.
        for (center, truth) in [(Center::Median, 1346.57), (Center::Mean, 1500.0)] {
            let mut rng = Rng::stream(23, center.name());
            let held = (0..500)
                .filter(|seed| {
                    bootstrap(*seed)
                        .center(&draw(&mut rng, 40), center)
                        .contains(truth)
                })
                .count();
            // 95 percent of 500 is 475; bootstrap intervals of 40 skewed values are known to hold
            // a little less.
            assert!((450..=490).contains(&held), "{center:?}: {held} of 500");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let mut rng = Rng::new(1);
        let (a, b) = (draw(&mut rng, 15), draw(&mut rng, 20));
        let bootstrap = Bootstrap::default();
        let interval = bootstrap.difference(&a, &b, Center::Median);
        assert_eq!(interval, bootstrap.difference(&a, &b, Center::Median));
        let other = Bootstrap {
            seed: 2,
            ..bootstrap
        };
        assert_ne!(interval, other.difference(&a, &b, Center::Median));
    }

    #[test]
    fn intervals_hold_their_own_estimate() {
        let mut rng = Rng::new(29);
        for n in 2..40 {
            let (a, b) = (draw(&mut rng, n), draw(&mut rng, n + 3));
            let bootstrap = Bootstrap {
                resamples: 500,
                ..Bootstrap::default()
            };
            for center in [Center::Median, Center::Mean] {
                for interval in [
                    bootstrap.center(&a, center),
                    bootstrap.difference(&a, &b, center),
                    bootstrap.ratio(&a, &b, center).unwrap(),
                ] {
                    assert!(interval.contains(interval.estimate), "{n} {interval:?}");
                }
            }
        }
    }
}
