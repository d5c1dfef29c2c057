//! How many CPUs a wakeup may scan: less the busier the LLC is.

use fairlab_kernel::Feature;
use fairlab_topology::domains::SharedId;

use super::env::{Env, IdleKind};
use super::state::BalanceState;

/// CPUs that a wakeup may scan in an LLC of `weight` CPUs with total utilization `util`.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `update_idle_cpu_scan()`.
#[must_use]
pub fn nr_idle_scan(util: u64, weight: u32, pct: u32) -> u32 {
    let (weight, pct) = (u64::from(weight.max(1)), u64::from(pct));
    let average = util / weight;
    // The scan shrinks with the square of the utilization.
    let taken = (average * average * pct * pct / (10_000 * 1024)).min(1024);
    ((1024 - taken) * weight / 1024) as u32
}

/// The shared object for which this search computes the number, if it does.
fn target(env: &Env<'_>) -> Option<SharedId> {
    if !env.has(Feature::NR_IDLE_SCAN) || env.idle == IdleKind::NewlyIdle {
        return None;
    }
    if env.has(Feature::NR_IDLE_SCAN_BY_SHARED) {
        return env.sd.shared;
    }
    let cached = env.domains.cached(env.dst_cpu);
    (env.sd.span_weight == cached.llc_size)
        .then_some(cached.llc_shared)
        .flatten()
}

/// Stores the number when this domain is the LLC.
pub(crate) fn update(env: &Env<'_>, state: &mut BalanceState, total_util: u64) {
    if let Some(id) = target(env) {
        state.shared_mut(id).nr_idle_scan =
            nr_idle_scan(total_util, env.sd.span_weight, env.sd.imbalance_pct);
    }
}
