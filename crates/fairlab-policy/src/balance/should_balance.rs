//! Which CPU of a group balances: the first idle one, or the first of all.

use fairlab_kernel::Feature;
use fairlab_topology::domains::DomainFlags;
use fairlab_units::CpuMask;

use super::cost::BalanceCost;
use super::env::{Env, IdleKind};
use super::view::BalanceView;

/// May the destination balance this domain? `skip` is scratch memory.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `should_we_balance()`.
pub fn should_we_balance<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    skip: &mut CpuMask,
    cost: &mut BalanceCost,
) -> bool {
    if !env.cpus.test(env.dst_cpu) {
        return false;
    }
    if env.idle == IdleKind::NewlyIdle {
        return !env.has(Feature::LB_NEWIDLE_STILL_IDLE)
            || (view.nr_running(env.dst_cpu) == 0 && !view.has_pending_wakeup(env.dst_cpu));
    }
    let mask = env.domains.mask(env.groups[0].balance_mask);
    let by_core = env.has(Feature::LB_IDLE_CORE_FIRST) && !env.flag(DomainFlags::SHARE_CPUCAPACITY);
    let mut idle_thread = None;
    skip.clear_all();
    for cpu in mask {
        if !env.cpus.test(cpu) || skip.test(cpu) {
            continue;
        }
        cost.idle_tests += 1;
        if !view.is_idle(cpu) {
            continue;
        }
        if by_core && !env.is_core_idle(view, cpu) {
            // Its core is busy: a CPU of an idle core is better placed to pull.
            idle_thread = idle_thread.or(Some(cpu));
            skip.or_with(env.domains.smt_mask(cpu));
            continue;
        }
        return cpu == env.dst_cpu;
    }
    if let Some(cpu) = idle_thread {
        if cpu == env.dst_cpu {
            return true;
        }
        if env.has(Feature::LB_IDLE_SMT_EXCLUSIVE) {
            return false;
        }
    }
    mask.first() == Some(env.dst_cpu)
}
