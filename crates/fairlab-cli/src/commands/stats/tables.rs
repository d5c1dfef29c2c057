//! The tables.

mod diff;
mod full;
mod ministat;
mod mmtests;
mod remarks;
mod size;
mod summary;

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::Result;
use fairlab::stats::table::Table;
use fairlab_results::{Row, RowComparison, Series};

use self::remarks::remarks;
use super::{Report, table_arg};
use crate::cli::{FormArg, TableArg};
use crate::output::Output;

/// The table that shows most of what was read.
pub fn fitting(report: &Report<'_>) -> FormArg {
    let series = &report.results.series;
    if series.len() < 2
        || report
            .comparisons
            .iter()
            .all(|series| series.rows.is_empty())
    {
        return FormArg::Summary;
    }
    // Moments of an unknown number of runs: all that is known says more than the means.
    let is_untestable = |row: &RowComparison| {
        [&row.a, &row.b].iter().all(|side| {
            let figures = &side.figures;
            figures.n.is_none() && figures.min.is_some() && figures.stddev.is_some()
        })
    };
    if report
        .comparisons
        .iter()
        .flat_map(|series| &series.rows)
        .all(is_untestable)
    {
        return FormArg::Summary;
    }
    let has_tests = report
        .comparisons
        .iter()
        .flat_map(|series| &series.rows)
        .any(|row| row.tests.is_some());
    match (has_tests, series.len()) {
        (true, _) => FormArg::Full,
        (false, 2) => FormArg::Diff,
        (false, _) => FormArg::Pct,
    }
}

/// Prints the table in `form`.
pub fn print(out: &mut Output, report: &Report<'_>, form: FormArg) -> Result<()> {
    match form {
        FormArg::Mmtests => return mmtests::print(out, report),
        FormArg::Ministat => return ministat::print(out, report),
        _ => {}
    }
    let which = table_arg(report, form);
    let tables = match which {
        TableArg::Summary => summary::summaries(report),
        TableArg::Diff => diff::diffs(report),
        TableArg::Pct => diff::pcts(report),
        TableArg::Size => size::sizes(report)?,
        TableArg::Full => full::fulls(report),
    };
    for (at, (title, table)) in tables.iter().enumerate() {
        match form {
            FormArg::Csv => {
                if !title.is_empty() {
                    writeln!(out, "# {title}")?;
                }
                write!(out, "{}", table.to_csv())?;
            }
            FormArg::Latex => {
                if !title.is_empty() {
                    writeln!(out, "% {title}")?;
                }
                write!(out, "{}", table.to_latex())?;
            }
            FormArg::Markdown => {
                if at > 0 {
                    writeln!(out)?;
                }
                if !title.is_empty() {
                    writeln!(out, "**{title}**\n")?;
                }
                write!(out, "{}", table.to_markdown())?;
            }
            _ => {
                if at > 0 {
                    writeln!(out)?;
                }
                if !title.is_empty() {
                    writeln!(out, "{title}")?;
                }
                write!(out, "{}", table.to_text())?;
            }
        }
    }
    if !matches!(form, FormArg::Csv | FormArg::Latex) {
        remarks(out, report, which)?;
    }
    Ok(())
}

/// Tables with what stands above each.
type Titled = Vec<(String, Table)>;

/// Group and name of all rows, in the order of the series.
fn row_names(report: &Report<'_>) -> Vec<(String, String)> {
    let mut seen = BTreeSet::new();
    let mut names = Vec::new();
    for row in report.results.series.iter().flat_map(|series| &series.rows) {
        let name = (row.group.clone(), row.name.clone());
        if seen.insert(name.clone()) {
            names.push(name);
        }
    }
    names
}

/// The row of this group and name in each series that has one, with the series' name.
fn rows_named<'a>(report: &'a Report<'_>, group: &str, name: &str) -> Vec<(&'a str, &'a Row)> {
    let of_series = |series: &'a Series| Some((series.name.as_str(), series.row(group, name)?));
    report.results.series.iter().filter_map(of_series).collect()
}

/// One table per group and series.
fn by_group<'a>(rows: &'a [RowComparison]) -> Vec<(String, Vec<&'a RowComparison>)> {
    let mut groups: Vec<(String, Vec<&'a RowComparison>)> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|(group, _)| *group == row.group) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((row.group.clone(), vec![row])),
        }
    }
    groups
}

fn title(report: &Report<'_>, group: &str, series: &str) -> String {
    if report.comparisons.len() > 1 {
        let separator = if group.is_empty() { "" } else { ": " };
        format!("{group}{separator}{series}")
    } else {
        group.to_owned()
    }
}
