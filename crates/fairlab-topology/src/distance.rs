//! How far CPUs are apart, from the hardware's sharing.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use fairlab_units::CpuId;

use crate::Machine;

/// How far two CPUs are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distance {
    /// The same CPU.
    SameCpu,
    /// Threads of one core.
    SameCore,
    /// One cluster (L2 or tag).
    SameCluster,
    /// One last-level cache.
    SameLlc,
    /// One NUMA node.
    SameNode,
    /// Different nodes.
    Remote,
}

impl Distance {
    /// All distances, nearest first.
    pub const ALL: [Self; 6] = [
        Self::SameCpu,
        Self::SameCore,
        Self::SameCluster,
        Self::SameLlc,
        Self::SameNode,
        Self::Remote,
    ];

    /// As tables call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SameCpu => "same CPU",
            Self::SameCore => "same core",
            Self::SameCluster => "same cluster",
            Self::SameLlc => "same LLC",
            Self::SameNode => "same node",
            Self::Remote => "other node",
        }
    }

    /// As keys of files call it.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::SameCpu => "same_cpu",
            Self::SameCore => "same_core",
            Self::SameCluster => "same_cluster",
            Self::SameLlc => "same_llc",
            Self::SameNode => "same_node",
            Self::Remote => "remote",
        }
    }
}

/// Distances between CPUs, from the hardware's sharing (whatever the kernel makes of it).
#[derive(Clone, Debug)]
pub struct Distances {
    /// Per CPU: core, cluster, LLC, node.
    keys: Vec<[u32; 4]>,
    /// Per CPU: which of [`Self::llcs`] is its own.
    llc_of: Vec<usize>,
    /// The CPUs of each LLC, ascending.
    llcs: Vec<Vec<CpuId>>,
}

impl Distances {
    /// The distances of `machine`.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let mut keys = vec![[u32::MAX; 4]; machine.nr_cpu_ids()];
        for cpu in machine.cpus() {
            // A fact that is not known is shared with nobody: own number, above all real ones.
            let alone = u32::MAX / 2 + cpu.id.0;
            keys[cpu.id.index()] = [
                cpu.core,
                cpu.cluster.unwrap_or(alone),
                cpu.llc.unwrap_or(alone),
                cpu.node.0,
            ];
        }
        let mut by_llc: BTreeMap<u32, Vec<CpuId>> = BTreeMap::new();
        for cpu in machine.cpus() {
            by_llc
                .entry(keys[cpu.id.index()][2])
                .or_default()
                .push(cpu.id);
        }
        let mut llc_of = vec![usize::MAX; machine.nr_cpu_ids()];
        for (index, cpus) in by_llc.values().enumerate() {
            for cpu in cpus {
                llc_of[cpu.index()] = index;
            }
        }
        Self {
            keys,
            llc_of,
            llcs: by_llc.into_values().collect(),
        }
    }

    /// The CPUs that share the last-level cache with `cpu`, itself included.
    #[must_use]
    pub fn llc(&self, cpu: CpuId) -> &[CpuId] {
        self.llc_of
            .get(cpu.index())
            .and_then(|&llc| self.llcs.get(llc))
            .map_or(&[], Vec::as_slice)
    }

    /// How far `a` and `b` are apart.
    #[must_use]
    pub fn between(&self, a: CpuId, b: CpuId) -> Distance {
        if a == b {
            return Distance::SameCpu;
        }
        let (a, b) = (&self.keys[a.index()], &self.keys[b.index()]);
        let shared = a.iter().zip(b).position(|(a, b)| a == b);
        match shared {
            Some(0) => Distance::SameCore,
            Some(1) => Distance::SameCluster,
            Some(2) => Distance::SameLlc,
            Some(_) => Distance::SameNode,
            None => Distance::Remote,
        }
    }
}
