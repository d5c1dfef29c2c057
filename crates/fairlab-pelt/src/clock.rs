//! The clocks that PELT time comes from.

use fairlab_kernel::{Feature, Kernel};

use crate::series::{LOAD_AVG_MAX, MIN_DIVIDER};
use crate::{PeltTime, SchedAvg};

/// A runqueue that used its CPU fully shows at least this sum of running time; the margin of one
/// whole series covers rounding.
const SATURATED_UTIL_SUM: u32 = (MIN_DIVIDER << 10) - LOAD_AVG_MAX;

/// How fast PELT time passes for what runs on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed {
    /// Original capacity of the CPU, 1024 = the biggest (`arch_scale_cpu_capacity`).
    pub cpu_scale: u64,
    /// Present frequency, 1024 = the highest (`arch_scale_freq_capacity`).
    pub freq_scale: u64,
}

impl Speed {
    /// The biggest CPU at its highest frequency.
    pub const FULL: Self = Self {
        cpu_scale: 1024,
        freq_scale: 1024,
    };

    /// Scales a span of time by capacity first, then by frequency; rounds down twice.
    #[inline]
    #[must_use]
    pub const fn scale(&self, span_ns: u64) -> u64 {
        (span_ns.wrapping_mul(self.cpu_scale) >> 10).wrapping_mul(self.freq_scale) >> 10
    }
}

/// A runqueue's clocks, in nanoseconds.
///
/// ```text
///   wall clock            all time
///   clock_task            without interrupts and stolen time
///   clock_pelt            slower on a slow CPU; catches up with clock_task while idle
///   clock_pelt - lost     what signals decay by: an idle time that a saturated CPU "owes"
///                         to its backlog does not count as idle
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PeltClock {
    /// Time that tasks had (`rq->clock_task`).
    pub clock_task: u64,
    /// The same in terms of the biggest CPU's full speed (`rq->clock_pelt`).
    pub clock_pelt: u64,
    /// Idle time that saturated CPUs did not really have (`rq->lost_idle_time`).
    pub lost_idle_time: u64,
    /// PELT time when the CPU was last seen idle (`rq->clock_pelt_idle`).
    pub idle_pelt: PeltTime,
    /// Wall time of that moment (`rq->clock_idle`).
    pub idle_wall: u64,
}

impl PeltClock {
    /// PELT time of the root queue.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/pelt.h`, `rq_clock_pelt()`. Differs: none.
    #[doc(alias = "rq_clock_pelt")]
    #[inline]
    #[must_use]
    pub const fn now(&self) -> PeltTime {
        PeltTime(self.clock_pelt.wrapping_sub(self.lost_idle_time))
    }

    /// Advances `clock_task` to a later point. While the idle task is current (`is_idle`), PELT
    /// time jumps forward with it; otherwise it passes at `speed`. `wall_ns` is the wall clock.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/pelt.h`, `update_rq_clock_pelt()`. Differs: none.
    #[doc(alias = "update_rq_clock_pelt")]
    pub fn advance(&mut self, clock_task: u64, wall_ns: u64, speed: &Speed, is_idle: bool) {
        let span = clock_task.saturating_sub(self.clock_task);
        self.clock_task = self.clock_task.max(clock_task);
        if is_idle {
            self.catch_up(wall_ns);
        } else {
            self.clock_pelt = self.clock_pelt.wrapping_add(speed.scale(span));
        }
    }

    /// The CPU goes idle: no fair task was found. The utilizations are those of the root fair
    /// queue, of the real-time and of the deadline class.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/pelt.h`, `update_idle_rq_clock_pelt()`. Differs: none.
    #[doc(alias = "update_idle_rq_clock_pelt")]
    pub fn enter_idle(&mut self, wall_ns: u64, fair: &SchedAvg, rt: &SchedAvg, dl: &SchedAvg) {
        let util_sum = fair
            .util_sum
            .wrapping_add(rt.util_sum)
            .wrapping_add(dl.util_sum);
        if util_sum >= SATURATED_UTIL_SUM {
            let owed = self.clock_task.wrapping_sub(self.clock_pelt);
            self.lost_idle_time = self.lost_idle_time.wrapping_add(owed);
        }
        self.catch_up(wall_ns);
    }

    fn catch_up(&mut self, wall_ns: u64) {
        self.clock_pelt = self.clock_task;
        self.idle_wall = wall_ns;
        self.idle_pelt = self.now();
    }

    /// The time to which a sleeper is decayed when it leaves this CPU, beside the last update of its
    /// queue. `None`: nothing more, because the CPU is not idle (its clock is about right), or
    /// without `PELT_MIGRATE_DECAY`.
    ///
    /// An idle CPU's clock stands still: the answer is the last known PELT time of the queue plus the
    /// wall time since. `queue_time` is the last update of the queue, `throttled_ns` its throttled
    /// time as of the idle moment, `wall_now_ns` the wall clock.
    ///
    /// # Source
    /// Linux v6.1, v7.2 `kernel/sched/fair.c`, `migrate_se_pelt_lag()`. Differs: none.
    #[doc(alias = "migrate_se_pelt_lag")]
    #[must_use]
    pub fn sleeper_time(
        &self,
        kernel: &Kernel,
        is_idle: bool,
        queue_time: PeltTime,
        throttled_ns: u64,
        wall_now_ns: u64,
    ) -> Option<PeltTime> {
        if !is_idle || !kernel.has(Feature::PELT_MIGRATE_DECAY) {
            return None;
        }
        let then = self.idle_pelt.0.wrapping_sub(throttled_ns);
        if then < queue_time.0 {
            // The queue was updated after the CPU had been seen idle: the idle stamps are stale.
            return Some(queue_time);
        }
        let since = wall_now_ns.wrapping_sub(self.idle_wall);
        Some(PeltTime(then.wrapping_add(since)))
    }
}

/// PELT time of a queue inside a group whose bandwidth may run out: it stands still meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ThrottledClock {
    /// When the queue was throttled, on the runqueue's PELT clock; `None` when it is not.
    throttled_at: Option<PeltTime>,
    /// Total of past throttled time (`throttled_clock_pelt_time`).
    throttled_ns: u64,
}

impl ThrottledClock {
    /// PELT time of the queue when that of its runqueue is `rq_now`.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/pelt.h`, `cfs_rq_clock_pelt()`. Differs: none.
    #[doc(alias = "cfs_rq_clock_pelt")]
    #[inline]
    #[must_use]
    pub fn now(&self, rq_now: PeltTime) -> PeltTime {
        let running_until = self.throttled_at.unwrap_or(rq_now);
        PeltTime(running_until.0.wrapping_sub(self.throttled_ns))
    }

    /// Total of past throttled time, ns.
    #[inline]
    #[must_use]
    pub const fn throttled_ns(&self) -> u64 {
        self.throttled_ns
    }

    /// The outermost group around the queue is throttled. Nested throttling changes nothing.
    #[doc(alias = "tg_throttle_down")]
    pub fn throttle(&mut self, rq_now: PeltTime) {
        self.throttled_at.get_or_insert(rq_now);
    }

    /// No group around the queue is throttled any more.
    #[doc(alias = "tg_unthrottle_up")]
    pub fn unthrottle(&mut self, rq_now: PeltTime) {
        if let Some(since) = self.throttled_at.take() {
            let span = rq_now.0.wrapping_sub(since.0);
            self.throttled_ns = self.throttled_ns.wrapping_add(span);
        }
    }
}
