//! The text of `-h`: a latency and a count per thread in each line, then the sums.
//!
//! ```text
//! # Histogram
//! 000010 000005 000006
//! # Total: 000000005 000000006
//! # Min Latencies: 00010 00010
//! # Avg Latencies: 00010 00010
//! # Max Latencies: 00010 00010
//! # Histogram Overflows: 00000 00000
//! # Histogram Overflow at cycle number:
//! # Thread 0:
//! ```

use std::collections::BTreeMap;

use super::{Buckets, of_thread};
use crate::format::Format;
use crate::formats::Found;
use crate::number::number;
use crate::text::Line;

const SUMS: [&str; 5] = [
    "Total",
    "Min Latencies",
    "Avg Latencies",
    "Max Latencies",
    "Histogram Overflows",
];

/// Reads from `# Histogram` to the last line about overflows.
pub(super) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?;
    if first.trimmed() != "# Histogram" {
        return None;
    }
    let mut sums: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut rows: Vec<Vec<u64>> = Vec::new();
    let mut taken = 1;
    for (at, line) in lines.iter().enumerate().skip(1) {
        let text = line.trimmed();
        if text.is_empty() {
            continue;
        }
        if let Some((label, rest)) = text.strip_prefix("# ").and_then(|t| t.split_once(':')) {
            if let Some(label) = SUMS.iter().find(|sum| **sum == label) {
                let values = rest.split_whitespace().map_while(number).collect();
                sums.insert(label, values);
            } else if !label.starts_with("Histogram Overflow") && !label.starts_with("Thread") {
                break;
            }
        } else {
            let row: Option<Vec<u64>> = text.split_whitespace().map(|w| w.parse().ok()).collect();
            let Some(row) = row else { break };
            rows.push(row);
        }
        taken = at + 1;
    }
    let threads = sums.values().map(Vec::len).max()?;
    let get = |label: &str, thread: usize| sums.get(label)?.get(thread).copied();
    let mut found = Found::new(Format::Cyclictest, taken, Vec::new());
    for thread in 0..threads {
        let count = |row: &Vec<u64>| Some((*row.first()?, *row.get(thread + 1)?));
        let buckets = Buckets {
            counts: rows.iter().filter_map(count).collect(),
            overflows: get("Histogram Overflows", thread).unwrap_or(0.0) as u64,
            min: get("Min Latencies", thread),
            mean: get("Avg Latencies", thread),
            max: get("Max Latencies", thread),
        };
        let extremes = [buckets.min, buckets.mean, buckets.max];
        found
            .measures
            .extend(of_thread(first.number, thread, extremes));
        found
            .measures
            .extend(buckets.measures(first.number, thread));
        found.notes.extend(buckets.note(thread));
    }
    (!found.measures.is_empty()).then_some(found)
}
