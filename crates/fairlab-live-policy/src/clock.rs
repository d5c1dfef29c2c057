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

/// The least weight of a task.
const LIGHTEST: u64 = NICE_TO_WEIGHT[NICE_TO_WEIGHT.len() - 1] as u64;

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
    /// By how much the queue's time advances when that of one of its tasks, of `weight`, has by `moved`: it is the
    /// mean of theirs by weight.
    #[inline(always)]
    const fn follow(&self, moved: u64, weight: u64) -> u64 {
        let all = if self.weights == 0 { 1 } else { self.weights };
        moved.wrapping_mul(weight) / all
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

    /// The task, of `queue`, has run for `ns`; with a slice used up it gets a new deadline. By how much the queue's
    /// time advances.
    ///
    /// The task may be owed two slices at most. One that is heavier than all others together can use one CPU and no
    /// more, and would fall behind for as long as it runs: it would be due first for ever, and what shares its CPU
    /// would never have its turn. What the limit gives it, the queue's time follows like what it ran. Otherwise that
    /// time would fall behind all others, and each that wakes would go before them.
    ///
    /// And it may be ahead by as much as the order of deadlines brings about: a slice of its own, while the lightest
    /// waits for one. Further ahead is who had a CPU to itself that nobody else wanted. Once others come, it
    /// would wait until they have run as much for their weight, which a watchdog takes for lost.
    #[inline(always)]
    pub const fn run(&mut self, queue: &QueueClock, ns: u64, slice_ns: u64) -> u64 {
        let before = Vruntime(self.vruntime);
        let ran = to_virtual(ns, self.weight);
        let slice = to_virtual(slice_ns, self.weight);
        let now = before.plus(ran);
        let vtime = Vruntime(queue.vtime);
        let least = vtime.minus(2 * slice);
        if now.is_before(least) {
            self.vruntime = least.0;
            self.renew(slice_ns);
            return queue.follow(least.0.wrapping_sub(before.0), self.weight);
        }
        self.vruntime = now.0;
        if !now.is_before(Vruntime(self.deadline)) {
            self.renew(slice_ns);
        }
        let most = vtime.plus(slice + to_virtual(slice_ns, LIGHTEST));
        if most.is_before(now) {
            self.vruntime = most.0;
            self.deadline = self.deadline.wrapping_sub(now.0.wrapping_sub(most.0));
        }
        queue.follow(ran, self.weight)
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
