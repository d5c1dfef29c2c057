//! Counts: what a machine has, in numbers.

use std::collections::BTreeSet;

use fairlab_topology::{Arch, CapacitySource, CoreKind, Cpu, Machine};
use serde::Serialize;

/// What a machine has, in numbers. Offline CPUs count only where a field says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Name of the machine.
    pub name: String,
    /// Processor or product name.
    pub model: Option<String>,
    /// Instruction set family.
    pub arch: &'static str,
    /// Online CPUs.
    pub cpus: usize,
    /// Possible CPUs that are offline.
    pub offline_cpus: usize,
    /// Online CPUs taken out of balancing.
    pub isolated_cpus: usize,
    /// Cores with an online CPU.
    pub cores: usize,
    /// Largest number of online threads in a core.
    pub threads_per_core: usize,
    /// Clusters; 0 when none are described.
    pub clusters: usize,
    /// Last-level caches; 0 when unknown.
    pub llcs: usize,
    /// Level of the last-level cache; `None` when no cache above L1 is described.
    pub llc_level: Option<u8>,
    /// Dies; 0 when none are described.
    pub dies: usize,
    /// NUMA nodes, memory-only ones included.
    pub nodes: usize,
    /// Nodes without CPUs (online or not).
    pub memory_only_nodes: usize,
    /// Packages; 0 when none are described.
    pub packages: usize,
    /// Distinct capacities, ascending.
    pub capacities: Vec<u32>,
    /// Where the capacities come from.
    pub capacity_source: &'static str,
    /// Number of oddities.
    pub oddities: usize,
}

/// Counts what `machine` has.
#[must_use]
pub fn summary(machine: &Machine) -> Summary {
    let online: Vec<&Cpu> = machine.cpus().iter().filter(|c| c.online).collect();
    let distinct = |group: &dyn Fn(&Cpu) -> Option<u32>| {
        let groups: BTreeSet<u32> = online.iter().filter_map(|c| group(c)).collect();
        groups.len()
    };
    let with_cpus: BTreeSet<_> = machine.cpus().iter().map(|c| c.node).collect();
    let capacities: BTreeSet<u32> = online.iter().map(|c| c.capacity).collect();
    let llcs = distinct(&|c| c.llc);
    let top = machine.caches().iter().map(|c| c.level).max();
    Summary {
        name: machine.name().to_owned(),
        model: machine.model().map(str::to_owned),
        arch: arch_name(machine.arch()),
        cpus: online.len(),
        offline_cpus: machine.cpus().len() - online.len(),
        isolated_cpus: online.iter().filter(|c| c.isolated).count(),
        cores: distinct(&|c| Some(c.core)),
        threads_per_core: machine.threads_per_core(),
        clusters: distinct(&|c| c.cluster),
        llcs,
        llc_level: top.filter(|level| *level > 1 && llcs > 0),
        dies: distinct(&|c| c.die),
        nodes: machine.nodes().len(),
        memory_only_nodes: machine
            .nodes()
            .iter()
            .filter(|n| !with_cpus.contains(&n.id))
            .count(),
        packages: distinct(&|c| c.package),
        capacities: capacities.into_iter().collect(),
        capacity_source: source_name(machine.capacity_source()),
        oddities: machine.oddities().len(),
    }
}

/// The name that short specs and JSON use for an instruction set family.
#[must_use]
pub fn arch_name(arch: Arch) -> &'static str {
    match arch {
        Arch::X86 => "x86",
        Arch::Arm64 => "arm64",
        Arch::Ppc64 => "ppc64",
        Arch::S390 => "s390",
        Arch::RiscV => "riscv",
        Arch::Other => "other",
    }
}

/// The name that short specs and JSON use for the origin of capacities.
#[must_use]
pub fn source_name(source: CapacitySource) -> &'static str {
    match source {
        CapacitySource::Default => "default",
        CapacitySource::Stated => "stated",
        CapacitySource::Frequency => "frequency",
        CapacitySource::CoreKind => "core-kind",
    }
}

/// The name that JSON uses for a kind of core.
#[must_use]
pub fn kind_name(kind: CoreKind) -> &'static str {
    match kind {
        CoreKind::Uniform => "uniform",
        CoreKind::Performance => "performance",
        CoreKind::Medium => "medium",
        CoreKind::Efficiency => "efficiency",
    }
}
