//! `fairlab machines import PATH` and `fairlab machines detect`

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, bail};
use fairlab::topology::Machine;
use fairlab_machines::{draw, summary, to_json};

use crate::cli::OutputArgs;

/// Writes the machine as fairlab JSON, and says on standard error what it is.
pub fn run(machine: &Machine, output: &OutputArgs) -> Result<ExitCode> {
    if let Some(path) = &output.output {
        let suffix = path.extension().and_then(|s| s.to_str());
        if !matches!(suffix, Some("json") | None) {
            bail!(
                "machines are written as JSON: name the file {}",
                path.with_extension("json").display()
            );
        }
    }
    let mut out = output.open()?;
    out.write_all(to_json(machine).as_bytes())?;
    out.finish()?;
    let counts = summary(machine);
    // Standard error may be closed; the answer is written all the same.
    let _ = writeln!(
        io::stderr(),
        "{}: {} CPUs, {} cores, {} LLCs, {} nodes, {} packages; {} oddities",
        counts.name,
        counts.cpus,
        counts.cores,
        counts.llcs,
        counts.nodes,
        counts.packages,
        counts.oddities
    );
    for odd in machine.oddities() {
        let _ = writeln!(io::stderr(), "note: {}: {}", odd.what, odd.action);
    }
    Ok(ExitCode::SUCCESS)
}

/// Draws this host, or writes it like [`run`] where JSON is asked for.
pub fn detect(machine: &Machine, output: &OutputArgs) -> Result<ExitCode> {
    use crate::output::Format;
    let format = output.format()?;
    let mut out = output.open()?;
    match format {
        Format::Json => out.write_all(to_json(machine).as_bytes())?,
        Format::Text => write!(out, "{}", draw(machine))?,
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
