//! pgbench: settings, then latencies and rates.
//!
//! ```text
//! transaction type: <builtin: select only>
//! number of clients: 10
//! latency average = 8.100 ms
//! tps = 1234.567 (without initial connection time)
//! ```

use fairlab_stats::Direction::{HigherIsBetter, LowerIsBetter};

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::{loose, number};
use crate::text::Line;

/// What is set and not measured.
const SETTINGS: [&str; 12] = [
    "pgbench (",
    "starting vacuum...",
    "transaction type: ",
    "scaling factor: ",
    "query mode: ",
    "number of clients: ",
    "number of threads: ",
    "maximum number of tries: ",
    "number of transactions per client: ",
    "number of transactions actually processed: ",
    "number of failed transactions: ",
    "duration: ",
];

/// Reads one line.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let line = lines.first()?;
    let text = line.trimmed();
    // `duration: 5 s` alone could be of any tool.
    let is_setting = SETTINGS.iter().any(|setting| text.starts_with(setting));
    if is_setting && (!text.starts_with("duration: ") || is_pgbench(lines)) {
        return Some(Found::talk(Format::Pgbench, 1));
    }
    let measures = progress(line).or_else(|| figure(line).map(|measure| vec![measure]))?;
    Some(Found::new(Format::Pgbench, 1, measures))
}

/// Do other lines of it follow?
fn is_pgbench(lines: &[Line]) -> bool {
    let mut next = lines.iter().skip(1).take(3);
    next.any(|line| line.trimmed().starts_with("number of transactions "))
}

/// `latency average = 8.100 ms`, `tps = 1234.567 (without initial connection time)`.
fn figure(line: &Line) -> Option<Measure> {
    let (name, rest) = line.trimmed().split_once(" = ")?;
    let mut words = rest.split_whitespace();
    let value = number(words.next()?)?;
    let (name, unit, better) = match name {
        "latency average" => (name.to_owned(), "ms", Some(LowerIsBetter)),
        "latency stddev" | "initial connection time" => (name.to_owned(), "ms", None),
        "tps" => {
            // Old versions print it with and without the time of connecting.
            let including = rest.contains("(including ");
            let name = if including {
                "tps including connections"
            } else {
                "tps"
            };
            (name.to_owned(), "1/s", Some(HigherIsBetter))
        }
        _ => return None,
    };
    Some(Measure::value(line.number, name, unit, better, value))
}

/// `progress: 5.0 s, 1234.5 tps, lat 8.100 ms stddev 3.200, 0 failed`
fn progress(line: &Line) -> Option<Vec<Measure>> {
    let rest = line.trimmed().strip_prefix("progress: ")?;
    let mut measures = Vec::new();
    for part in rest.split(", ") {
        let words: Vec<&str> = part.split_whitespace().collect();
        let (name, unit, better, value) = match words.as_slice() {
            [value, "tps"] => ("interval tps", "1/s", HigherIsBetter, value),
            ["lat", value, "ms", ..] => ("interval latency average", "ms", LowerIsBetter, value),
            _ => continue,
        };
        let value = loose(value)?.value;
        measures.push(Measure::value(line.number, name, unit, Some(better), value));
    }
    (!measures.is_empty()).then_some(measures)
}
