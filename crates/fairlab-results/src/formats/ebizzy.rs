//! ebizzy: `123456 records/s`, then `real 30.00 s`, `user ...`, `sys ...`.

use fairlab_stats::Direction::HigherIsBetter;

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::number;
use crate::text::Line;

/// Reads one result.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let line = lines.first()?;
    let words = line.words();
    let [value, "records/s", ..] = words.as_slice() else {
        return None;
    };
    let value = number(value)?;
    let measure = Measure::value(
        line.number,
        "records/s",
        "records/s",
        Some(HigherIsBetter),
        value,
    );
    // The times that follow are those of the whole run.
    let times = lines[1..]
        .iter()
        .take_while(|line| {
            matches!(line.words().as_slice(), ["real" | "user" | "sys", value, "s"] if number(value).is_some())
        })
        .count();
    Some(Found::new(Format::Ebizzy, 1 + times, vec![measure]))
}
