//! What several test modules need.

use std::path::PathBuf;

use fairlab_machines::{LoadOptions, MachineLoadError, load};
use fairlab_topology::Machine;

pub fn try_load(reference: &str) -> Result<Machine, MachineLoadError> {
    load(reference, &LoadOptions::default())
}

pub fn loaded(reference: &str) -> Machine {
    try_load(reference).unwrap_or_else(|e| panic!("{reference}: {e}"))
}

/// The error's whole chain in one line.
pub fn error(reference: &str) -> String {
    let error = match try_load(reference) {
        Ok(machine) => panic!("{reference} loads, as {}", machine.name()),
        Err(e) => e,
    };
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(c) = cause {
        text = format!("{text}: {c}");
        cause = c.source();
    }
    text
}

/// Folder of the shared machine dumps, or `None` with a message.
pub fn topologies() -> Option<PathBuf> {
    let root = std::env::var_os("FAIRLAB_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let folder = root.join("data/topologies");
    if folder.join("README.md").exists() {
        Some(folder)
    } else {
        eprintln!(
            "skipped: no machine dumps in {} (set FAIRLAB_DATA)",
            folder.display()
        );
        None
    }
}

/// `CPU: value` for a few CPUs at once.
pub fn groups(
    machine: &Machine,
    of: impl Fn(&fairlab_topology::Cpu) -> Option<u32>,
) -> Vec<String> {
    let mut numbers: Vec<Option<u32>> = machine.cpus().iter().map(&of).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut masks: Vec<_> = numbers
        .into_iter()
        .map(|n| machine.mask_of(|c| of(c) == n))
        .collect();
    masks.sort_by_key(fairlab_units::CpuMask::first);
    masks.iter().map(ToString::to_string).collect()
}
