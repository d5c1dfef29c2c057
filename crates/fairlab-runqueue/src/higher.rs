//! The classes above the fair one: they take the CPU away, in a fixed order.
//!
//! ```text
//!   deadline (earliest first)  >  real-time (99 down to 1, then who came first)  >  fair
//! ```
//!
//! Enough to be in the fair class's way. Not here: admission and the constant bandwidth server of
//! deadline tasks, real-time throttling, and pushing and pulling between CPUs.

use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};

use fairlab_units::{Nanos, Timestamp};

/// Length of a round-robin slice (`RR_TIMESLICE`).
#[doc(alias = "RR_TIMESLICE")]
pub const ROUND_ROBIN_SLICE: Nanos = Nanos(100_000_000);

/// A class above the fair one, with the task's place in it.
///
/// # Source
/// Linux `kernel/sched/deadline.c`, `kernel/sched/rt.c`; the order of the classes
/// `kernel/sched/sched.h`, `sched_class_above()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "SCHED_DEADLINE")]
#[doc(alias = "SCHED_FIFO")]
#[doc(alias = "SCHED_RR")]
pub enum HigherClass {
    /// `SCHED_DEADLINE`: the absolute deadline of the present job.
    Deadline(Timestamp),
    /// `SCHED_FIFO` and `SCHED_RR`.
    Realtime {
        /// 1 to 99; higher runs first.
        priority: u8,
        /// Does it yield to equals after [`ROUND_ROBIN_SLICE`]?
        round_robin: bool,
    },
}

impl HigherClass {
    /// Does a waking task of this class take the CPU from `other`? Equals do not preempt.
    #[must_use]
    pub fn preempts(self, other: Self) -> bool {
        self.rank().cmp(&other.rank()) == Ordering::Less
    }

    /// Smaller runs first.
    fn rank(self) -> (u8, u64, Reverse<u8>) {
        match self {
            Self::Deadline(at) => (0, at.0, Reverse(0)),
            Self::Realtime { priority, .. } => (1, 0, Reverse(priority)),
        }
    }
}

/// The waiting tasks of the higher classes on one CPU. Tasks are named by the caller's numbers.
///
/// A sorted list: such queues are short.
#[derive(Clone, Debug, Default)]
pub struct HigherQueue {
    /// First to run first.
    waiting: Vec<(HigherClass, u32)>,
}

impl HigherQueue {
    /// Queues a task behind its equals: it woke up, or has used its slice.
    pub fn push_back(&mut self, task: u32, class: HigherClass) {
        let at = self
            .waiting
            .partition_point(|(other, _)| !class.preempts(*other));
        self.waiting.insert(at, (class, task));
    }

    /// Queues a task before its equals: it was preempted.
    pub fn push_front(&mut self, task: u32, class: HigherClass) {
        let at = self
            .waiting
            .partition_point(|(other, _)| other.preempts(class));
        self.waiting.insert(at, (class, task));
    }

    /// Takes out the task that runs next.
    pub fn pop_first(&mut self) -> Option<u32> {
        (!self.waiting.is_empty()).then(|| self.waiting.remove(0).1)
    }

    /// Takes out a task, wherever it waits. True when it did.
    pub fn remove(&mut self, task: u32) -> bool {
        let at = self.waiting.iter().position(|(_, other)| *other == task);
        at.map(|at| self.waiting.remove(at)).is_some()
    }

    /// The class of the task that runs next.
    #[must_use]
    pub fn first(&self) -> Option<HigherClass> {
        self.waiting.first().map(|(class, _)| *class)
    }

    /// Number of waiting tasks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// True when nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn fifo(priority: u8) -> HigherClass {
        HigherClass::Realtime {
            priority,
            round_robin: false,
        }
    }

    #[test]
    fn deadlines_come_before_priorities_and_equals_in_order() {
        let deadline = |ns| HigherClass::Deadline(Timestamp(ns));
        let mut queue = HigherQueue::default();
        queue.push_back(1, fifo(10));
        queue.push_back(2, deadline(500));
        queue.push_back(3, fifo(99));
        queue.push_back(4, fifo(10));
        queue.push_back(5, deadline(100));
        // Preempted: before its equals, but not before a higher priority.
        queue.push_front(6, fifo(10));
        assert_eq!(queue.first(), Some(deadline(100)));
        queue.push_back(7, fifo(99));
        assert!(queue.remove(7));
        assert!(!queue.remove(7));
        let mut order = Vec::new();
        while let Some(task) = queue.pop_first() {
            order.push(task);
        }
        assert_eq!(order, [5, 2, 3, 6, 1, 4]);
        assert!(queue.is_empty());
    }

    #[test]
    fn equals_do_not_preempt() {
        assert!(fifo(2).preempts(fifo(1)));
        assert!(!fifo(1).preempts(fifo(1)));
        assert!(!fifo(1).preempts(fifo(2)));
        let deadline = HigherClass::Deadline(Timestamp(u64::MAX));
        assert!(deadline.preempts(fifo(99)));
        assert!(!fifo(99).preempts(deadline));
    }
}
