//! Updates of an entity's signals: awake on its queue, or blocked.

use fairlab_kernel::{Feature, Kernel};

use crate::{Contribution, PeltTime, SchedAvg};

/// Scales a `load.weight` (nice 0: 1 048 576) down to the scale of load averages (nice 0: 1024).
/// Never below 2, except that nothing stays nothing.
///
/// # Source
/// Linux v7.2 `kernel/sched/sched.h`, `scale_load_down()`, 64-bit. Differs: none.
#[inline]
#[must_use]
pub const fn scale_load_down(weight: u64) -> u64 {
    match weight {
        0 => 0,
        1..=3071 => 2,
        _ => weight >> 10,
    }
}

/// What an update needs to know of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityState {
    /// `load.weight`: nice 0 is 1 048 576.
    pub weight: u64,
    /// `runnable_weight`, on the same scale; read without `RUNNABLE_AVG` only. A task's weight.
    pub runnable_weight: u64,
    /// Is it on its queue, waiting, running or delayed-dequeued?
    pub on_rq: bool,
    /// Runnable tasks in it: a task that is on its queue 1, a group those below it
    /// (`h_nr_runnable`), 0 when delayed-dequeued.
    pub runnable: u64,
    /// Is it the current entity of its queue?
    pub is_running: bool,
}

impl EntityState {
    /// A task of `weight`, on its queue or not, running or not.
    #[inline]
    #[must_use]
    pub const fn task(weight: u64, on_rq: bool, is_running: bool) -> Self {
        Self {
            weight,
            runnable_weight: weight,
            on_rq,
            runnable: on_rq as u64,
            is_running,
        }
    }

    /// A task of `weight` that went to sleep and is kept on its queue until it has no lag left.
    #[inline]
    #[must_use]
    pub const fn delayed_task(weight: u64) -> Self {
        Self {
            weight,
            runnable_weight: weight,
            on_rq: true,
            runnable: 0,
            is_running: false,
        }
    }

    /// A task group of `weight` with `h_nr_runnable` runnable tasks below it.
    #[inline]
    #[must_use]
    pub const fn group(weight: u64, on_rq: bool, h_nr_runnable: u64, is_running: bool) -> Self {
        Self {
            weight,
            runnable_weight: weight,
            on_rq,
            runnable: h_nr_runnable,
            is_running,
        }
    }

    /// What a unit of time in this state adds.
    #[inline]
    pub(crate) const fn contribution(&self, kernel: &Kernel) -> Contribution {
        let load = self.on_rq as u64;
        Contribution {
            load,
            runnable: if kernel.has(Feature::RUNNABLE_AVG) {
                self.runnable << 10
            } else {
                load
            },
            is_running: self.is_running,
        }
    }

    /// What a unit of the middle sum weighs in its average.
    #[inline]
    pub(crate) const fn runnable_factor(&self, kernel: &Kernel) -> u64 {
        if kernel.has(Feature::RUNNABLE_AVG) {
            1
        } else {
            scale_load_down(self.runnable_weight)
        }
    }
}

impl SchedAvg {
    /// Updates the signals of an entity that is on its queue, or was until now. True when the
    /// averages were recomputed.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/pelt.c`, `__update_load_avg_se()`. Differs: none.
    #[doc(alias = "__update_load_avg_se")]
    #[inline]
    pub fn update(&mut self, kernel: &Kernel, now: PeltTime, state: &EntityState) -> bool {
        let crossed = self.accumulate(now, state.contribution(kernel));
        if crossed {
            self.average_entity(kernel, state);
            self.util_est.note_util_change(kernel);
        }
        crossed
    }

    /// Decays the signals of an entity that is not on its queue up to `now`. True when the
    /// averages were recomputed.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/pelt.c`, `__update_load_avg_blocked_se()`. Differs: none.
    #[doc(alias = "__update_load_avg_blocked_se")]
    #[inline]
    pub fn update_blocked(&mut self, kernel: &Kernel, now: PeltTime, state: &EntityState) -> bool {
        let crossed = self.accumulate(now, Contribution::NONE);
        if crossed {
            self.average_entity(kernel, state);
        }
        crossed
    }

    #[inline]
    fn average_entity(&mut self, kernel: &Kernel, state: &EntityState) {
        self.average(scale_load_down(state.weight), state.runnable_factor(kernel));
    }
}
