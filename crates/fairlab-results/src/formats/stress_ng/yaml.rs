//! `stress-ng --yaml`: a block about the machine, then a list of stressors.
//!
//! ```text
//! metrics:
//!     - stressor: switch
//!       bogo-ops: 89571
//!       bogo-ops-per-second-real-time: 89492.928733
//! ```

use fairlab_stats::Direction::{self, HigherIsBetter, LowerIsBetter};

use super::{CPU_TIME, REAL_TIME};
use crate::document::Measure;
use crate::format::Format;
use crate::formats::Found;
use crate::number::number;
use crate::text::Line;

/// Reads the block about the machine, or the metrics of all stressors.
pub(super) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?;
    let indented = lines[1..]
        .iter()
        .take_while(|line| line.text.starts_with(' ') && line.text.contains(':'))
        .count();
    let body = &lines[1..=indented];
    let is_stress = |line: &Line| line.trimmed().starts_with("stress-ng-version:");
    if first.text == "system-info:" && body.first().is_some_and(is_stress) {
        return Some(Found::talk(Format::StressNg, 1 + indented));
    }
    if first.text != "metrics:" {
        return None;
    }
    let mut name = "";
    let mut measures = Vec::new();
    for line in body {
        let (key, value) = line.trimmed().split_once(": ")?;
        match key.strip_prefix("- ").unwrap_or(key) {
            "stressor" => name = value.trim(),
            _ if name.is_empty() => return None,
            key => {
                if let Some(value) = number(value.trim()) {
                    measures.push(of_key(line.number, name, key, value));
                }
            }
        }
    }
    (!measures.is_empty()).then(|| Found::new(Format::StressNg, 1 + indented, measures))
}

/// The rows that the text has too have the same name here.
fn of_key(line: usize, stressor: &str, key: &str, value: f64) -> Measure {
    let (what, unit, better): (_, _, Option<Direction>) = match key {
        "bogo-ops" => ("bogo ops", "", Some(HigherIsBetter)),
        "bogo-ops-per-second-real-time" => (REAL_TIME, "1/s", Some(HigherIsBetter)),
        "bogo-ops-per-second-usr-sys-time" => (CPU_TIME, "1/s", Some(HigherIsBetter)),
        "wall-clock-time" => ("real time", "s", None),
        "user-time" => ("usr time", "s", None),
        "system-time" => ("sys time", "s", None),
        "cpu-usage-per-instance" => ("CPU used per instance", "%", None),
        "max-rss" => ("RSS max", "KiB", Some(LowerIsBetter)),
        other => return metric(line, stressor, &other.replace('-', " "), value),
    };
    Measure::value(line, format!("{stressor} {what}"), unit, better, value)
}

/// A metric of a stressor's own, whose words say what it is: `nanosecs per context switch`,
/// `MB per sec pipe write rate`.
pub(super) fn metric(line: usize, stressor: &str, what: &str, value: f64) -> Measure {
    let unit = match what.split(' ').next() {
        Some("nanosecs" | "nanoseconds") => "ns",
        Some("microsecs" | "microseconds") => "us",
        Some("millisecs" | "milliseconds") => "ms",
        _ => "",
    };
    let better = if !unit.is_empty() {
        Some(LowerIsBetter)
    } else if what.contains(" per sec") {
        Some(HigherIsBetter)
    } else {
        None
    };
    Measure::value(line, format!("{stressor} {what}"), unit, better, value)
}
