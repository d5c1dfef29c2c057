//! One set of signals: sums, their averages, and the update that all owners share.

use crate::series::{MIN_DIVIDER, PERIOD_UNITS, decay, segments};
use crate::{PeltTime, UtilEst};

/// The signals of one entity, queue or class.
///
/// 64 bytes: one cache line, as in the kernel.
///
/// The middle signal has two meanings. With `RUNNABLE_AVG` it is the time spent runnable, running
/// or waiting, on the scale of utilization. Without (v5.4, v5.6) it is the load of queued time
/// alone, `runnable_load_avg`, on the scale of load.
#[doc(alias = "sched_avg")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SchedAvg {
    /// When the sums were last brought up to date; a multiple of 1024 ns apart from its start.
    pub last_update_time: PeltTime,
    /// Decayed time on the queue, in units. Unweighted in an entity, weighted in a queue.
    pub load_sum: u64,
    /// Decayed runnable time, in units times 1024 (`runnable_load_sum` without `RUNNABLE_AVG`).
    #[doc(alias = "runnable_load_sum")]
    pub runnable_sum: u64,
    /// Decayed running time, in units times 1024.
    pub util_sum: u32,
    /// Units that have passed of the open period, 0 to 1023.
    pub period_contrib: u32,
    /// Weighted share of time on the queue: a nice-0 task that never sleeps approaches 1024.
    pub load_avg: u64,
    /// Share of time runnable, 1024 = always (`runnable_load_avg` without `RUNNABLE_AVG`).
    #[doc(alias = "runnable_load_avg")]
    pub runnable_avg: u64,
    /// Share of time running, 1024 = always at the biggest CPU's full speed.
    pub util_avg: u64,
    /// The task's estimate, or the queue's sum of estimates.
    pub util_est: UtilEst,
}

/// What a span of time adds to the sums, per unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Contribution {
    /// Into `load_sum`. When 0, nothing else counts either.
    pub load: u64,
    /// Into `runnable_sum`: 1024 per runnable task, or the runnable weight without `RUNNABLE_AVG`.
    pub runnable: u64,
    /// True when the time was spent running: 1024 into `util_sum`.
    pub is_running: bool,
}

impl Contribution {
    /// Time that only decays.
    pub const NONE: Self = Self {
        load: 0,
        runnable: 0,
        is_running: false,
    };
}

impl SchedAvg {
    /// The sum of a signal that has always been 1, at this point of the open period:
    /// 46718 to 47741 units.
    #[doc(alias = "get_pelt_divider")]
    #[inline]
    #[must_use]
    pub const fn divider(&self) -> u32 {
        MIN_DIVIDER + self.period_contrib
    }

    /// Brings the sums up to `now`, during which `input` held. True when a period ended, which is
    /// when averages have to follow (see [`average`](Self::average)).
    ///
    /// Time below a unit is kept for the next call. A clock that went back is accepted as it is.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/pelt.c`, `___update_load_sum()` and `accumulate_sum()`. Differs:
    /// the caller scales `runnable`, so that one function serves all releases.
    #[doc(alias = "___update_load_sum")]
    #[inline]
    pub fn accumulate(&mut self, now: PeltTime, input: Contribution) -> bool {
        let elapsed = now.0.wrapping_sub(self.last_update_time.0);
        if elapsed.cast_signed() < 0 {
            self.last_update_time = now;
            return false;
        }
        let units = elapsed >> 10;
        if units == 0 {
            return false;
        }
        self.last_update_time.0 = self.last_update_time.0.wrapping_add(units << 10);

        // Without load the entity is not on its queue, so it can neither wait nor run. (A queue's
        // current entity may have left it a moment ago.)
        let input = if input.load == 0 {
            Contribution::NONE
        } else {
            input
        };
        let old_contrib = self.period_contrib;
        // Below 2^53 + 2^10.
        let open = units + u64::from(old_contrib);
        let periods = open / u64::from(PERIOD_UNITS);
        self.period_contrib = (open % u64::from(PERIOD_UNITS)) as u32;
        let gathered = if periods == 0 {
            units as u32
        } else {
            self.load_sum = decay(self.load_sum, periods);
            self.runnable_sum = decay(self.runnable_sum, periods);
            self.util_sum = decay(u64::from(self.util_sum), periods) as u32;
            if input.load == 0 {
                return true;
            }
            segments(periods, PERIOD_UNITS - old_contrib, self.period_contrib)
        };
        // The sums wrap where the kernel's do. With real weights they stay far away from it.
        let units = u64::from(gathered);
        self.load_sum = self.load_sum.wrapping_add(input.load.wrapping_mul(units));
        self.runnable_sum = self
            .runnable_sum
            .wrapping_add(input.runnable.wrapping_mul(units));
        if input.is_running {
            self.util_sum = self.util_sum.wrapping_add(gathered << 10);
        }
        periods > 0
    }

    /// Recomputes the averages from the sums. `load_weight` and `runnable_weight` are those of the
    /// owner when its sums are unweighted, else 1.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/pelt.c`, `___update_load_avg()`. Differs: none.
    #[doc(alias = "___update_load_avg")]
    #[inline]
    pub fn average(&mut self, load_weight: u64, runnable_weight: u64) {
        let divider = self.divider();
        let wide = u64::from(divider);
        self.load_avg = load_weight.wrapping_mul(self.load_sum) / wide;
        self.runnable_avg = runnable_weight.wrapping_mul(self.runnable_sum) / wide;
        self.util_avg = u64::from(self.util_sum / divider);
    }
}
