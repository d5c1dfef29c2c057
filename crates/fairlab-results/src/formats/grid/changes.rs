//! Tables of values before and after with their difference, and of values with their change in
//! brackets: `| fork+exit | 317.0625 | 303.6667 | -13.3958 (-4.22 %) |`, `3086.81 (-5.42 pct)`.

use super::{Grid, printed};
use crate::document::{Basis, Claim, Measure};
use crate::format::Format;
use crate::formats::Found;
use crate::formats::key_value::by_unit;
use crate::number::{Printed, loose};

/// Headings over the change of two values.
const CHANGES: [&str; 6] = [
    "diff",
    "change",
    "delta",
    "improvement",
    "difference",
    "gain",
];

/// Reads either kind.
pub(super) fn read(grid: &Grid) -> Option<Found> {
    before_after(grid).or_else(|| with_change(grid))
}

fn before_after(grid: &Grid) -> Option<Found> {
    let change = grid
        .headings
        .iter()
        .position(|heading| CHANGES.contains(&heading.to_lowercase().as_str()))?;
    let unit = grid.column("unit");
    let columns: Vec<usize> = (1..change).filter(|at| Some(*at) != unit).collect();
    let [a, b] = columns.as_slice() else {
        return None;
    };
    let mut found = Found::new(Format::PctTable, 1, Vec::new());
    for (line, cells) in &grid.rows {
        let name = cells.first()?;
        let (before, after) = (printed(cells, *a), printed(cells, *b));
        for (at, value) in [(*a, before), (*b, after)] {
            if let Some(value) = value {
                let measure = value_of(*line, name, grid.unit(cells), value);
                found.measures.push(measure.in_column(&grid.headings[at]));
            }
        }
        let (Some(before), Some(after)) = (before, after) else {
            continue;
        };
        for (stated, is_percent) in cells.get(change).map_or(Vec::new(), |cell| numbers(cell)) {
            found.claims.push(Claim {
                line: *line,
                row: name.clone(),
                stated,
                from: if is_percent {
                    Basis::Percent(before, after)
                } else {
                    Basis::Difference(before, after)
                },
            });
        }
    }
    (!found.measures.is_empty()).then_some(found)
}

/// Every value but those of the first column has its change behind it.
fn with_change(grid: &Grid) -> Option<Found> {
    let mut found = Found::new(Format::PctTable, 1, Vec::new());
    let mut has_change = false;
    for (line, cells) in &grid.rows {
        let name = cells.first()?;
        let mut baseline = None;
        for (at, cell) in cells.iter().enumerate().skip(1) {
            let (value, change) = match cell.split_once('(') {
                Some((value, change)) => (value, numbers(change).first().copied()),
                None => (cell.as_str(), None),
            };
            let Some(value) = loose(value.trim()) else {
                continue;
            };
            let measure = value_of(*line, name, grid.unit(cells), value);
            found
                .measures
                .push(measure.in_column(grid.headings.get(at)?));
            if let (Some(baseline), Some((stated, true))) = (baseline, change) {
                has_change = true;
                found.claims.push(Claim {
                    line: *line,
                    row: name.clone(),
                    stated,
                    from: Basis::Percent(baseline, value),
                });
            }
            baseline = baseline.or(Some(value));
        }
    }
    has_change.then_some(found)
}

fn value_of(line: usize, name: &str, unit: &str, value: Printed) -> Measure {
    Measure::value(line, name, unit, by_unit(unit), value.value)
}

/// The numbers of a cell, and whether each is a percentage: `-13.3958 (-4.22 %)`.
fn numbers(cell: &str) -> Vec<(Printed, bool)> {
    let words: Vec<&str> = cell.split_whitespace().collect();
    let is_percent = |word: &str| matches!(word.trim_matches(['(', ')']), "%" | "pct");
    words
        .iter()
        .enumerate()
        .filter_map(|(at, word)| {
            let value = loose(word)?;
            let has_sign = word.trim_end_matches(')').ends_with('%');
            let next = words.get(at + 1).is_some_and(|next| is_percent(next));
            Some((value, has_sign || next))
        })
        .collect()
}
