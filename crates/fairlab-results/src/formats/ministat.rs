//! ministat, and every table with the columns N, Min, Max, Median, Avg and Stddev.
//!
//! ```text
//! x time_before.txt
//! + time_after.txt
//! +----------------+
//! |x  x    +  ++   |
//! +----------------+
//!     N           Min           Max        Median           Avg        Stddev
//! x  10     3.6578385     3.7823199     3.7285758     3.7278216   0.045107315
//! +  10     3.3921297     3.5173889     3.4771778     3.4543354   0.049036166
//! Difference at 95.0% confidence
//!         -0.273486 +/- 0.0442669
//!         -7.33635% +/- 1.18747%
//!         (Student's t, pooled s = 0.0471127)
//! ```

use super::Found;
use crate::document::{Basis, Claim, Measure};
use crate::format::Format;
use crate::model::{Data, Figures};
use crate::number::{Printed, loose, printed};
use crate::text::Line;

const COLUMNS: [&str; 6] = ["N", "Min", "Max", "Median", "Avg", "Stddev"];
/// The signs of ministat's series.
const SIGNS: [&str; 7] = ["x", "+", "*", "%", "#", "@", "O"];

/// Reads a table, with the names and the plot above it when they are there.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let (names, mut at) = names(lines);
    while lines.get(at).is_some_and(is_plot) {
        at += 1;
    }
    let heading = lines.get(at)?;
    if at > 0 && names.is_empty() && !is_heading(heading) {
        return None;
    }
    if !is_heading(heading) {
        return None;
    }
    let mut found = Found::new(Format::Ministat, at + 1, Vec::new());
    let mut rows: Vec<Row> = Vec::new();
    for (at, line) in lines.iter().enumerate().skip(at + 1) {
        if line.is_blank() {
            continue;
        }
        let Some(row) = Row::of(line) else {
            // Differences belong to the last row.
            if let Some(claims) = rows
                .last()
                .and_then(|row| difference(line, rows.first(), row))
            {
                found.claims.extend(claims);
                found.lines = at + 1;
                continue;
            }
            break;
        };
        found.lines = at + 1;
        rows.push(row);
    }
    let mut seen: Vec<String> = Vec::new();
    let first = rows.first().map(|row| row.average);
    for row in &rows {
        let place = SIGNS.iter().position(|sign| *sign == row.label);
        let label = match place.and_then(|place| names.get(place)) {
            Some(name) => name.clone(),
            None => row.label.clone(),
        };
        let times = seen.iter().filter(|other| **other == label).count();
        seen.push(label.clone());
        let column = match (label.as_str(), times) {
            ("", _) => None,
            (_, 0) => Some(label),
            (_, times) => Some(format!("{label} ({})", times + 1)),
        };
        if let (Some(stated), Some(first)) = (row.stated, first) {
            found.claims.push(Claim {
                line: row.line,
                row: column.clone().unwrap_or_default(),
                stated,
                from: Basis::Percent(first, row.average),
            });
        }
        found.measures.push(Measure {
            name: "value".to_owned(),
            column,
            unit: String::new(),
            better: None,
            data: Data::Figures(row.figures),
            line: row.line,
        });
    }
    (!rows.is_empty()).then_some(found)
}

/// `x FILE`, `+ FILE`, at the very begin.
fn names(lines: &[Line]) -> (Vec<String>, usize) {
    let mut names = Vec::new();
    for (line, sign) in lines.iter().zip(SIGNS) {
        match line.text.trim_start().strip_prefix(sign) {
            // `+-----` is the frame of the plot.
            Some(name)
                if name.starts_with(' ')
                    && printed(name.split_whitespace().next().unwrap_or("")).is_none() =>
            {
                names.push(name.trim().to_owned());
            }
            _ => break,
        }
    }
    let taken = names.len();
    (names, taken)
}

fn is_plot(line: &Line) -> bool {
    let text = line.trimmed();
    (text.starts_with("+--") && text.ends_with("-+"))
        || (text.starts_with('|') && text.ends_with('|') && text.len() > 20)
}

/// `N Min Max Median Avg Stddev`, perhaps with a word before it and one or more behind it.
fn is_heading(line: &Line) -> bool {
    let words = line.words();
    let starts = |from: usize| {
        words.get(from..from + COLUMNS.len()).is_some_and(|words| {
            words
                .iter()
                .zip(COLUMNS)
                .all(|(word, column)| word.eq_ignore_ascii_case(column))
        })
    };
    (0..3).any(starts)
}

struct Row {
    line: usize,
    label: String,
    figures: Figures,
    average: Printed,
    stated: Option<Printed>,
}

impl Row {
    fn of(line: &Line) -> Option<Self> {
        let words = line.words();
        // The label may be several words, some of them numbers (`sleep 0.1`), or none; the six
        // numbers are in one piece.
        let (from, values) = (0..words.len()).find_map(|from| {
            let six: Option<Vec<Printed>> = words
                .get(from..from + COLUMNS.len())?
                .iter()
                .map(|word| printed(word))
                .collect();
            let six = <[Printed; COLUMNS.len()]>::try_from(six?).ok()?;
            let [n, min, max, median, ..] = six;
            let is_ordered = min.value <= median.value && median.value <= max.value;
            let is_count = n.decimals == 0 && n.value >= 1.0 && n.value <= 1e15;
            (is_ordered && is_count).then_some((from, six))
        })?;
        let [n, min, max, median, average, stddev] = values;
        Some(Self {
            line: line.number,
            label: words[..from].join(" ").trim_end_matches(':').to_owned(),
            figures: Figures {
                n: Some(n.value as u64),
                min: Some(min.value),
                max: Some(max.value),
                median: Some(median.value),
                mean: Some(average.value),
                stddev: Some(stddev.value),
                sem: None,
            },
            average,
            stated: words.get(from + COLUMNS.len()).and_then(|word| loose(word)),
        })
    }
}

/// The lines of ministat's verdict; what it computes from the values as claims.
fn difference(line: &Line, first: Option<&Row>, last: &Row) -> Option<Vec<Claim>> {
    let text = line.trimmed();
    let is_talk = text.starts_with("Difference at ")
        || text.starts_with("No difference proven at ")
        || text.starts_with("(Student's t, pooled s");
    if is_talk {
        return Some(Vec::new());
    }
    let (value, _) = text.split_once("+/-").or_else(|| text.split_once("+-"))?;
    let value = value.trim();
    let stated = loose(value)?;
    let (a, b) = (first?.average, last.average);
    Some(vec![Claim {
        line: line.number,
        row: last.label.clone(),
        stated,
        from: if value.ends_with('%') {
            Basis::Percent(a, b)
        } else {
            Basis::Difference(a, b)
        },
    }])
}
