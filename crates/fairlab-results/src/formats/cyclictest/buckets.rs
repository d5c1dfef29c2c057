//! A histogram with buckets of one microsecond, as far as it was kept.

use fairlab_stats::Direction::LowerIsBetter;

use crate::document::Measure;
use crate::model::{Data, Figures};

/// What is asked of a distribution, and the parts of ten thousand that lie below.
const PERCENTILES: [(&str, u64); 5] = [
    ("50.0th", 5_000),
    ("90.0th", 9_000),
    ("99.0th", 9_900),
    ("99.9th", 9_990),
    ("99.99th", 9_999),
];

/// Latencies of one thread.
#[derive(Default)]
pub(crate) struct Buckets {
    /// Latency in microseconds and how often it was seen, from the smallest.
    pub counts: Vec<(u64, u64)>,
    /// Latencies above the last bucket.
    pub overflows: u64,
    /// The smallest, from all latencies.
    pub min: Option<f64>,
    /// The mean, from all latencies.
    pub mean: Option<f64>,
    /// The largest, from all latencies.
    pub max: Option<f64>,
}

impl Buckets {
    /// How many latencies there were.
    fn total(&self) -> u64 {
        let counts = self.counts.iter().map(|(_, count)| *count);
        counts.fold(self.overflows, u64::saturating_add)
    }

    /// The latency that `parts` of ten thousand do not exceed; `None` when it lies above the last
    /// bucket.
    fn percentile(&self, parts: u64) -> Option<u64> {
        let wanted = (u128::from(self.total()) * u128::from(parts)).div_ceil(10_000);
        let mut seen: u128 = 0;
        self.counts.iter().find_map(|(latency, count)| {
            seen += u128::from(*count);
            (*count > 0 && seen >= wanted).then_some(*latency)
        })
    }

    /// The sample standard deviation; `None` when a latency was not kept.
    fn stddev(&self) -> Option<f64> {
        let total = self.total();
        if self.overflows > 0 || total < 2 {
            return None;
        }
        let weighted = |f: &dyn Fn(f64) -> f64| -> f64 {
            let terms = self.counts.iter();
            terms.map(|(us, count)| f(*us as f64) * *count as f64).sum()
        };
        let mean = weighted(&|us| us) / total as f64;
        Some((weighted(&|us| (us - mean).powi(2)) / (total - 1) as f64).sqrt())
    }

    /// The distribution and its percentiles as rows of `thread`; none when nothing was counted.
    pub fn measures(&self, line: usize, thread: usize) -> Vec<Measure> {
        let total = self.total();
        if total == 0 {
            return Vec::new();
        }
        let better = Some(LowerIsBetter);
        let figures = Figures {
            n: Some(total),
            min: self.min,
            max: self.max,
            median: self.percentile(5_000).map(|us| us as f64),
            mean: self.mean,
            stddev: self.stddev(),
            sem: None,
        };
        let name = format!("T{thread} latency");
        let mut measures = vec![Measure::of(
            line,
            name,
            "us",
            better,
            Data::Figures(figures),
        )];
        for (name, parts) in PERCENTILES {
            if let Some(us) = self.percentile(parts) {
                let name = format!("T{thread} {name}");
                measures.push(Measure::value(line, name, "us", better, us as f64));
            }
        }
        measures
    }

    /// What is not known because the histogram was too short.
    pub fn note(&self, thread: usize) -> Option<String> {
        (self.overflows > 0).then(|| {
            format!(
                "cyclictest: {} of {} latencies of thread {thread} are above the last bucket: \
                 percentiles that lie there, and the deviation, are unknown",
                self.overflows,
                self.total()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_the_smallest_latency_that_enough_do_not_exceed() {
        let buckets = Buckets {
            counts: vec![(10, 89), (11, 1), (12, 9), (40, 1)],
            ..Buckets::default()
        };
        let at = |parts| buckets.percentile(parts);
        assert_eq!(at(5_000), Some(10));
        assert_eq!(at(9_000), Some(11));
        assert_eq!(at(9_900), Some(12));
        assert_eq!(at(9_990), Some(40));
        // By hand: the mean is 10.49, the squares add up to 912.99.
        let stddev = buckets.stddev().unwrap();
        assert!(
            (stddev - (912.99_f64 / 99.0).sqrt()).abs() < 1e-9,
            "{stddev}"
        );
        let cut = Buckets {
            overflows: 900,
            ..buckets
        };
        assert_eq!(
            (cut.percentile(900), cut.percentile(5_000)),
            (Some(11), None)
        );
        assert_eq!(cut.stddev(), None);
    }
}
