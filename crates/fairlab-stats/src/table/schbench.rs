//! Percentiles as schbench prints them.

use core::fmt::Write;

use crate::LatencyHistogram;

/// A percentile in tenths of a percent, and whether schbench marks it with a star.
pub type Percentile = (u64, bool);

/// The percentiles of latencies: 50, 90, 99 (starred) and 99.9.
pub const LATENCY_PERCENTILES: [Percentile; 4] =
    [(500, false), (900, false), (990, true), (999, false)];

/// The percentiles of requests per second: 20, 50 (starred) and 90.
pub const RPS_PERCENTILES: [Percentile; 3] = [(200, false), (500, true), (900, false)];

/// A block of schbench output: `label` is its first words (`Wakeup Latencies`), `unit` stands in the
/// first parentheses (`usec`), `seconds` is the time measured.
///
/// The number of samples beside a percentile counts those between the previous percentile's bucket
/// and its own. An empty histogram has the heading only.
#[must_use]
pub fn schbench(
    label: &str,
    unit: &str,
    seconds: u64,
    histogram: &LatencyHistogram,
    percentiles: &[Percentile],
) -> String {
    let mut text = format!(
        "{label} percentiles ({unit}) runtime {seconds} (s) ({} total samples)\n",
        histogram.count()
    );
    let mut seen_before = 0;
    for (tenths, is_starred) in percentiles {
        let Some((value, seen)) = histogram.quantile_and_rank(*tenths, 1000) else {
            continue;
        };
        let star = if *is_starred { '*' } else { ' ' };
        let (whole, tenth) = (tenths / 10, tenths % 10);
        let samples = seen - seen_before;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "\t{star} {whole:>2}.{tenth}th: {value:<10} ({samples} samples)"
        );
        seen_before = seen;
    }
    if let (Some(min), Some(max)) = (histogram.min(), histogram.max()) {
        let _ = writeln!(text, "\t  min={min}, max={max}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_has_the_form_of_schbench() {
        let mut histogram = LatencyHistogram::new();
        histogram.record_many(1, 100);
        histogram.record_many(4, 500);
        histogram.record_many(3772, 320);
        histogram.record_many(7448, 75);
        histogram.record_many(7976, 4);
        histogram.record(15_186);
        assert_eq!(
            schbench(
                "Wakeup Latencies",
                "usec",
                30,
                &histogram,
                &LATENCY_PERCENTILES
            ),
            "Wakeup Latencies percentiles (usec) runtime 30 (s) (1000 total samples)\n\
             \t  50.0th: 4          (600 samples)\n\
             \t  90.0th: 3772       (320 samples)\n\
             \t* 99.0th: 7448       (75 samples)\n\
             \t  99.9th: 7976       (4 samples)\n\
             \t  min=1, max=15186\n"
        );
    }

    #[test]
    fn percentiles_in_one_bucket_share_its_samples() {
        let mut rps = LatencyHistogram::new();
        rps.record_many(100, 31);
        assert_eq!(
            schbench("RPS", "requests", 30, &rps, &RPS_PERCENTILES),
            "RPS percentiles (requests) runtime 30 (s) (31 total samples)\n\
             \t  20.0th: 100        (31 samples)\n\
             \t* 50.0th: 100        (0 samples)\n\
             \t  90.0th: 100        (0 samples)\n\
             \t  min=100, max=100\n"
        );
    }

    #[test]
    fn an_empty_histogram_has_a_heading_only() {
        let text = schbench(
            "RPS",
            "requests",
            0,
            &LatencyHistogram::new(),
            &RPS_PERCENTILES,
        );
        assert_eq!(
            text,
            "RPS percentiles (requests) runtime 0 (s) (0 total samples)\n"
        );
    }
}
