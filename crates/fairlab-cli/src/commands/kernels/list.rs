//! `fairlab kernels list`

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use fairlab::kernel::Release;
use serde::Serialize;

use crate::cli::OutputArgs;
use crate::output::{Format, Style};

/// One release, as in the JSON form.
#[derive(Serialize)]
struct Row {
    release: &'static str,
    /// The stable update whose behaviour is modelled; null: the first release.
    stable: Option<&'static str>,
    eevdf: bool,
    summary: &'static str,
}

/// Prints the releases, oldest first.
pub fn run(output: &OutputArgs) -> Result<ExitCode> {
    let rows = Release::ALL.map(|release| Row {
        release: release.name(),
        stable: release.stable(),
        eevdf: release.is_eevdf(),
        summary: release.summary(),
    });
    let format = output.format()?;
    let mut out = output.open()?;
    match format {
        Format::Json => out.json(&rows)?,
        Format::Text => {
            let head = format!("{:<9}{:<10}{}", "RELEASE", "STABLE", "KNOWN FOR");
            let head = out.paint(Style::Bold, &head);
            writeln!(out, "{head}")?;
            for row in &rows {
                let stable = row.stable.unwrap_or("-");
                writeln!(out, "{:<9}{stable:<10}{}", row.release, row.summary)?;
            }
        }
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
