//! The domains of every CPU of a partition before groups exist and before any is removed.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use fairlab_kernel::{Feature, Kernel};
use fairlab_units::{CpuId, CpuMask, PerCpu};

use super::intern::MaskTable;
use super::levels::{Level, LevelKind};
use super::{BuildError, DomainFlags, MaskId};

/// A domain of one CPU at one level, as first built (`sd_init`).
#[derive(Clone, Debug)]
pub(super) struct RawDomain {
    pub(super) span: MaskId,
    /// The weight from which intervals and busy counts start.
    pub(super) start_weight: u32,
    pub(super) flags: DomainFlags,
    pub(super) imbalance_pct: u32,
    pub(super) cache_nice_tries: u32,
    pub(super) imb_numa_nr: u32,
    pub(super) has_shared: bool,
}

/// The chains of a partition. A chain has one domain per level, from level 0 up to some height.
pub(super) struct Tree {
    domains: Vec<RawDomain>,
    /// First domain and height of each CPU.
    chains: Vec<(u32, u32)>,
    /// Does some domain have ASYM_CPUCAPACITY?
    pub(super) has_asym: bool,
}

impl Tree {
    /// The chain of `cpu`; position is the level.
    pub(super) fn chain(&self, cpu: CpuId) -> &[RawDomain] {
        let (first, height) = self.chains[cpu.index()];
        &self.domains[first as usize..(first + height) as usize]
    }

    /// The domain of `cpu` at `level`.
    pub(super) fn at(&self, cpu: CpuId, level: usize) -> Option<&RawDomain> {
        self.chain(cpu).get(level)
    }

    /// The domain of `cpu` below `level`.
    pub(super) fn below(&self, cpu: CpuId, level: usize) -> Option<&RawDomain> {
        self.at(cpu, level.checked_sub(1)?)
    }
}

/// What the levels of a partition are made from.
pub(super) struct TreeInput<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) levels: &'a [Level],
    pub(super) partition: &'a CpuMask,
    pub(super) capacity: &'a PerCpu<u32>,
    pub(super) relax_domain_level: i32,
    pub(super) reclaim_distance: u32,
}

/// Builds the chains of every CPU of the partition.
///
/// # Source
/// Linux v6.12 `kernel/sched/topology.c`, `build_sched_domains()`, `build_sched_domain()`,
/// `sd_init()`.
pub(super) fn build(input: &TreeInput<'_>, masks: &mut MaskTable) -> Result<Tree, BuildError> {
    let TreeInput {
        kernel, partition, ..
    } = *input;
    if kernel.has(Feature::SD_DISJOINT_CHECK) {
        for level in input.levels.iter().filter(|l| !l.overlaps()) {
            check_disjoint(level, partition, masks)?;
        }
    }
    let whole = masks.intern(partition);
    let mut asymmetry = Asymmetry::of(input, masks);
    let mut cuts: BTreeMap<u32, MaskId> = BTreeMap::new();
    let mut tree = Tree {
        domains: Vec::with_capacity(masks.weight(whole) as usize * input.levels.len()),
        chains: vec![(0, 0); input.capacity.len()],
        has_asym: false,
    };
    for cpu in partition {
        let first = tree.domains.len();
        for (number, level) in input.levels.iter().enumerate() {
            let Some(raw) = level.raw[cpu] else { break };
            let cut = *cuts.entry(raw.0).or_insert_with(|| {
                let cut = masks.get(raw).and(partition);
                masks.intern(&cut)
            });
            let asym = asymmetry.flags(cut, number, masks);
            tree.has_asym |= asym.has(DomainFlags::ASYM_CPUCAPACITY);
            let weight = masks.weight(if kernel.has(Feature::SD_WEIGHT_OF_SPAN) {
                cut
            } else {
                raw
            });
            let mut domain = start(input, level, cut, weight, asym);
            if tree.domains.len() > first {
                let child = tree.domains.len() - 1;
                if asym.has(DomainFlags::ASYM_CPUCAPACITY) {
                    let flags = &mut tree.domains[child].flags;
                    *flags = flags.without(DomainFlags::PREFER_SIBLING);
                }
                let inner = tree.domains[child].span;
                if !masks.is_subset(inner, cut) {
                    let mut wider = masks.get(cut).clone();
                    wider.or_with(masks.get(inner));
                    domain.span = masks.intern(&wider);
                }
            }
            relax(kernel, input.relax_domain_level, number, &mut domain.flags);
            let is_whole = domain.span == whole;
            tree.domains.push(domain);
            if is_whole {
                break;
            }
        }
        tree.chains[cpu.index()] = (first as u32, (tree.domains.len() - first) as u32);
        let chain = &mut tree.domains[first..];
        if kernel.has(Feature::SD_IMB_NUMA_NR) {
            allow_numa_imbalance(chain, masks);
        }
        give_shared(kernel, chain);
    }
    Ok(tree)
}

/// The values with which a domain starts, before its neighbours in the chain are looked at.
fn start(
    input: &TreeInput<'_>,
    level: &Level,
    span: MaskId,
    start_weight: u32,
    asym: DomainFlags,
) -> RawDomain {
    use DomainFlags as F;
    let kernel = input.kernel;
    let mut flags = F::BALANCE_NEWIDLE
        | F::BALANCE_EXEC
        | F::BALANCE_FORK
        | F::WAKE_AFFINE
        | F::PREFER_SIBLING
        | level.flags
        | asym;
    if kernel.has(Feature::SD_LOAD_BALANCE) {
        flags |= F::LOAD_BALANCE;
    }
    let (mut imbalance_pct, mut cache_nice_tries) = (kernel.tunables.imbalance_pct as u32, 1);
    if flags.has(F::SHARE_CPUCAPACITY) {
        imbalance_pct = 110;
        cache_nice_tries = 0;
    } else if flags.has(F::SHARE_LLC) {
        imbalance_pct = 117;
    } else if let LevelKind::Numa(distance) = level.kind {
        cache_nice_tries = 2;
        flags = flags.without(F::PREFER_SIBLING) | F::SERIALIZE;
        if kernel.has(Feature::SD_OVERLAP_FLAG) {
            flags |= F::OVERLAP;
        }
        if distance > input.reclaim_distance {
            flags = flags.without(F::BALANCE_EXEC | F::BALANCE_FORK | F::WAKE_AFFINE);
        }
    }
    RawDomain {
        span,
        start_weight,
        flags,
        imbalance_pct,
        cache_nice_tries,
        imb_numa_nr: 0,
        has_shared: false,
    }
}

/// Applies `relax_domain_level` to the domain at level `number`.
///
/// # Source
/// Linux v6.12 `kernel/sched/topology.c`, `set_domain_attribute()`.
fn relax(kernel: &Kernel, request: i32, number: usize, flags: &mut DomainFlags) {
    let Ok(request) = usize::try_from(request) else {
        return;
    };
    let both = DomainFlags::BALANCE_WAKE | DomainFlags::BALANCE_NEWIDLE;
    let off = if kernel.has(Feature::SD_RELAX_AT_LEVEL) {
        number >= request
    } else {
        number > request
    };
    if off {
        *flags = flags.without(both);
    } else if kernel.has(Feature::SD_RELAX_SETS) {
        *flags |= both;
    }
}

/// Sets how many tasks of imbalance between nodes are allowed, from the first domain above the LLC.
///
/// # Source
/// Linux v6.12 `kernel/sched/topology.c`, `build_sched_domains()`.
#[doc(alias = "imb_numa_nr")]
fn allow_numa_imbalance(chain: &mut [RawDomain], masks: &MaskTable) {
    let in_llc = |d: &&RawDomain| d.flags.has(DomainFlags::SHARE_LLC);
    let above = chain.iter().take_while(in_llc).count();
    if above == 0 || above == chain.len() {
        return;
    }
    // Spans contain their CPU, so no weight is 0.
    let weight = |d: &RawDomain| masks.weight(d.span).max(1);
    let (llc, parent) = (weight(&chain[above - 1]), weight(&chain[above]));
    let nr_llcs = parent / llc;
    let imb = if nr_llcs == 1 { parent >> 3 } else { nr_llcs }.max(1);
    let numa = chain[above + 1..]
        .iter()
        .find(|d| d.flags.has(DomainFlags::NUMA));
    let span = numa.map_or(parent, weight);
    for domain in &mut chain[above..] {
        domain.imb_numa_nr = imb * (weight(domain) / span).max(1);
    }
}

/// Decides which domains get a shared object.
fn give_shared(kernel: &Kernel, chain: &mut [RawDomain]) {
    let shares = |d: &RawDomain| d.flags.has(DomainFlags::SHARE_LLC);
    if !kernel.has(Feature::SD_SHARED_TOP) {
        for domain in chain {
            domain.has_shared = shares(domain);
        }
        return;
    }
    let run = chain.iter().take_while(|d| shares(d)).count();
    if let Some(top) = run.checked_sub(1) {
        chain[top].has_shared = true;
    }
    let full = |d: &&mut RawDomain| d.flags.has(DomainFlags::ASYM_CPUCAPACITY_FULL);
    if let Some(asym) = chain.iter_mut().find(full)
        && !asym.flags.has(DomainFlags::NUMA)
    {
        asym.has_shared = true;
    }
}

/// Fails when two masks of `level` overlap without being equal.
///
/// # Source
/// Linux v6.12 `kernel/sched/topology.c`, `topology_span_sane()`.
fn check_disjoint(level: &Level, partition: &CpuMask, masks: &MaskTable) -> Result<(), BuildError> {
    let mut covered = CpuMask::new(partition.room());
    let mut seen: Vec<bool> = Vec::new();
    for cpu in partition {
        let Some(id) = level.raw[cpu] else { continue };
        let place = id.0 as usize;
        if seen.len() <= place {
            seen.resize(place + 1, false);
        }
        if core::mem::replace(&mut seen[place], true) {
            continue;
        }
        let mask = masks.get(id);
        if mask.intersects(&covered) {
            let clashes = |other: &CpuId| {
                level.raw[*other].is_some_and(|o| o != id && masks.get(o).intersects(mask))
            };
            return Err(BuildError::OverlappingLevel {
                level: level.name,
                cpu,
                other: partition.iter().find(clashes).unwrap_or(cpu),
            });
        }
        covered.or_with(mask);
    }
    Ok(())
}

/// Which spans see different capacities.
enum Asymmetry {
    /// All CPUs of the partition are alike.
    None,
    /// By what the span sees: the CPUs of each capacity, and the answers so far.
    Seen(Vec<CpuMask>, BTreeMap<u32, DomainFlags>),
    /// Only on this level: the lowest at which every CPU sees the largest capacity.
    Level(usize),
}

impl Asymmetry {
    fn of(input: &TreeInput<'_>, masks: &MaskTable) -> Self {
        let partition = input.partition;
        let mut values: Vec<u32> = partition.iter().map(|cpu| input.capacity[cpu]).collect();
        values.sort_unstable();
        values.dedup();
        if values.len() < 2 {
            return Self::None;
        }
        let cpus_of = |value: &u32| {
            let cpus = partition
                .iter()
                .filter(|cpu| input.capacity[*cpu] == *value);
            CpuMask::from_cpus(partition.room(), cpus)
        };
        if input.kernel.has(Feature::SD_ASYM_FULL) {
            return Self::Seen(values.iter().map(cpus_of).collect(), BTreeMap::new());
        }
        let largest = values.last().map(cpus_of).unwrap_or_default();
        let sees = |level: &Level, cpu: CpuId| {
            level.raw[cpu].is_some_and(|raw| masks.get(raw).intersects(&largest))
        };
        let all_see = |level: &Level| partition.iter().all(|cpu| sees(level, cpu));
        input
            .levels
            .iter()
            .position(all_see)
            .map_or(Self::None, Self::Level)
    }

    fn flags(&mut self, span: MaskId, number: usize, masks: &MaskTable) -> DomainFlags {
        match self {
            Self::None => DomainFlags::NONE,
            Self::Level(level) if *level == number => DomainFlags::ASYM_CPUCAPACITY,
            Self::Level(_) => DomainFlags::NONE,
            Self::Seen(by_capacity, answers) => *answers.entry(span.0).or_insert_with(|| {
                let span = masks.get(span);
                let seen = by_capacity
                    .iter()
                    .filter(|cpus| cpus.intersects(span))
                    .count();
                match seen {
                    0 | 1 => DomainFlags::NONE,
                    n if n < by_capacity.len() => DomainFlags::ASYM_CPUCAPACITY,
                    _ => DomainFlags::ASYM_CPUCAPACITY | DomainFlags::ASYM_CPUCAPACITY_FULL,
                }
            }),
        }
    }
}
