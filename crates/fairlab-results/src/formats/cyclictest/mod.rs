//! cyclictest: `T: 0 ( 1449) P:80 I:200 C: 800368 Min: 0 Act: 32 Avg: 22 Max: 128`, verbose lines
//! `0: 1: 23`, and the histogram of `-h`.

mod buckets;
mod histogram;

use std::collections::BTreeMap;

use fairlab_stats::Direction::LowerIsBetter;

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::model::Data;
use crate::number::number;
use crate::text::Line;

pub(crate) use buckets::Buckets;

/// Reads a line of a thread, a run of verbose lines, a histogram, or a line about the run.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?;
    let text = first.trimmed();
    if let Some(measures) = thread(first) {
        return Some(Found::new(Format::Cyclictest, 1, measures));
    }
    let is_talk = (text.starts_with("policy: ") && text.contains("loadavg:"))
        || text.starts_with("# /dev/cpu_dma_latency")
        || text.starts_with("defaulting realtime priority")
        || text.starts_with("Max CPUs = ")
        || text.starts_with("Online CPUs = ")
        || (text.starts_with("Thread ") && text.contains(" Interval: "));
    if is_talk {
        return Some(Found::talk(Format::Cyclictest, 1));
    }
    verbose(lines).or_else(|| histogram::read(lines))
}

fn thread(line: &Line) -> Option<Vec<Measure>> {
    let rest = line.trimmed().strip_prefix("T:")?;
    let id: usize = rest
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
    let extremes = [field("Min:"), field("Avg:"), field("Max:")];
    extremes
        .iter()
        .all(Option::is_some)
        .then(|| of_thread(line.number, id, extremes))
}

/// The rows that every form has: smallest, mean and largest latency of a thread, where known.
pub(crate) fn of_thread(line: usize, thread: usize, extremes: [Option<f64>; 3]) -> Vec<Measure> {
    ["Min", "Avg", "Max"]
        .into_iter()
        .zip(extremes)
        .filter_map(|(what, value)| {
            let name = format!("T{thread} {what}");
            Some(Measure::value(
                line,
                name,
                "us",
                Some(LowerIsBetter),
                value?,
            ))
        })
        .collect()
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
    let measures = threads.into_iter().map(|(thread, (line, values))| {
        let name = format!("T{thread} latency");
        Measure::of(line, name, "us", Some(LowerIsBetter), Data::Values(values))
    });
    Some(Found::new(Format::Cyclictest, taken, measures.collect()))
}
