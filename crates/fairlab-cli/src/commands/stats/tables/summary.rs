//! What is known of each row of each series.

use fairlab::stats::Summary;
use fairlab::stats::table::{Align, Rounding, Table, ministat, percent, significant};
use fairlab_results::{Data, Direction, Figures, Row};

use super::{Titled, row_names, rows_named};
use crate::commands::stats::Report;

/// One table per row, one line per series; single values, and the rows of a single series, as one
/// table.
pub(super) fn summaries(report: &Report<'_>) -> Titled {
    // Rows of one value each make one table and not many.
    let is_single = |row: &Row| matches!(&row.data, Data::Values(values) if values.len() == 1);
    let series = &report.results.series;
    if series
        .iter()
        .all(|series| series.rows.iter().all(is_single))
    {
        return vec![(String::new(), plain(report))];
    }
    if let [series] = series.as_slice()
        && series.rows.len() > 1
    {
        return vec![(String::new(), of_one(&series.rows))];
    }
    let mut tables = Vec::new();
    let names = row_names(report);
    for (group, name) in &names {
        let rows = rows_named(report, group, name);
        let Some((_, first)) = rows.first() else {
            continue;
        };
        let better = report.options.better.or(first.better);
        let summaries: Vec<(&str, Figures)> = rows
            .iter()
            .map(|(series, row)| (*series, row.data.figures()))
            .collect();
        let whole: Vec<(&str, Summary)> = summaries
            .iter()
            .filter_map(|(name, figures)| Some((*name, figures.summary()?)))
            .collect();
        let table = match better {
            Some(better) if whole.len() == summaries.len() => ministat(whole, better),
            _ => partial(&summaries, better),
        };
        let unit = if first.unit.is_empty() {
            String::new()
        } else {
            format!(" ({})", first.unit)
        };
        let title = format!("{}{unit}", first.full_name());
        let title = if names.len() == 1 && title == "value" {
            String::new()
        } else {
            title
        };
        tables.push((title, table));
    }
    tables
}

/// A number of a summary.
fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| significant(value, 8))
}

/// The rows of one series, one line each. Nothing is compared, so that there is no change, and what
/// is known of no row has no column.
fn of_one(rows: &[Row]) -> Table {
    type Moment = fn(&Figures) -> Option<f64>;
    let moments: [(&str, Moment); 6] = [
        ("Min", |figures| figures.min),
        ("Max", |figures| figures.max),
        ("Median", |figures| figures.median),
        ("Avg", |figures| figures.mean),
        ("Stddev", |figures| figures.stddev),
        ("Std. error", |figures| figures.sem),
    ];
    let figures: Vec<Figures> = rows
        .iter()
        .map(|row| match row.data.figures() {
            // One value does not vary, which is no finding.
            Figures {
                n: Some(1), mean, ..
            } => Figures {
                n: Some(1),
                mean,
                ..Figures::default()
            },
            figures => figures,
        })
        .collect();
    let known: Vec<_> = moments
        .into_iter()
        .filter(|(_, moment)| figures.iter().any(|figures| moment(figures).is_some()))
        .collect();
    let columns = known.iter().map(|(heading, _)| (*heading, Align::Right));
    let first = [
        ("", Align::Left),
        ("unit", Align::Left),
        ("N", Align::Right),
    ];
    let mut table = Table::new(first.into_iter().chain(columns));
    for (row, figures) in rows.iter().zip(&figures) {
        let mut cells = vec![
            row.full_name(),
            row.unit.clone(),
            figures.n.map_or("-".to_owned(), |n| n.to_string()),
        ];
        cells.extend(known.iter().map(|(_, moment)| number(moment(figures))));
        table.row(cells);
    }
    table
}

/// The six columns with what is known, and the change where nobody said what is better.
fn partial(rows: &[(&str, Figures)], better: Option<Direction>) -> Table {
    let last = if better.is_some() {
        "Improvement"
    } else {
        "Change"
    };
    let headings = ["N", "Min", "Max", "Median", "Avg", "Stddev", last];
    let columns = headings.map(|heading| (heading, Align::Right));
    let mut table = Table::new([("", Align::Left)].into_iter().chain(columns));
    let baseline = rows.first().and_then(|(_, figures)| figures.center());
    for (at, (name, figures)) in rows.iter().enumerate() {
        let change = match (baseline, figures.center()) {
            (Some(a), Some(b)) if at > 0 && a != 0.0 => {
                let change = (b - a) / a.abs();
                let change = if better == Some(Direction::LowerIsBetter) {
                    -change
                } else {
                    change
                };
                format!("{}%", percent(change, Rounding::TowardsZero))
            }
            _ => String::new(),
        };
        table.row([
            (*name).to_owned(),
            figures.n.map_or("-".to_owned(), |n| n.to_string()),
            number(figures.min),
            number(figures.max),
            number(figures.median),
            number(figures.mean),
            number(figures.stddev),
            change,
        ]);
    }
    table
}

/// Row, unit and one value per series.
fn plain(report: &Report<'_>) -> Table {
    let series = report
        .results
        .series
        .iter()
        .map(|series| (series.name.as_str(), Align::Right));
    let mut table = Table::new(
        [("", Align::Left), ("unit", Align::Left)]
            .into_iter()
            .chain(series),
    );
    for (group, name) in row_names(report) {
        let rows: Vec<Option<&Row>> = report
            .results
            .series
            .iter()
            .map(|series| series.row(&group, &name))
            .collect();
        let first = rows.iter().flatten().next();
        let mut cells = vec![
            first.map_or_else(String::new, |row| row.full_name()),
            first.map_or_else(String::new, |row| row.unit.clone()),
        ];
        cells.extend(rows.iter().map(
            |row| match row.and_then(|row| row.data.figures().center()) {
                Some(value) => significant(value, 12),
                None => "-".to_owned(),
            },
        ));
        table.row(cells);
    }
    table
}
