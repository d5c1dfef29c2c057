//! Group classes: what is wrong with a group, before any number is compared.

use fairlab_kernel::{Feature, Kernel};

use super::group_stats::GroupStats;

/// Class of a group, lowest first. Groups are compared by class, and by numbers only within one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupType {
    /// It could run more.
    HasSpare,
    /// It is used fully, and its tasks do not compete.
    FullyBusy,
    /// A task does not fit its CPU.
    Misfit,
    /// Tasks share a core while the destination idles.
    SmtBalance,
    /// Packing prefers the destination.
    AsymPacking,
    /// Affinity kept a lower level from balancing.
    Imbalanced,
    /// Tasks prefer the destination's LLC.
    LlcBalance,
    /// Tasks compete for its CPUs.
    Overloaded,
}

/// Has the group more tasks than CPUs, and not enough capacity for them?
#[doc(alias = "group_is_overloaded")]
#[must_use]
pub fn is_overloaded(kernel: &Kernel, pct: u32, stats: &GroupStats) -> bool {
    let pct = u64::from(pct);
    if stats.sum_nr_running <= stats.group_weight {
        return false;
    }
    if stats.group_capacity * 100 < stats.group_util * pct {
        return true;
    }
    kernel.has(Feature::LB_RUNNABLE) && stats.group_capacity * pct < stats.group_runnable * 100
}

/// Could the group run more?
#[doc(alias = "group_has_capacity")]
#[must_use]
pub fn has_capacity(kernel: &Kernel, pct: u32, stats: &GroupStats) -> bool {
    let pct = u64::from(pct);
    if stats.sum_nr_running < stats.group_weight {
        return true;
    }
    if kernel.has(Feature::LB_RUNNABLE) && stats.group_capacity * pct < stats.group_runnable * 100 {
        return false;
    }
    stats.group_capacity * 100 > stats.group_util * pct
}

/// The class of a group; the first that applies, worst first.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `group_classify()`.
#[doc(alias = "group_classify")]
#[must_use]
pub fn classify(kernel: &Kernel, pct: u32, stats: &GroupStats, energy_aware: bool) -> GroupType {
    let spared =
        energy_aware && kernel.has(Feature::LB_ENERGY_NOT_OVERLOADED) && !stats.is_overutilized;
    if !spared && is_overloaded(kernel, pct, stats) {
        GroupType::Overloaded
    } else if stats.llc_balance {
        GroupType::LlcBalance
    } else if stats.is_imbalanced {
        GroupType::Imbalanced
    } else if stats.asym_packing {
        GroupType::AsymPacking
    } else if stats.smt_balance {
        GroupType::SmtBalance
    } else if stats.misfit_load != 0 {
        GroupType::Misfit
    } else if has_capacity(kernel, pct, stats) {
        GroupType::HasSpare
    } else {
        GroupType::FullyBusy
    }
}
