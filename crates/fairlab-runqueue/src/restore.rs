//! Entities and queues in a given state, for replaying recordings and for tests.

use fairlab_units::{Nanos, Timestamp};

use crate::Vruntime;
use crate::entity::{Entities, EntityId, Policy};
use crate::rq::FairRq;
use crate::weight::{NICE_TO_WEIGHT, Weight};

/// All that a release keeps about one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the getters of `Entity` say it")]
pub struct EntityState {
    pub weight: Weight,
    pub policy: Policy,
    pub vruntime: Vruntime,
    pub deadline: Vruntime,
    pub vlag: i64,
    pub vprot: Vruntime,
    pub slice: Nanos,
    pub custom_slice: bool,
    pub rel_deadline: bool,
    pub exec_start: Timestamp,
    pub sum_exec: Nanos,
    pub prev_sum_exec: Nanos,
}

impl Default for EntityState {
    fn default() -> Self {
        Self {
            weight: Weight::NICE_0,
            policy: Policy::Normal,
            vruntime: Vruntime(0),
            deadline: Vruntime(0),
            vlag: 0,
            vprot: Vruntime(0),
            slice: Nanos::ZERO,
            custom_slice: false,
            rel_deadline: false,
            exec_start: Timestamp::ZERO,
            sum_exec: Nanos::ZERO,
            prev_sum_exec: Nanos::ZERO,
        }
    }
}

/// The sums of a queue without its entities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSums {
    /// The reference of the weighted sum.
    pub zero_vruntime: Vruntime,
    /// Sum over the waiting entities of weight times (vruntime - reference).
    pub sum_w_vruntime: i128,
    /// Sum of the weights of the waiting entities, as the release counts them.
    pub sum_weight: u64,
    /// Sum of scaled weights of all queued entities.
    pub load: Weight,
    /// Number of queued entities.
    pub nr_queued: u32,
}

impl Entities {
    /// Adds a task in the given state; it is on no queue.
    pub fn add_restored(&mut self, state: &EntityState) -> EntityId {
        let id = self.add_task(0, state.policy);
        self.set_state(id, state);
        id
    }

    /// Puts a task that waits in no tree into the given state. A weight that no nice value has is
    /// kept as it is.
    pub fn set_state(&mut self, id: EntityId, state: &EntityState) {
        let nice = NICE_TO_WEIGHT
            .iter()
            .position(|w| u64::from(*w) << 10 == state.weight.0);
        let entity = self.at(id);
        entity.policy = state.policy;
        if let Some(nice) = nice {
            entity.nice = nice as i8 - 20;
        }
        entity.set_task_weight();
        if entity.weight != state.weight {
            entity.weight = state.weight;
            entity.inverse = state.weight.sum_inverse();
        }
        entity.vruntime = state.vruntime;
        entity.deadline = state.deadline;
        entity.vlag = state.vlag;
        entity.vprot = state.vprot;
        entity.slice = state.slice.0;
        entity.custom_slice = state.custom_slice;
        entity.rel_deadline = state.rel_deadline;
        entity.exec_start = state.exec_start;
        entity.sum_exec = state.sum_exec;
        entity.prev_sum_exec = state.prev_sum_exec;
    }

    /// The state of a task.
    #[must_use]
    pub fn state(&self, id: EntityId) -> EntityState {
        let entity = &self[id];
        EntityState {
            weight: entity.weight,
            policy: entity.policy,
            vruntime: entity.vruntime,
            deadline: entity.deadline,
            vlag: entity.vlag,
            vprot: entity.vprot,
            slice: Nanos(entity.slice),
            custom_slice: entity.custom_slice,
            rel_deadline: entity.rel_deadline,
            exec_start: entity.exec_start,
            sum_exec: entity.sum_exec,
            prev_sum_exec: entity.prev_sum_exec,
        }
    }
}

impl FairRq {
    /// Queues a task of the root group where it is, without placing it.
    pub fn insert_restored(&mut self, ents: &mut Entities, id: EntityId, delayed: bool) {
        let cfg = &self.cfg;
        let idle = u32::from(ents[id].policy == Policy::Idle);
        let queue = &mut self.queues[0];
        queue.account_enqueue(&ents[id]);
        queue.h_nr_queued += 1;
        queue.h_nr_runnable += u32::from(!delayed);
        queue.h_nr_idle += idle;
        queue.tree_insert(cfg, ents, id);
        let entity = ents.at(id);
        entity.on_rq = true;
        entity.delayed = delayed;
        self.push_newest(ents, id);
    }

    /// Makes a task of the root group current as it is: its protection and its clocks stay. It may
    /// be queued or not.
    pub fn set_curr_restored(&mut self, ents: &mut Entities, id: EntityId) {
        if ents[id].on_rq {
            self.queues[0].tree_remove(&self.cfg, ents, id);
        }
        self.queues[0].curr = id;
    }

    /// The sums of the root queue.
    #[must_use]
    pub fn sums(&self) -> QueueSums {
        let queue = self.root();
        QueueSums {
            zero_vruntime: queue.zero,
            sum_w_vruntime: queue.sum_w_vruntime,
            sum_weight: queue.sum_weight,
            load: queue.load,
            nr_queued: queue.nr_queued,
        }
    }

    /// Moves the reference of the root queue's sums; the average of an empty queue.
    pub fn set_zero_vruntime(&mut self, zero: Vruntime) {
        let queue = &mut self.queues[0];
        let delta = zero.since(queue.zero);
        queue.move_zero(delta);
        queue.min_vruntime = zero;
    }

    /// Overwrites the sums of the root queue, whose waiting entities are unknown. Only accounting
    /// and placement make sense on such a queue.
    pub fn set_sums(&mut self, sums: &QueueSums) {
        let queue = &mut self.queues[0];
        queue.zero = sums.zero_vruntime;
        queue.sum_w_vruntime = sums.sum_w_vruntime;
        queue.sum_weight = sums.sum_weight;
        queue.load = sums.load;
        queue.nr_queued = sums.nr_queued;
    }

    /// Places a task in the root queue without queueing it (`place_entity`).
    #[doc(alias = "place_entity")]
    pub fn place_only(&mut self, ents: &mut Entities, id: EntityId, new: bool) {
        self.queues[0].place_eevdf(&self.cfg, ents, id, new);
    }

    /// Picks in the root queue without accounting and without completing delayed dequeues
    /// (`pick_eevdf`).
    #[must_use]
    pub fn pick_only(&self, ents: &Entities, protect: bool) -> Option<EntityId> {
        self.queues[0].pick_eevdf(&self.cfg, ents, protect).some()
    }

    /// Lets a delayed task leave that was picked, and nothing else; see [`Self::pop_left`].
    pub fn complete_only(&mut self, ents: &mut Entities, id: EntityId, now: Timestamp) {
        self.complete_delayed(ents, id, now);
    }
}
