//! What is known of a group when groups are compared (`struct sg_lb_stats`).

use fairlab_kernel::Feature;
use fairlab_topology::domains::{DomainFlags, SchedGroup};

use super::asym;
use super::capacity::{cpu_util, is_overutilized};
use super::classify::{GroupType, classify};
use super::cost::BalanceCost;
use super::env::Env;
use super::llc;
use super::state::BalanceState;
use super::sums::{self, Sum};
use super::view::BalanceView;

/// Statistics of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupStats {
    /// Class of the group.
    pub group_type: GroupType,
    /// Load per 1024 of capacity; only of overloaded groups, else zero.
    pub avg_load: u64,
    /// Sum of the CPUs' loads.
    pub group_load: u64,
    /// Capacity of the group.
    pub group_capacity: u64,
    /// Sum of the CPUs' utilizations.
    pub group_util: u64,
    /// Sum of the CPUs' `runnable_avg`; zero without [`Feature::LB_RUNNABLE`].
    pub group_runnable: u64,
    /// Runnable tasks of all classes.
    pub sum_nr_running: u32,
    /// Fair tasks.
    pub sum_h_nr_running: u32,
    /// Idle CPUs.
    pub idle_cpus: u32,
    /// CPUs of the group.
    pub group_weight: u32,
    /// Cores of the group.
    pub cores: u32,
    /// Affinity kept a lower level from balancing.
    pub is_imbalanced: bool,
    /// Packing wants the destination to take its tasks.
    pub asym_packing: bool,
    /// Several tasks share a core, and the destination is idle.
    pub smt_balance: bool,
    /// It has tasks that prefer the destination's LLC.
    pub llc_balance: bool,
    /// Load of the task that does not fit its CPU, or of the single task on a CPU of reduced
    /// capacity.
    pub misfit_load: u64,
    /// Some CPU of the group is overutilized.
    pub is_overutilized: bool,
    /// Tasks with a preferred node.
    pub nr_numa_running: u32,
    /// Tasks on their preferred node.
    pub nr_preferred_running: u32,
    /// Queued tasks that prefer the destination's LLC and are elsewhere.
    pub nr_pref_dst_llc: u32,
}

impl GroupStats {
    /// Statistics of nothing: what the first candidate is compared with.
    pub const NOTHING: Self = Self {
        group_type: GroupType::HasSpare,
        avg_load: 0,
        group_load: 0,
        group_capacity: 0,
        group_util: 0,
        group_runnable: 0,
        sum_nr_running: 0,
        sum_h_nr_running: 0,
        idle_cpus: u32::MAX,
        group_weight: 0,
        cores: 0,
        is_imbalanced: false,
        asym_packing: false,
        smt_balance: false,
        llc_balance: false,
        misfit_load: 0,
        is_overutilized: false,
        nr_numa_running: 0,
        nr_preferred_running: 0,
        nr_pref_dst_llc: 0,
    };

    /// Takes what a walk would gather from its sum.
    fn take(&mut self, env: &Env<'_>, sum: &Sum, root: &mut RootFlags) {
        self.group_load = sum.load;
        self.group_util = sum.util;
        if env.has(Feature::LB_RUNNABLE) {
            self.group_runnable = sum.runnable;
        }
        self.sum_h_nr_running = sum.h_nr_running;
        self.sum_nr_running = sum.nr_running;
        root.overload |= counts_overload(env) && sum.crowded > 0;
        self.is_overutilized = sum.overutilized > 0;
        self.nr_numa_running = sum.nr_numa;
        self.nr_preferred_running = sum.nr_preferred;
        self.idle_cpus = sum.idle;
    }

    /// Gathers what the CPUs of `group` say.
    #[allow(
        clippy::too_many_arguments,
        reason = "those of the search, and the group"
    )]
    fn walk<V: BalanceView + ?Sized>(
        &mut self,
        env: &Env<'_>,
        view: &V,
        state: &BalanceState,
        group: &SchedGroup,
        local: Option<&Self>,
        root: &mut RootFlags,
        cost: &mut BalanceCost,
    ) {
        let runnable = env.has(Feature::LB_RUNNABLE);
        let counts_overload = counts_overload(env);
        let asym_capacity = env.flag(DomainFlags::ASYM_CPUCAPACITY);
        let takes_reduced = env.has(Feature::LB_REDUCED_CAPACITY) && env.idle.is_idle();
        let dst_llc = llc::of(env, env.dst_cpu);

        for cpu in env.domains.mask(group.span) {
            if !env.cpus.test(cpu) {
                continue;
            }
            cost.group_cpus += 1;
            let nr_running = view.nr_running(cpu);
            let h_nr = env.h_nr(view, cpu);
            let load = env.load(view, cpu);
            self.group_load += load;
            self.group_util += cpu_util(env, view, cpu);
            if runnable {
                self.group_runnable += view.runnable_avg(cpu);
            }
            self.sum_h_nr_running += h_nr;
            self.sum_nr_running += nr_running;
            root.overload |= counts_overload && nr_running > 1;
            self.is_overutilized |= is_overutilized(env, view, state, cpu);
            self.nr_numa_running += view.nr_numa_running(cpu);
            self.nr_preferred_running += view.nr_preferred_running(cpu);
            if let Some(dst) = dst_llc
                && llc::of(env, cpu) != Some(dst)
            {
                self.nr_pref_dst_llc += view.nr_preferring_llc(cpu, dst);
            }
            if nr_running == 0 && view.is_idle(cpu) {
                self.idle_cpus += 1;
                continue;
            }
            if local.is_none() {
                continue;
            }
            if asym_capacity || !env.has(Feature::LB_REDUCED_CAPACITY) {
                let misfit = view.misfit_load(cpu);
                if asym_capacity && misfit > self.misfit_load {
                    self.misfit_load = misfit;
                    root.overload = true;
                }
            } else if takes_reduced && h_nr == 1 && env.is_capacity_reduced(state, cpu) {
                self.misfit_load = self.misfit_load.max(load);
            }
        }
    }
}

/// Does this search look at how many tasks CPUs have for the root domain's sake?
fn counts_overload(env: &Env<'_>) -> bool {
    !env.has(Feature::LB_OVERLOAD_AT_TOP) || env.sd.parent.is_none()
}

/// What a search finds out about the root domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RootFlags {
    /// Some CPU has more than one runnable task, or a misfit one.
    pub overload: bool,
    /// Some CPU is too busy for its capacity.
    pub overutilized: bool,
}

/// Gathers the statistics of `group`; `local` is `None` when it is the local group itself.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `update_sg_lb_stats()`.
#[doc(alias = "update_sg_lb_stats")]
pub fn gather<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    group: &SchedGroup,
    local: Option<&GroupStats>,
    root: &mut RootFlags,
    cost: &mut BalanceCost,
) -> GroupStats {
    let capacity = state.group(group.capacity);
    let mut stats = GroupStats {
        idle_cpus: 0,
        group_capacity: capacity.capacity,
        group_weight: group.weight,
        cores: group.cores,
        is_imbalanced: capacity.imbalance,
        ..GroupStats::NOTHING
    };
    cost.groups += 1;
    sums::gather(
        env,
        state,
        group,
        (&mut stats, root, cost),
        |stats, sum, root| stats.take(env, sum, root),
        |stats, root, cost| stats.walk(env, view, state, group, local, root, cost),
    );
    root.overutilized |= stats.is_overutilized;

    if local.is_some() {
        stats.asym_packing = asym::group_packs(env, view, group, &stats, local);
        stats.smt_balance = env.has(Feature::LB_SMT_BALANCE)
            && env.idle.is_idle()
            && group.flags.has(DomainFlags::SHARE_CPUCAPACITY)
            && stats.sum_h_nr_running > 1;
        stats.llc_balance = llc::group_wants(env, state, group, &stats);
    }
    stats.group_type = classify(
        env.kernel,
        env.sd.imbalance_pct,
        &stats,
        view.is_energy_aware(),
    );
    if stats.group_type == GroupType::Overloaded {
        stats.avg_load = avg_load(stats.group_load, stats.group_capacity);
    }
    stats
}

/// Load per 1024 of capacity.
#[inline]
#[must_use]
pub fn avg_load(load: u64, capacity: u64) -> u64 {
    (load * 1024).checked_div(capacity).unwrap_or(0)
}
