//! Many latencies in little memory.

/// Bits that distinguish values within an octave: 256 steps from one power of two to the next.
const STEP_BITS: u32 = 8;

/// Counts of whole numbers (latencies in ns or us), in steps that grow with the value.
///
/// ```text
///   0, 1, 2 ... 511    one bucket per value: exact
///   512 ... 1023       buckets of 2
///   1024 ... 2047      buckets of 4          256 buckets per octave
///   ...
/// ```
///
/// A value read back is the middle of its bucket, so it is off by at most 1 part in 512
/// ([`LatencyHistogram::MAX_RELATIVE_ERROR`]); the minimum, maximum, count and sum are exact. These
/// are the buckets of fio and schbench, so their percentiles come out the same.
///
/// Merging is exact and does not depend on the order. Recording takes no floats, so that a simulator
/// can own one; memory is at most 14 592 counters, and as many as the largest value asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyHistogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl LatencyHistogram {
    /// The largest error of a quantile, as a part of it.
    pub const MAX_RELATIVE_ERROR: f64 = 1.0 / 512.0;

    /// An empty histogram.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            counts: Vec::new(),
            count: 0,
            sum: 0,
            min: 0,
            max: 0,
        }
    }

    /// Counts `value` once.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// Counts `value` `times` times.
    #[inline]
    pub fn record_many(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        let index = bucket_of(value);
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] = self.counts[index].saturating_add(times);
        self.min = if self.count == 0 {
            value
        } else {
            self.min.min(value)
        };
        self.max = self.max.max(value);
        self.count = self.count.saturating_add(times);
        self.sum = self
            .sum
            .saturating_add(u128::from(value) * u128::from(times));
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = mine.saturating_add(*theirs);
        }
        self.min = if self.count == 0 {
            other.min
        } else {
            self.min.min(other.min)
        };
        self.max = self.max.max(other.max);
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Has nothing been recorded?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The smallest value, exact.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest value, exact.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The sum of all values, exact.
    #[must_use]
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The mean, exact but for the division.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The smallest value that at least `numerator / denominator` of all values do not exceed
    /// (nearest rank): `quantile(999, 1000)` for the 99.9th percentile. A part above 1 counts as 1.
    ///
    /// `None` when nothing has been recorded, or when the denominator is 0.
    #[must_use]
    pub fn quantile(&self, numerator: u64, denominator: u64) -> Option<u64> {
        Some(self.quantile_and_rank(numerator, denominator)?.0)
    }

    /// The quantile, and how many values lie in its bucket or below.
    pub(crate) fn quantile_and_rank(&self, numerator: u64, denominator: u64) -> Option<(u64, u64)> {
        if self.count == 0 || denominator == 0 {
            return None;
        }
        let wanted = (u128::from(self.count) * u128::from(numerator))
            .div_ceil(u128::from(denominator))
            .clamp(1, u128::from(self.count));
        let mut seen = 0_u64;
        for (index, count) in self.counts.iter().enumerate() {
            seen = seen.saturating_add(*count);
            if u128::from(seen) >= wanted {
                return Some((middle_of(index).clamp(self.min, self.max), seen));
            }
        }
        Some((self.max, self.count))
    }

    /// The buckets that hold something, ascending: middle and count. For plots and files.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let occupied = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        occupied.map(|(index, count)| (middle_of(index).clamp(self.min, self.max), *count))
    }
}

/// The index of the bucket that `value` falls into.
fn bucket_of(value: u64) -> usize {
    // How many low bits are not kept.
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(STEP_BITS + 1);
    // After the shift the value is below 512; each shift adds the 256 buckets of an octave. At most
    // 55 * 256 + 511, so it fits into any usize.
    ((u64::from(shift) << STEP_BITS) + (value >> shift)) as usize
}

/// The middle of the bucket at `index`; the value itself where buckets hold one value only.
fn middle_of(index: usize) -> u64 {
    let index = index as u64;
    let octaves = index >> STEP_BITS;
    if octaves < 2 {
        return index;
    }
    let shift = octaves - 1;
    let steps = index - (shift << STEP_BITS);
    (steps << shift) + (1 << (shift - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_rng::Rng;

    #[test]
    fn buckets_follow_one_another_without_gaps() {
        assert_eq!(bucket_of(0), 0);
        let around_powers = (9..64).flat_map(|bit| (1 << bit) - 2..=(1 << bit) + 2);
        for value in (0..5000).chain(around_powers) {
            let step = bucket_of(value + 1) - bucket_of(value);
            assert!(step <= 1, "{value}");
        }
        assert_eq!(bucket_of(u64::MAX), 14_591);
    }

    #[test]
    fn values_are_read_back_within_the_stated_error() {
        let mut rng = Rng::new(3);
        for _ in 0..10_000 {
            let value = rng.next_u64() >> rng.below(64);
            let read = middle_of(bucket_of(value));
            let error = read.abs_diff(value) as f64;
            assert!(
                error <= value as f64 * LatencyHistogram::MAX_RELATIVE_ERROR,
                "{value} {read}"
            );
        }
    }

    #[test]
    fn middles_are_those_that_schbench_prints() {
        // Percentiles of published schbench runs that lie between powers of two.
        for published in [
            36, 182, 3772, 7448, 7496, 7976, 23_264, 52_288, 95_360, 1_443_840,
        ] {
            assert_eq!(middle_of(bucket_of(published)), published);
        }
    }

    #[test]
    fn quantiles_are_nearest_ranks() {
        let mut histogram = LatencyHistogram::new();
        for value in [15, 20, 35, 40, 50] {
            histogram.record(value);
        }
        let quantile = |n, d| histogram.quantile(n, d).unwrap();
        assert_eq!(
            [
                quantile(5, 100),
                quantile(30, 100),
                quantile(40, 100),
                quantile(1, 2),
                quantile(1, 1)
            ],
            [15, 20, 20, 35, 50]
        );
        assert_eq!(quantile(0, 1), 15);
        assert_eq!(quantile(3, 1), 50);
        assert_eq!(histogram.quantile(1, 0), None);
        assert_eq!(LatencyHistogram::new().quantile(1, 2), None);
    }

    #[test]
    fn a_quantile_never_leaves_the_range_of_the_values() {
        let mut histogram = LatencyHistogram::new();
        histogram.record_many(1000, 3);
        assert_eq!(histogram.quantile(1, 2), Some(1000));
        histogram.record(u64::MAX);
        assert_eq!(
            histogram.quantile(1, 1),
            histogram.buckets().last().map(|b| b.0)
        );
        assert_eq!(histogram.max(), Some(u64::MAX));
    }

    #[test]
    fn merging_equals_recording_in_one_place() {
        let mut rng = Rng::new(5);
        let (mut whole, mut parts) = (
            LatencyHistogram::new(),
            [(); 4].map(|()| LatencyHistogram::new()),
        );
        for i in 0..4000 {
            let value = rng.exponential(50_000);
            whole.record(value);
            parts[i % 4].record(value);
        }
        let mut merged = LatencyHistogram::new();
        for part in parts.iter().rev() {
            merged.merge(part);
        }
        assert_eq!(merged, whole);
        merged.merge(&LatencyHistogram::new());
        assert_eq!(merged, whole);
        let mean = whole.mean().unwrap();
        assert!((mean - 50_000.0).abs() < 4000.0, "{mean}");
    }
}
