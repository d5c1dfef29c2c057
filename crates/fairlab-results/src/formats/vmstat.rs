//! vmstat: two lines of headings, then a line per interval.
//!
//! ```text
//! procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
//!  r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
//!  5  0      0 2382560  94300 21750044    0    0   874  2895  425 1221 79  9 11  0  1
//! ```

use fairlab_stats::Direction::{self, LowerIsBetter};

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::model::Data;
use crate::number::number;
use crate::text::Line;

/// Reads all intervals; the headings come again after a while.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let mut start = 0;
    if is_groups(lines.first()?) {
        start = 1;
    }
    let titles = titles(lines.get(start)?)?;
    let mut rows: Vec<(usize, Vec<f64>)> = Vec::new();
    let mut taken = start + 1;
    for (at, line) in lines.iter().enumerate().skip(taken) {
        if is_groups(line) || self::titles(line).is_some() {
            taken = at + 1;
            continue;
        }
        // With -t a date stands behind the numbers.
        let values: Vec<f64> = line.words().iter().map_while(|word| number(word)).collect();
        if values.len() < titles.len() {
            break;
        }
        rows.push((line.number, values));
        taken = at + 1;
    }
    let mut notes = Vec::new();
    if rows.len() > 1 {
        rows.remove(0);
        notes.push(
            "vmstat: the first line is the mean since the machine started, and was left out"
                .to_owned(),
        );
    } else if rows.len() == 1 {
        notes.push("vmstat: the only line is the mean since the machine started".to_owned());
    }
    let line = rows.first()?.0;
    let measures = titles.iter().enumerate().map(|(at, title)| {
        let (unit, better) = column(title);
        let values = rows.iter().filter_map(|(_, row)| row.get(at).copied());
        Measure::of(line, title, unit, better, Data::Values(values.collect()))
    });
    let mut found = Found::new(Format::Vmstat, taken, measures.collect());
    found.notes = notes;
    Some(found)
}

/// `procs ---memory--- ...`, in any width.
fn is_groups(line: &Line) -> bool {
    let words = line.words();
    words
        .first()
        .is_some_and(|word| word.trim_matches('-') == "procs")
        && words.iter().any(|word| word.trim_matches('-') == "memory")
}

/// The columns of the second heading, without a time zone behind them.
fn titles(line: &Line) -> Option<Vec<String>> {
    let words = line.words();
    if !words.starts_with(&["r", "b", "swpd", "free"]) {
        return None;
    }
    let known = words
        .iter()
        .take_while(|word| word.len() > 1 || **word == "r" || **word == "b");
    let titles: Vec<String> = known
        .filter(|word| word.chars().all(|c| c.is_ascii_lowercase()))
        .map(|word| (*word).to_owned())
        .collect();
    (titles.len() >= 15).then_some(titles)
}

/// Unit and direction of a column.
fn column(title: &str) -> (&'static str, Option<Direction>) {
    match title {
        "swpd" | "free" | "buff" | "cache" | "inact" | "active" => ("KiB", None),
        "si" | "so" => ("KiB/s", Some(LowerIsBetter)),
        "bi" | "bo" => ("blocks/s", None),
        "in" | "cs" => ("1/s", Some(LowerIsBetter)),
        "us" | "sy" | "id" | "gu" => ("%", None),
        "wa" | "st" => ("%", Some(LowerIsBetter)),
        _ => ("", None),
    }
}
