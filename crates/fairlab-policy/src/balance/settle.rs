//! What an attempt leaves behind in its domain: failure count and interval.

use fairlab_kernel::{Feature, Kernel};
use fairlab_topology::domains::SchedDomain;

use super::env::{IdleKind, MigrationType};
use super::interval::backed_off;
use super::migrate::BalanceFlags;
use super::state::DomainState;

/// How an attempt to balance a domain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttemptEnd {
    /// Another CPU is to balance this domain.
    NotUs,
    /// Another CPU holds the lock of SERIALIZE domains.
    Locked,
    /// No group to pull from.
    NoGroup,
    /// No CPU of the group qualifies.
    NoQueue,
    /// No task of any source may run at the destination.
    AllPinned,
    /// The running task of the source may not run at the destination.
    OnePinned,
    /// Nothing was moved, although there was something to move.
    Failed,
    /// Tasks were moved.
    Moved,
}

impl AttemptEnd {
    /// Did it end as if there had been nothing to balance (`out_balanced`)?
    #[must_use]
    pub const fn is_balanced(self) -> bool {
        matches!(
            self,
            Self::NotUs | Self::Locked | Self::NoGroup | Self::NoQueue
        )
    }
}

/// Counts an attempt that moved nothing.
pub fn note_failure(
    kernel: &Kernel,
    state: &mut DomainState,
    idle: IdleKind,
    migration: MigrationType,
    flags: BalanceFlags,
) {
    let spared = kernel.has(Feature::LB_FAILED_NOT_MISFIT) && migration == MigrationType::Misfit;
    if idle != IdleKind::NewlyIdle && !spared && !flags.has(BalanceFlags::LLC_PINNED) {
        state.nr_balance_failed += 1;
    }
}

/// Notes that the attempt came to the tasks of a source and that none was found unmovable:
/// `active` says that active balance was started, `still` that there is reason for it even so.
pub fn note_worked(
    kernel: &Kernel,
    sd: &SchedDomain,
    state: &mut DomainState,
    active: bool,
    still: bool,
) {
    if !active || still {
        state.balance_interval = sd.min_interval;
    } else if kernel.has(Feature::LB_ACTIVE_BACKOFF) && state.balance_interval < sd.max_interval {
        state.balance_interval *= 2;
    }
}

/// Notes an attempt that ended balanced or pinned: the domain waits longer.
pub fn note_quiet(
    kernel: &Kernel,
    sd: &SchedDomain,
    state: &mut DomainState,
    end: AttemptEnd,
    idle: IdleKind,
    migration: MigrationType,
    flags: BalanceFlags,
) {
    if end != AttemptEnd::OnePinned {
        state.nr_balance_failed = 0;
    }
    let misfit = kernel.has(Feature::LB_FAILED_NOT_MISFIT) && migration == MigrationType::Misfit;
    if idle == IdleKind::NewlyIdle || misfit {
        return;
    }
    let all_pinned = flags.has(BalanceFlags::ALL_PINNED);
    state.balance_interval = backed_off(state.balance_interval, sd.max_interval, all_pinned);
}
