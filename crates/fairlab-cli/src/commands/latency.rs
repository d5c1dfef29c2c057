//! The JSON form of a latency distribution.

use fairlab::stats::LatencyHistogram;
use serde::Serialize;

/// A distribution of times in nanoseconds.
#[derive(Debug, Serialize)]
pub struct Latency {
    n: u64,
    min_ns: Option<u64>,
    p50_ns: Option<u64>,
    p90_ns: Option<u64>,
    p99_ns: Option<u64>,
    p999_ns: Option<u64>,
    max_ns: Option<u64>,
}

impl Latency {
    /// That of `histogram`, which counts nanoseconds.
    pub fn of(histogram: &LatencyHistogram) -> Self {
        Self {
            n: histogram.count(),
            min_ns: histogram.min(),
            p50_ns: histogram.quantile(500, 1000),
            p90_ns: histogram.quantile(900, 1000),
            p99_ns: histogram.quantile(990, 1000),
            p999_ns: histogram.quantile(999, 1000),
            max_ns: histogram.max(),
        }
    }

    /// The figures that tables show, with their names.
    pub fn figures(&self) -> [(&'static str, Option<u64>); 3] {
        [
            ("p50", self.p50_ns),
            ("p99", self.p99_ns),
            ("max", self.max_ns),
        ]
    }
}
