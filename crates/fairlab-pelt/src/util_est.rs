//! Estimated utilization: what a task used when it last ran, remembered across its sleep.

use fairlab_kernel::{Feature, Kernel};

use crate::{EntityState, PeltTime, SchedAvg};

/// Differences below one percent of a CPU are noise.
#[doc(alias = "UTIL_EST_MARGIN")]
const MARGIN: u32 = 1024 / 100;

/// The moving average gives the newest sample a quarter.
#[doc(alias = "UTIL_EST_WEIGHT_SHIFT")]
const WEIGHT_SHIFT: u32 = 2;

/// A task's estimate, or a queue's sum.
///
/// A task's `enqueued` carries a mark: "`util_avg` has not been recomputed since the estimate was
/// stored". A task that sleeps again so soon would otherwise store the same sample twice.
#[doc(alias = "util_est")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct UtilEst {
    /// Task: the estimate with its mark; to v6.7 the last sample alone. Queue: the sum of the
    /// estimates of the tasks on it.
    pub enqueued: u32,
    /// Task, to v6.7: moving average of the samples. Otherwise unused.
    pub ewma: u32,
}

/// The mark on `enqueued`.
#[doc(alias = "UTIL_AVG_UNCHANGED")]
#[inline]
const fn unchanged_mark(kernel: &Kernel) -> u32 {
    if kernel.has(Feature::UTIL_EST_HIGH_BIT) {
        1 << 31
    } else {
        1
    }
}

impl UtilEst {
    /// The estimate of a task, on the scale of `util_avg`. Without `UTIL_EST_HIGH_BIT` always odd.
    ///
    /// # Source
    /// Linux v6.6, v7.2 `kernel/sched/fair.c`, `_task_util_est()`. Differs: none.
    #[doc(alias = "_task_util_est")]
    #[inline]
    #[must_use]
    pub const fn of_task(&self, kernel: &Kernel) -> u64 {
        let mark = unchanged_mark(kernel);
        let sample = self.enqueued & !mark;
        let estimate = if kernel.has(Feature::UTIL_EST_SINGLE) || sample >= self.ewma {
            sample
        } else {
            self.ewma
        };
        if kernel.has(Feature::UTIL_EST_HIGH_BIT) {
            estimate as u64
        } else {
            (estimate | mark) as u64
        }
    }

    /// Turns a task's estimate from the form of `from` into that of `to`. The mark is lost: a sample
    /// that was stored a moment ago may be stored once more.
    pub(crate) fn turn(&mut self, from: &Kernel, to: &Kernel) {
        self.enqueued &= !unchanged_mark(from);
        let was_single = from.has(Feature::UTIL_EST_SINGLE);
        let is_single = to.has(Feature::UTIL_EST_SINGLE);
        if is_single && !was_single {
            self.enqueued = self.enqueued.max(self.ewma);
            self.ewma = 0;
        } else if was_single && !is_single {
            self.ewma = self.enqueued;
        }
    }

    /// Takes the mark off: `util_avg` has been recomputed.
    #[doc(alias = "cfs_se_util_change")]
    #[inline]
    pub(crate) fn note_util_change(&mut self, kernel: &Kernel) {
        if kernel.has(Feature::UTIL_EST) {
            self.enqueued &= !unchanged_mark(kernel);
        }
    }

    /// The pair or value to store after a sample `util`, without mark, or `None` to store nothing.
    fn after_sample(
        &self,
        kernel: &Kernel,
        util: u32,
        runnable: u32,
        capacity: u64,
    ) -> Option<Self> {
        let exceeds_capacity =
            kernel.has(Feature::UTIL_EST_CAPACITY_LIMIT) && u64::from(util) > capacity;
        if kernel.has(Feature::UTIL_EST_SINGLE) {
            let single = |enqueued| {
                Some(Self {
                    enqueued,
                    ewma: self.ewma,
                })
            };
            let estimate = self.enqueued;
            if estimate <= util {
                return single(util);
            }
            let excess = estimate - util;
            if excess < MARGIN {
                return single(estimate);
            }
            if exceeds_capacity {
                return None;
            }
            // The sample is low because others held the task back, not because it wants less.
            if kernel.has(Feature::UTIL_EST_RUNNABLE) && util + MARGIN < runnable {
                return single(estimate);
            }
            return single(moved(estimate, util));
        }

        let sampled = Self {
            enqueued: util,
            ewma: self.ewma,
        };
        if kernel.has(Feature::UTIL_EST_FASTUP) && self.ewma < util {
            return Some(Self {
                ewma: util,
                ..sampled
            });
        }
        if util.abs_diff(self.ewma) < MARGIN {
            let sample_moved = self.enqueued.abs_diff(util) >= MARGIN;
            return (kernel.has(Feature::UTIL_EST_LAST_ENQUEUED) && sample_moved)
                .then_some(sampled);
        }
        if exceeds_capacity {
            return None;
        }
        Some(Self {
            ewma: moved(self.ewma, util),
            ..sampled
        })
    }
}

/// `average` moved a quarter of the way to `sample`, rounded down.
#[inline]
const fn moved(average: u32, sample: u32) -> u32 {
    // Both are utilizations, so the shift stays far below 2^32; adding before subtracting keeps it
    // from going below zero.
    ((average << WEIGHT_SHIFT) + sample - average) >> WEIGHT_SHIFT
}

impl SchedAvg {
    /// The utilization to expect of a task: the present average or the estimate, whichever is
    /// larger.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `task_util_est()`. Differs: none.
    #[inline]
    #[must_use]
    pub fn task_util_est(&self, kernel: &Kernel) -> u64 {
        if kernel.has(Feature::UTIL_EST) {
            self.util_avg.max(self.util_est.of_task(kernel))
        } else {
            self.util_avg
        }
    }

    /// Learns from the present averages; to be called when a task goes to sleep. True when
    /// something was stored. `capacity` is the original capacity of the CPU.
    ///
    /// # Source
    /// Linux v6.6, v6.12, v7.2 `kernel/sched/fair.c`, `util_est_update()`. Differs: none.
    #[doc(alias = "util_est_update")]
    pub fn update_util_est(&mut self, kernel: &Kernel, capacity: u64) -> bool {
        let mark = unchanged_mark(kernel);
        if !kernel.has(Feature::UTIL_EST) || self.util_est.enqueued & mark != 0 {
            return false;
        }
        // Averages of a task are at most slightly above 1024.
        let (util, runnable) = (self.util_avg as u32, self.runnable_avg as u32);
        match self.util_est.after_sample(kernel, util, runnable, capacity) {
            Some(mut estimate) => {
                estimate.enqueued |= mark;
                self.util_est = estimate;
                true
            }
            None => false,
        }
    }

    /// What a dequeue for sleep does to the task's own signals: the entity update of that moment
    /// and [`update_util_est`](Self::update_util_est), in the order of the release. True when an
    /// estimate was stored.
    ///
    /// With `UTIL_EST_EARLY` the estimate comes first and misses the run up to the sleep. `state`
    /// is that of the task before it leaves.
    pub fn go_to_sleep(
        &mut self,
        kernel: &Kernel,
        now: PeltTime,
        state: &EntityState,
        capacity: u64,
    ) -> bool {
        if kernel.has(Feature::UTIL_EST_EARLY) {
            let stored = self.update_util_est(kernel, capacity);
            self.update(kernel, now, state);
            stored
        } else {
            self.update(kernel, now, state);
            self.update_util_est(kernel, capacity)
        }
    }
}
