//! `fairlab machines check M`

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use fairlab::topology::Machine;
use fairlab_machines::{Severity, check};

use crate::EXIT_WORSE;
use crate::cli::OutputArgs;
use crate::output::{Format, Style};

/// Prints what is odd about the machine; exits with 1 when there are problems.
pub fn run(machine: &Machine, output: &OutputArgs) -> Result<ExitCode> {
    let findings = check(machine);
    let has_problems = findings.iter().any(|f| f.severity == Severity::Problem);
    let format = output.format()?;
    let mut out = output.open()?;
    match format {
        Format::Json => out.json(&findings)?,
        Format::Text if findings.is_empty() => writeln!(out, "{}: nothing odd", machine.name())?,
        Format::Text => {
            for finding in &findings {
                let (word, style) = match finding.severity {
                    Severity::Problem => ("problem", Style::Yellow),
                    Severity::Note => ("note", Style::Dim),
                };
                let word = out.paint(style, word);
                writeln!(out, "{word}: {}\n  {}", finding.what, finding.meaning)?;
            }
        }
    }
    out.finish()?;
    Ok(if has_problems {
        ExitCode::from(EXIT_WORSE)
    } else {
        ExitCode::SUCCESS
    })
}
