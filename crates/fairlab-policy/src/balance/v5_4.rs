//! The algorithm before the rework of v5.5: everything is load, and small imbalances are weighed.

use fairlab_pelt::fits_capacity;
use fairlab_topology::domains::{DomainFlags, SchedGroup};
use fairlab_units::CpuId;

use super::asym::is_preferred;
use super::busiest_group::{Imbalance, child_prefers_sibling, note_root_flags};
use super::busiest_queue::numa_class as queue_numa_class;
use super::capacity::{cpu_util, is_overutilized};
use super::cost::BalanceCost;
use super::env::{Env, IdleKind, MigrationType, NumaClass};
use super::group_stats::{RootFlags, avg_load};
use super::state::BalanceState;
use super::sums::{self, Sum};
use super::view::BalanceView;

/// Class of a group (`enum group_type` of v5.4), lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OldGroupType {
    /// Nothing special.
    Other,
    /// A task does not fit its CPU.
    Misfit,
    /// Affinity kept a lower level from balancing.
    Imbalanced,
    /// More tasks than CPUs, and too little capacity.
    Overloaded,
}

/// Statistics of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OldGroupStats {
    /// Class.
    pub group_type: OldGroupType,
    /// Load per 1024 of capacity.
    pub avg_load: u64,
    /// Sum of `runnable_load_avg`.
    pub group_load: u64,
    /// Sum of utilizations.
    pub group_util: u64,
    /// Capacity.
    pub group_capacity: u64,
    /// Average load of a task.
    pub load_per_task: u64,
    /// Fair tasks.
    pub sum_nr_running: u32,
    /// Idle CPUs.
    pub idle_cpus: u32,
    /// CPUs.
    pub group_weight: u32,
    /// No room for more.
    pub no_capacity: bool,
    /// Affinity kept a lower level from balancing.
    pub is_imbalanced: bool,
    /// Load of the task that does not fit its CPU.
    pub misfit_load: u64,
    /// Tasks with a preferred node.
    pub nr_numa_running: u32,
    /// Tasks on their preferred node.
    pub nr_preferred_running: u32,
}

impl OldGroupStats {
    /// Statistics of nothing: what the first candidate is compared with.
    pub const NOTHING: Self = Self {
        group_type: OldGroupType::Other,
        avg_load: 0,
        group_load: 0,
        group_util: 0,
        group_capacity: 0,
        load_per_task: 0,
        sum_nr_running: 0,
        idle_cpus: 0,
        group_weight: 0,
        no_capacity: false,
        is_imbalanced: false,
        misfit_load: 0,
        nr_numa_running: 0,
        nr_preferred_running: 0,
    };

    /// The class as the present fields say it.
    #[must_use]
    pub const fn classify(&self) -> OldGroupType {
        if self.no_capacity {
            OldGroupType::Overloaded
        } else if self.is_imbalanced {
            OldGroupType::Imbalanced
        } else if self.misfit_load != 0 {
            OldGroupType::Misfit
        } else {
            OldGroupType::Other
        }
    }

    fn has_capacity(&self, pct: u32) -> bool {
        self.sum_nr_running < self.group_weight
            || self.group_capacity * 100 > self.group_util * u64::from(pct)
    }

    fn is_overloaded(&self, pct: u32) -> bool {
        self.sum_nr_running > self.group_weight
            && self.group_capacity * 100 < self.group_util * u64::from(pct)
    }

    /// Takes what a walk would gather from its sum.
    fn take(&mut self, sum: &Sum, root: &mut RootFlags) {
        self.group_load = sum.load;
        self.group_util = sum.util;
        self.sum_nr_running = sum.h_nr_running;
        root.overload |= sum.crowded > 0;
        root.overutilized |= sum.overutilized > 0;
        self.nr_numa_running = sum.nr_numa;
        self.nr_preferred_running = sum.nr_preferred;
        self.idle_cpus = sum.idle;
    }

    /// Gathers what the CPUs of `group` say.
    fn walk<V: BalanceView + ?Sized>(
        &mut self,
        env: &Env<'_>,
        view: &V,
        state: &BalanceState,
        group: &SchedGroup,
        root: &mut RootFlags,
        cost: &mut BalanceCost,
    ) {
        for cpu in env.domains.mask(group.span) {
            if !env.cpus.test(cpu) {
                continue;
            }
            cost.group_cpus += 1;
            self.group_load += env.load(view, cpu);
            self.group_util += cpu_util(env, view, cpu);
            self.sum_nr_running += env.h_nr(view, cpu);
            let nr_running = view.nr_running(cpu);
            root.overload |= nr_running > 1;
            root.overutilized |= is_overutilized(env, view, state, cpu);
            self.nr_numa_running += view.nr_numa_running(cpu);
            self.nr_preferred_running += view.nr_preferred_running(cpu);
            if nr_running == 0 && view.is_idle(cpu) {
                self.idle_cpus += 1;
            }
            let misfit = view.misfit_load(cpu);
            if env.flag(DomainFlags::ASYM_CPUCAPACITY) && misfit > self.misfit_load {
                self.misfit_load = misfit;
                root.overload = true;
            }
        }
    }
}

/// What a search gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OldDomainStats {
    /// The local group.
    pub local: OldGroupStats,
    /// The busiest group, as a position in [`Env::groups`].
    pub busiest: Option<usize>,
    /// Its statistics.
    pub busiest_stats: OldGroupStats,
    /// Load per 1024 of capacity, over all groups.
    pub avg_load: u64,
}

fn gather_group<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    group: &SchedGroup,
    root: &mut RootFlags,
    cost: &mut BalanceCost,
) -> OldGroupStats {
    let capacity = state.group(group.capacity);
    let mut stats = OldGroupStats {
        group_capacity: capacity.capacity,
        group_weight: group.weight,
        is_imbalanced: capacity.imbalance,
        ..OldGroupStats::NOTHING
    };
    cost.groups += 1;
    sums::gather(
        env,
        state,
        group,
        (&mut stats, root, cost),
        |stats, sum, root| stats.take(sum, root),
        |stats, root, cost| stats.walk(env, view, state, group, root, cost),
    );
    stats.avg_load = avg_load(stats.group_load, stats.group_capacity);
    stats.load_per_task = stats
        .group_load
        .checked_div(u64::from(stats.sum_nr_running))
        .unwrap_or(0);
    stats.no_capacity = stats.is_overloaded(env.sd.imbalance_pct);
    stats.group_type = stats.classify();
    stats
}

/// Gathers the statistics of all groups and picks the busiest.
pub fn gather_domain<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &mut BalanceState,
    cost: &mut BalanceCost,
) -> OldDomainStats {
    let prefer_sibling = child_prefers_sibling(env);
    let mut root = RootFlags::default();
    let local = gather_group(env, view, state, &env.groups[0], &mut root, cost);
    let (mut load, mut capacity) = (local.group_load, local.group_capacity);
    let mut stats = OldDomainStats {
        local,
        busiest: None,
        busiest_stats: OldGroupStats::NOTHING,
        avg_load: 0,
    };
    for (index, group) in env.groups.iter().enumerate().skip(1) {
        let mut candidate = gather_group(env, view, state, group, &mut root, cost);
        // Spreading over siblings: a group with two tasks more than the local one counts as full.
        if prefer_sibling
            && local.has_capacity(env.sd.imbalance_pct)
            && candidate.sum_nr_running > local.sum_nr_running + 1
        {
            candidate.no_capacity = true;
            candidate.group_type = candidate.classify();
        }
        if is_busier(env, view, state, &stats, group, &candidate) {
            stats.busiest = Some(index);
            stats.busiest_stats = candidate;
        }
        load += candidate.group_load;
        capacity += candidate.group_capacity;
    }
    stats.avg_load = avg_load(load, capacity);
    note_root_flags(env, state, root);
    stats
}

fn is_busier<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    stats: &OldDomainStats,
    group: &SchedGroup,
    candidate: &OldGroupStats,
) -> bool {
    let (own, other) = (
        state.group(env.groups[0].capacity),
        state.group(group.capacity),
    );
    if candidate.group_type == OldGroupType::Misfit
        && (!fits_capacity(other.max_capacity, own.max_capacity)
            || !stats.local.has_capacity(env.sd.imbalance_pct))
    {
        return false;
    }
    let busiest = &stats.busiest_stats;
    if candidate.group_type != busiest.group_type {
        return candidate.group_type > busiest.group_type;
    }
    if candidate.avg_load <= busiest.avg_load {
        return false;
    }
    if env.flag(DomainFlags::ASYM_CPUCAPACITY) {
        let smaller = fits_capacity(own.min_capacity, other.min_capacity);
        if candidate.sum_nr_running <= candidate.group_weight && smaller {
            return false;
        }
        if candidate.misfit_load < busiest.misfit_load {
            return false;
        }
    }
    if !env.flag(DomainFlags::ASYM_PACKING) || env.idle == IdleKind::NotIdle {
        return true;
    }
    candidate.sum_nr_running > 0
        && is_preferred(view, env.dst_cpu, group.asym_prefer_cpu)
        && stats.busiest.is_none_or(|i| {
            is_preferred(view, env.groups[i].asym_prefer_cpu, group.asym_prefer_cpu)
        })
}

/// Looks for the group to pull from.
///
/// # Source
/// Linux v5.4 `kernel/sched/fair.c`, `find_busiest_group()`.
pub(crate) fn find_busiest_group<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &mut BalanceState,
    cost: &mut BalanceCost,
) -> Option<Imbalance> {
    let stats = gather_domain(env, view, state, cost);
    if view.is_energy_aware() && !state.overutilized {
        return None;
    }
    let group = stats.busiest?;
    let busiest = &stats.busiest_stats;
    let answer = |amount: u64, misfit: bool| {
        (amount != 0).then_some(Imbalance {
            group,
            amount: amount as i64,
            migration: if misfit {
                MigrationType::Misfit
            } else {
                MigrationType::Load
            },
            numa_class: numa_class(env, busiest),
        })
    };
    if env.flag(DomainFlags::ASYM_PACKING)
        && env.idle.is_idle()
        && is_preferred(view, env.dst_cpu, env.groups[group].asym_prefer_cpu)
    {
        return answer(busiest.group_load, false);
    }
    if !is_imbalanced(env, &stats) {
        return None;
    }
    let misfit = busiest.group_type == OldGroupType::Misfit;
    let dst = (env.load(view, env.dst_cpu), env.h_nr(view, env.dst_cpu));
    answer(calculate(&stats, dst), misfit)
}

/// Is there something to balance? The tests apply in order.
#[must_use]
pub fn is_imbalanced(env: &Env<'_>, stats: &OldDomainStats) -> bool {
    let (local, busiest) = (&stats.local, &stats.busiest_stats);
    if stats.busiest.is_none() || busiest.sum_nr_running == 0 {
        return false;
    }
    if busiest.group_type == OldGroupType::Imbalanced {
        return true;
    }
    if env.idle.is_idle() && local.has_capacity(env.sd.imbalance_pct) && busiest.no_capacity {
        return true;
    }
    if busiest.group_type == OldGroupType::Misfit {
        return true;
    }
    if local.avg_load >= busiest.avg_load || local.avg_load >= stats.avg_load {
        return false;
    }
    if env.idle == IdleKind::Idle {
        busiest.group_type == OldGroupType::Overloaded || local.idle_cpus > busiest.idle_cpus + 1
    } else {
        100 * busiest.avg_load > u64::from(env.sd.imbalance_pct) * local.avg_load
    }
}

/// How much load to move. `dst` is load and number of fair tasks of the destination.
#[must_use]
pub fn calculate(stats: &OldDomainStats, dst: (u64, u32)) -> u64 {
    let local = &stats.local;
    let mut busiest = stats.busiest_stats;
    let average = stats.avg_load;
    if busiest.group_type == OldGroupType::Imbalanced {
        busiest.load_per_task = busiest.load_per_task.min(average);
    }
    let misfit = busiest.group_type == OldGroupType::Misfit;
    if !misfit && (busiest.avg_load <= average || local.avg_load >= average) {
        return small_imbalance(local, &busiest, dst).unwrap_or(0);
    }
    let mut above = u64::MAX;
    if busiest.group_type == OldGroupType::Overloaded
        && local.group_type == OldGroupType::Overloaded
    {
        let wanted = u64::from(busiest.sum_nr_running) * 1024;
        if wanted > busiest.group_capacity {
            above = (wanted - busiest.group_capacity) * 1024 / busiest.group_capacity.max(1);
        }
    }
    let pull = busiest.avg_load.wrapping_sub(average).min(above);
    let give = pull.wrapping_mul(busiest.group_capacity);
    let take = average
        .wrapping_sub(local.avg_load)
        .wrapping_mul(local.group_capacity);
    let mut imbalance = give.min(take) / 1024;
    if misfit {
        imbalance = imbalance.max(busiest.misfit_load);
    }
    if imbalance < busiest.load_per_task {
        return small_imbalance(local, &busiest, dst).unwrap_or(imbalance);
    }
    imbalance
}

/// Would moving one task gain throughput, although the imbalance is less than a task?
///
/// # Source
/// Linux v5.4 `kernel/sched/fair.c`, `fix_small_imbalance()`.
#[doc(alias = "fix_small_imbalance")]
#[must_use]
pub fn small_imbalance(
    local: &OldGroupStats,
    busiest: &OldGroupStats,
    dst: (u64, u32),
) -> Option<u64> {
    let mut tasks = 2;
    let mut local_per_task = local.load_per_task;
    if local.sum_nr_running == 0 {
        local_per_task = dst.0.checked_div(u64::from(dst.1)).unwrap_or(0);
    } else if busiest.load_per_task > local_per_task {
        tasks = 1;
    }
    let (bc, lc) = (busiest.group_capacity.max(1), local.group_capacity.max(1));
    let one = busiest.load_per_task * 1024 / bc;
    if busiest.avg_load + one >= local.avg_load + one * tasks {
        return Some(busiest.load_per_task);
    }
    let now = (bc * busiest.load_per_task.min(busiest.avg_load)
        + lc * local_per_task.min(local.avg_load))
        / 1024;
    let mut moved = 0;
    if busiest.avg_load > one {
        moved += bc * busiest.load_per_task.min(busiest.avg_load - one);
    }
    let taken = (busiest.avg_load * bc).min(busiest.load_per_task * 1024) / lc;
    moved += lc * local_per_task.min(local.avg_load + taken);
    (moved / 1024 > now).then_some(busiest.load_per_task)
}

fn numa_class(env: &Env<'_>, busiest: &OldGroupStats) -> NumaClass {
    if !env.flag(DomainFlags::NUMA) {
        NumaClass::All
    } else if busiest.sum_nr_running > busiest.nr_numa_running {
        NumaClass::Regular
    } else if busiest.sum_nr_running > busiest.nr_preferred_running {
        NumaClass::Remote
    } else {
        NumaClass::All
    }
}

/// The CPU of the busiest group to pull from.
///
/// # Source
/// Linux v5.4 `kernel/sched/fair.c`, `find_busiest_queue()`.
pub(crate) fn find_busiest_queue<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    found: &Imbalance,
    cost: &mut BalanceCost,
) -> Option<CpuId> {
    let mut busiest = None;
    let (mut most_load, mut most_capacity) = (0u64, 1u64);
    for cpu in env.domains.mask(env.groups[found.group].span) {
        if !env.cpus.test(cpu) {
            continue;
        }
        cost.queue_cpus += 1;
        if queue_numa_class(view, cpu) > found.numa_class {
            continue;
        }
        if found.migration == MigrationType::Misfit {
            let misfit = view.misfit_load(cpu);
            if misfit > most_load {
                most_load = misfit;
                busiest = Some(cpu);
            }
            continue;
        }
        let h_nr = env.h_nr(view, cpu);
        let capacity = state.capacity_of(cpu);
        if env.flag(DomainFlags::ASYM_CPUCAPACITY)
            && h_nr == 1
            && state.capacity_of(env.dst_cpu) < capacity
        {
            continue;
        }
        let load = env.load(view, cpu);
        if h_nr == 1 && load as i64 > found.amount && !env.is_capacity_reduced(state, cpu) {
            continue;
        }
        if load * most_capacity > most_load * capacity {
            (most_load, most_capacity) = (load, capacity);
            busiest = Some(cpu);
        }
    }
    busiest
}
