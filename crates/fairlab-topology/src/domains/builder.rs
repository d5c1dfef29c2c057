//! Domains as somebody else built them: read from a kernel's structures.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use fairlab_kernel::Kernel;
use fairlab_units::{CpuId, CpuMask, PerCpu};

use super::intern::MaskTable;
use super::{
    BuildError, CapacityId, CpuCached, DomainFlags, DomainId, Domains, GroupCapacity, NumaTopology,
    SchedDomain, SchedGroup, SharedId, SharedStart, Switches, cached,
};

/// A domain of one CPU, as recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainSpec<'a> {
    /// Name of the level: SMT, CLS, MC, DIE, PKG, NODE, NUMA.
    pub name: &'a str,
    /// Number of the level (`sd->level`).
    pub level: u32,
    /// The CPUs.
    pub span: CpuMask,
    /// Flags; [`DomainFlags::from_kernel_bits`] reads a kernel's number.
    pub flags: DomainFlags,
    /// Percent by which the busiest must exceed the local group.
    pub imbalance_pct: u32,
    /// Failed attempts before cache-hot tasks are moved.
    pub cache_nice_tries: u32,
    /// Stretching of the interval while busy.
    pub busy_factor: u32,
    /// Shortest balance interval, ms.
    pub min_interval: u32,
    /// Longest balance interval, ms.
    pub max_interval: u32,
    /// Allowed NUMA imbalance in tasks.
    pub imb_numa_nr: u32,
    /// Has it a shared object? Domains with one and equal spans get the same.
    pub has_shared: bool,
    /// The groups in ring order, the local group first.
    pub groups: Vec<GroupSpec>,
}

/// A group of a [`DomainSpec`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSpec {
    /// The CPUs.
    pub span: CpuMask,
    /// The CPUs that may balance for the group.
    pub balance_mask: CpuMask,
    /// Number of SMT cores; 0 where the release does not count them.
    pub cores: u32,
    /// Flags of the domain that the group stands for.
    pub flags: DomainFlags,
    /// The CPU preferred by asymmetric packing.
    pub asym_prefer_cpu: CpuId,
    /// Capacity, smallest and largest CPU capacity. Where groups share a capacity object, the first
    /// one given counts.
    pub capacity: GroupCapacity,
}

/// Makes [`Domains`] from recorded chains, without judging them.
///
/// ```
/// use fairlab_kernel::{Kernel, Release};
/// use fairlab_topology::domains::*;
/// use fairlab_units::{CpuId, CpuMask};
///
/// let cpus = |list| CpuMask::parse_list(list, 2).unwrap();
/// let group = |list| GroupSpec {
///     span: cpus(list),
///     balance_mask: cpus(list),
///     cores: 1,
///     flags: DomainFlags::NONE,
///     asym_prefer_cpu: CpuId(0),
///     capacity: GroupCapacity { capacity: 1024, min: 1024, max: 1024 },
/// };
/// let mc = |local, other| DomainSpec {
///     name: "MC",
///     level: 2,
///     span: cpus("0-1"),
///     flags: DomainFlags::SHARE_LLC | DomainFlags::WAKE_AFFINE,
///     imbalance_pct: 117,
///     cache_nice_tries: 1,
///     busy_factor: 16,
///     min_interval: 2,
///     max_interval: 4,
///     imb_numa_nr: 0,
///     has_shared: true,
///     groups: vec![group(local), group(other)],
/// };
/// let mut builder = DomainsBuilder::new(2);
/// builder.chain(CpuId(0), vec![mc("0", "1")])?;
/// builder.chain(CpuId(1), vec![mc("1", "0")])?;
/// builder.llc(CpuId(0), 0, 2)?; // what the kernel's sd_llc_id, sd_llc_size say; optional
/// let domains = builder.build(&Kernel::of(Release::V6_12));
/// assert!(domains.share_cache(CpuId(0), CpuId(1)));
/// # Ok::<(), BuildError>(())
/// ```
///
/// - CPUs without [`chain`](Self::chain) have no domains. Without [`smt`](Self::smt) a CPU's
///   threads are the span of its domain with SHARE_CPUCAPACITY, or itself alone. Without
///   [`llc`](Self::llc) the LLC number is derived from the chain (first CPU of the LLC).
/// - Capacity objects: groups at the same level number with the same span and the same first CPU
///   of the balance mask share one. (The kernel can in addition share one between two levels of a
///   machine whose nodes are more than two hops apart; a recording does not show that.)
/// - Shared objects start with `nr_busy_cpus` = number of CPUs; put the recorded state over them.
#[derive(Debug)]
pub struct DomainsBuilder {
    masks: MaskTable,
    domains: Vec<SchedDomain>,
    groups: Vec<SchedGroup>,
    capacities: Vec<GroupCapacity>,
    /// By level, span and first CPU of the balance mask.
    capacity_ids: BTreeMap<(u32, u32, u32), CapacityId>,
    shared: Vec<SharedStart>,
    /// By span.
    shared_ids: BTreeMap<u32, SharedId>,
    base: PerCpu<Option<DomainId>>,
    smt: PerCpu<Option<CpuMask>>,
    llc: PerCpu<Option<(u32, u32)>>,
    capacity: PerCpu<u32>,
}

impl DomainsBuilder {
    /// For CPUs `0..nr_cpu_ids`, all of capacity 1024 and without domains.
    #[must_use]
    pub fn new(nr_cpu_ids: usize) -> Self {
        Self {
            masks: MaskTable::new(nr_cpu_ids),
            domains: Vec::new(),
            groups: Vec::new(),
            capacities: Vec::new(),
            capacity_ids: BTreeMap::new(),
            shared: Vec::new(),
            shared_ids: BTreeMap::new(),
            base: PerCpu::from_fn(nr_cpu_ids, |_| None),
            smt: PerCpu::from_fn(nr_cpu_ids, |_| None),
            llc: PerCpu::from_fn(nr_cpu_ids, |_| None),
            capacity: PerCpu::from_fn(nr_cpu_ids, |_| 1024),
        }
    }

    fn check(&self, cpu: CpuId) -> Result<(), BuildError> {
        if cpu.index() < self.base.len() {
            Ok(())
        } else {
            Err(BuildError::UnknownCpu(cpu))
        }
    }

    /// Gives `cpu` its chain, lowest domain first. An empty chain is no domain.
    ///
    /// # Errors
    /// When the CPU has no slot, a level name is unknown, or a domain has no groups or an empty one.
    pub fn chain(&mut self, cpu: CpuId, chain: Vec<DomainSpec<'_>>) -> Result<(), BuildError> {
        self.check(cpu)?;
        for spec in &chain {
            let empty = |g: &GroupSpec| g.span.is_empty() || g.balance_mask.is_empty();
            if spec.groups.is_empty() || spec.groups.iter().any(empty) {
                return Err(BuildError::EmptyGroup(cpu));
            }
            super::level_name(spec.name).ok_or(BuildError::UnknownLevel(cpu))?;
        }
        let mut child: Option<DomainId> = None;
        self.base[cpu] = None;
        for spec in &chain {
            let id = DomainId(self.domains.len() as u32);
            match child {
                Some(child) => self.domains[child.0 as usize].parent = Some(id),
                None => self.base[cpu] = Some(id),
            }
            let domain = self.domain(cpu, child, spec);
            self.domains.push(domain);
            child = Some(id);
        }
        Ok(())
    }

    fn domain(
        &mut self,
        cpu: CpuId,
        child: Option<DomainId>,
        spec: &DomainSpec<'_>,
    ) -> SchedDomain {
        let span = self.masks.intern(&spec.span);
        let span_weight = self.masks.weight(span);
        let first_group = self.groups.len() as u32;
        for group in &spec.groups {
            let group = self.group(spec.level, group);
            self.groups.push(group);
        }
        let shared = spec.has_shared.then(|| {
            *self.shared_ids.entry(span.0).or_insert_with(|| {
                self.shared.push(SharedStart {
                    nr_busy_cpus: span_weight,
                    nr_idle_scan: 0,
                });
                SharedId(self.shared.len() as u32 - 1)
            })
        });
        SchedDomain {
            cpu,
            name: super::level_name(spec.name).unwrap_or("MC"),
            level: spec.level,
            span,
            span_weight,
            flags: spec.flags,
            parent: None,
            child,
            first_group,
            nr_groups: spec.groups.len() as u32,
            imbalance_pct: spec.imbalance_pct,
            cache_nice_tries: spec.cache_nice_tries,
            busy_factor: spec.busy_factor,
            min_interval: spec.min_interval,
            max_interval: spec.max_interval,
            imb_numa_nr: spec.imb_numa_nr,
            shared,
        }
    }

    fn group(&mut self, level: u32, spec: &GroupSpec) -> SchedGroup {
        let span = self.masks.intern(&spec.span);
        let balance_mask = self.masks.intern(&spec.balance_mask);
        let key = (level, span.0, self.masks.first(balance_mask).0);
        let capacity = *self.capacity_ids.entry(key).or_insert_with(|| {
            self.capacities.push(spec.capacity);
            CapacityId(self.capacities.len() as u32 - 1)
        });
        SchedGroup {
            span,
            balance_mask,
            weight: self.masks.weight(span),
            cores: spec.cores,
            flags: spec.flags,
            asym_prefer_cpu: spec.asym_prefer_cpu,
            capacity,
        }
    }

    /// The online threads of the core of `cpu`.
    ///
    /// # Errors
    /// When the CPU has no slot.
    pub fn smt(&mut self, cpu: CpuId, threads: CpuMask) -> Result<(), BuildError> {
        self.check(cpu)?;
        self.smt[cpu] = Some(threads);
        Ok(())
    }

    /// The recorded `sd_llc_id` and `sd_llc_size` of `cpu`. `id` is only compared with other ids;
    /// the kernel's -1 is [`CpuCached::NO_LLC_ID`].
    ///
    /// # Errors
    /// When the CPU has no slot.
    pub fn llc(&mut self, cpu: CpuId, id: u32, size: u32) -> Result<(), BuildError> {
        self.check(cpu)?;
        self.llc[cpu] = Some((id, size));
        Ok(())
    }

    /// Original capacity of `cpu` on the 1024 scale.
    ///
    /// # Errors
    /// When the CPU has no slot.
    pub fn capacity(&mut self, cpu: CpuId, capacity: u32) -> Result<(), BuildError> {
        self.check(cpu)?;
        self.capacity[cpu] = capacity;
        Ok(())
    }

    /// The domains, with the values that `kernel` caches per CPU and the static switches.
    #[must_use]
    pub fn build(mut self, kernel: &Kernel) -> Domains {
        let mut switches = Switches::default();
        for domain in &self.domains {
            switches.cluster_active |= domain.flags.has(DomainFlags::CLUSTER);
            switches.asym_cpucapacity |= domain.flags.has(DomainFlags::ASYM_CPUCAPACITY);
        }
        let nr_cpu_ids = self.base.len();
        let smt = PerCpu::from_fn(nr_cpu_ids, |cpu| {
            if let Some(threads) = &self.smt[cpu] {
                return self.masks.intern(threads);
            }
            let base = self.base[cpu].map(|id| &self.domains[id.0 as usize]);
            match base.filter(|d| d.flags.has(DomainFlags::SHARE_CPUCAPACITY)) {
                Some(base) => base.span,
                None => self.masks.single(cpu),
            }
        });
        switches.smt_present = smt.iter().any(|(_, id)| self.masks.weight(*id) > 1);
        let mut domains = Domains {
            masks: self.masks.into_masks(),
            domains: self.domains,
            groups: self.groups,
            capacities: self.capacities,
            shared: self.shared,
            base: self.base,
            cached: PerCpu::from_fn(nr_cpu_ids, CpuCached::detached),
            smt,
            capacity: self.capacity,
            switches,
            numa: NumaTopology::default(),
        };
        for i in 0..nr_cpu_ids {
            let cpu = CpuId::from_index(i);
            let mut cached = cached::of_chain(&domains, cpu, kernel);
            if let Some((id, size)) = self.llc[cpu] {
                (cached.llc_id, cached.llc_size) = (id, size);
            }
            domains.cached[cpu] = cached;
        }
        domains
    }
}
