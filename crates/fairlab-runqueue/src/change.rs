//! Changes to a task: nice value, policy, slice, affinity.

use fairlab_kernel::Feature;
use fairlab_units::{Nanos, Timestamp};

use crate::Resched;
use crate::eevdf::reweight_unqueued;
use crate::entity::{Entities, Entity, EntityId, Policy};
use crate::flags::{DequeueFlags, EnqueueFlags};
use crate::rq::FairRq;

/// Shortest slice that a task can ask for.
const SLICE_MIN: u64 = 100_000;
/// Longest slice that a task can ask for.
const SLICE_MAX: u64 = 100_000_000;

/// A change to a task, as `sched_setattr()` and its relatives make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Another nice value.
    Nice(i8),
    /// Another policy of the fair class.
    Policy(Policy),
    /// Another slice; zero goes back to the base slice. Ignored before v6.12.
    Slice(Nanos),
    /// Another set of allowed CPUs, which this CPU belongs to. Takes the task off and puts it back.
    Affinity,
}

impl FairRq {
    /// Changes a task of this CPU, queued or not. A queued task is taken off and put back, as in
    /// Linux, so its position changes as the release has it; a delayed one stays delayed.
    ///
    /// A task that changes to another class is not changed here, but dequeued: a delayed one with
    /// [`DequeueFlags::SLEEP`], another one with [`DequeueFlags::MOVE`].
    pub fn change(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        change: Change,
        now: Timestamp,
    ) -> Resched {
        let is_queued = ents[id].on_rq;
        let is_running = self.curr(ents) == Some(id);
        let mut resched = Resched::None;
        if is_queued {
            let (_, request) = self.dequeue(ents, id, DequeueFlags::MOVE, now);
            resched = resched.or(request);
        }
        if is_running {
            self.put_prev(ents, id, now);
        }
        self.apply(ents, id, change);
        if is_queued {
            resched = resched.or(self.enqueue(ents, id, EnqueueFlags::RESTORED, now));
        }
        if is_running {
            self.set_next_again(ents, id, now);
        }
        resched
    }

    fn apply(&mut self, ents: &mut Entities, id: EntityId, change: Change) {
        let cfg = &self.cfg;
        let entity = ents.at(id);
        match change {
            Change::Nice(nice) => {
                entity.nice = nice.clamp(-20, 19);
                set_weight(cfg, entity);
            }
            Change::Policy(policy) => {
                entity.policy = policy;
                set_weight(cfg, entity);
            }
            Change::Slice(Nanos(0)) => {
                entity.custom_slice = false;
                entity.slice = cfg.base_slice;
            }
            Change::Slice(slice) if cfg.has(Feature::CUSTOM_SLICE) => {
                entity.custom_slice = true;
                entity.slice = slice.0.clamp(SLICE_MIN, SLICE_MAX);
            }
            Change::Slice(_) | Change::Affinity => {}
        }
    }

    /// Makes the running task current again after a change; v7.2 keeps its protection.
    pub fn set_next_again(&mut self, ents: &mut Entities, id: EntityId, now: Timestamp) {
        self.unlink(ents, id);
        self.push_newest(ents, id);
        let mut at = id;
        while at != EntityId::NONE {
            self.set_next_entity(ents, at, now, false);
            at = ents[at].parent;
        }
    }
}

fn set_weight(cfg: &crate::RqConfig, entity: &mut Entity) {
    let old = entity.weight;
    entity.set_task_weight();
    if cfg.eevdf {
        reweight_unqueued(cfg, entity, old);
    }
}
