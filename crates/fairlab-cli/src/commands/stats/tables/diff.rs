//! Before and after, one table per series, and the values of all series with their change.

use fairlab::stats::table::{BeforeAfter, PctRow, before_after, value_pct};
use fairlab_results::side;

use super::{Titled, by_group, row_names, title};
use crate::commands::stats::Report;

/// Before, after, difference.
pub(super) fn diffs(report: &Report<'_>) -> Titled {
    let mut tables = Vec::new();
    for series in &report.comparisons {
        for (group, rows) in by_group(&series.rows) {
            let table = before_after(rows.into_iter().map(|row| BeforeAfter {
                name: row.name.clone(),
                before: row.a.value,
                after: row.b.value,
            }));
            tables.push((title(report, &group, &series.name), table));
        }
    }
    tables
}

/// `3086.81 (-5.42 pct)`, one column per series.
pub(super) fn pcts(report: &Report<'_>) -> Titled {
    let series = &report.results.series;
    let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
    let mut groups: Vec<(String, Vec<PctRow>)> = Vec::new();
    for (group, name) in row_names(report) {
        let values = series
            .iter()
            .map(|series| Some(side(series.row(&group, &name)?, 1.0, report.options.mean)?.value))
            .collect();
        let row = PctRow { load: name, values };
        match groups.iter_mut().find(|(other, _)| *other == group) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((group, vec![row])),
        }
    }
    groups
        .into_iter()
        .map(|(group, rows)| (group, value_pct("", names.iter().copied(), rows)))
        .collect()
}
