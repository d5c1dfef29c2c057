//! `fairlab machines diff A B`

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use fairlab::topology::Machine;

use crate::cli::OutputArgs;
use crate::output::{Format, Style};

/// Prints what differs between the two machines.
pub fn run(a: &Machine, b: &Machine, output: &OutputArgs) -> Result<ExitCode> {
    let differences = fairlab_machines::diff(a, b);
    let format = output.format()?;
    let mut out = output.open()?;
    match format {
        Format::Json => out.json(&differences)?,
        Format::Text if differences.is_empty() => {
            writeln!(out, "{} and {} are alike", a.name(), b.name())?;
        }
        Format::Text => {
            for difference in &differences {
                let what = out.paint(Style::Bold, &difference.what);
                writeln!(out, "{what}\n  {}\n  {}", difference.a, difference.b)?;
            }
        }
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
