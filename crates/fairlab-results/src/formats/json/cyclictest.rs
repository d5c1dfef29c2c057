//! `cyclictest --json`: extremes and histogram of each thread.

use serde_json::Value;

use crate::format::Format;
use crate::formats::{Found, cyclictest};

/// Reads the threads.
pub(super) fn read(value: &Value) -> Option<Found> {
    value
        .get("rt_test_version:")
        .or(value.get("rt_test_version"))?;
    let mut found = Found::new(Format::Cyclictest, 1, Vec::new());
    for (id, thread) in value.get("thread")?.as_object()? {
        let Ok(id) = id.parse::<usize>() else {
            continue;
        };
        let get = |name: &str| thread.get(name).and_then(Value::as_f64);
        let extremes = [get("min"), get("avg"), get("max")];
        found
            .measures
            .extend(cyclictest::of_thread(1, id, extremes));
        let histogram = thread.get("histogram").and_then(Value::as_object);
        let mut counts: Vec<(u64, u64)> = histogram
            .into_iter()
            .flatten()
            .filter_map(|(latency, count)| Some((latency.parse().ok()?, count.as_u64()?)))
            .collect();
        if counts.is_empty() {
            continue;
        }
        counts.sort_unstable();
        let kept = counts
            .iter()
            .fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        let cycles = thread.get("cycles").and_then(Value::as_u64).unwrap_or(kept);
        let buckets = cyclictest::Buckets {
            counts,
            overflows: cycles.saturating_sub(kept),
            min: extremes[0],
            mean: extremes[1],
            max: extremes[2],
        };
        found.measures.extend(buckets.measures(1, id));
        found.notes.extend(buckets.note(id));
    }
    (!found.measures.is_empty()).then_some(found)
}
