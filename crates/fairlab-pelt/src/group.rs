//! Task groups: what a group's entity takes over from its queue, the group's global load, and the
//! share of a queue in the load of its CPU.
//!
//! ```text
//!   root queue        avg, h_load = avg.load_avg
//!     | group entity  util and runnable copied from its queue, load from what was attached
//!   queue             avg, propagate, prop_runnable_sum
//!     | task          attach and detach set `propagate`
//! ```

use fairlab_kernel::{Feature, Kernel};

use crate::{EntityState, QueueAvg, SchedAvg, scale_load_down};

/// Shortest time between two reports of a queue to its group's global load.
const GROUP_LOAD_INTERVAL_NS: u64 = 1_000_000;

/// No share is smaller than this (`MIN_SHARES`).
const MIN_SHARES: u64 = 2;

impl QueueAvg {
    /// Carries what was attached to or detached from `child` over to its entity, which is on this
    /// queue. True when there was anything.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `propagate_entity_load_avg()`. Differs: none.
    #[doc(alias = "propagate_entity_load_avg")]
    pub fn propagate_from(
        &mut self,
        kernel: &Kernel,
        entity: &mut SchedAvg,
        state: &EntityState,
        child: &mut Self,
        child_weight: u64,
    ) -> bool {
        if !child.propagate {
            return false;
        }
        child.propagate = false;
        self.note_propagation(child.prop_runnable_sum);
        self.take_over_util(kernel, entity, &child.avg);
        if kernel.has(Feature::RUNNABLE_AVG) {
            self.take_over_runnable(kernel, entity, &child.avg);
        }
        self.take_over_load(kernel, entity, state, child, child_weight);
        true
    }

    /// Source: `update_tg_cfs_util()`.
    fn take_over_util(&mut self, kernel: &Kernel, entity: &mut SchedAvg, child: &SchedAvg) {
        let average = difference(child.util_avg, entity.util_avg);
        if average == 0 {
            return;
        }
        let sum = child.util_avg.wrapping_mul(u64::from(self.avg.divider())) as u32;
        let change = i64::from(sum) - i64::from(entity.util_sum);
        entity.util_avg = child.util_avg;
        entity.util_sum = sum;
        self.avg.change_util(kernel, average, change);
    }

    /// Source: `update_tg_cfs_runnable()`.
    fn take_over_runnable(&mut self, kernel: &Kernel, entity: &mut SchedAvg, child: &SchedAvg) {
        let average = difference(child.runnable_avg, entity.runnable_avg);
        if average == 0 {
            return;
        }
        let sum = child
            .runnable_avg
            .wrapping_mul(u64::from(self.avg.divider()));
        let change = difference(sum, entity.runnable_sum);
        entity.runnable_avg = child.runnable_avg;
        entity.runnable_sum = sum;
        self.avg.change_runnable(kernel, average, change);
    }

    /// The group's entity is on its queue about as long as any task below it is, which cannot be
    /// derived from the child's load. Coming tasks are taken to add their time, up to always;
    /// of going ones it is known only that the rest was not longer there than the average of the
    /// child's load says.
    ///
    /// Source: `update_tg_cfs_load()`.
    fn take_over_load(
        &mut self,
        kernel: &Kernel,
        entity: &mut SchedAvg,
        state: &EntityState,
        child: &mut Self,
        child_weight: u64,
    ) {
        let divider = u64::from(self.avg.divider());
        let came = core::mem::take(&mut child.prop_runnable_sum);
        if came == 0 {
            return;
        }
        let load_sum = if came > 0 {
            entity.load_sum.saturating_add_signed(came).min(divider)
        } else {
            let rest = child
                .avg
                .load_sum
                .checked_div(scale_load_down(child_weight))
                .unwrap_or(0);
            entity.load_sum.min(rest)
        };
        // It has been there at least while it ran.
        let load_sum = load_sum.max(u64::from(entity.util_sum >> 10));

        let weight = scale_load_down(state.weight);
        let weighted = weight.wrapping_mul(load_sum);
        let load_avg = weighted / divider;
        let average = difference(load_avg, entity.load_avg);
        if average != 0 {
            let change = difference(weighted, weight.wrapping_mul(entity.load_sum));
            entity.load_sum = load_sum;
            entity.load_avg = load_avg;
            self.avg.change_load(kernel, average, change);
        }
        if !kernel.has(Feature::RUNNABLE_AVG) {
            self.take_over_runnable_load(kernel, entity, state, load_sum);
        }
    }

    /// Source: v5.4 `update_tg_cfs_runnable()`, its second half.
    fn take_over_runnable_load(
        &mut self,
        kernel: &Kernel,
        entity: &mut SchedAvg,
        state: &EntityState,
        load_sum: u64,
    ) {
        if state.on_rq {
            self.subtract_runnable_load(kernel, entity, state);
        }
        entity.runnable_sum = load_sum;
        entity.runnable_avg =
            state.runnable_factor(kernel).wrapping_mul(load_sum) / u64::from(self.avg.divider());
        if state.on_rq {
            self.add_runnable_load(kernel, entity, state);
        }
    }

    /// Reports this queue's load to its group's global load. Small changes are kept back, because
    /// all CPUs write to that one number. `wall_ns` is the CPU's clock. Not for root queues.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `update_tg_load_avg()`. Differs: none.
    #[doc(alias = "update_tg_load_avg")]
    pub fn update_group_load(&mut self, kernel: &Kernel, wall_ns: u64, tg_load_avg: &mut u64) {
        if kernel.has(Feature::PELT_TG_RATE_LIMIT)
            && wall_ns.wrapping_sub(self.last_update_tg_load_avg) < GROUP_LOAD_INTERVAL_NS
        {
            return;
        }
        let change = difference(self.avg.load_avg, self.tg_load_avg_contrib);
        if change.unsigned_abs() > self.tg_load_avg_contrib / 64 {
            *tg_load_avg = tg_load_avg.saturating_add_signed(change);
            self.tg_load_avg_contrib = self.avg.load_avg;
            self.last_update_tg_load_avg = wall_ns;
        }
    }

    /// The weight of this queue's entity: its part of `tg_shares` (scaled, default 1 048 576) by its
    /// part of the group's global load. `weight` is the total `load.weight` on this queue.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `calc_group_shares()`. Differs: none.
    #[doc(alias = "calc_group_shares")]
    #[must_use]
    pub fn shares(&self, weight: u64, tg_load_avg: u64, tg_shares: u64) -> u64 {
        let load = scale_load_down(weight).max(self.avg.load_avg);
        let total = tg_load_avg
            .wrapping_sub(self.tg_load_avg_contrib)
            .wrapping_add(load);
        let wanted = tg_shares.wrapping_mul(load);
        let share = wanted.checked_div(total).unwrap_or(wanted);
        share.min(tg_shares).max(MIN_SHARES)
    }

    /// The share of a root queue in its own load: all of it. At most one refresh per jiffy.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `update_cfs_rq_h_load()`. Differs: the kernel finds the
    /// path from the root by walking up; here the caller walks down.
    #[doc(alias = "update_cfs_rq_h_load")]
    pub fn refresh_root_h_load(&mut self, jiffies: u64) -> u64 {
        if self.last_h_load_update != jiffies {
            self.h_load = self.avg.load_avg;
            self.last_h_load_update = jiffies;
        }
        self.h_load
    }

    /// The share of a group's queue in the load of its root queue. `parent` must have been
    /// refreshed in this jiffy, `entity_load_avg` is that of the group's entity on it.
    pub fn refresh_h_load(&mut self, jiffies: u64, parent: &Self, entity_load_avg: u64) -> u64 {
        if self.last_h_load_update != jiffies {
            self.h_load = parent.h_load.wrapping_mul(entity_load_avg) / (parent.avg.load_avg + 1);
            self.last_h_load_update = jiffies;
        }
        self.h_load
    }

    /// The share of a task on this queue in the load of the root queue. `h_load` of this queue must
    /// have been refreshed.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `task_h_load()`. Differs: refreshing is the caller's.
    #[inline]
    #[must_use]
    pub fn task_h_load(&self, task_load_avg: u64) -> u64 {
        task_load_avg.wrapping_mul(self.h_load) / (self.avg.load_avg + 1)
    }
}

/// `a - b` as a signed number.
#[inline]
const fn difference(a: u64, b: u64) -> i64 {
    a.wrapping_sub(b).cast_signed()
}
