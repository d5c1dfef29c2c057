//! Measured numbers, checked once.

use core::fmt;

use crate::Summary;

/// At least one finite number, in the order of measurement.
///
/// What is computed from a sample does not depend on that order, except where it says so.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    values: Vec<f64>,
    sorted: Vec<f64>,
}

/// Why numbers do not make a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SampleError {
    /// There are no numbers.
    Empty,
    /// The number at this index, counted from 0, is infinite or not a number.
    NotFinite(usize),
}

impl fmt::Display for SampleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("no values: at least one is needed"),
            Self::NotFinite(index) => {
                write!(
                    f,
                    "value {} is not a finite number",
                    index.saturating_add(1)
                )
            }
        }
    }
}

impl core::error::Error for SampleError {}

impl Sample {
    /// A sample of `values`.
    pub fn new(values: impl Into<Vec<f64>>) -> Result<Self, SampleError> {
        let values = values.into();
        if values.is_empty() {
            return Err(SampleError::Empty);
        }
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            return Err(SampleError::NotFinite(index));
        }
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        Ok(Self { values, sorted })
    }

    /// A sample of whole numbers (ticks, nanoseconds). Above 2^53 they are rounded.
    pub fn from_integers(values: impl IntoIterator<Item = u64>) -> Result<Self, SampleError> {
        let values: Vec<f64> = values.into_iter().map(|value| value as f64).collect();
        Self::new(values)
    }

    /// The values in the order of measurement.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The values in ascending order.
    #[must_use]
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// Number of values; never 0.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a sample is never empty")]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The smallest value.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.sorted[0]
    }

    /// The largest value.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.sorted[self.sorted.len() - 1]
    }

    /// The arithmetic mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        mean(&self.sorted)
    }

    /// The harmonic mean, which fits rates: what all the work done took. `None` unless all values are
    /// above 0.
    #[must_use]
    pub fn harmonic_mean(&self) -> Option<f64> {
        let is_positive = self.min() > 0.0;
        is_positive.then(|| self.len() as f64 / sum(self.sorted.iter().map(|value| 1.0 / value)))
    }

    /// The geometric mean, which fits ratios. `None` unless all values are above 0.
    #[must_use]
    pub fn geometric_mean(&self) -> Option<f64> {
        let is_positive = self.min() > 0.0;
        let logarithms = || self.sorted.iter().map(|value| value.ln());
        is_positive.then(|| (sum(logarithms()) / self.len() as f64).exp())
    }

    /// The middle value, or the mean of the two middle values.
    #[must_use]
    pub fn median(&self) -> f64 {
        median_of_sorted(&self.sorted)
    }

    /// Sample variance, with `n - 1` in the denominator; 0 for a single value.
    #[must_use]
    pub fn variance(&self) -> f64 {
        if self.len() < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let squares = sum(self.sorted.iter().map(|value| (value - mean).powi(2)));
        squares / (self.len() - 1) as f64
    }

    /// Sample standard deviation, with `n - 1` in the denominator; 0 for a single value.
    #[must_use]
    pub fn stddev(&self) -> f64 {
        self.variance().sqrt()
    }

    /// The quantile at `p` in 0..=1 (clamped), interpolated between neighbours.
    ///
    /// # Source
    /// Definition 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American
    /// Statistician 50(4), 1996; the default of R and NumPy.
    #[must_use]
    pub fn quantile(&self, p: f64) -> f64 {
        quantile_of_sorted(&self.sorted, p)
    }

    /// The smallest value that at least a part `p` in 0..=1 (clamped) of the values does not exceed
    /// (nearest rank): always one of the values. What schbench and fio call a percentile.
    #[must_use]
    pub fn nearest_rank(&self, p: f64) -> f64 {
        let n = self.len();
        let rank = p.clamp(0.0, 1.0) * n as f64;
        // 0.07 * 100 is a little more than 7 in binary; that is not the eighth value.
        let rank = (rank - rank * 1e-12).ceil() as usize;
        self.sorted[rank.clamp(1, n) - 1]
    }

    /// Number, extremes, centres and spread.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary {
            n: self.len() as u64,
            min: self.min(),
            max: self.max(),
            median: self.median(),
            mean: self.mean(),
            stddev: self.stddev(),
        }
    }
}

/// The mean of `values`, which must not be empty.
pub(crate) fn mean(values: &[f64]) -> f64 {
    sum(values.iter().copied()) / values.len() as f64
}

/// The median of `sorted`, which must not be empty.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let upper = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[upper]
    } else {
        // By halves, so that huge values do not overflow.
        sorted[upper - 1] / 2.0 + sorted[upper] / 2.0
    }
}

/// The interpolated quantile of `sorted`, which must not be empty.
pub(crate) fn quantile_of_sorted(sorted: &[f64], p: f64) -> f64 {
    let position = p.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = sorted[position.floor() as usize];
    let above = sorted[position.ceil() as usize];
    below + (above - below) * position.fract()
}

/// The sum of `values`, with the rounding errors of the additions added back (Neumaier).
pub(crate) fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0);
    for value in values {
        let next = sum + value;
        lost += if sum.abs() >= value.abs() {
            (sum - next) + value
        } else {
            (value - next) + sum
        };
        sum = next;
    }
    sum + lost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_means_of_one_two_and_four() {
        let sample = Sample::new([4.0, 1.0, 2.0]).unwrap();
        let near = |mean: Option<f64>, value: f64| (mean.unwrap() - value).abs() < 1e-12;
        assert!(near(Some(sample.mean()), 7.0 / 3.0));
        assert!(near(sample.harmonic_mean(), 12.0 / 7.0));
        assert!(near(sample.geometric_mean(), 2.0));
        let zero = Sample::new([0.0, 1.0]).unwrap();
        assert_eq!((zero.harmonic_mean(), zero.geometric_mean()), (None, None));
    }

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values).unwrap()
    }

    #[test]
    fn bad_numbers_are_refused() {
        assert_eq!(Sample::new([]), Err(SampleError::Empty));
        let error = Sample::new([1.0, f64::NAN]).unwrap_err();
        assert_eq!(error, SampleError::NotFinite(1));
        assert_eq!(error.to_string(), "value 2 is not a finite number");
    }

    #[test]
    fn a_single_value_has_no_spread() {
        let summary = sample(&[3.0]).summary();
        assert_eq!(
            (summary.median, summary.mean, summary.stddev),
            (3.0, 3.0, 0.0)
        );
    }

    #[test]
    fn the_standard_deviation_is_that_of_a_sample() {
        // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, squares 32, 32 / 7 = 4.571428...
        let s = sample(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!(s.mean(), 5.0);
        assert!((s.variance() - 32.0 / 7.0).abs() < 1e-14);
        assert_eq!(s.median(), 4.5);
    }

    #[test]
    fn interpolated_quantiles_are_those_of_r() {
        // R: quantile(c(1, 2, 4, 8, 16), c(0, .1, .25, .5, .9, 1)) = 1 1.4 2 4 12.8 16
        let s = sample(&[16.0, 1.0, 8.0, 2.0, 4.0]);
        let quantiles = [0.0, 0.1, 0.25, 0.5, 0.9, 1.0].map(|p| s.quantile(p));
        for (ours, theirs) in quantiles.iter().zip([1.0, 1.4, 2.0, 4.0, 12.8, 16.0]) {
            assert!((ours - theirs).abs() < 1e-12, "{ours} {theirs}");
        }
    }

    #[test]
    fn nearest_ranks_are_values_of_the_sample() {
        // The textbook example: ranks 1, 2, 2, 3, 5 of five values.
        let s = sample(&[15.0, 20.0, 35.0, 40.0, 50.0]);
        let ranks = [0.05, 0.30, 0.40, 0.50, 1.0].map(|p| s.nearest_rank(p));
        assert_eq!(ranks, [15.0, 20.0, 20.0, 35.0, 50.0]);
        assert_eq!(s.nearest_rank(0.0), 15.0);
        let hundred = Sample::from_integers(1..=100).unwrap();
        for percent in 1..=100_u32 {
            let rank = hundred.nearest_rank(f64::from(percent) / 100.0);
            assert_eq!(rank, f64::from(percent));
        }
    }

    #[test]
    fn sums_keep_small_values_beside_large_ones() {
        assert_eq!(sum([1.0, 1e100, 1.0, -1e100]), 2.0);
    }
}
