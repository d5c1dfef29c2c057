//! Reading a machine from the command line.

use anyhow::Result;
use fairlab::topology::Machine;
use fairlab_machines::{LoadOptions, load};

use crate::cli::MachineArgs;

impl MachineArgs {
    /// The machine that was asked for, or this host.
    pub fn load(&self) -> Result<Machine> {
        let reference = self.machine.as_deref().unwrap_or("host");
        Ok(load(reference, &LoadOptions::default())?)
    }
}
