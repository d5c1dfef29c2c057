//! What new tasks and groups start with.

use fairlab_kernel::{Feature, Kernel};

use crate::{EntityState, PeltTime, SchedAvg, scale_load_down};

impl SchedAvg {
    /// A new task: assumed to load its queue fully until it shows otherwise. Its utilization is set
    /// by [`init_util`](Self::init_util) once its CPU is known.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `init_entity_runnable_average()`. Differs: none.
    #[doc(alias = "init_entity_runnable_average")]
    #[must_use]
    pub fn new_task(kernel: &Kernel, state: &EntityState) -> Self {
        let load_avg = scale_load_down(state.weight);
        Self {
            load_avg,
            runnable_avg: if kernel.has(Feature::RUNNABLE_AVG) {
                0
            } else {
                load_avg
            },
            ..Self::default()
        }
    }

    /// A new task group's entity: no load until tasks are attached below it.
    #[must_use]
    pub fn new_group() -> Self {
        Self::default()
    }

    /// Guesses the utilization of a forked task from that of the queue where it will run, at most
    /// half of what the CPU has to spare. `queue` is used as of its last update, `cpu_scale` is the
    /// original capacity of the CPU. The sums follow when the task is attached.
    ///
    /// # Source
    /// Linux v6.6, v6.12, v7.2 `kernel/sched/fair.c`, `post_init_entity_util_avg()`. Differs: none
    /// for tasks of the fair class.
    #[doc(alias = "post_init_entity_util_avg")]
    pub fn init_util(
        &mut self,
        kernel: &Kernel,
        state: &EntityState,
        queue: &Self,
        cpu_scale: u64,
    ) {
        // Rounded towards zero as in C, so a surplus of one is none.
        let cap = cpu_scale.saturating_sub(queue.util_avg) / 2;
        if cap > 0 {
            let weight = if kernel.has(Feature::PELT_FORK_WEIGHT_UNSCALED) {
                scale_load_down(state.weight)
            } else {
                state.weight
            };
            self.util_avg = if queue.util_avg == 0 {
                cap
            } else {
                let share = queue.util_avg.wrapping_mul(weight) / (queue.load_avg + 1);
                share.min(cap)
            };
        }
        if kernel.has(Feature::RUNNABLE_AVG) {
            self.runnable_avg = self.util_avg;
        }
    }

    /// Marks the entity as belonging to no queue: the next update with
    /// [`DO_ATTACH`](crate::UpdateFlags::DO_ATTACH) attaches it.
    #[inline]
    pub fn forget_queue(&mut self) {
        self.last_update_time = PeltTime::NEVER;
    }
}
