//! tbench and dbench: `Throughput 225.554 MB/sec  1 clients  1 procs  max_latency=9.904 ms`, and the
//! table of operations above it.

use fairlab_stats::Direction::{HigherIsBetter, LowerIsBetter};

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::number;
use crate::text::Line;

/// Reads the result line, a line of progress, or the table of operations.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?;
    result(first)
        .or_else(|| operations(lines))
        .or_else(|| progress(first))
}

fn result(line: &Line) -> Option<Found> {
    let words = line.words();
    let at = words.iter().position(|word| *word == "Throughput")?;
    let value = number(words.get(at + 1)?)?;
    let unit = match *words.get(at + 2)? {
        "MB/sec" | "MB/s" => "MB/s",
        _ => return None,
    };
    let count = |word: &str| {
        let at = words.iter().position(|w| w.trim_end_matches('.') == word)?;
        words.get(at.checked_sub(1)?)
    };
    let clients = count("clients").or_else(|| count("procs"));
    let name = match clients {
        Some(clients) => format!("Throughput {clients} clients"),
        None => "Throughput".to_owned(),
    };
    let mut measures = vec![Measure::value(
        line.number,
        &name,
        unit,
        Some(HigherIsBetter),
        value,
    )];
    let latency = words
        .iter()
        .position(|word| word.starts_with("max_latency="))
        .and_then(|at| {
            let value = words[at].strip_prefix("max_latency=")?;
            number(value).or_else(|| number(words.get(at + 1)?))
        });
    if let Some(latency) = latency {
        let name = name.replace("Throughput", "max_latency");
        measures.push(Measure::value(
            line.number,
            name,
            "ms",
            Some(LowerIsBetter),
            latency,
        ));
    }
    Some(Found::new(Format::Tbench, 1, measures))
}

/// ` Operation      Count    AvgLat    MaxLat`, a rule, and one line per operation.
fn operations(lines: &[Line]) -> Option<Found> {
    if lines.first()?.words() != ["Operation", "Count", "AvgLat", "MaxLat"] {
        return None;
    }
    let mut measures = Vec::new();
    let mut taken = 1;
    for (at, line) in lines.iter().enumerate().skip(1) {
        let words = line.words();
        match words.as_slice() {
            [rule] if rule.starts_with("---") => {}
            [name, count, average, max] => {
                let (Some(count), Some(average), Some(max)) =
                    (number(count), number(average), number(max))
                else {
                    break;
                };
                let n = line.number;
                measures.push(Measure::value(n, format!("{name} count"), "", None, count));
                for (what, value) in [("AvgLat", average), ("MaxLat", max)] {
                    let name = format!("{name} {what}");
                    measures.push(Measure::value(n, name, "ms", Some(LowerIsBetter), value));
                }
            }
            _ => break,
        }
        taken = at + 1;
    }
    Some(Found::new(Format::Tbench, taken, measures))
}

/// `   1   123456  254.12 MB/sec  execute   9 sec  latency 0.123 ms`, `1 of 8 processes prepared`
fn progress(line: &Line) -> Option<Found> {
    let words = line.words();
    let is_progress = words.len() >= 5
        && words.get(3).is_some_and(|word| *word == "MB/sec")
        && words
            .get(4)
            .is_some_and(|word| matches!(*word, "execute" | "warmup" | "cleanup"));
    let is_talk = line.trimmed().starts_with("dbench version")
        || line.trimmed().starts_with("Running for ")
        || line.trimmed().ends_with("clients started")
        || line.trimmed().contains(" processes prepared for launch")
        || line.trimmed() == "releasing clients"
        || matches!(words.as_slice(), [clients, "cleanup", _, "sec"] if number(clients).is_some());
    (is_progress || is_talk).then(|| Found::talk(Format::Tbench, 1))
}
