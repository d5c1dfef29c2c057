//! How entities join and leave.

use crate::Resched;

/// How an entity joins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EnqueueFlags {
    /// It wakes up.
    #[doc(alias = "ENQUEUE_WAKEUP")]
    pub wakeup: bool,
    /// It is a new task at its first enqueue.
    #[doc(alias = "ENQUEUE_INITIAL")]
    pub new: bool,
    /// Its last queue was that of another CPU (for a wakeup: [`crate::FairRq::migrate_wakeup`] was
    /// called).
    #[doc(alias = "ENQUEUE_MIGRATED")]
    pub migrated: bool,
}

impl EnqueueFlags {
    /// A wakeup on the CPU where the task slept.
    pub const WAKEUP: Self = Self {
        wakeup: true,
        new: false,
        migrated: false,
    };
    /// A wakeup on another CPU.
    pub const WAKEUP_MIGRATED: Self = Self {
        wakeup: true,
        new: false,
        migrated: true,
    };
    /// The first enqueue of a new task.
    pub const NEW: Self = Self {
        wakeup: false,
        new: true,
        migrated: false,
    };
    /// A task that did not sleep and comes from another CPU.
    pub const MOVED: Self = Self {
        wakeup: false,
        new: false,
        migrated: true,
    };
    /// A task that is put back after a change.
    #[doc(alias = "ENQUEUE_RESTORE")]
    pub const RESTORED: Self = Self {
        wakeup: false,
        new: false,
        migrated: false,
    };
}

/// How an entity leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DequeueFlags {
    /// It goes to sleep; without this it is moved or changed.
    #[doc(alias = "DEQUEUE_SLEEP")]
    pub sleep: bool,
    /// It must not stay behind: stopped, traced, parked, frozen or dying.
    #[doc(alias = "DEQUEUE_SPECIAL")]
    pub special: bool,
}

impl DequeueFlags {
    /// An ordinary sleep.
    pub const SLEEP: Self = Self {
        sleep: true,
        special: false,
    };
    /// Exit, stop, park: a sleep that is never delayed.
    pub const SPECIAL: Self = Self {
        sleep: true,
        special: true,
    };
    /// Taken off to be moved to another CPU, or to be changed.
    pub const MOVE: Self = Self {
        sleep: false,
        special: false,
    };
}

/// What became of a dequeue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a delayed entity is still in the queue"]
pub enum Dequeued {
    /// It has left.
    Done,
    /// It sleeps, but stays in the queue until its lag is paid; it will turn up in
    /// [`crate::FairRq::pop_left`], or be woken where it is.
    Delayed,
}

/// What a wakeup brings along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeFlags {
    /// The wakee is a new task.
    #[doc(alias = "WF_FORK")]
    pub fork: bool,
    /// The request that is pending on the CPU already.
    pub pending: Resched,
}
