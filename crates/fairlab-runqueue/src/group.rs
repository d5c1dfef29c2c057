//! Task groups: a queue and an entity per group and CPU.

use fairlab_kernel::Feature;
use fairlab_units::Timestamp;

use crate::Resched;
use crate::cfs_rq::CfsRq;
use crate::entity::{Entities, EntityId};
use crate::flags::{DequeueFlags, Dequeued, EnqueueFlags};
use crate::rq::FairRq;
use crate::weight::{self, Weight};

/// A task group, numbered alike on every CPU. Number 0 is the root.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[doc(alias = "task_group")]
pub struct GroupId(pub u32);

impl GroupId {
    /// The root group.
    pub const ROOT: Self = Self(0);
}

/// Loads from which the weight of a group on one CPU follows; PELT averages of the caller.
///
/// All zero: the group runs on this CPU only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupLoad {
    /// Load average of the group's queue on this CPU.
    pub load_avg: u64,
    /// Load of the group on all CPUs.
    pub tg_load_avg: u64,
    /// The part of `tg_load_avg` that stands for this CPU.
    pub contrib: u64,
}

/// What a queue has only if it belongs to a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupState {
    shares: Weight,
    load: GroupLoad,
    pub(crate) throttled: bool,
    pub(crate) runtime_remaining: i64,
    /// Throttled tasks that have left (v6.18 on), newest first.
    pub(crate) limbo: EntityId,
}

impl GroupState {
    pub(crate) const ROOT: Self = Self {
        shares: Weight::NICE_0,
        load: GroupLoad {
            load_avg: 0,
            tg_load_avg: 0,
            contrib: 0,
        },
        throttled: false,
        runtime_remaining: 0,
        limbo: EntityId::NONE,
    };
}

/// Tasks that join or leave the counts of the queues above.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) queued: u32,
    pub(crate) runnable: u32,
    pub(crate) idle: u32,
}

/// Why the queues above lose tasks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A task goes to sleep.
    Sleep,
    /// A task is moved or changed, or a delayed entity leaves.
    Other,
    /// The queue is throttled as a whole.
    Throttle,
}

impl FairRq {
    /// Adds a group below `parent`, with the default shares. Call it on every CPU in the same
    /// order, so that the numbers agree.
    ///
    /// # Panics
    /// When there is no group `parent`.
    pub fn add_group(&mut self, ents: &mut Entities, parent: GroupId) -> GroupId {
        let number = self.queues.len() as u32;
        let above = self.queues[parent.0 as usize].entity;
        let mut entity = crate::Entity::group(number, Weight::NICE_0);
        entity.queue = parent.0;
        entity.parent = above;
        entity.depth = above.some().map_or(0, |above| ents[above].depth + 1);
        entity.slice = self.cfg.base_slice;
        let id = ents.add(entity);
        self.queues.push(CfsRq::new(id));
        GroupId(number)
    }

    /// The queue of a group, or nothing when there is no such group.
    #[must_use]
    pub fn queue(&self, group: GroupId) -> Option<&CfsRq> {
        self.queues.get(group.0 as usize)
    }

    /// The entity that stands for a group on this CPU; none for the root.
    #[must_use]
    pub fn group_entity(&self, group: GroupId) -> Option<EntityId> {
        self.queue(group)?.entity.some()
    }

    /// The group of a task.
    #[must_use]
    pub fn group_of(&self, ents: &Entities, id: EntityId) -> GroupId {
        GroupId(ents[id].queue)
    }

    /// Puts a task that is on no queue into a group.
    ///
    /// # Panics
    /// When there is no such group.
    pub fn set_group(&self, ents: &mut Entities, id: EntityId, group: GroupId) {
        debug_assert!(
            !ents[id].on_rq,
            "dequeue a task before it changes its group"
        );
        let above = self.queues[group.0 as usize].entity;
        let depth = above.some().map_or(0, |above| ents[above].depth + 1);
        let entity = ents.at(id);
        entity.queue = group.0;
        entity.parent = above;
        entity.depth = depth;
    }

    /// Sets `cpu.weight` of a group on this CPU, as scaled shares (nice 0 is 1048576, that is
    /// `cpu.weight` 100 or `cpu.shares` 1024).
    pub fn set_shares(
        &mut self,
        ents: &mut Entities,
        group: GroupId,
        shares: Weight,
        now: Timestamp,
    ) {
        if let Some(queue) = self.queues.get_mut(group.0 as usize) {
            queue.group.shares = shares;
            let mut at = queue.entity;
            while at != EntityId::NONE {
                self.update_group_weight(ents, at, now);
                at = ents[at].parent;
            }
        }
    }

    /// Tells the loads from which the group's weight on this CPU follows.
    pub fn set_group_load(&mut self, group: GroupId, load: GroupLoad) {
        if let Some(queue) = self.queues.get_mut(group.0 as usize) {
            queue.group.load = load;
        }
    }

    /// Recomputes the weight of a group's entity (`update_cfs_group`); nothing for a task.
    #[doc(alias = "update_cfs_group")]
    pub(crate) fn update_group_weight(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        now: Timestamp,
    ) {
        if ents[id].is_task() {
            return;
        }
        let group = &self.queues[ents[id].my_queue as usize];
        if group.load == Weight::ZERO {
            return;
        }
        let load = group.group.load;
        let weight = weight::group_shares(
            group.group.shares,
            group.load,
            load.load_avg,
            load.tg_load_avg,
            load.contrib,
        );
        if weight == ents[id].weight {
            return;
        }
        self.reweight_group_entity(ents, id, weight, now);
    }

    fn reweight_group_entity(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        weight: Weight,
        now: Timestamp,
    ) {
        let old = ents[id].weight;
        if ents[id].on_rq {
            // The request of this accounting comes again at the next tick.
            let q = ents[id].queue;
            let _ = self.charge(ents, q, now);
            let queue = &mut self.queues[q as usize];
            if self.cfg.eevdf {
                queue.reweight_queued(&self.cfg, ents, id, weight);
                return;
            }
            queue.load.0 = queue.load.0 - old.0 + weight.0;
        }
        let entity = ents.at(id);
        entity.weight = weight;
        entity.inverse = weight.sum_inverse();
        if self.cfg.eevdf {
            crate::eevdf::reweight_unqueued(&self.cfg, entity, old);
        }
    }

    /// Gives a group's entity the shortest slice below it (v6.12 on).
    fn inherit_slice(&self, ents: &mut Entities, id: EntityId) {
        if !self.cfg.has(Feature::CUSTOM_SLICE) {
            return;
        }
        if let Some((shortest, _)) = self.queues[ents[id].my_queue as usize].slices(ents) {
            let entity = ents.at(id);
            entity.slice = shortest;
            entity.custom_slice = true;
        }
    }

    /// Continues an enqueue above the queue `from`, which tasks have joined.
    pub(crate) fn enqueue_above(
        &mut self,
        ents: &mut Entities,
        from: u32,
        mut counts: Counts,
        now: Timestamp,
    ) -> Resched {
        let mut resched = Resched::None;
        let mut below = from as usize;
        while let Some(at) = self.queues[below].entity.some() {
            if self.keeps_throttled(below) {
                break;
            }
            if self.queues[below].idle {
                counts.idle = counts.queued;
            }
            self.inherit_slice(ents, at);
            if ents[at].delayed {
                resched = resched.or(self.requeue_delayed_entity(ents, at, now));
            }
            self.update_group_weight(ents, at, now);
            if !ents[at].on_rq {
                let request = self.enqueue_entity(ents, at, EnqueueFlags::WAKEUP, now);
                resched = resched.or(request);
            }
            below = ents[at].queue as usize;
            let queue = &mut self.queues[below];
            queue.h_nr_queued += counts.queued;
            queue.h_nr_runnable += counts.runnable;
            queue.h_nr_idle += counts.idle;
        }
        resched
    }

    /// Continues a dequeue above the queue `from`, which tasks have left.
    pub(crate) fn dequeue_above(
        &mut self,
        ents: &mut Entities,
        from: u32,
        mut counts: Counts,
        cause: Cause,
        now: Timestamp,
    ) -> Resched {
        let mut resched = Resched::None;
        let mut goes_on = true;
        let mut below = from as usize;
        while let Some(at) = self.queues[below].entity.some() {
            let is_throttling = cause == Cause::Throttle && below == from as usize;
            if self.keeps_throttled(below) && !is_throttling {
                break;
            }
            if self.queues[below].idle {
                counts.idle = counts.queued;
            }
            if goes_on && self.queues[below].nr_queued > 0 && !is_throttling {
                goes_on = false;
                if cause == Cause::Sleep {
                    self.set_next_buddy(ents, at);
                }
            }
            if goes_on {
                let flags = if cause == Cause::Throttle {
                    DequeueFlags::SPECIAL
                } else {
                    DequeueFlags::SLEEP
                };
                let (dequeued, request) = self.dequeue_entity(ents, at, flags, now);
                resched = resched.or(request);
                goes_on = dequeued == Dequeued::Done;
            } else {
                self.update_group_weight(ents, at, now);
                self.inherit_slice(ents, at);
            }
            below = ents[at].queue as usize;
            let queue = &mut self.queues[below];
            queue.h_nr_queued -= counts.queued;
            queue.h_nr_runnable -= counts.runnable;
            queue.h_nr_idle -= counts.idle;
        }
        resched
    }

    /// Takes the entity of a queue that is being throttled off the queues above.
    pub(crate) fn throttle_above(
        &mut self,
        ents: &mut Entities,
        q: u32,
        counts: Counts,
        now: Timestamp,
    ) {
        // A pick, an enqueue or a switch is under way: requests are moot.
        let _ = self.dequeue_above(ents, q, counts, Cause::Throttle, now);
    }

    /// Is this queue cut off from those above?
    pub(crate) fn keeps_throttled(&self, q: usize) -> bool {
        self.queues[q].group.throttled && !self.cfg.has(Feature::THROTTLE_AT_EXIT)
    }

    /// Lets a delayed group entity leave that came to the front; its tasks have left before.
    pub(crate) fn complete_delayed_group(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        now: Timestamp,
    ) {
        let (_, _) = self.dequeue_entity(ents, id, DequeueFlags::SLEEP, now);
        let q = ents[id].queue;
        let _ = self.dequeue_above(ents, q, Counts::default(), Cause::Other, now);
    }

    /// Makes a group idle, or ordinary again (`cpu.idle`; v5.15 on). Its shares become those of an
    /// idle task, or the default.
    #[doc(alias = "sched_group_set_idle")]
    pub fn set_idle(&mut self, ents: &mut Entities, group: GroupId, idle: bool, now: Timestamp) {
        let q = group.0 as usize;
        let is_known = q > 0 && q < self.queues.len();
        if !is_known || !self.cfg.has(Feature::GROUP_IDLE) || self.queues[q].idle == idle {
            return;
        }
        self.queues[q].idle = idle;
        let others = self.queues[q].h_nr_queued - self.queues[q].h_nr_idle;
        let mut at = self.queues[q].entity;
        while at != EntityId::NONE && ents[at].on_rq {
            let queue = &mut self.queues[ents[at].queue as usize];
            if idle {
                queue.h_nr_idle += others;
            } else {
                queue.h_nr_idle -= others;
            }
            if queue.idle {
                // All its tasks count as idle further up in any case.
                break;
            }
            at = queue.entity;
        }
        let shares = if idle { Weight::IDLE } else { Weight::NICE_0 };
        self.set_shares(ents, group, shares, now);
    }
}
