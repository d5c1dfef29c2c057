//! What the queue asks of the CPU.

/// A request to reschedule. Ordered: the later one wins when two are made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
#[must_use = "a request that is dropped leaves the wrong task running"]
pub enum Resched {
    /// Nothing to do.
    #[default]
    None,
    /// At the next tick, or at once under full preemption (v6.13 on).
    #[doc(alias = "TIF_NEED_RESCHED_LAZY")]
    Lazy,
    /// At once.
    #[doc(alias = "TIF_NEED_RESCHED")]
    Now,
}

impl Resched {
    /// Is anything asked?
    #[must_use]
    pub const fn is_requested(self) -> bool {
        !matches!(self, Self::None)
    }

    /// The stronger of two requests.
    pub fn or(self, other: Self) -> Self {
        self.max(other)
    }
}
