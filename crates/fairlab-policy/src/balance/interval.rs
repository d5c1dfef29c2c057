//! How long a domain waits between attempts.

use fairlab_kernel::{Feature, Kernel};
use fairlab_topology::domains::SchedDomain;

use super::state::DomainState;

/// The interval of a domain in jiffies, at most `max_interval`; a busy CPU waits longer.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `get_sd_balance_interval()`.
#[doc(alias = "get_sd_balance_interval")]
#[must_use]
pub fn balance_interval(
    kernel: &Kernel,
    sd: &SchedDomain,
    state: &DomainState,
    busy: bool,
    max_interval: u64,
) -> u64 {
    let mut ms = u64::from(state.balance_interval);
    if busy {
        ms *= u64::from(sd.busy_factor);
    }
    let mut jiffies = (ms * kernel.tunables.hz).div_ceil(1000);
    if busy && kernel.has(Feature::LB_BUSY_MINUS_ONE) {
        // Makes the ends of the intervals of different levels meet less often.
        jiffies = jiffies.saturating_sub(1);
    }
    jiffies.clamp(1, max_interval.max(1))
}

/// Longest interval that an all-pinned domain backs off to, ms (`MAX_PINNED_INTERVAL`).
pub const MAX_PINNED_INTERVAL: u32 = 512;

/// The interval after an attempt that found nothing to do, ms.
#[must_use]
pub const fn backed_off(interval: u32, max_interval: u32, all_pinned: bool) -> u32 {
    if (all_pinned && interval < MAX_PINNED_INTERVAL) || interval < max_interval {
        interval * 2
    } else {
        interval
    }
}

/// Lets the newidle cost of a domain fade; true when it did.
///
/// # Source
/// Linux v6.1 `kernel/sched/fair.c`, `update_newidle_cost()`; before, in `rebalance_domains()`.
pub fn decay_newidle_cost(kernel: &Kernel, state: &mut DomainState, jiffies: u64) -> bool {
    let hz = kernel.tunables.hz;
    if jiffies <= state.last_decay + hz {
        return false;
    }
    state.max_newidle_lb_cost = state.max_newidle_lb_cost * 253 / 256;
    state.last_decay = if kernel.has(Feature::LB_COST_DECAY_AFTER_CHANGE) {
        jiffies
    } else {
        state.last_decay + hz
    };
    true
}

/// Remembers what a newidle balance of the domain cost; the largest counts, and where it was not
/// exceeded for a second it fades.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `update_newidle_cost()`. Recordings of 6.1 and 6.12 show that
/// the cost fades here too, not only in periodic balancing.
#[doc(alias = "update_newidle_cost")]
pub fn note_newidle_cost(kernel: &Kernel, state: &mut DomainState, cost: u64, jiffies: u64) {
    let after_change = kernel.has(Feature::LB_COST_DECAY_AFTER_CHANGE);
    if cost > state.max_newidle_lb_cost {
        state.max_newidle_lb_cost = cost;
        if after_change {
            state.last_decay = jiffies;
        }
    } else if after_change {
        decay_newidle_cost(kernel, state, jiffies);
    }
}
