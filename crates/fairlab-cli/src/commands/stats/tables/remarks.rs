//! What stands below a table.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::Result;
use fairlab_results::{Finding, RowComparison};

use crate::cli::TableArg;
use crate::commands::stats::Report;
use crate::output::Output;

/// Which means stand in the table, how it was tested, and that single values were not.
pub(super) fn remarks(out: &mut Output, report: &Report<'_>, which: TableArg) -> Result<()> {
    let rows = || report.comparisons.iter().flat_map(|series| &series.rows);
    let kinds: BTreeSet<&str> = rows()
        .flat_map(|row| [row.a.kind, row.b.kind])
        .filter(|kind| !matches!(*kind, "value" | "mean"))
        .collect();
    let mut lines = Vec::new();
    if !kinds.is_empty() && !matches!(which, TableArg::Summary | TableArg::Size) {
        let says = |kind: &str| match kind {
            "Amean" => "arithmetic means (Amean)",
            "Hmean" => "harmonic means (Hmean) of rates",
            "Gmean" => "geometric means (Gmean) of ratios",
            _ => "medians",
        };
        let kinds: Vec<&str> = kinds.into_iter().map(says).collect();
        lines.push(format!("values are {} of the runs", kinds.join(", ")));
    }
    // A spread without a count comes from repetitions that nobody counted.
    let is_uncounted = |row: &&RowComparison| {
        [&row.a, &row.b].iter().all(|side| {
            let figures = &side.figures;
            figures.n.is_none() && figures.stddev.or(figures.sem).is_some()
        })
    };
    let (uncounted, single): (Vec<_>, Vec<_>) = rows()
        .filter(|row| row.finding() == Finding::NotTested)
        .partition(is_uncounted);
    for (untested, why) in [
        (single.len(), "have no repetitions"),
        (uncounted.len(), "do not say of how many runs they are"),
    ] {
        if untested > 0 && which != TableArg::Size {
            lines.push(format!(
                "{untested} of {} rows {why}: no significance can be stated",
                rows().count()
            ));
        }
    }
    let level = report.options.confidence * 100.0;
    if which == TableArg::Full && rows().any(|row| row.tests.is_some()) {
        let correction = if report.options.adjusts {
            ", p adjusted for the number of rows (Holm)"
        } else {
            ""
        };
        lines.push(format!(
            "Mann-Whitney U (Welch's t where only moments are known), intervals at {level:.1} %{correction}"
        ));
    }
    if !lines.is_empty() {
        writeln!(out)?;
    }
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
