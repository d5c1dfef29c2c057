//! The log of an rt-app task: a line per loop, times in microseconds.
//!
//! ```text
//! # Policy : SCHED_OTHER priority : 0
//! #idx     perf      run   period           start             end          rel_st      slack c_duration   c_period     wu_lat
//!    0    10000     1273    10074     39851035332     39851045406             312       8691       1000      10000        104
//! ```

use fairlab_stats::Direction::{self, HigherIsBetter, LowerIsBetter};

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::model::Data;
use crate::number::number;
use crate::text::Line;

/// Columns that are figures: heading, unit, direction. The others are instants and settings.
const FIGURES: [(&str, &str, Option<Direction>); 5] = [
    ("perf", "", None),
    ("run", "us", Some(LowerIsBetter)),
    ("period", "us", None),
    ("slack", "us", Some(HigherIsBetter)),
    ("wu_lat", "us", Some(LowerIsBetter)),
];

/// Reads the heading and all loops.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?;
    let text = first.trimmed();
    if text.starts_with("# Policy : ") && text.contains(" priority : ") {
        return Some(Found::talk(Format::RtApp, 1));
    }
    let titles: Vec<&str> = text.strip_prefix("#idx")?.split_whitespace().collect();
    if !titles.starts_with(&["perf", "run", "period"]) {
        return None;
    }
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for line in &lines[1..] {
        let row: Option<Vec<f64>> = line.words().iter().map(|word| number(word)).collect();
        match row.filter(|row| row.len() == titles.len() + 1) {
            Some(row) => rows.push(row),
            None => break,
        }
    }
    if rows.is_empty() {
        return None;
    }
    let measures = FIGURES.iter().filter_map(|(title, unit, better)| {
        let at = 1 + titles.iter().position(|other| other == title)?;
        let values = rows.iter().filter_map(|row| row.get(at).copied());
        let data = Data::Values(values.collect());
        Some(Measure::of(first.number, *title, *unit, *better, data))
    });
    Some(Found::new(
        Format::RtApp,
        1 + rows.len(),
        measures.collect(),
    ))
}
