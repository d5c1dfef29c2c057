//! `fairlab kernels list`

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use fairlab::kernel::Release;
use fairlab::stats::table::{Align, Table};
use serde::Serialize;

use crate::cli::OutputArgs;
use crate::output::Format;

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
            let columns = ["RELEASE", "STABLE", "KNOWN FOR"];
            let mut table = Table::new(columns.map(|heading| (heading, Align::Left)));
            for row in &rows {
                table.row([row.release, row.stable.unwrap_or("-"), row.summary]);
            }
            write!(out, "{}", table.to_text())?;
        }
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
