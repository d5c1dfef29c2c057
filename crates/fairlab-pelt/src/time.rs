//! The time that signals decay by.

use core::fmt;

/// A point on a runqueue's PELT clock, in nanoseconds.
///
/// Not wall time: it slows down with the capacity and frequency of the CPU, leaves out interrupts
/// and, inside a throttled group, stands still. [`crate::PeltClock`] makes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct PeltTime(pub u64);

impl PeltTime {
    /// As a last update time: the signal belongs to no queue, because the task is new or has just
    /// been migrated.
    pub const NEVER: Self = Self(0);

    /// Is this the mark of a new or migrated task?
    #[inline]
    #[must_use]
    pub const fn is_never(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Debug for PeltTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "~{}ns", self.0)
    }
}
