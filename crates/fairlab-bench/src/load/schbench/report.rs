//! What schbench prints, in its present and its old form.

use fairlab_stats::LatencyHistogram;
use fairlab_stats::table::{LATENCY_PERCENTILES, RPS_PERCENTILES, schbench};

use super::SchbenchResult;
use crate::{Measured, Row};

/// Which form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Three blocks: wakeup latencies, request latencies, requests per second.
    #[default]
    New,
    /// One list of wakeup latencies.
    Old,
}

/// Percentiles of the old form, in tenths of a percent.
const OLD_PERCENTILES: [u64; 7] = [500, 750, 900, 950, 990, 995, 999];

/// The final words, and their figures.
#[must_use]
pub fn report(result: &SchbenchResult, layout: Layout) -> Measured {
    let text = match layout {
        Layout::Old => old_text(&result.wakeups),
        Layout::New => new_text(result) + &last_line(result),
    };
    Measured {
        text,
        rows: rows(result),
    }
}

/// What is told after an interval, in the present form.
#[must_use]
pub fn interval_report(so_far: &SchbenchResult) -> String {
    let mut text = new_text(so_far);
    if so_far.pipe == 0 {
        text += &format!("current rps: {:.2}\n", so_far.average_rps());
    }
    text
}

fn new_text(result: &SchbenchResult) -> String {
    let seconds = result.seconds.round() as u64;
    let block = |label, unit, histogram, percentiles: &[_]| {
        schbench(label, unit, seconds, histogram, percentiles)
    };
    let mut text = block(
        "Wakeup Latencies",
        "usec",
        &result.wakeups,
        &LATENCY_PERCENTILES,
    );
    if result.pipe == 0 {
        text += &block(
            "Request Latencies",
            "usec",
            &result.requests,
            &LATENCY_PERCENTILES,
        );
        text += &block("RPS", "requests", &result.rps, &RPS_PERCENTILES);
    }
    text
}

fn last_line(result: &SchbenchResult) -> String {
    if result.pipe == 0 {
        return format!("average rps: {:.2}\n", result.average_rps());
    }
    let rate = result.average_rps();
    // Both sides write the page.
    let mut bytes = rate * f64::from(result.pipe) * 2.0;
    let mut unit = "B";
    for larger in ["KB", "MB", "GB"] {
        if bytes >= 1024.0 {
            bytes /= 1024.0;
            unit = larger;
        }
    }
    format!("avg worker transfer: {rate:.2} ops/sec {bytes:.2}{unit}/s\n")
}

fn old_text(wakeups: &LatencyHistogram) -> String {
    let mut text = String::from("Latency percentiles (usec)\n");
    for tenths in OLD_PERCENTILES {
        let Some(value) = wakeups.quantile(tenths, 1000) else {
            continue;
        };
        let star = if tenths == 990 { "*" } else { "" };
        text += &format!("\t{star}{}.{}000th: {value}\n", tenths / 10, tenths % 10);
    }
    if let (Some(min), Some(max)) = (wakeups.min(), wakeups.max()) {
        text += &format!("\tmin={min}, max={max}\n");
    }
    text
}

fn rows(result: &SchbenchResult) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut latencies = |label: &str, histogram: &LatencyHistogram| {
        for tenths in [990, 500, 900, 999] {
            if let Some(value) = histogram.quantile(tenths, 1000) {
                let name = format!("{label} {}.{}th", tenths / 10, tenths % 10);
                rows.push(Row::lower(name, "us", value as f64));
            }
        }
    };
    latencies("wakeup", &result.wakeups);
    if result.pipe == 0 {
        latencies("request", &result.requests);
    }
    let rate = if result.pipe == 0 {
        "average rps"
    } else {
        "ops/sec"
    };
    rows.push(Row::higher(rate, "1/s", result.average_rps()));
    rows
}
