//! Which group has most to give, and whether it should give anything.

use fairlab_kernel::Feature;
use fairlab_pelt::{capacity_greater, fits_capacity};
use fairlab_topology::domains::{DomainFlags, SchedGroup};

use super::asym::is_preferred;
use super::capacity;
use super::classify::GroupType;
use super::cost::BalanceCost;
use super::env::{Env, IdleKind, MigrationType, NumaClass};
use super::group_stats::{GroupStats, RootFlags, avg_load, gather};
use super::state::BalanceState;
use super::view::BalanceView;
use super::{idle_scan, imbalance, llc, v5_4};

/// What a search over the groups of a domain gathered (`struct sd_lb_stats`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainStats {
    /// Statistics of the local group.
    pub local: GroupStats,
    /// The busiest group, as a position in [`Env::groups`].
    pub busiest: Option<usize>,
    /// Its statistics; [`GroupStats::NOTHING`] when there is none.
    pub busiest_stats: GroupStats,
    /// Load of all groups.
    pub total_load: u64,
    /// Capacity of all groups.
    pub total_capacity: u64,
    /// Tasks should spread over the groups even where capacity is left.
    pub prefer_sibling: bool,
}

impl DomainStats {
    /// Load per 1024 of capacity, over all groups.
    #[must_use]
    pub fn avg_load(&self) -> u64 {
        avg_load(self.total_load, self.total_capacity)
    }
}

/// A group to pull from, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imbalance {
    /// The group, as a position in [`Env::groups`].
    pub group: usize,
    /// How much to move, in the unit of `migration`.
    pub amount: i64,
    /// What to move.
    pub migration: MigrationType,
    /// Where the group's tasks are relative to the nodes they prefer.
    pub numa_class: NumaClass,
}

/// Looks for the group to pull from; refreshes capacities, the root domain's flags and
/// `nr_idle_scan` on the way. `None` means balanced.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `sched_balance_find_src_group()`.
#[doc(alias = "sched_balance_find_src_group")]
pub fn find_busiest_group<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &mut BalanceState,
    cost: &mut BalanceCost,
) -> Option<Imbalance> {
    refresh_local_capacity(env, view, state);
    search(env, view, state, cost)
}

/// The same without refreshing the local group's capacity.
pub fn search<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &mut BalanceState,
    cost: &mut BalanceCost,
) -> Option<Imbalance> {
    if !env.has(Feature::LB_GROUP_TYPES) {
        return v5_4::find_busiest_group(env, view, state, cost);
    }
    let stats = gather_domain(env, view, state, cost);
    let group = stats
        .busiest
        .filter(|_| is_imbalanced(env, view, state, &stats))?;
    let (migration, amount) = imbalance::calculate(env, &stats);
    (amount != 0).then_some(Imbalance {
        group,
        amount,
        migration,
        numa_class: numa_class(env, &stats.busiest_stats),
    })
}

/// Gathers the statistics of all groups and picks the busiest.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `update_sd_lb_stats()`.
#[doc(alias = "update_sd_lb_stats")]
pub fn gather_domain<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &mut BalanceState,
    cost: &mut BalanceCost,
) -> DomainStats {
    let mut root = RootFlags::default();
    let local = gather(env, view, state, &env.groups[0], None, &mut root, cost);
    llc::record(env, state, &env.groups[0], &local);
    let mut stats = DomainStats {
        local,
        busiest: None,
        busiest_stats: GroupStats::NOTHING,
        total_load: local.group_load,
        total_capacity: local.group_capacity,
        prefer_sibling: false,
    };
    let mut total_util = local.group_util;
    for (index, group) in env.groups.iter().enumerate().skip(1) {
        let candidate = gather(env, view, state, group, Some(&local), &mut root, cost);
        llc::record(env, state, group, &candidate);
        if is_busier(env, view, state, &stats, group, &candidate) {
            stats.busiest = Some(index);
            stats.busiest_stats = candidate;
        }
        stats.total_load += candidate.group_load;
        stats.total_capacity += candidate.group_capacity;
        total_util += candidate.group_util;
    }
    stats.prefer_sibling = if env.has(Feature::LB_PREFER_SIBLING_GROUP) {
        stats
            .busiest
            .is_some_and(|i| env.groups[i].flags.has(DomainFlags::PREFER_SIBLING))
    } else {
        child_prefers_sibling(env)
    };
    note_root_flags(env, state, root);
    idle_scan::update(env, state, total_util);
    stats
}

/// Refreshes the local group's capacity when it is due.
pub fn refresh_local_capacity<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &mut BalanceState,
) {
    let due = view.jiffies() >= state.group(env.groups[0].capacity).next_update;
    if env.idle != IdleKind::NewlyIdle || due {
        capacity::update_group(env, view, state);
    }
}

/// Has the child of the domain PREFER_SIBLING?
pub(crate) fn child_prefers_sibling(env: &Env<'_>) -> bool {
    env.sd.child.is_some_and(|child| {
        env.domains
            .domain(child)
            .flags
            .has(DomainFlags::PREFER_SIBLING)
    })
}

/// The topmost domain sets both flags; lower ones can raise overutilized.
pub(crate) fn note_root_flags(env: &Env<'_>, state: &mut BalanceState, root: RootFlags) {
    if env.sd.parent.is_none() {
        state.overload = root.overload;
        state.overutilized = root.overutilized;
    } else {
        state.overutilized |= root.overutilized;
    }
}

/// Should `candidate` replace the busiest group so far?
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `update_sd_pick_busiest()`.
#[doc(alias = "update_sd_pick_busiest")]
#[must_use]
pub fn is_busier<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    stats: &DomainStats,
    group: &SchedGroup,
    candidate: &GroupStats,
) -> bool {
    if candidate.sum_h_nr_running == 0 {
        return false;
    }
    let asym_capacity = env.flag(DomainFlags::ASYM_CPUCAPACITY);
    let misfit_rules = asym_capacity || !env.has(Feature::LB_REDUCED_CAPACITY);
    if candidate.group_type == GroupType::Misfit
        && misfit_rules
        && !can_help_misfit(env, view, state, stats, group)
    {
        return false;
    }
    let early = env.has(Feature::LB_MIN_CAPACITY_EARLY);
    let refused = || {
        asym_capacity
            && candidate.group_type <= GroupType::FullyBusy
            && has_bigger_cpus(env, state, group)
    };
    if early && refused() {
        return false;
    }
    match candidate.group_type.cmp(&stats.busiest_stats.group_type) {
        core::cmp::Ordering::Greater => true,
        core::cmp::Ordering::Less => false,
        core::cmp::Ordering::Equal => match compare_equal(env, view, stats, group, candidate) {
            Verdict::No => false,
            Verdict::Yes => early || !refused(),
            Verdict::YesAtOnce => true,
        },
    }
}

enum Verdict {
    No,
    Yes,
    /// Without the final test for bigger CPUs.
    YesAtOnce,
}

impl From<bool> for Verdict {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

/// Can the destination run a task that does not fit in `group`?
fn can_help_misfit<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    stats: &DomainStats,
    group: &SchedGroup,
) -> bool {
    let max = state.group(group.capacity).max_capacity;
    let bigger = if env.has(Feature::LB_CAPACITY_GREATER) {
        capacity_greater(state.capacity_of(env.dst_cpu), max)
    } else {
        fits_capacity(max, state.group(env.groups[0].capacity).max_capacity)
    };
    bigger
        && stats.local.group_type == GroupType::HasSpare
        && (!env.has(Feature::LB_MISFIT_IDLE_CORE) || env.is_core_idle(view, env.dst_cpu))
}

/// Are all CPUs of `group` bigger than the destination?
fn has_bigger_cpus(env: &Env<'_>, state: &BalanceState, group: &SchedGroup) -> bool {
    let min = state.group(group.capacity).min_capacity;
    if env.has(Feature::LB_CAPACITY_GREATER) {
        capacity_greater(min, state.capacity_of(env.dst_cpu))
    } else {
        fits_capacity(state.group(env.groups[0].capacity).min_capacity, min)
    }
}

/// Compares a candidate of the same class with the busiest group so far.
fn compare_equal<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    stats: &DomainStats,
    group: &SchedGroup,
    candidate: &GroupStats,
) -> Verdict {
    let busiest = &stats.busiest_stats;
    let busiest_group = stats.busiest.map(|i| &env.groups[i]);
    let ties = env.has(Feature::LB_TIE_REPLACES);
    match candidate.group_type {
        GroupType::Overloaded => (candidate.avg_load > busiest.avg_load).into(),
        GroupType::Imbalanced => Verdict::No,
        GroupType::LlcBalance => (candidate.nr_pref_dst_llc > busiest.nr_pref_dst_llc).into(),
        GroupType::AsymPacking => {
            let Some(busiest_group) = busiest_group else {
                return Verdict::Yes;
            };
            let (old, new) = (busiest_group.asym_prefer_cpu, group.asym_prefer_cpu);
            if ties {
                (!is_preferred(view, new, old)).into()
            } else {
                is_preferred(view, old, new).into()
            }
        }
        GroupType::Misfit => {
            if ties {
                (candidate.misfit_load >= busiest.misfit_load).into()
            } else {
                (candidate.misfit_load > busiest.misfit_load).into()
            }
        }
        GroupType::SmtBalance => {
            if candidate.idle_cpus == 0 && busiest.idle_cpus == 0 {
                compare_fully_busy(env, busiest_group, busiest, candidate).into()
            } else {
                compare_has_spare(env, busiest_group, busiest, group, candidate)
            }
        }
        GroupType::FullyBusy => compare_fully_busy(env, busiest_group, busiest, candidate).into(),
        GroupType::HasSpare => compare_has_spare(env, busiest_group, busiest, group, candidate),
    }
}

fn is_smt(group: Option<&SchedGroup>) -> bool {
    group.is_some_and(|g| g.flags.has(DomainFlags::SHARE_CPUCAPACITY))
}

fn compare_fully_busy(
    env: &Env<'_>,
    busiest_group: Option<&SchedGroup>,
    busiest: &GroupStats,
    candidate: &GroupStats,
) -> bool {
    if candidate.avg_load == busiest.avg_load && env.has(Feature::LB_PICK_SMT) {
        return !is_smt(busiest_group);
    }
    candidate.avg_load > busiest.avg_load
}

fn compare_has_spare(
    env: &Env<'_>,
    busiest_group: Option<&SchedGroup>,
    busiest: &GroupStats,
    group: &SchedGroup,
    candidate: &GroupStats,
) -> Verdict {
    let differs = busiest_group.is_some() && is_smt(busiest_group) != is_smt(Some(group));
    if env.has(Feature::LB_PICK_SMT) && differs {
        // Other rules look after spreading single tasks over cores.
        let single = is_smt(Some(group)) && candidate.sum_h_nr_running <= 1;
        return if single {
            Verdict::No
        } else {
            Verdict::YesAtOnce
        };
    }
    let better = candidate.idle_cpus < busiest.idle_cpus
        || (candidate.idle_cpus == busiest.idle_cpus
            && candidate.sum_nr_running > busiest.sum_nr_running);
    better.into()
}

/// Is there something to balance between the local and the busiest group? The tests apply in order.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `sched_balance_find_src_group()`.
#[must_use]
pub fn is_imbalanced<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    stats: &DomainStats,
) -> bool {
    let energy = view.is_energy_aware() && !state.overutilized;
    if env.has(Feature::LB_ENERGY_FIRST) && energy {
        return false;
    }
    let Some(busiest_index) = stats.busiest else {
        return false;
    };
    let (local, busiest) = (&stats.local, &stats.busiest_stats);
    if busiest.group_type == GroupType::Misfit {
        return true;
    }
    if energy {
        return false;
    }
    if matches!(
        busiest.group_type,
        GroupType::AsymPacking | GroupType::Imbalanced
    ) {
        return true;
    }
    if local.group_type > busiest.group_type {
        return false;
    }
    if local.group_type == GroupType::Overloaded {
        let pct = u64::from(env.sd.imbalance_pct);
        if local.avg_load >= busiest.avg_load
            || local.avg_load >= stats.avg_load()
            || 100 * busiest.avg_load <= pct * local.avg_load
        {
            return false;
        }
    }
    if stats.prefer_sibling
        && local.group_type == GroupType::HasSpare
        && (busiest.group_type == GroupType::LlcBalance
            || imbalance::sibling_imbalance(env, stats) > 1)
    {
        return true;
    }
    if busiest.group_type != GroupType::Overloaded {
        if !env.idle.is_idle() {
            return false;
        }
        let one_is_smt = is_smt(env.groups.first()) != is_smt(env.groups.get(busiest_index));
        if busiest.group_type == GroupType::SmtBalance && one_is_smt {
            return true;
        }
        if busiest.group_weight > 1 && local.idle_cpus <= busiest.idle_cpus.saturating_add(1) {
            return false;
        }
        if busiest.sum_h_nr_running == 1 {
            return false;
        }
    }
    true
}

/// Where the tasks of the busiest group are relative to the nodes they prefer.
#[doc(alias = "fbq_classify_group")]
#[must_use]
pub fn numa_class(env: &Env<'_>, busiest: &GroupStats) -> NumaClass {
    if !env.flag(DomainFlags::NUMA) {
        NumaClass::All
    } else if busiest.sum_h_nr_running > busiest.nr_numa_running {
        NumaClass::Regular
    } else if busiest.sum_h_nr_running > busiest.nr_preferred_running {
        NumaClass::Remote
    } else {
        NumaClass::All
    }
}
