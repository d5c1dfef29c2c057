//! sysbench: sections of `name: value`, from its first line to its last section.

use fairlab_stats::Direction::{self, HigherIsBetter, LowerIsBetter};

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::{loose, number};
use crate::text::Line;

/// The sections whose lines are figures.
const SECTIONS: [&str; 9] = [
    "CPU speed:",
    "General statistics:",
    "Latency (ms):",
    "Threads fairness:",
    "SQL statistics:",
    "File operations:",
    "Throughput:",
    "queries performed:",
    "Mutex:",
];

/// Reads one section, or a line of talk.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?.trimmed();
    let is_talk = first.starts_with("sysbench ")
        || [
            "Running the test with following options",
            "Initializing random number generator",
            "Initializing worker threads",
            "Threads started!",
            "Number of threads:",
            "Prime numbers limit:",
            "Report intermediate results every ",
        ]
        .iter()
        .any(|talk| first.starts_with(talk));
    if is_talk {
        return Some(Found::talk(Format::Sysbench, 1));
    }
    if first.starts_with("Running memory speed test with the following options") {
        // Settings, up to a blank line.
        let settings = lines.iter().take_while(|line| !line.is_blank()).count();
        return Some(Found::talk(Format::Sysbench, settings));
    }
    if let Some(measures) = interim(lines.first()?) {
        return Some(Found::new(Format::Sysbench, 1, measures));
    }
    if let Some(measure) = memory(lines.first()?) {
        return Some(Found::new(Format::Sysbench, 1, vec![measure]));
    }
    let section = *SECTIONS.iter().find(|section| **section == first)?;
    let mut measures = Vec::new();
    let mut taken = 1;
    let mut prefix = section.trim_end_matches(':').to_owned();
    for (at, line) in lines.iter().enumerate().skip(1) {
        let text = line.trimmed();
        if text == "queries performed:" {
            prefix = "queries".to_owned();
        } else if let Some(found) = figure(line, &prefix) {
            measures.extend(found);
        } else {
            break;
        }
        taken = at + 1;
    }
    (!measures.is_empty()).then(|| Found::new(Format::Sysbench, taken, measures))
}

/// `name: value [(rate per sec.)]`, `events (avg/stddev): 1.0/2.0`
fn figure(line: &Line, prefix: &str) -> Option<Vec<Measure>> {
    let (name, rest) = line.trimmed().split_once(':')?;
    let mut words = rest.split_whitespace();
    let first = words.next()?;
    let row = |name: &str| format!("{prefix} {name}");
    let unit = if prefix == "Latency (ms)" { "ms" } else { "" };
    if let Some((average, stddev)) = first.split_once('/') {
        let (average, stddev) = (number(average)?, number(stddev)?);
        let name = name.trim_end_matches(" (avg/stddev)");
        let measure = |what: &str, value| {
            Measure::value(line.number, row(&format!("{name} {what}")), "", None, value)
        };
        return Some(vec![measure("avg", average), measure("stddev", stddev)]);
    }
    let (value, unit) = match first.strip_suffix('s') {
        Some(seconds) => (number(seconds)?, "s"),
        None if name.ends_with(" per second") => (number(first)?, "1/s"),
        None => (number(first)?, unit),
    };
    let better = direction(prefix, name);
    let prefix_name = if prefix == "Latency (ms)" {
        format!("latency {name}")
    } else {
        name.to_owned()
    };
    let mut measures = vec![Measure::value(
        line.number,
        &prefix_name,
        unit,
        better,
        value,
    )];
    if let Some(rate) = words.next().and_then(loose)
        && rest.contains("per sec")
    {
        let name = format!("{prefix_name} per second");
        measures.push(Measure::value(
            line.number,
            name,
            "1/s",
            Some(HigherIsBetter),
            rate.value,
        ));
    }
    Some(measures)
}

fn direction(prefix: &str, name: &str) -> Option<Direction> {
    match prefix {
        "Latency (ms)" if name != "sum" => Some(LowerIsBetter),
        "Throughput" | "CPU speed" | "queries" => Some(HigherIsBetter),
        _ if name.contains("per second") || name == "total number of events" => {
            Some(HigherIsBetter)
        }
        _ => None,
    }
}

/// `[ 1s ] thds: 1 eps: 781.84 lat (ms,95%): 9.73`, and `tps` and `qps` of databases: a report of
/// an interval. Rows of the same name become one with a value per interval.
fn interim(line: &Line) -> Option<Vec<Measure>> {
    let (time, rest) = line.trimmed().strip_prefix("[ ")?.split_once("s ] ")?;
    number(time)?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let mut measures = Vec::new();
    for pair in words.windows(2) {
        let [name, value] = pair else { continue };
        let Some(value) = number(value) else { continue };
        let (name, unit, better) = match *name {
            "eps:" => (
                "interval events per second".to_owned(),
                "1/s",
                HigherIsBetter,
            ),
            "tps:" => (
                "interval transactions per second".to_owned(),
                "1/s",
                HigherIsBetter,
            ),
            "qps:" => (
                "interval queries per second".to_owned(),
                "1/s",
                HigherIsBetter,
            ),
            // `(ms,95%):`
            other => {
                let Some(percentile) = other
                    .strip_prefix("(ms,")
                    .and_then(|rest| rest.strip_suffix("%):"))
                else {
                    continue;
                };
                let name = format!("interval latency {percentile}th percentile");
                (name, "ms", LowerIsBetter)
            }
        };
        measures.push(Measure::value(line.number, name, unit, Some(better), value));
    }
    (!measures.is_empty()).then_some(measures)
}

/// `102400.00 MiB transferred (9876.54 MiB/sec)`, `Total operations: 123 (456.78 per second)`
fn memory(line: &Line) -> Option<Measure> {
    let text = line.trimmed();
    let (_, rest) = text.split_once(" transferred (").or_else(|| {
        text.starts_with("Total operations:")
            .then(|| text.split_once('('))?
    })?;
    let mut words = rest.split_whitespace();
    let value = loose(words.next()?)?.value;
    let (name, unit) = match words.next()? {
        "MiB/sec)" => ("transferred", "MiB/s"),
        "per" => ("operations", "1/s"),
        _ => return None,
    };
    Some(Measure::value(
        line.number,
        name,
        unit,
        Some(HigherIsBetter),
        value,
    ))
}
