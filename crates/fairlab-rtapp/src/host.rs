//! What a file has to know about the machine.

use fairlab_units::CpuMask;

/// The machine that the threads run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its CPUs.
    pub cpus: CpuMask,
    /// Its memory nodes.
    pub nodes: Vec<u32>,
    /// Capacity of each CPU by number, on the scale of 1024.
    pub capacities: Vec<u32>,
}

impl Host {
    /// A machine of `nr` equal CPUs and one node.
    #[must_use]
    pub fn of_cpus(nr: u32) -> Self {
        Self {
            cpus: CpuMask::full(nr as usize),
            nodes: vec![0],
            capacities: vec![1024; nr as usize],
        }
    }
}
