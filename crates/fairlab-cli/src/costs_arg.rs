//! Reading costs from the command line.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use fairlab::sim::{CostTable, MachineClass};
use fairlab::topology::Machine;
use fairlab_workfile::CostFile;

use crate::cli::CostsArgs;

impl CostsArgs {
    /// The text of the file that was named, if one was.
    pub fn source(&self) -> Result<Option<String>> {
        let Some(path) = &self.costs else {
            return Ok(None);
        };
        std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the costs in {}", path.display()))
            .map(Some)
    }

    /// The table of the file that was named, if one was. What it leaves open is as on machines like
    /// `machine`.
    pub fn load(&self, machine: &Machine) -> Result<Option<CostTable>> {
        let place = self.costs.as_deref().unwrap_or(Path::new("costs"));
        self.source()?
            .map(|text| parse(&text, place, machine))
            .transpose()
    }
}

/// The table in `text`, which came from `place`.
pub fn parse(text: &str, place: &Path, machine: &Machine) -> Result<CostTable> {
    let file = CostFile::parse(text, MachineClass::of(machine))
        .map_err(|error| anyhow!("{}:{error}", place.display()))?;
    Ok(file.table)
}
