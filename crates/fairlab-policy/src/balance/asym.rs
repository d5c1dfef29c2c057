//! Asymmetric packing: which of two CPUs is to be used first.

use fairlab_kernel::Feature;
use fairlab_topology::Domains;
use fairlab_topology::domains::{DomainFlags, SchedGroup};
use fairlab_units::CpuId;

use super::env::{Env, is_core_idle};
use super::group_stats::GroupStats;
use super::view::BalanceView;

/// Has `a` a higher priority than `b`?
#[doc(alias = "sched_asym_prefer")]
#[inline]
#[must_use]
pub fn is_preferred<V: BalanceView + ?Sized>(view: &V, a: CpuId, b: CpuId) -> bool {
    view.priority(a) > view.priority(b)
}

/// May the priority of `cpu` be used? Not while other threads of its core take from its speed,
/// unless the domain is that core.
#[doc(alias = "sched_use_asym_prio")]
#[must_use]
pub fn is_usable<V: BalanceView + ?Sized>(env: &Env<'_>, view: &V, cpu: CpuId) -> bool {
    is_usable_in(env.domains, env.sd.flags, view, cpu)
}

/// The same in a domain with `flags`.
#[must_use]
pub(crate) fn is_usable_in<V: BalanceView + ?Sized>(
    domains: &Domains,
    flags: DomainFlags,
    view: &V,
    cpu: CpuId,
) -> bool {
    flags.has(DomainFlags::ASYM_PACKING)
        && (!domains.switches().smt_present
            || flags.has(DomainFlags::SHARE_CPUCAPACITY)
            || is_core_idle(domains, view, cpu))
}

/// Does packing want the destination to take tasks from `group`?
#[doc(
    alias = "sched_asym",
    alias = "sched_group_asym",
    alias = "asym_smt_can_pull_tasks"
)]
#[must_use]
pub fn group_packs<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    group: &SchedGroup,
    stats: &GroupStats,
    local: Option<&GroupStats>,
) -> bool {
    if !env.flag(DomainFlags::ASYM_PACKING) || !env.idle.is_idle() || stats.sum_h_nr_running == 0 {
        return false;
    }
    let prefer = is_preferred(view, env.dst_cpu, group.asym_prefer_cpu);
    let busy = |s: &GroupStats| s.group_weight.saturating_sub(s.idle_cpus);
    let is_smt = group.flags.has(DomainFlags::SHARE_CPUCAPACITY);
    if env.has(Feature::LB_ASYM_IDLE_CORE) {
        return !(is_smt && busy(stats) != 1) && is_usable(env, view, env.dst_cpu) && prefer;
    }
    let local_smt = env.groups[0].flags.has(DomainFlags::SHARE_CPUCAPACITY);
    if !env.has(Feature::LB_ASYM_BUSY_THREADS) || !(local_smt || is_smt) {
        return prefer;
    }
    let Some(local) = local else { return false };
    match (local_smt, is_smt) {
        (false, _) => busy(stats) >= 2 || prefer,
        (true, true) => busy(stats).checked_sub(busy(local)) == Some(1) && prefer,
        (true, false) => local.sum_nr_running == 0 && prefer,
    }
}

/// Does packing want the task that runs on `src` to move to the destination, although it runs?
#[doc(alias = "asym_active_balance")]
#[must_use]
pub fn wants_active<V: BalanceView + ?Sized>(env: &Env<'_>, view: &V, src: CpuId) -> bool {
    if !env.idle.is_idle() || !env.flag(DomainFlags::ASYM_PACKING) {
        return false;
    }
    let prefer = is_preferred(view, env.dst_cpu, src);
    if env.has(Feature::LB_ASYM_IDLE_CORE) {
        is_usable(env, view, env.dst_cpu) && (prefer || !is_usable(env, view, src))
    } else {
        prefer
    }
}
