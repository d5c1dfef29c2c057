//! redis-benchmark: `-q`, and the summary of each test in its long form.
//!
//! ```text
//! PING_INLINE: 108695.65 requests per second, p50=0.231 msec
//!
//! ====== SET ======
//!   100000 requests completed in 0.91 seconds
//! Summary:
//!   throughput summary: 109890.11 requests per second
//!   latency summary (msec):
//!           avg       min       p50       p95       p99       max
//!         0.240     0.080     0.231     0.351     0.487     1.727
//! ```

use fairlab_stats::Direction::{HigherIsBetter, LowerIsBetter};

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::number;
use crate::text::Line;

/// Reads a line of `-q`, or one test.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?;
    if let Some(measures) = quiet(first) {
        return Some(Found::new(Format::RedisBenchmark, 1, measures));
    }
    let name = first
        .trimmed()
        .strip_prefix("====== ")?
        .strip_suffix(" ======")?;
    let mut measures = Vec::new();
    let mut taken = 0;
    let mut titles: Vec<&str> = Vec::new();
    for (at, line) in lines.iter().enumerate().skip(1) {
        let text = line.trimmed();
        if text.starts_with("====== ") {
            break;
        }
        if let Some(rest) = text.strip_prefix("throughput summary: ") {
            let value = number(rest.strip_suffix(" requests per second")?)?;
            measures.push(rate(line, name, value));
            taken = at + 1;
        } else if text.starts_with("avg ") {
            titles = line.words();
        } else if !titles.is_empty() {
            let values = line.words();
            for (title, value) in titles.iter().zip(values) {
                measures.push(latency(line, name, title, number(value)?));
            }
            taken = at + 1;
            break;
        } else if let Some(value) = text.strip_suffix(" requests per second").and_then(number) {
            // Versions before 6 end so.
            measures.push(rate(line, name, value));
            taken = at + 1;
            break;
        }
    }
    (!measures.is_empty()).then(|| Found::new(Format::RedisBenchmark, taken, measures))
}

fn rate(line: &Line, name: &str, value: f64) -> Measure {
    let name = format!("{name} requests");
    Measure::value(line.number, name, "1/s", Some(HigherIsBetter), value)
}

fn latency(line: &Line, name: &str, what: &str, value: f64) -> Measure {
    let name = format!("{name} latency {what}");
    Measure::value(line.number, name, "ms", Some(LowerIsBetter), value)
}

/// `SET: 109890.11 requests per second, p50=0.231 msec`; old versions have no percentile.
fn quiet(line: &Line) -> Option<Vec<Measure>> {
    let (left, rest) = line.trimmed().split_once(" requests per second")?;
    let (name, value) = left.rsplit_once(": ")?;
    let mut measures = vec![rate(line, name, number(value.trim())?)];
    let median = rest
        .strip_prefix(", p50=")
        .and_then(|rest| number(rest.strip_suffix(" msec")?));
    measures.extend(median.map(|value| latency(line, name, "p50", value)));
    Some(measures)
}
