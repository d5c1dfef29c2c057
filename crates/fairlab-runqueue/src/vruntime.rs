//! Virtual time.

use core::fmt;

/// A point in virtual time: nanoseconds of a nice-0 task, modulo `2^64`.
///
/// It wraps, so it has no order of its own; two points less than `2^63` apart are ordered by
/// [`Vruntime::is_before`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(transparent)]
pub struct Vruntime(pub u64);

impl Vruntime {
    /// Where a new queue starts: shortly before the wrap, so that defects show early.
    ///
    /// # Source
    /// Linux v5.4 to v7.2 `kernel/sched/fair.c`, `init_cfs_rq()`.
    pub const START: Self = Self((1u64 << 20).wrapping_neg());

    /// The signed distance from `origin` to here, in virtual ns.
    #[inline]
    #[must_use]
    pub const fn since(self, origin: Self) -> i64 {
        self.0.wrapping_sub(origin.0) as i64
    }

    /// Is this point earlier than `other`?
    #[inline]
    #[must_use]
    pub const fn is_before(self, other: Self) -> bool {
        self.since(other) < 0
    }

    /// The point `delta` virtual ns later (earlier when negative).
    #[inline]
    #[must_use]
    pub const fn offset(self, delta: i64) -> Self {
        Self(self.0.wrapping_add(delta as u64))
    }

    /// The point `delta` virtual ns later.
    #[inline]
    #[must_use]
    pub const fn plus(self, delta: u64) -> Self {
        Self(self.0.wrapping_add(delta))
    }

    /// The point `delta` virtual ns earlier.
    #[inline]
    #[must_use]
    pub const fn minus(self, delta: u64) -> Self {
        Self(self.0.wrapping_sub(delta))
    }

    /// The earlier of two points.
    #[inline]
    #[must_use]
    pub const fn earlier(self, other: Self) -> Self {
        if other.is_before(self) { other } else { self }
    }

    /// The later of two points.
    #[inline]
    #[must_use]
    pub const fn later(self, other: Self) -> Self {
        if self.is_before(other) { other } else { self }
    }
}

impl fmt::Debug for Vruntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0 as i64)
    }
}
