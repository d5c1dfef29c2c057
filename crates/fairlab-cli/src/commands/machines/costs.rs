//! `fairlab machines costs`: what is assumed of the hardware, as a file to be edited.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use fairlab::sim::{Distance, ENTRIES, MachineClass, Shape};
use fairlab::topology::Machine;
use fairlab_workfile::CostFile;
use serde::Serialize;

use crate::cli::OutputArgs;
use crate::output::Format;

#[derive(Serialize)]
struct Costs {
    machine: String,
    class: &'static str,
    entries: Vec<EntryReport>,
}

#[derive(Serialize)]
struct EntryReport {
    name: &'static str,
    what: &'static str,
    unit: &'static str,
    numbers: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    distances: Option<[&'static str; 6]>,
    source: Option<&'static str>,
}

pub fn run(machine: &Machine, output: &OutputArgs) -> Result<ExitCode> {
    let class = MachineClass::of(machine);
    let file = CostFile::of_class(class);
    let format = output.format_or("toml")?;
    let mut out = output.open()?;
    match format {
        Format::Text => write!(out, "{}", file.to_toml())?,
        Format::Json => {
            let entries = ENTRIES.iter().map(|entry| EntryReport {
                name: entry.name,
                what: entry.what.trim(),
                unit: entry.unit.key(),
                numbers: entry.get(&file.table),
                distances: (entry.shape == Shape::ByDistance)
                    .then(|| Distance::ALL.map(Distance::key)),
                source: class.source(entry.name),
            });
            out.json(&Costs {
                machine: machine.name().to_owned(),
                class: class.name(),
                entries: entries.collect(),
            })?;
        }
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
