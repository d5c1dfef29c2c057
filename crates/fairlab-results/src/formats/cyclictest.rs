//! cyclictest: `T: 0 ( 1449) P:80 I:200 C: 800368 Min: 0 Act: 32 Avg: 22 Max: 128`, verbose lines
//! `0: 1: 23`, and the histogram of `-h`.

use std::collections::BTreeMap;

use fairlab_stats::Direction::LowerIsBetter;

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::model::{Data, Figures};
use crate::number::number;
use crate::text::Line;

/// Reads a line of a thread, a run of verbose lines, or a line about the run.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?;
    let text = first.trimmed();
    if let Some(measures) = thread(first) {
        return Some(Found::new(Format::Cyclictest, 1, measures));
    }
    let is_talk = (text.starts_with("policy: ") && text.contains("loadavg:"))
        || text.starts_with("# /dev/cpu_dma_latency")
        || text.starts_with("defaulting realtime priority");
    if is_talk {
        return Some(Found::talk(Format::Cyclictest, 1));
    }
    verbose(lines).or_else(|| histogram(lines))
}

fn thread(line: &Line) -> Option<Vec<Measure>> {
    let rest = line.trimmed().strip_prefix("T:")?;
    let id: u32 = rest
        .split_whitespace()
        .next()?
        .split('(')
        .next()?
        .parse()
        .ok()?;
    let field = |label: &str| {
        let (_, rest) = rest.split_once(label)?;
        number(rest.split_whitespace().next()?)
    };
    let unit = "us";
    let (min, average, max) = (field("Min:")?, field("Avg:")?, field("Max:")?);
    let measure = |what: &str, value| {
        let name = format!("T{id} {what}");
        Measure::value(line.number, name, unit, Some(LowerIsBetter), value)
    };
    Some(vec![
        measure("Min", min),
        measure("Avg", average),
        measure("Max", max),
    ])
}

/// `THREAD: CYCLE: LATENCY`, all values of a thread as one figure.
fn verbose(lines: &[Line]) -> Option<Found> {
    let mut threads: BTreeMap<u32, (usize, Vec<f64>)> = BTreeMap::new();
    let mut taken = 0;
    for line in lines {
        let fields: Vec<&str> = line.trimmed().split(':').map(str::trim).collect();
        let [thread, cycle, value] = fields.as_slice() else {
            break;
        };
        let (Ok(thread), Ok(_), Some(value)) =
            (thread.parse::<u32>(), cycle.parse::<u64>(), number(value))
        else {
            break;
        };
        let values = threads.entry(thread).or_insert((line.number, Vec::new()));
        values.1.push(value);
        taken += 1;
    }
    // Two lines could be a time of day.
    if taken < 3 {
        return None;
    }
    let measures = threads.into_iter().map(|(thread, (line, values))| Measure {
        data: Data::Values(values),
        ..Measure::value(
            line,
            format!("T{thread} latency"),
            "us",
            Some(LowerIsBetter),
            0.0,
        )
    });
    Some(Found::new(Format::Cyclictest, taken, measures.collect()))
}

/// `# Histogram`, lines `000012 000345 000001`, then `# Total:`, `# Min Latencies:` and so on. The
/// sums say it; the buckets are not repeated.
fn histogram(lines: &[Line]) -> Option<Found> {
    if lines.first()?.trimmed() != "# Histogram" {
        return None;
    }
    let mut summary: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut taken = 1;
    for (at, line) in lines.iter().enumerate().skip(1) {
        let text = line.trimmed();
        let is_bucket = !text.is_empty() && text.split_whitespace().all(|w| number(w).is_some());
        if let Some((label, rest)) = text.strip_prefix("# ").and_then(|t| t.split_once(':')) {
            let values: Vec<f64> = rest.split_whitespace().map_while(number).collect();
            if ["Total", "Min Latencies", "Avg Latencies", "Max Latencies"].contains(&label) {
                summary.insert(label, values);
            } else if label != "Histogram Overflows" && !label.starts_with("Thread") {
                break;
            }
        } else if !is_bucket {
            break;
        }
        taken = at + 1;
    }
    let threads = summary.values().map(Vec::len).max().unwrap_or(0);
    let get = |label: &str, thread: usize| summary.get(label)?.get(thread).copied();
    let number = lines.first()?.number;
    let measures = (0..threads).map(|thread| Measure {
        data: Data::Figures(Figures {
            n: get("Total", thread).map(|n| n as u64),
            min: get("Min Latencies", thread),
            mean: get("Avg Latencies", thread),
            max: get("Max Latencies", thread),
            ..Figures::default()
        }),
        ..Measure::value(
            number,
            format!("T{thread} latency"),
            "us",
            Some(LowerIsBetter),
            0.0,
        )
    });
    let measures: Vec<Measure> = measures.collect();
    (!measures.is_empty()).then(|| Found::new(Format::Cyclictest, taken, measures))
}
