//! ministat's plots and rows.

use std::io::Write;

use anyhow::{Result, bail};
use fairlab::stats::Sample;
use fairlab::stats::table::{MinistatOptions, general, ministat_report};
use fairlab_results::Row;

use super::{row_names, rows_named};
use crate::commands::stats::Report;
use crate::output::Output;

/// One report per row.
pub(super) fn print(out: &mut Output, report: &Report<'_>) -> Result<()> {
    let names = row_names(report);
    let options = MinistatOptions {
        confidence: report.options.confidence,
        width: usize::from(report.args.width),
        ..MinistatOptions::default()
    };
    for (at, (group, name)) in names.iter().enumerate() {
        let rows = rows_named(report, group, name);
        let samples: Vec<(&str, Sample)> = rows
            .iter()
            .filter_map(|(name, row)| Some((*name, row.sample()?)))
            .collect();
        if at > 0 {
            writeln!(out)?;
        }
        if names.len() > 1 {
            writeln!(
                out,
                "{}",
                rows.first()
                    .map_or_else(String::new, |(_, row)| row.full_name())
            )?;
        }
        if samples.len() == rows.len() {
            let samples: Vec<(&str, &Sample)> =
                samples.iter().map(|(name, s)| (*name, s)).collect();
            write!(out, "{}", ministat_report(&samples, &options))?;
        } else {
            print_rows(out, &rows)?;
        }
    }
    if report.results.series.len() > 7 {
        bail!(
            "ministat has signs for seven series, {} were read: use another --format",
            report.results.series.len()
        );
    }
    Ok(())
}

/// ministat's rows without a plot, where only the summaries are known.
fn print_rows(out: &mut Output, rows: &[(&str, &Row)]) -> Result<()> {
    const SIGNS: [char; 7] = ['x', '+', '*', '%', '#', '@', 'O'];
    for ((name, _), sign) in rows.iter().zip(SIGNS) {
        writeln!(out, "{sign} {name}")?;
    }
    writeln!(
        out,
        "    N           Min           Max        Median           Avg        Stddev"
    )?;
    for ((_, row), sign) in rows.iter().zip(SIGNS) {
        let figures = row.data.figures();
        let cell = |value: Option<f64>| value.map_or("-".to_owned(), |value| general(value, 8));
        writeln!(
            out,
            "{sign} {:>3} {:>13} {:>13} {:>13} {:>13} {:>13}",
            figures.n.map_or("-".to_owned(), |n| n.to_string()),
            cell(figures.min),
            cell(figures.max),
            cell(figures.median),
            cell(figures.mean),
            cell(figures.stddev)
        )?;
    }
    Ok(())
}
