//! The signals of a fair queue, and what it keeps beside them.

use fairlab_kernel::{Feature, Kernel};

use crate::{Contribution, EntityState, PeltTime, SchedAvg, scale_load_down};

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

/// The load tracking side of a fair queue (`cfs_rq`): one for each runqueue, and one for each task
/// group and CPU.
///
/// A plain value. It knows neither the entities on the queue nor the queues above and below; what a
/// step needs of them is handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QueueAvg {
    /// The signals; `util_est.enqueued` is the sum of the estimates of the tasks on the queue.
    pub avg: SchedAvg,
    /// What has left the queue since its last update.
    pub removed: Removed,
    /// Has load come or gone that the group's entity does not know of yet?
    pub propagate: bool,
    /// Unweighted load sum that has come (positive) or gone, for the entity above.
    pub prop_runnable_sum: i64,
    /// Share of this queue in the load of its root queue, as of `last_h_load_update`.
    pub h_load: u64,
    /// When `h_load` was computed, in jiffies.
    pub last_h_load_update: u64,
    /// The part of the group's global load that this queue has reported.
    pub tg_load_avg_contrib: u64,
    /// When it last reported, in wall nanoseconds.
    pub last_update_tg_load_avg: u64,
}

/// Averages of entities that left without the lock of their queue (`cfs_rq->removed`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Removed {
    /// How many.
    pub nr: u32,
    /// Total of their `load_avg`.
    pub load_avg: u64,
    /// Total of their `util_avg`.
    pub util_avg: u64,
    /// Total of their `runnable_avg`; without `RUNNABLE_AVG` of their `load_sum`.
    pub runnable_avg: u64,
}

impl QueueAvg {
    /// The load that placement and balancing read of a queue: that of queued time alone with
    /// `LOAD_RUNNABLE_LOAD`, else with blocked load.
    ///
    /// # Source
    /// Linux v5.4 `kernel/sched/fair.c`, `cpu_runnable_load()`; v5.6 on `cpu_load()`. Differs: none.
    #[doc(alias = "cpu_load")]
    #[doc(alias = "cpu_runnable_load")]
    #[inline]
    #[must_use]
    pub const fn load(&self, kernel: &Kernel) -> u64 {
        // The middle signal is a load only without `RUNNABLE_AVG`.
        if kernel.has(Feature::LOAD_RUNNABLE_LOAD) && !kernel.has(Feature::RUNNABLE_AVG) {
            self.avg.runnable_avg
        } else {
            self.avg.load_avg
        }
    }

    /// Updates the signals without looking at removed entities. True when the averages were
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

    /// Takes out what has been removed, then updates the signals. True when anything decayed, which
    /// is when frequency and the group's global load may follow.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `update_cfs_rq_load_avg()`. Differs: none.
    #[doc(alias = "update_cfs_rq_load_avg")]
    pub fn update(&mut self, kernel: &Kernel, now: PeltTime, state: &QueueState) -> bool {
        let had_removed = self.removed.nr != 0;
        if had_removed {
            self.subtract_removed(kernel);
        }
        self.update_signals(kernel, now, state) | had_removed
    }

    fn subtract_removed(&mut self, kernel: &Kernel) {
        let removed = core::mem::take(&mut self.removed);
        let divider = i64::from(self.avg.divider());
        let change = |average: u64| {
            let average = average.cast_signed();
            (-average, average.wrapping_mul(-divider))
        };
        let (average, sum) = change(removed.load_avg);
        self.avg.change_load(kernel, average, sum);
        let (average, sum) = change(removed.util_avg);
        self.avg.change_util(kernel, average, sum);
        if kernel.has(Feature::RUNNABLE_AVG) {
            let (average, sum) = change(removed.runnable_avg);
            self.avg.change_runnable(kernel, average, sum);
            // An arithmetic shift: rounds away from zero, as the kernel's does.
            self.note_propagation(sum >> 10);
        } else {
            self.note_propagation(-removed.runnable_avg.cast_signed());
        }
    }

    /// Takes an entity off the queue without touching its signals, because the queue's lock is not
    /// held (wakeup on another CPU, exit): it is decayed to the queue's last update, and taken out
    /// at the next one.
    ///
    /// The entity keeps its averages for its next queue. When it migrates,
    /// [`SchedAvg::forget_queue`] comes after this.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `remove_entity_load_avg()`. Differs: none.
    #[doc(alias = "remove_entity_load_avg")]
    pub fn remove(&mut self, kernel: &Kernel, entity: &mut SchedAvg, state: &EntityState) {
        self.sync(kernel, entity, state);
        self.removed.nr += 1;
        self.removed.load_avg += entity.load_avg;
        self.removed.util_avg += entity.util_avg;
        self.removed.runnable_avg += if kernel.has(Feature::RUNNABLE_AVG) {
            entity.runnable_avg
        } else {
            entity.load_sum
        };
    }

    /// Decays a sleeping entity to the last update of its queue, so that its signals can be
    /// compared with the queue's.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `sync_entity_load_avg()`. Differs: none.
    #[doc(alias = "sync_entity_load_avg")]
    pub fn sync(&self, kernel: &Kernel, entity: &mut SchedAvg, state: &EntityState) {
        entity.update_blocked(kernel, self.avg.last_update_time, state);
    }

    /// Adds the estimate of a task that is enqueued.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `util_est_enqueue()`. Differs: none.
    #[doc(alias = "util_est_enqueue")]
    pub fn add_util_est(&mut self, kernel: &Kernel, task: &SchedAvg) {
        if kernel.has(Feature::UTIL_EST) {
            let sum = &mut self.avg.util_est.enqueued;
            *sum = sum.wrapping_add(task.util_est.of_task(kernel) as u32);
        }
    }

    /// Takes out the estimate of a task that is dequeued, or that went to sleep and is kept queued.
    /// Before the task's own estimate changes, so that what was added is taken out.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `util_est_dequeue()`. Differs: none.
    #[doc(alias = "util_est_dequeue")]
    pub fn subtract_util_est(&mut self, kernel: &Kernel, task: &SchedAvg) {
        if kernel.has(Feature::UTIL_EST) {
            let sum = &mut self.avg.util_est.enqueued;
            *sum = sum.saturating_sub(task.util_est.of_task(kernel) as u32);
        }
    }

    pub(crate) fn note_propagation(&mut self, runnable_sum: i64) {
        self.propagate = true;
        self.prop_runnable_sum = self.prop_runnable_sum.wrapping_add(runnable_sum);
    }
}
