//! What is said beside the table: what was read, what was not, what does not follow.

use std::io::{self, Write};

use anyhow::Result;
use fairlab_results::Document;

use super::{Report, shown};
use crate::output::{Output, Style};

/// Tells on standard error what was decided and what was not understood.
pub fn told(report: &Report<'_>) {
    let mut lines = Vec::new();
    let has_heading = report.args.format.is_none()
        && report.args.table.is_none()
        && report.args.output.output.is_none()
        && !report.args.output.json;
    for document in &report.documents {
        if !has_heading {
            lines.push(kinds(document));
        }
        for note in &document.notes {
            lines.push(format!("{}: {note}", document.name));
        }
        for leftover in &document.leftovers {
            let (from, to) = (leftover.lines.start(), leftover.lines.end());
            let place = if from == to {
                format!("line {from}")
            } else {
                format!("lines {from}-{to}")
            };
            let what = if leftover.has_numbers {
                "not understood"
            } else {
                "words only"
            };
            lines.push(format!(
                "{}: {place} {what}: {}",
                document.name,
                shown(&leftover.text)
            ));
        }
    }
    for series in &report.comparisons {
        for (rows, what) in [
            (&series.only_in_a, "only in the baseline"),
            (&series.only_in_b, "not in the baseline"),
            (&series.other_units, "in units that do not fit"),
        ] {
            if !rows.is_empty() {
                let (more, shown) = (rows.len().saturating_sub(5), rows.iter().take(5));
                let names: Vec<&str> = shown.map(String::as_str).collect();
                let rest = if more > 0 {
                    format!(" and {more} more")
                } else {
                    String::new()
                };
                lines.push(format!(
                    "{}: {what}: {}{rest}",
                    series.name,
                    names.join(", ")
                ));
            }
        }
    }
    let mut stderr = io::stderr().lock();
    for line in lines {
        // Nobody may be left to read it.
        let _ = writeln!(stderr, "{line}");
    }
}

/// `a.txt: schbench (lines 3-14), mpstat (lines 16-18)`
pub fn kinds(document: &Document) -> String {
    let blocks: Vec<String> = document
        .blocks
        .iter()
        .take(12)
        .map(|block| {
            let (from, to) = (block.lines.start(), block.lines.end());
            let place = if from == to {
                format!("line {from}")
            } else {
                format!("lines {from}-{to}")
            };
            format!("{} ({place})", block.format.name())
        })
        .collect();
    let more = document.blocks.len().saturating_sub(12);
    let rest = if more > 0 {
        format!(" and {more} more blocks")
    } else {
        String::new()
    };
    format!("{}: {}{rest}", document.name, blocks.join(", "))
}

/// The kinds of what was read, above the table.
pub fn heading(out: &mut Output, report: &Report<'_>) -> Result<()> {
    for document in &report.documents {
        let line = out.paint(Style::Dim, &kinds(document));
        writeln!(out, "{line}")?;
    }
    writeln!(out)?;
    Ok(())
}

/// What the texts state and what their own figures give.
pub fn contradictions(out: &mut Output, report: &Report<'_>) -> Result<()> {
    for (document, claims) in report.documents.iter().zip(&report.claims) {
        if claims.checked == 0 {
            continue;
        }
        let (unclear, wrong): (Vec<_>, Vec<_>) = claims
            .contradictions
            .iter()
            .partition(|contradiction| contradiction.may_be_rounding);
        let follow = claims.checked - claims.contradictions.len();
        let cut = match claims.cut {
            0 => String::new(),
            cut => format!(", {cut} of them cut off and not rounded"),
        };
        let unclear = match unclear.len() {
            0 => String::new(),
            count => format!("; {count} more within the rounding of the printed figures"),
        };
        let sign = match claims.gain_is_positive {
            Some(true) => "; positive percentages are gains where less is better",
            Some(false) | None => "",
        };
        writeln!(
            out,
            "\n{}: {follow} of {} stated figures follow from the others{cut}{unclear}{sign}",
            document.name, claims.checked
        )?;
        for contradiction in wrong {
            let line = format!(
                "line {}: {}: {} is stated, {} follows",
                contradiction.line, contradiction.row, contradiction.stated, contradiction.computed
            );
            let line = out.paint(Style::Yellow, &line);
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// The conditions and the rows that fail them.
pub fn outcomes(out: &mut Output, report: &Report<'_>) -> Result<()> {
    if report.outcomes.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    for (condition, outcome) in report.args.check.iter().zip(&report.outcomes) {
        let failed = outcome.failures.len();
        let (word, style) = if failed == 0 {
            ("holds", Style::Green)
        } else {
            ("fails", Style::Red)
        };
        let word = out.paint(style, word);
        writeln!(
            out,
            "check {condition}: {word} ({failed} of {} rows fail)",
            outcome.rows
        )?;
        for failure in &outcome.failures {
            writeln!(out, "  {} {}", failure.row, failure.found)?;
        }
    }
    Ok(())
}
