//! All that is known of each comparison.

use fairlab::stats::table::{Align, Rounding, Table, percent, significant};
use fairlab_results::RowComparison;

use super::{Titled, by_group, title};
use crate::commands::stats::Report;

/// One line per row, with both sides, the tests and the finding.
pub(super) fn fulls(report: &Report<'_>) -> Titled {
    let baseline = report
        .results
        .series
        .first()
        .map_or("", |series| series.name.as_str());
    let mut tables = Vec::new();
    for series in &report.comparisons {
        for (group, rows) in by_group(&series.rows) {
            let mut table = Table::new([
                ("", Align::Left),
                ("unit", Align::Left),
                ("N", Align::Right),
                (baseline, Align::Right),
                ("N", Align::Right),
                (series.name.as_str(), Align::Right),
                ("change", Align::Right),
                ("difference", Align::Right),
                ("interval", Align::Left),
                ("p (MW)", Align::Right),
                ("p (Welch)", Align::Right),
                ("p adj.", Align::Right),
                ("d", Align::Right),
                ("delta", Align::Right),
                ("runs needed", Align::Right),
                ("finding", Align::Left),
            ]);
            for row in rows {
                table.row(full_cells(row));
            }
            tables.push((title(report, &group, &series.name), table));
        }
    }
    tables
}

fn full_cells(row: &RowComparison) -> Vec<String> {
    let dash = || "-".to_owned();
    let count = |n: Option<u64>| n.map_or_else(dash, |n| n.to_string());
    let number = |value: f64| significant(value, 6);
    let p = |p: Option<f64>| match p {
        Some(p) if p < 0.0001 => "<0.0001".to_owned(),
        Some(p) => format!("{p:.4}"),
        None => dash(),
    };
    let short = |value: Option<f64>| value.map_or_else(dash, |value| format!("{value:.2}"));
    let change = row.change.map_or_else(dash, |change| {
        format!("{}%", percent(change, Rounding::Nearest))
    });
    let mut cells = vec![
        row.name.clone(),
        row.unit.clone(),
        count(row.a.figures.n),
        number(row.a.value),
        count(row.b.figures.n),
        number(row.b.value),
        change,
    ];
    match &row.tests {
        Some(tests) => cells.extend([
            number(tests.difference.estimate),
            format!(
                "[{}, {}]",
                number(tests.difference.low),
                number(tests.difference.high)
            ),
            p(tests.mann_whitney_p),
            p(tests.welch_p),
            p(tests.p),
            short(tests.cohens_d),
            short(tests.cliffs_delta),
            count(tests.runs_needed),
        ]),
        None => {
            cells.push(number(row.b.value - row.a.value));
            cells.extend((0..7).map(|_| dash()));
        }
    }
    cells.push(row.finding().name().to_owned());
    cells
}
