//! Tables of N, Min, Max, Median, Avg and Stddev, all of them or those that are known.

use super::{Grid, printed};
use crate::document::{Basis, Claim, Measure};
use crate::format::Format;
use crate::formats::Found;
use crate::formats::key_value::by_unit;
use crate::model::{Data, Figures};

/// Reads a table with one row per variant, whose figure is the title; or, where there are units,
/// with one row per figure.
pub(super) fn read(grid: &Grid) -> Option<Found> {
    let [n, min, max, median, mean, stddev, sem] =
        ["N", "Min", "Max", "Median", "Avg", "Stddev", "Std. error"].map(|name| grid.column(name));
    // One N: with two, each variant has its own.
    let counts = grid.headings.iter().filter(|heading| *heading == "N");
    mean.or(median)?;
    n.or(min)?;
    if counts.count() > 1 {
        return None;
    }
    let change = grid.column("Improvement").or(grid.column("Change"));
    let (title, title_unit) = grid.title.as_deref().map_or(("value", ""), titled);
    let names_are_rows = grid.column("unit").is_some();
    let mut found = Found::new(Format::Ministat, 1, Vec::new());
    let mut first = None;
    for (line, cells) in &grid.rows {
        let get = |at: Option<usize>| printed(cells, at?).map(|printed| printed.value);
        let figures = Figures {
            n: get(n).filter(|n| *n >= 1.0).map(|n| n as u64),
            min: get(min),
            max: get(max),
            median: get(median),
            mean: get(mean),
            stddev: get(stddev),
            sem: get(sem),
        };
        if figures.center().is_none() {
            continue;
        }
        let label = cells
            .first()
            .filter(|cell| super::loose(cell).is_none() || n != Some(0));
        let label = label.map_or("", String::as_str);
        let data = match figures {
            Figures {
                n: Some(1),
                mean: Some(value),
                ..
            } => Data::Values(vec![value]),
            figures => Data::Figures(figures),
        };
        let mut measure = if names_are_rows {
            let unit = grid.unit(cells);
            Measure::of(*line, label, unit, by_unit(unit), data)
        } else {
            Measure::of(*line, title, title_unit, by_unit(title_unit), data)
        };
        if !names_are_rows && !label.is_empty() {
            measure = measure.in_column(label);
        }
        let average = mean.and_then(|at| printed(cells, at));
        if let (Some(a), Some(b), Some(stated)) =
            (first, average, change.and_then(|at| printed(cells, at)))
        {
            found.claims.push(Claim {
                line: *line,
                row: label.to_owned(),
                stated,
                from: Basis::Percent(a, b),
            });
        }
        first = first.or(average);
        found.measures.push(measure);
    }
    (!found.measures.is_empty()).then_some(found)
}

/// Name and unit of `fork+exit (us)`.
fn titled(title: &str) -> (&str, &str) {
    match title.strip_suffix(')').and_then(|t| t.rsplit_once(" (")) {
        Some((name, unit)) => (name, unit),
        None => (title, ""),
    }
}
