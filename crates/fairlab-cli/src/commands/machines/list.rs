//! `fairlab machines list`

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use fairlab_machines::{Summary, catalogue, summary};
use serde::Serialize;

use crate::cli::OutputArgs;
use crate::output::{Format, Style};

/// One machine, as in the JSON form.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    summary: &'static str,
    facts: &'static str,
    spec: &'static str,
    counts: Option<Summary>,
}

/// Prints the built-in machines.
pub fn run(output: &OutputArgs) -> Result<ExitCode> {
    let rows: Vec<Row> = catalogue::entries()
        .iter()
        .map(|entry| Row {
            name: entry.name,
            summary: entry.summary,
            facts: entry.facts,
            spec: entry.spec,
            counts: entry.machine().as_ref().map(summary),
        })
        .collect();
    let format = output.format()?;
    let mut out = output.open()?;
    match format {
        Format::Json => out.json(&rows)?,
        Format::Text => {
            let width = rows.iter().map(|r| r.name.len()).max().unwrap_or(0) + 2;
            let head = format!("{:<width$}{}", "NAME", "MACHINE");
            let head = out.paint(Style::Bold, &head);
            writeln!(out, "{head}")?;
            for row in &rows {
                writeln!(out, "{:<width$}{}", row.name, row.summary)?;
            }
        }
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
