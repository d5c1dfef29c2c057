//! Tables with a change beside every value, one variant per column:
//!
//! ```text
//! Clients:        tip                 tip + patch
//!     8   3263.81 (0.00 pct)     3086.81 (-5.42 pct)
//!
//! Test:          tip[pct imp](CV)     patch[pct imp](CV)
//!  1-groups     1.00 [ -0.00]( 2.04)     0.97 [  2.57]( 3.87)
//!
//!               before     after      diff
//! fork+exit   317.0625  303.6667  -4.22 %
//! ```

use super::Found;
use crate::document::{Basis, Claim, Measure};
use crate::format::Format;
use crate::model::{Data, Figures};
use crate::number::{Printed, loose, printed};
use crate::text::{Line, words_at};

/// Reads a table with its heading.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    // Under `diff`, a difference with its percentage is no third variant.
    let is_diff = lines.first()?.words().last() == Some(&"diff");
    let first = is_diff.then(|| before_after(lines)).flatten();
    first
        .or_else(|| with_pct(lines))
        .or_else(|| before_after(lines))
}

fn with_pct(lines: &[Line]) -> Option<Found> {
    let heading = lines.first()?;
    let mut start = 0;
    let mut columns = Vec::new();
    if pct_row(heading).is_none() {
        start = 1;
        // A rule or a blank line may follow the heading.
        while lines
            .get(start)
            .is_some_and(|line| line.is_blank() || is_rule(line.trimmed()))
            && start < 3
        {
            start += 1;
        }
        columns = split_wide(&heading.text);
    }
    let (_, cells) = pct_row(lines.get(start)?)?;
    let width = cells.len();
    if columns.len() == width + 1 {
        columns.remove(0);
    } else if columns.len() != width {
        if start > 0 && columns.len() != 1 {
            // The columns' names are several words with one blank between them.
            columns = (1..=width).map(|at| format!("column {at}")).collect();
        } else if start > 0 {
            return None;
        } else {
            columns = (1..=width).map(|at| format!("column {at}")).collect();
        }
    }
    let mut found = Found::new(Format::PctTable, start, Vec::new());
    let mut rows = Vec::new();
    for (at, line) in lines.iter().enumerate().skip(start) {
        if line.is_blank() || is_rule(line.trimmed()) {
            continue;
        }
        let Some((name, cells)) = pct_row(line) else {
            break;
        };
        rows.push((line.number, name, cells));
        found.lines = at + 1;
    }
    for (line, name, cells) in rows {
        let baseline = cells.first().map(|cell| cell.0);
        for (at, (value, percent, spread)) in cells.iter().enumerate() {
            found.measures.push(Measure {
                name: name.clone(),
                column: Some(column_name(columns.get(at), at)),
                unit: String::new(),
                better: None,
                data: Data::Figures(Figures {
                    mean: Some(value.value),
                    stddev: spread.map(|cv| cv.value / 100.0 * value.value.abs()),
                    ..Figures::default()
                }),
                line,
            });
            if let (Some(baseline), Some(percent), true) = (baseline, percent, at > 0) {
                found.claims.push(Claim {
                    line,
                    row: name.clone(),
                    stated: *percent,
                    from: Basis::Percent(baseline, *value),
                });
            }
        }
    }
    Some(found)
}

fn column_name(name: Option<&String>, at: usize) -> String {
    let name = name.map_or("", |name| name.split('[').next().unwrap_or(name));
    let name = name.trim().trim_end_matches(':');
    if name.is_empty() {
        format!("column {}", at + 1)
    } else {
        name.to_owned()
    }
}

/// Value, change in percent, coefficient of variation in percent.
type PctCell = (Printed, Option<Printed>, Option<Printed>);

/// The name and the cells of a row. At least one cell has its change in brackets.
fn pct_row(line: &Line) -> Option<(String, Vec<PctCell>)> {
    let text = line
        .text
        .replace(['[', '('], " \u{1} ")
        .replace([']', ')'], " \u{2} ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut cells: Vec<PctCell> = Vec::new();
    let mut name: Vec<&str> = Vec::new();
    let mut has_change = false;
    let mut at = 0;
    while at < words.len() {
        let value = printed(words[at]);
        let is_bracket = words.get(at + 1) == Some(&"\u{1}");
        match value {
            Some(value) if is_bracket => {
                let (percent, next) = bracket(&words, at + 1, true)?;
                at = next;
                let mut spread = None;
                if words.get(at) == Some(&"\u{1}") {
                    let (cv, next) = bracket(&words, at, false)?;
                    spread = Some(cv);
                    at = next;
                }
                has_change = true;
                cells.push((value, Some(percent), spread));
            }
            // The baseline may stand alone: `4.53    4.66 (-2.87 pct)`.
            Some(value) if !name.is_empty() => {
                cells.push((value, None, None));
                at += 1;
            }
            _ if cells.is_empty() && !words[at].starts_with(['\u{1}', '\u{2}']) => {
                name.push(words[at]);
                at += 1;
            }
            _ => return None,
        }
    }
    let name = name.join(" ");
    let name = name.trim_end_matches(':').to_owned();
    (has_change && !name.is_empty() && cells.len() >= 2).then_some((name, cells))
}

/// The number of `( -5.42 pct )`, and where it ends. When a unit is wanted, it is `pct`, `%` or, in
/// square brackets, nothing.
fn bracket(words: &[&str], open: usize, wants_unit: bool) -> Option<(Printed, usize)> {
    let inside: Vec<&str> = words
        .get(open + 1..)?
        .iter()
        .take_while(|word| **word != "\u{2}")
        .copied()
        .collect();
    let number = loose(inside.first()?)?;
    let is_percent = inside
        .get(1)
        .is_none_or(|unit| matches!(*unit, "pct" | "%"));
    if (wants_unit && !is_percent) || inside.len() > 2 {
        return None;
    }
    Some((number, open + inside.len() + 2))
}

/// A heading with a column for the change, and rows of a name, two values and the change in one or
/// two forms.
fn before_after(lines: &[Line]) -> Option<Found> {
    let heading = lines.first()?;
    let mut columns = split_wide(&heading.text);
    if columns.len() < 3 && heading.words().len() <= 6 {
        columns = heading
            .words()
            .iter()
            .map(|word| (*word).to_owned())
            .collect();
    }
    let last = columns.last()?.to_lowercase();
    let says_change = [
        "diff",
        "change",
        "delta",
        "improvement",
        "%",
        "pct",
        "gain",
        "percent",
    ]
    .iter()
    .any(|word| last.contains(word));
    if !says_change || columns.iter().any(|column| printed(column).is_some()) {
        return None;
    }
    let values: Vec<String> = columns
        .iter()
        .filter(|column| !is_change_heading(column))
        .cloned()
        .collect();
    let mut found = Found::new(Format::PctTable, 1, Vec::new());
    for (at, line) in lines.iter().enumerate().skip(1) {
        if is_rule(line.trimmed()) || (line.is_blank() && found.measures.is_empty()) {
            continue;
        }
        let Some((name, a, b, changes)) = change_row(line) else {
            break;
        };
        found.lines = at + 1;
        // The first column's heading may be missing or be that of the names.
        let (first, second) = match values.as_slice() {
            [.., a, b] => (a.clone(), b.clone()),
            _ => return None,
        };
        for (column, value) in [(first, a), (second, b)] {
            found.measures.push(
                Measure {
                    data: Data::Values(vec![value.value]),
                    ..Measure::value(line.number, &name, "", None, value.value)
                }
                .in_column(column.trim_end_matches(':')),
            );
        }
        for (change, is_percent) in changes {
            found.claims.push(Claim {
                line: line.number,
                row: name.clone(),
                stated: change,
                from: if is_percent {
                    Basis::Percent(a, b)
                } else {
                    Basis::Difference(a, b)
                },
            });
        }
    }
    (!found.measures.is_empty()).then_some(found)
}

fn is_change_heading(heading: &str) -> bool {
    let lower = heading.to_lowercase();
    [
        "diff",
        "change",
        "delta",
        "improvement",
        "pct",
        "gain",
        "percent",
    ]
    .iter()
    .any(|word| lower.contains(word))
        || lower.starts_with('%')
        || lower.ends_with('%')
}

type ChangeRow = (String, Printed, Printed, Vec<(Printed, bool)>);

/// `NAME A B [DIFFERENCE] [CHANGE %]`
fn change_row(line: &Line) -> Option<ChangeRow> {
    let words = line.words();
    let from = (1..words.len()).find(|&at| {
        printed(words[at]).is_some()
            && words
                .get(at + 1)
                .is_some_and(|word| printed(word).is_some())
    })?;
    let (a, b) = (printed(words[from])?, printed(words[from + 1])?);
    let mut changes = Vec::new();
    let rest = &words[from + 2..];
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        let value = loose(word)?;
        let inner = word.trim_matches(['(', ')']);
        let next = rest
            .get(at + 1)
            .map_or("", |next| next.trim_matches(['(', ')']));
        let is_percent = inner.ends_with('%') || matches!(next, "%" | "pct");
        at += if is_percent && !inner.ends_with('%') {
            2
        } else {
            1
        };
        changes.push((value, is_percent));
    }
    if changes.is_empty() || changes.len() > 2 {
        return None;
    }
    let name = words[..from].join(" ").trim_end_matches(':').to_owned();
    Some((name, a, b, changes))
}

/// Parts of a line between two or more blanks.
pub(super) fn split_wide(text: &str) -> Vec<String> {
    let mut parts: Vec<(usize, String)> = Vec::new();
    for (column, word) in words_at(text) {
        match parts.last_mut() {
            Some((end, part)) if column <= *end + 1 => {
                part.push(' ');
                part.push_str(word);
                *end = column + word.chars().count();
            }
            _ => parts.push((column + word.chars().count(), word.to_owned())),
        }
    }
    parts.into_iter().map(|(_, part)| part).collect()
}

/// A line of dashes, equal signs and such.
pub(super) fn is_rule(text: &str) -> bool {
    text.len() >= 3
        && text.chars().all(|c| {
            matches!(
                c,
                '-' | '=' | '+' | '|' | '_' | '*' | '~' | ' ' | ':' | '.' | '#'
            )
        })
}
