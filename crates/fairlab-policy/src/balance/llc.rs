//! Cache-aware scheduling in the balancer: tasks go to the LLC that their process prefers, while
//! there is room.

use fairlab_kernel::Feature;
use fairlab_topology::domains::{DomainFlags, SchedGroup};
use fairlab_units::{CpuId, TaskId};

use super::env::{Env, MigrationType};
use super::group_stats::GroupStats;
use super::state::BalanceState;
use super::view::BalanceView;

/// What the fill of two LLCs says about a move between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LlcVerdict {
    /// Nothing is known, or both are full: other rules decide.
    Unrestricted,
    /// The move is good for the cache.
    Allowed,
    /// The move would be bad.
    Forbidden,
}

/// The LLC id of `cpu`, when preferences count.
#[inline]
#[must_use]
pub fn of(env: &Env<'_>, cpu: CpuId) -> Option<u32> {
    env.has(Feature::SCHED_CACHE)
        .then(|| env.domains.cached(cpu).llc_id)
}

/// Is `util` below the part of `capacity` up to which an LLC takes tasks? Three quarters of it more
/// without SMT, where a busy CPU costs its neighbour nothing.
#[doc(alias = "fits_llc_capacity")]
fn fits(env: &Env<'_>, util: u64, capacity: u64) -> bool {
    let pct = env.kernel.tunables.llc_overaggr_pct;
    let pct = if env.domains.switches().smt_present {
        pct
    } else {
        pct * 3 / 2
    };
    util * 100 < capacity * pct
}

fn is_greater(env: &Env<'_>, a: u64, b: u64) -> bool {
    a * 100 > b * (100 + env.kernel.tunables.llc_imb_pct)
}

/// Utilization and capacity of the LLC of `cpu` at the last periodic balance.
fn fill(env: &Env<'_>, state: &BalanceState, cpu: CpuId) -> Option<(u64, u64)> {
    let shared = state.shared(env.domains.cached(cpu).llc_shared?);
    (shared.llc_capacity != 0).then_some((shared.llc_util, shared.llc_capacity))
}

/// May utilization `util` move from the LLC of `src` to that of `dst`, as far as their fill goes?
#[doc(alias = "can_migrate_llc")]
#[must_use]
pub fn verdict(
    env: &Env<'_>,
    state: &BalanceState,
    src: CpuId,
    dst: CpuId,
    util: u64,
    to_preferred: bool,
) -> LlcVerdict {
    let (Some((src_util, src_cap)), Some((dst_util, dst_cap))) =
        (fill(env, state, src), fill(env, state, dst))
    else {
        return LlcVerdict::Unrestricted;
    };
    let src_util = src_util.saturating_sub(util);
    let dst_util = dst_util + util;
    let src_fits = fits(env, src_util, src_cap);
    let dst_fits = fits(env, dst_util, dst_cap);
    if !src_fits && !dst_fits {
        return LlcVerdict::Unrestricted;
    }
    let forbidden = if to_preferred {
        !dst_fits && is_greater(env, dst_util, src_util)
    } else {
        src_fits || !is_greater(env, src_util, dst_util)
    };
    if forbidden {
        LlcVerdict::Forbidden
    } else {
        LlcVerdict::Allowed
    }
}

/// Does `group` have tasks that the destination's LLC should take?
#[doc(alias = "llc_balance")]
#[must_use]
pub fn group_wants(
    env: &Env<'_>,
    state: &BalanceState,
    group: &SchedGroup,
    stats: &GroupStats,
) -> bool {
    if !env.has(Feature::SCHED_CACHE)
        || env.flag(DomainFlags::SHARE_LLC)
        || (env.flag(DomainFlags::ASYM_CPUCAPACITY) && stats.misfit_load != 0)
        || state.domain(env.domain).nr_balance_failed > env.sd.cache_nice_tries
        || stats.nr_pref_dst_llc == 0
    {
        return false;
    }
    env.domains.mask(group.span).first().is_some_and(|first| {
        verdict(env, state, first, env.dst_cpu, 0, true) == LlcVerdict::Allowed
    })
}

/// Remembers utilization and capacity of the LLCs that are the groups of this domain.
#[doc(alias = "record_sg_llc_stats")]
pub fn record(env: &Env<'_>, state: &mut BalanceState, group: &SchedGroup, stats: &GroupStats) {
    if !env.has(Feature::SCHED_CACHE)
        || env.idle == super::env::IdleKind::NewlyIdle
        || env.sd.child.is_none()
        || env.sd.child != env.domains.cached(env.dst_cpu).llc
    {
        return;
    }
    let first = env.domains.mask(group.span).first();
    if let Some(id) = first.and_then(|cpu| env.domains.cached(cpu).llc_shared) {
        let shared = state.shared_mut(id);
        shared.llc_util = stats.group_util;
        shared.llc_capacity = stats.group_capacity;
    }
}

/// May `task` move from `src` to the destination? Asks the fill of both LLCs if it prefers one.
#[doc(alias = "can_migrate_llc_task")]
#[must_use]
pub fn task_verdict<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    task: TaskId,
    src: CpuId,
    dst: CpuId,
) -> LlcVerdict {
    let Some(preferred) = view.task(task).preferred_llc else {
        return LlcVerdict::Unrestricted;
    };
    let (from, to) = (of(env, src), of(env, dst));
    if from == to {
        return LlcVerdict::Unrestricted;
    }
    let to_preferred = if to == Some(preferred) {
        true
    } else if from == Some(preferred) {
        false
    } else {
        return LlcVerdict::Unrestricted;
    };
    verdict(env, state, src, dst, view.task_util(task), to_preferred)
}

/// Does the preference for LLCs keep `task` on `src` in this attempt?
#[doc(alias = "migrate_degrades_llc")]
#[must_use]
pub fn keeps_task<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    task: TaskId,
    src: CpuId,
    migration: MigrationType,
) -> bool {
    if !env.has(Feature::SCHED_CACHE)
        || state.domain(env.domain).nr_balance_failed > env.sd.cache_nice_tries
    {
        return false;
    }
    if migration == MigrationType::LlcTask && view.task(task).preferred_llc != of(env, env.dst_cpu)
    {
        return true;
    }
    task_verdict(env, view, state, task, src, env.dst_cpu) == LlcVerdict::Forbidden
}

/// Does the preference for LLCs veto pushing the running task of `src` to the destination?
#[doc(alias = "break_llc_locality", alias = "alb_break_llc")]
#[must_use]
pub fn vetoes_active<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    src: CpuId,
    migration: MigrationType,
) -> bool {
    if !env.has(Feature::SCHED_CACHE)
        || migration == MigrationType::Misfit
        || env.domains.share_cache(src, env.dst_cpu)
    {
        return false;
    }
    let preferring = view.nr_in_preferred_llc(src);
    let nr = env.h_nr(view, src);
    if preferring == 0 || preferring != nr {
        return false;
    }
    if nr <= 1 {
        return true;
    }
    view.current(src).is_some_and(|task| {
        task_verdict(env, view, state, task, src, env.dst_cpu) == LlcVerdict::Forbidden
    })
}
