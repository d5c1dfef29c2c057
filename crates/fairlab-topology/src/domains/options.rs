//! What can be asked for when domains are built.

use alloc::vec::Vec;

use fairlab_units::{CpuId, CpuMask, PerCpu};

use super::{CpuCached, Domains};

/// A set of CPUs that is balanced by itself (a root domain made by cpusets).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The CPUs; offline and isolated ones are left out by the build.
    pub cpus: CpuMask,
    /// `cpuset.sched_relax_domain_level`; -1 asks for nothing.
    pub relax_domain_level: i32,
}

impl From<CpuMask> for Partition {
    fn from(cpus: CpuMask) -> Self {
        Self {
            cpus,
            relax_domain_level: -1,
        }
    }
}

/// What can be asked for when domains are built. The default is a machine right after boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildOptions {
    /// The partitions, in the order in which they are built. Empty: one of all CPUs.
    pub partitions: Vec<Partition>,
    /// CPUs taken out of balancing, beside those that the machine says are isolated.
    pub isolated: CpuMask,
    /// `relax_domain_level=` of the command line, for partitions that ask for nothing; -1 asks for
    /// nothing.
    pub relax_domain_level: i32,
    /// Is asymmetric packing (x86: ITMT) switched on? `None`: when some CPU has a priority.
    pub asym_packing: Option<bool>,
    /// Distance beyond which a node is far. `None`: the kernel's tunable, or else the machine's.
    pub reclaim_distance: Option<u32>,
    /// The CPU that is just going offline (already offline in the machine). With SD_SYNC_REBUILD
    /// the level masks still hold it, which shows in intervals and busy counts.
    pub dying: Option<CpuId>,
    /// Distances for building domains only, by position of the nodes (SD_DOMAIN_DISTANCE).
    pub domain_distances: Option<Vec<Vec<u32>>>,
    /// LLC numbers of the CPUs before this build, for kernels with SD_DENSE_LLC_ID; see
    /// [`Self::after`].
    pub previous_llc_ids: Option<PerCpu<u32>>,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            partitions: Vec::new(),
            isolated: CpuMask::default(),
            relax_domain_level: -1,
            asym_packing: None,
            reclaim_distance: None,
            dying: None,
            domain_distances: None,
            previous_llc_ids: None,
        }
    }
}

impl BuildOptions {
    /// One partition per mask.
    #[must_use]
    pub fn with_partitions(mut self, masks: impl IntoIterator<Item = CpuMask>) -> Self {
        self.partitions = masks.into_iter().map(Partition::from).collect();
        self
    }

    /// The same options for a rebuild after `before`, whose LLC numbers stay with their CPUs.
    #[must_use]
    pub fn after(mut self, before: &Domains) -> Self {
        let ids = |cpu| {
            before
                .cached
                .get(cpu)
                .map_or(CpuCached::NO_LLC_ID, |c| c.llc_id)
        };
        self.previous_llc_ids = Some(PerCpu::from_fn(before.nr_cpu_ids(), ids));
        self
    }
}
