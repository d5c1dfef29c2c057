//! The report as JSON.

use anyhow::Result;
use fairlab_results::{Direction, Figures, RowComparison, Side};
use serde_json::{Value, json};

use super::Report;
use crate::output::Output;

/// Prints everything: inputs, series, comparisons, claims and checks.
pub fn print(out: &mut Output, report: &Report<'_>) -> Result<()> {
    let results: Value = serde_json::from_str(&fairlab_results::to_json(&report.results))?;
    let inputs: Vec<Value> = report
        .documents
        .iter()
        .zip(&report.claims)
        .map(|(document, claims)| {
            let blocks: Vec<Value> = document
                .blocks
                .iter()
                .map(|block| {
                    json!({
                        "format": block.format.name(),
                        "lines": [block.lines.start(), block.lines.end()],
                        "section": block.section,
                        "label": block.label,
                        "command": block.command,
                        "figures": block.measures.len(),
                    })
                })
                .collect();
            let leftovers: Vec<Value> = document
                .leftovers
                .iter()
                .map(|left| {
                    json!({
                        "lines": [left.lines.start(), left.lines.end()],
                        "text": left.text,
                        "has_numbers": left.has_numbers,
                    })
                })
                .collect();
            let contradictions: Vec<Value> = claims
                .contradictions
                .iter()
                .map(|c| {
                    json!({
                        "line": c.line,
                        "row": c.row,
                        "stated": c.stated,
                        "computed": c.computed,
                        "may_be_rounding": c.may_be_rounding,
                    })
                })
                .collect();
            json!({
                "name": document.name,
                "blocks": blocks,
                "not_understood": leftovers,
                "notes": document.notes,
                "claims": {
                    "checked": claims.checked,
                    "cut": claims.cut,
                    "contradictions": contradictions,
                },
            })
        })
        .collect();
    let comparisons: Vec<Value> = report
        .comparisons
        .iter()
        .map(|series| {
            json!({
                "baseline": report.results.series.first().map(|series| &series.name),
                "series": series.name,
                "rows": series.rows.iter().map(row).collect::<Vec<_>>(),
                "only_in_baseline": series.only_in_a,
                "not_in_baseline": series.only_in_b,
                "units_do_not_fit": series.other_units,
            })
        })
        .collect();
    let checks: Vec<Value> = report
        .args
        .check
        .iter()
        .zip(&report.outcomes)
        .map(|(condition, outcome)| {
            let failures: Vec<Value> = outcome
                .failures
                .iter()
                .map(|failure| json!({"row": failure.row, "found": failure.found}))
                .collect();
            json!({
                "condition": condition.to_string(),
                "holds": outcome.failures.is_empty(),
                "rows": outcome.rows,
                "failures": failures,
            })
        })
        .collect();
    out.json(&json!({
        "format": "fairlab-stats/1",
        "confidence": report.options.confidence,
        "correction": if report.options.adjusts { "Holm" } else { "none" },
        "seed": report.options.seed,
        "inputs": inputs,
        "results": results,
        "comparisons": comparisons,
        "checks": checks,
    }))
}

fn row(row: &RowComparison) -> Value {
    let tests = row.tests.as_ref().map(|tests| {
        json!({
            "difference": tests.difference.estimate,
            "difference_low": tests.difference.low,
            "difference_high": tests.difference.high,
            "welch_p": tests.welch_p,
            "mann_whitney_p": tests.mann_whitney_p,
            "p": tests.p,
            "cohens_d": tests.cohens_d,
            "cliffs_delta": tests.cliffs_delta,
            "runs_needed": tests.runs_needed,
        })
    });
    json!({
        "group": row.group,
        "row": row.name,
        "unit": row.unit,
        "better": row.better.map(|better| match better {
            Direction::LowerIsBetter => "lower",
            Direction::HigherIsBetter => "higher",
        }),
        "a": side(&row.a),
        "b": side(&row.b),
        "change": row.change,
        "gain": row.gain(),
        "tests": tests,
        "finding": row.finding().name(),
    })
}

fn side(side: &Side) -> Value {
    let Figures {
        n,
        min,
        max,
        median,
        mean,
        stddev,
        sem,
    } = side.figures;
    json!({
        "value": side.value,
        "kind": side.kind,
        "n": n,
        "min": min,
        "max": max,
        "median": median,
        "mean": mean,
        "stddev": stddev,
        "sem": sem,
    })
}
