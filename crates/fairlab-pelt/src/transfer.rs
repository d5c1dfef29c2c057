//! Entities that come to a queue, leave it, or change their weight.

use fairlab_kernel::{Feature, Kernel};

use crate::{EntityState, PeltTime, QueueAvg, QueueState, SchedAvg, scale_load_down};

/// What an update of an entity and its queue should do beside updating (flags of
/// `update_load_avg()`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct UpdateFlags(u8);

impl UpdateFlags {
    /// Nothing but the update.
    pub const NONE: Self = Self(0);
    /// Bring the group's global load up to date.
    pub const UPDATE_TG: Self = Self(1);
    /// Do not age the entity: it is about to be attached with the averages it has.
    pub const SKIP_AGE_LOAD: Self = Self(2);
    /// Attach the entity if it belongs to no queue.
    pub const DO_ATTACH: Self = Self(4);
    /// Detach the entity: it leaves for another CPU.
    pub const DO_DETACH: Self = Self(8);

    /// For the update before an attachment: ages the entity with `ATTACH_AGE_LOAD`.
    #[must_use]
    pub const fn before_attach(kernel: &Kernel) -> Self {
        if kernel.has(Feature::ATTACH_AGE_LOAD) {
            Self::NONE
        } else {
            Self::SKIP_AGE_LOAD
        }
    }

    /// Both sets of flags.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Are all flags of `other` set?
    #[inline]
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// An entity taking part in an update of its queue.
#[derive(Debug)]
pub struct EntityMut<'a> {
    /// Its signals.
    pub avg: &'a mut SchedAvg,
    /// Its state.
    pub state: EntityState,
    /// A group's entity: the queue that it stands for, and the total `load.weight` on it.
    pub group: Option<(&'a mut QueueAvg, u64)>,
}

impl<'a> EntityMut<'a> {
    /// A task.
    #[inline]
    #[must_use]
    pub fn task(avg: &'a mut SchedAvg, state: EntityState) -> Self {
        Self {
            avg,
            state,
            group: None,
        }
    }
}

/// What an update of an entity and its queue did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LoadUpdate {
    /// Averages of the queue were recomputed, something removed was taken out, or a child queue's
    /// change arrived.
    pub decayed: bool,
    /// The group's global load should follow ([`QueueAvg::update_group_load`]).
    pub wants_group_load: bool,
    /// The frequency governor should be told.
    pub wants_frequency: bool,
}

impl QueueAvg {
    /// Updates an entity and the queue it is on, in the kernel's order: the entity; what was removed
    /// and the queue; what a child queue has to tell; attaching or detaching.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `update_load_avg()`. Differs: the frequency hint and the
    /// group's global load are left to the caller, who knows the governor and the group.
    pub fn update_load_avg(
        &mut self,
        kernel: &Kernel,
        now: PeltTime,
        queue: &QueueState,
        entity: EntityMut<'_>,
        flags: UpdateFlags,
    ) -> LoadUpdate {
        let EntityMut { avg, state, group } = entity;
        if !avg.last_update_time.is_never() && !flags.has(UpdateFlags::SKIP_AGE_LOAD) {
            avg.update(kernel, now, &state);
        }
        let mut decayed = self.update(kernel, now, queue);
        if let Some((child, child_weight)) = group {
            decayed |= self.propagate_from(kernel, avg, &state, child, child_weight);
        }
        if avg.last_update_time.is_never() && flags.has(UpdateFlags::DO_ATTACH) {
            self.attach(kernel, avg, &state);
        } else if flags.has(UpdateFlags::DO_DETACH) {
            self.detach(kernel, avg, &state);
        } else {
            return LoadUpdate {
                decayed,
                wants_group_load: decayed && flags.has(UpdateFlags::UPDATE_TG),
                wants_frequency: decayed,
            };
        }
        LoadUpdate {
            decayed,
            wants_group_load: true,
            wants_frequency: true,
        }
    }

    /// Adds an entity with the averages that it brings; its sums are made to fit the queue's place
    /// in the period.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `attach_entity_load_avg()`. Differs: the frequency hint is
    /// the caller's.
    #[doc(alias = "attach_entity_load_avg")]
    pub fn attach(&mut self, kernel: &Kernel, entity: &mut SchedAvg, state: &EntityState) {
        let queue = &mut self.avg;
        let divider = u64::from(queue.divider());
        let weight = scale_load_down(state.weight);
        entity.last_update_time = queue.last_update_time;
        entity.period_contrib = queue.period_contrib;
        entity.util_sum = entity.util_avg.wrapping_mul(divider) as u32;
        let load_sum = entity.load_avg.wrapping_mul(divider);
        entity.load_sum = if weight < load_sum || !kernel.has(Feature::PELT_ATTACH_LOAD_FLOOR) {
            // An entity on a queue has weight; none would count as 1.
            load_sum / weight.max(1)
        } else {
            1
        };

        queue.util_avg = queue.util_avg.wrapping_add(entity.util_avg);
        queue.util_sum = queue.util_sum.wrapping_add(entity.util_sum);
        if kernel.has(Feature::RUNNABLE_AVG) {
            entity.runnable_sum = entity.runnable_avg.wrapping_mul(divider);
            queue.runnable_avg = queue.runnable_avg.wrapping_add(entity.runnable_avg);
            queue.runnable_sum = queue.runnable_sum.wrapping_add(entity.runnable_sum);
        } else {
            // The queue counts runnable load while the entity is queued only, see
            // `add_runnable_load`.
            entity.runnable_sum = entity.load_sum;
        }
        self.add_load(kernel, entity, weight);
        self.note_propagation(entity.load_sum.cast_signed());
    }

    /// Takes an entity's contribution out. The entity keeps its signals.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `detach_entity_load_avg()`. Differs: the frequency hint is
    /// the caller's.
    #[doc(alias = "detach_entity_load_avg")]
    pub fn detach(&mut self, kernel: &Kernel, entity: &SchedAvg, state: &EntityState) {
        self.subtract_load(kernel, entity, scale_load_down(state.weight));
        self.avg.change_util(
            kernel,
            -entity.util_avg.cast_signed(),
            -i64::from(entity.util_sum),
        );
        if kernel.has(Feature::RUNNABLE_AVG) {
            self.avg.change_runnable(
                kernel,
                -entity.runnable_avg.cast_signed(),
                -entity.runnable_sum.cast_signed(),
            );
        }
        self.note_propagation(-entity.load_sum.cast_signed());
    }

    /// Gives an entity a new weight, and the queue the load that follows from it. `old` is the state
    /// before, `new` after; the entity must be up to date.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `reweight_entity()`, its load part. Differs: none.
    #[doc(alias = "reweight_entity")]
    pub fn reweight(
        &mut self,
        kernel: &Kernel,
        entity: &mut SchedAvg,
        old: &EntityState,
        new: &EntityState,
    ) {
        if old.on_rq {
            self.subtract_runnable_load(kernel, entity, old);
        }
        self.subtract_load(kernel, entity, scale_load_down(old.weight));

        let divider = u64::from(entity.divider());
        let weight = scale_load_down(new.weight);
        entity.load_avg = weight.wrapping_mul(entity.load_sum) / divider;
        if !kernel.has(Feature::RUNNABLE_AVG) {
            entity.runnable_avg =
                scale_load_down(new.runnable_weight).wrapping_mul(entity.runnable_sum) / divider;
        }

        self.add_load(kernel, entity, weight);
        if new.on_rq {
            self.add_runnable_load(kernel, entity, new);
        }
    }

    /// Adds the runnable load of an entity that is enqueued. Nothing with `RUNNABLE_AVG`.
    ///
    /// # Source
    /// Linux v5.4 `kernel/sched/fair.c`, `enqueue_runnable_load_avg()`. Differs: none.
    #[doc(alias = "enqueue_runnable_load_avg")]
    pub fn add_runnable_load(&mut self, kernel: &Kernel, entity: &SchedAvg, state: &EntityState) {
        if kernel.has(Feature::RUNNABLE_AVG) {
            return;
        }
        let sum = state
            .runnable_factor(kernel)
            .wrapping_mul(entity.runnable_sum);
        self.avg.runnable_avg = self.avg.runnable_avg.wrapping_add(entity.runnable_avg);
        self.avg.runnable_sum = self.avg.runnable_sum.wrapping_add(sum);
    }

    /// Takes out the runnable load of an entity that is dequeued. Nothing with `RUNNABLE_AVG`.
    ///
    /// # Source
    /// Linux v5.4 `kernel/sched/fair.c`, `dequeue_runnable_load_avg()`. Differs: none.
    #[doc(alias = "dequeue_runnable_load_avg")]
    pub fn subtract_runnable_load(
        &mut self,
        kernel: &Kernel,
        entity: &SchedAvg,
        state: &EntityState,
    ) {
        if kernel.has(Feature::RUNNABLE_AVG) {
            return;
        }
        let sum = state
            .runnable_factor(kernel)
            .wrapping_mul(entity.runnable_sum);
        self.avg.runnable_avg = self.avg.runnable_avg.saturating_sub(entity.runnable_avg);
        self.avg.runnable_sum = self.avg.runnable_sum.saturating_sub(sum);
    }

    fn add_load(&mut self, kernel: &Kernel, entity: &SchedAvg, weight: u64) {
        let sum = weight.wrapping_mul(entity.load_sum);
        if kernel.has(Feature::PELT_ADD_MIN_DIVIDER) {
            let average = entity.load_avg.cast_signed();
            self.avg.change_load(kernel, average, sum.cast_signed());
        } else {
            self.avg.load_avg = self.avg.load_avg.wrapping_add(entity.load_avg);
            self.avg.load_sum = self.avg.load_sum.wrapping_add(sum);
        }
    }

    fn subtract_load(&mut self, kernel: &Kernel, entity: &SchedAvg, weight: u64) {
        let sum = weight.wrapping_mul(entity.load_sum).cast_signed();
        self.avg
            .change_load(kernel, -entity.load_avg.cast_signed(), -sum);
    }
}
