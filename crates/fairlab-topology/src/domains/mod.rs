//! Sched domains: what a kernel builds from a machine.
//!
//! ```text
//!   CPU 9:  SMT{8-9}  ->  MC{8-15}  ->  PKG{0-31}          domains, lowest first
//!            9 | 8         8-9 | ..      8-15 | 16-23 | ..   group rings, local group first
//! ```
//!
//! [`build`] makes them as a kernel does:
//!
//! ```text
//!   levels, numa    the table of levels, and every CPU's raw mask at each
//!   tree            per CPU of a partition one domain per level: spans, flags, intervals
//!   groups, overlap the rings of groups, below NUMA and on NUMA levels
//!   attach          useless domains removed, their flags handed on    (rules: degenerate)
//!   assembly        the result written down: domains, groups, capacity and shared objects
//!   cached, llc_ids what every CPU caches of its chain
//! ```
//!
//! [`DomainsBuilder`] makes them from what was read in a kernel's structures. Masks, rings and
//! capacity objects are stored once and named by index, so that 8192 CPUs fit.

mod assembly;
mod attach;
mod build;
mod builder;
mod cached;
mod degenerate;
mod error;
mod flags;
mod groups;
mod intern;
mod levels;
mod llc_ids;
mod numa;
mod options;
mod overlap;
mod render;
mod tree;

use alloc::vec::Vec;

use fairlab_units::{CpuId, CpuMask, PerCpu};

pub use build::build;
pub use builder::{DomainSpec, DomainsBuilder, GroupSpec};
pub use cached::CpuCached;
pub use error::BuildError;
pub use flags::DomainFlags;
pub use numa::{NumaKind, NumaTopology};
pub use options::{BuildOptions, Partition};
pub use render::Rendering;

/// Index of a mask in [`Domains`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MaskId(pub u32);

/// Index of a domain in [`Domains`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainId(pub u32);

/// Index of a group in [`Domains`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// Index of a group capacity object (`sched_group_capacity`); groups of different owners that share
/// one see the same capacity and the same `imbalance` flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CapacityId(pub u32);

/// Index of a shared object (`sched_domain_shared`): one per LLC, and where 7.2 adds one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SharedId(pub u32);

/// A sched domain of one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedDomain {
    /// The CPU whose chain it is in.
    pub cpu: CpuId,
    /// Name of the level: SMT, CLS, MC, DIE, PKG, NODE, NUMA.
    pub name: &'static str,
    /// Number of the level, counted when the chain was built.
    pub level: u32,
    /// The CPUs.
    pub span: MaskId,
    /// Number of CPUs in the span.
    pub span_weight: u32,
    /// Behaviour and topology flags.
    pub flags: DomainFlags,
    /// The next wider domain.
    pub parent: Option<DomainId>,
    /// The next narrower domain.
    pub child: Option<DomainId>,
    /// First of the groups; they follow each other in ring order, the local group first.
    pub first_group: u32,
    /// Number of groups.
    pub nr_groups: u32,
    /// Percent by which the busiest must exceed the local group.
    pub imbalance_pct: u32,
    /// Failed attempts before cache-hot tasks are moved.
    pub cache_nice_tries: u32,
    /// Stretching of the interval while busy.
    pub busy_factor: u32,
    /// Shortest balance interval, ms. Also where `balance_interval` starts.
    pub min_interval: u32,
    /// Longest balance interval, ms.
    pub max_interval: u32,
    /// Allowed NUMA imbalance in tasks.
    pub imb_numa_nr: u32,
    /// The shared object, if the domain has one.
    pub shared: Option<SharedId>,
}

/// A sched group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedGroup {
    /// The CPUs.
    pub span: MaskId,
    /// The CPUs that may balance for the group; its first is the balance CPU.
    pub balance_mask: MaskId,
    /// Number of CPUs.
    pub weight: u32,
    /// Number of SMT cores; 0 where the release does not count them.
    pub cores: u32,
    /// Flags of the domain that the group stands for.
    pub flags: DomainFlags,
    /// The CPU preferred by asymmetric packing.
    pub asym_prefer_cpu: CpuId,
    /// The capacity object.
    pub capacity: CapacityId,
}

/// All domains of a machine under one kernel.
#[derive(Clone, Debug)]
pub struct Domains {
    pub(crate) masks: Vec<CpuMask>,
    pub(crate) domains: Vec<SchedDomain>,
    pub(crate) groups: Vec<SchedGroup>,
    pub(crate) capacities: Vec<GroupCapacity>,
    pub(crate) shared: Vec<SharedStart>,
    /// Lowest domain of each CPU.
    pub(crate) base: PerCpu<Option<DomainId>>,
    pub(crate) cached: PerCpu<CpuCached>,
    /// Online threads of each CPU's core, itself included (`cpu_smt_mask`).
    pub(crate) smt: PerCpu<MaskId>,
    pub(crate) capacity: PerCpu<u32>,
    pub(crate) switches: Switches,
    pub(crate) numa: NumaTopology,
}

/// What a group capacity object says (`sched_group_capacity`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GroupCapacity {
    /// Sum of the capacities of the CPUs.
    pub capacity: u64,
    /// Smallest CPU capacity.
    pub min: u64,
    /// Largest CPU capacity.
    pub max: u64,
}

/// With what a shared object starts (`sched_domain_shared`). `has_idle_cores` starts clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SharedStart {
    /// CPUs whose tick runs, as counted at the start: also isolated CPUs of the LLC, before 7.2.
    pub nr_busy_cpus: u32,
    /// How many CPUs a wakeup may scan before the balancer has written a number.
    pub nr_idle_scan: u32,
}

/// The level called `name` in any release.
fn level_name(name: &str) -> Option<&'static str> {
    ["SMT", "CLS", "MC", "DIE", "PKG", "NODE", "NUMA"]
        .into_iter()
        .find(|n| *n == name)
}

/// The static switches that domain building throws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Switches {
    /// Some core has more than one thread online (`sched_smt_present`).
    pub smt_present: bool,
    /// Some attached chain has a CLUSTER domain (`sched_cluster_active`).
    pub cluster_active: bool,
    /// Some partition has an ASYM_CPUCAPACITY domain (`sched_asym_cpucapacity`).
    pub asym_cpucapacity: bool,
}

impl Domains {
    /// Highest possible CPU number plus one.
    #[must_use]
    pub fn nr_cpu_ids(&self) -> usize {
        self.base.len()
    }

    /// The mask `id`.
    #[inline]
    #[must_use]
    pub fn mask(&self, id: MaskId) -> &CpuMask {
        &self.masks[id.0 as usize]
    }

    /// The domain `id`.
    #[inline]
    #[must_use]
    pub fn domain(&self, id: DomainId) -> &SchedDomain {
        &self.domains[id.0 as usize]
    }

    /// The CPUs of domain `id`.
    #[inline]
    #[must_use]
    pub fn span(&self, id: DomainId) -> &CpuMask {
        self.mask(self.domain(id).span)
    }

    /// All domains; position is the number in [`DomainId`].
    #[must_use]
    pub fn domains(&self) -> &[SchedDomain] {
        &self.domains
    }

    /// Lowest domain of `cpu`; none for an isolated, offline or only CPU.
    #[inline]
    #[must_use]
    pub fn base(&self, cpu: CpuId) -> Option<DomainId> {
        self.base[cpu]
    }

    /// The domains of `cpu`, lowest first (`for_each_domain`).
    #[inline]
    pub fn chain(&self, cpu: CpuId) -> impl Iterator<Item = DomainId> + '_ {
        core::iter::successors(self.base[cpu], |id| self.domain(*id).parent)
    }

    /// The groups of domain `id` in ring order, the local group first.
    #[inline]
    #[must_use]
    pub fn groups(&self, id: DomainId) -> &[SchedGroup] {
        let domain = self.domain(id);
        let first = domain.first_group as usize;
        &self.groups[first..first + domain.nr_groups as usize]
    }

    /// Number of group capacity objects; [`CapacityId`] is below it.
    #[must_use]
    pub fn nr_capacities(&self) -> usize {
        self.capacities.len()
    }

    /// What capacity object `id` says right after the build, with nothing taken from any CPU.
    #[must_use]
    pub fn capacity(&self, id: CapacityId) -> GroupCapacity {
        self.capacities[id.0 as usize]
    }

    /// With what shared object `id` starts.
    #[must_use]
    pub fn shared(&self, id: SharedId) -> SharedStart {
        self.shared[id.0 as usize]
    }

    /// What the distance table says.
    #[must_use]
    pub fn numa(&self) -> &NumaTopology {
        &self.numa
    }

    /// Number of shared objects; [`SharedId`] is below it.
    #[must_use]
    pub fn nr_shared(&self) -> usize {
        self.shared.len()
    }

    /// The cached values of `cpu`.
    #[inline]
    #[must_use]
    pub fn cached(&self, cpu: CpuId) -> &CpuCached {
        &self.cached[cpu]
    }

    /// Online threads of the core of `cpu`, itself included (`cpu_smt_mask`).
    #[inline]
    #[must_use]
    pub fn smt_mask(&self, cpu: CpuId) -> &CpuMask {
        self.mask(self.smt[cpu])
    }

    /// Original capacity of `cpu` (`arch_scale_cpu_capacity`).
    #[inline]
    #[must_use]
    pub fn capacity_orig(&self, cpu: CpuId) -> u32 {
        self.capacity[cpu]
    }

    /// Memory held, in bytes, this struct itself not counted.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let words = |mask: &CpuMask| size_of::<CpuMask>() + size_of_val(mask.words());
        self.masks.iter().map(words).sum::<usize>()
            + size_of_val(self.domains.as_slice())
            + size_of_val(self.groups.as_slice())
            + size_of_val(self.capacities.as_slice())
            + size_of_val(self.shared.as_slice())
            + size_of_val(self.base.as_slice())
            + size_of_val(self.cached.as_slice())
            + size_of_val(self.smt.as_slice())
            + size_of_val(self.capacity.as_slice())
    }

    /// The static switches.
    #[inline]
    #[must_use]
    pub fn switches(&self) -> Switches {
        self.switches
    }

    /// Do `a` and `b` share the last-level cache (`cpus_share_cache`)?
    #[inline]
    #[must_use]
    pub fn share_cache(&self, a: CpuId, b: CpuId) -> bool {
        a == b || self.cached[a].llc_id == self.cached[b].llc_id
    }

    /// Do `a` and `b` share a cluster, or the LLC where there is none (`cpus_share_resources`)?
    #[inline]
    #[must_use]
    pub fn share_resources(&self, a: CpuId, b: CpuId) -> bool {
        a == b || self.cached[a].share_id == self.cached[b].share_id
    }
}
