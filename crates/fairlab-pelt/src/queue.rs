//! The signals of a fair queue, and what it keeps beside them.

use fairlab_kernel::{Feature, Kernel};

use crate::{Contribution, PeltTime, SchedAvg, scale_load_down};

/// What an update needs to know of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QueueState {
    /// Total `load.weight` of the entities on it.
    pub weight: u64,
    /// Total `runnable_weight`; read without `RUNNABLE_AVG` only.
    pub runnable_weight: u64,
    /// Runnable tasks in the hierarchy below: `h_nr_runnable`, to v6.11 `h_nr_running`.
    pub h_nr_runnable: u64,
    /// Does one of its entities run?
    pub has_curr: bool,
}

/// The signals of a fair queue (`cfs_rq`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QueueAvg {
    /// The signals; `util_est.enqueued` is the sum of the estimates of the tasks on the queue.
    pub avg: SchedAvg,
}

impl QueueAvg {
    /// Updates the signals without looking at removed tasks. True when the averages were
    /// recomputed.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/pelt.c`, `__update_load_avg_cfs_rq()`. Differs: none.
    #[doc(alias = "__update_load_avg_cfs_rq")]
    #[inline]
    pub fn update_signals(&mut self, kernel: &Kernel, now: PeltTime, state: &QueueState) -> bool {
        let input = Contribution {
            load: scale_load_down(state.weight),
            runnable: if kernel.has(Feature::RUNNABLE_AVG) {
                state.h_nr_runnable << 10
            } else {
                scale_load_down(state.runnable_weight)
            },
            is_running: state.has_curr,
        };
        let crossed = self.avg.accumulate(now, input);
        if crossed {
            self.avg.average(1, 1);
        }
        crossed
    }
}
