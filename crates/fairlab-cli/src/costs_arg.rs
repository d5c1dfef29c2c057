//! Reading costs from the command line.

use anyhow::{Context, Result, anyhow};
use fairlab::sim::{CostTable, MachineClass};
use fairlab::topology::Machine;
use fairlab_workfile::CostFile;

use crate::cli::CostsArgs;

impl CostsArgs {
    /// The table of the file that was named, if one was. What it leaves open is as on machines like
    /// `machine`.
    pub fn load(&self, machine: &Machine) -> Result<Option<CostTable>> {
        let Some(path) = &self.costs else {
            return Ok(None);
        };
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the costs in {}", path.display()))?;
        let file = CostFile::parse(&text, MachineClass::of(machine))
            .map_err(|error| anyhow!("{}:{error}", path.display()))?;
        Ok(Some(file.table))
    }
}
