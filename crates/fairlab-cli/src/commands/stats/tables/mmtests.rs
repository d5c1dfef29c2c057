//! The compare tables of mmtests.

use std::io::Write;

use anyhow::Result;
use fairlab::stats::table::{MmtestsCell, MmtestsRow, mmtests};
use fairlab_results::{Finding, side};

use super::{remarks, row_names};
use crate::cli::TableArg;
use crate::commands::stats::Report;
use crate::output::Output;

/// One table per group.
pub(super) fn print(out: &mut Output, report: &Report<'_>) -> Result<()> {
    let series = &report.results.series;
    let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
    let mut groups: Vec<(String, Vec<MmtestsRow>)> = Vec::new();
    for (group, name) in row_names(report) {
        let baseline = series.first().and_then(|series| series.row(&group, &name));
        let Some(first) = baseline.and_then(|row| side(row, 1.0, report.options.mean)) else {
            continue;
        };
        let mut cells = vec![Some(MmtestsCell {
            value: first.value,
            gain: Some(0.0),
            is_significant: false,
        })];
        for comparison in &report.comparisons {
            let row = comparison
                .rows
                .iter()
                .find(|row| row.group == group && row.name == name);
            cells.push(row.map(|row| MmtestsCell {
                value: row.b.value,
                gain: row.gain().or(row.change),
                is_significant: matches!(
                    row.finding(),
                    Finding::Better | Finding::Worse | Finding::Different
                ),
            }));
        }
        // A table of mmtests has its means in the names already.
        let (mean, name) = match (first.kind, name.split_once(' ')) {
            ("mean", Some((mean, rest))) => (mean.to_owned(), rest.to_owned()),
            ("value", _) => ("Value".to_owned(), name),
            (kind, _) => (kind.to_owned(), name),
        };
        let row = MmtestsRow { mean, name, cells };
        match groups.iter_mut().find(|(other, _)| *other == group) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((group, vec![row])),
        }
    }
    for (at, (group, rows)) in groups.into_iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        if !group.is_empty() {
            writeln!(out, "{group}")?;
        }
        write!(out, "{}", mmtests(names.iter().copied(), rows))?;
    }
    remarks(out, report, TableArg::Diff)
}
