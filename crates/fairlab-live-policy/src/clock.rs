//! Virtual time: who is owed time, and by when it is due.
//!
//! A queue serves its tasks by virtual deadline. Its virtual time advances with the time that its
//! tasks run, divided by the sum of the weights that compete for it, so that a task that always wants
//! to run keeps step with it. What a task is ahead or behind when it stops is its lag, which it
//! brings back, within limits.

use fairlab_runqueue::{NICE_TO_WEIGHT, Vruntime};

/// Virtual time counts `2^-4` ns of a nice-0 task, so that the shares of heavy queues do not round
/// to nothing.
pub const VTIME_PER_NS_SHIFT: u32 = 4;

const NICE_0: u64 = 1024;

/// The unscaled weight of a task: `static_prio` is 100 for nice -20 to 139 for nice 19.
///
/// Differs from Linux: `SCHED_IDLE` weighs as nice 19 does (15) and not 3. Beside a few tasks of nice -10 a
/// weight of 3 has its turn after some five seconds, and the kernel's watchdog, which tells a task
/// that is light from one that is lost by nothing but time, ends the scheduler.
#[inline(always)]
#[must_use]
pub const fn weight_of_nice(static_prio: u32, is_idle_policy: bool) -> u64 {
    let i = static_prio.wrapping_sub(100);
    let lightest = NICE_TO_WEIGHT.len() as u32 - 1;
    let i = if is_idle_policy || i > lightest {
        lightest
    } else {
        i
    };
    NICE_TO_WEIGHT[i as usize] as u64
}

/// Virtual time of a queue.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QueueClock {
    /// Now.
    pub vtime: u64,
    /// Sum of the weights of its runnable tasks.
    pub weights: u64,
}

/// Virtual time of a task.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TaskClock {
    /// How much it has run.
    pub vruntime: u64,
    /// When its slice should be over.
    pub deadline: u64,
    /// What it was owed when it last stopped.
    pub lag: i64,
    /// Unscaled weight.
    pub weight: u64,
}

/// `ns` of run time of a task of `weight`, in virtual time.
#[inline(always)]
const fn to_virtual(ns: u64, weight: u64) -> u64 {
    let weight = if weight == 0 { 1 } else { weight };
    // A slice of hours still fits: 2^48 ns.
    ((ns & ((1 << 48) - 1)) << VTIME_PER_NS_SHIFT).wrapping_mul(NICE_0) / weight
}

impl QueueClock {
    /// By how much the queue's time advances when one of its tasks has run for `ns`.
    #[inline(always)]
    #[must_use]
    pub const fn advance_of(&self, ns: u64) -> u64 {
        to_virtual(ns, self.weights)
    }
}

impl TaskClock {
    /// The task becomes runnable at `vtime` of its queue.
    #[inline(always)]
    pub const fn join(&mut self, vtime: u64, slice_ns: u64) {
        self.vruntime = Vruntime(vtime).offset(-self.lag).0;
        self.lag = 0;
        self.renew(slice_ns);
    }

    /// The task sleeps, or leaves, at `vtime` of its queue: keeps its lag, of two slices at most.
    #[inline(always)]
    pub const fn leave(&mut self, vtime: u64, slice_ns: u64) {
        let limit = to_virtual(2 * slice_ns, self.weight) as i64;
        let lag = Vruntime(vtime).since(Vruntime(self.vruntime));
        self.lag = if lag > limit {
            limit
        } else if lag < -limit {
            -limit
        } else {
            lag
        };
    }

    /// The task has run for `ns`; with a slice used up it gets a new deadline.
    #[inline(always)]
    pub const fn run(&mut self, ns: u64, slice_ns: u64) {
        self.vruntime = self.vruntime.wrapping_add(to_virtual(ns, self.weight));
        if !Vruntime(self.vruntime).is_before(Vruntime(self.deadline)) {
            self.renew(slice_ns);
        }
    }

    /// At `vtime` of its queue the task may be owed two slices at most, also while it runs.
    ///
    /// A task that is heavier than all others together can use one CPU and no more, and falls behind
    /// for as long as it runs. Without a limit it would be due first for ever, and what shares its CPU would
    /// never have its turn.
    #[inline(always)]
    pub const fn limit_lag(&mut self, vtime: u64, slice_ns: u64) {
        let limit = to_virtual(2 * slice_ns, self.weight);
        if Vruntime(vtime).since(Vruntime(self.vruntime)) > limit as i64 {
            self.vruntime = vtime.wrapping_sub(limit);
            self.renew(slice_ns);
        }
    }

    /// The task moves from a queue at one virtual time to a queue at another.
    #[inline(always)]
    pub const fn transfer(&mut self, from: u64, to: u64) {
        self.vruntime = self.vruntime.wrapping_sub(from).wrapping_add(to);
        self.deadline = self.deadline.wrapping_sub(from).wrapping_add(to);
    }

    #[inline(always)]
    const fn renew(&mut self, slice_ns: u64) {
        self.deadline = Vruntime(self.vruntime)
            .plus(to_virtual(slice_ns, self.weight))
            .0;
    }
}
