//! One entity joins, leaves, starts or stops running, on one queue of the hierarchy.

use fairlab_kernel::Feature;
use fairlab_units::Timestamp;

use crate::Resched;
use crate::entity::{Entities, EntityId};
use crate::flags::{DequeueFlags, Dequeued, EnqueueFlags};
use crate::rq::FairRq;

impl FairRq {
    pub(crate) fn enqueue_entity(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        flags: EnqueueFlags,
        now: Timestamp,
    ) -> Resched {
        let q = ents[id].queue;
        let eevdf = self.cfg.eevdf;
        let is_curr = self.queues[q as usize].curr == id;
        let relative = !eevdf && (!flags.wakeup || flags.migrated);
        // A running task that is put back gets its new position first, which the charge adds to.
        if is_curr && eevdf {
            self.queues[q as usize].place_eevdf(&self.cfg, ents, id, flags.new);
        } else if is_curr && relative {
            let floor = self.queues[q as usize].min_vruntime;
            ents.at(id).vruntime = ents[id].vruntime.plus(floor.0);
        }
        let resched = self.charge(ents, q, now);
        let is_idle = !eevdf && self.is_idle_entity(ents, id);
        let cfg = &self.cfg;
        let queue = &mut self.queues[q as usize];
        if eevdf {
            if !is_curr {
                queue.place_eevdf(cfg, ents, id, flags.new);
            }
        } else {
            if relative && !is_curr {
                ents.at(id).vruntime = ents[id].vruntime.plus(queue.min_vruntime.0);
            }
            if flags.wakeup {
                queue.place_cfs_wakeup(cfg, ents, id, is_idle, now);
            }
        }
        queue.account_enqueue(&ents[id]);
        if flags.migrated {
            ents.at(id).exec_start = Timestamp::ZERO;
        }
        if !is_curr {
            queue.tree_insert(cfg, ents, id);
        }
        ents.at(id).on_rq = true;
        if q != 0 {
            self.throttle_at_enqueue(ents, q, now);
        }
        resched
    }

    pub(crate) fn dequeue_entity(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        flags: DequeueFlags,
        now: Timestamp,
    ) -> (Dequeued, Resched) {
        let q = ents[id].queue;
        let resched = self.charge(ents, q, now);
        let cfg = &self.cfg;
        let queue = &mut self.queues[q as usize];
        queue.clear_buddies(id);
        if cfg.eevdf {
            let may_stay = cfg.delay_dequeue && flags.sleep && !flags.special && !ents[id].delayed;
            if may_stay && !queue.is_eligible(cfg, ents, ents[id].vruntime) {
                if cfg.has(Feature::DELAY_LAG_KEPT) {
                    queue.update_lag(cfg, ents, id);
                }
                ents.at(id).delayed = true;
                return (Dequeued::Delayed, resched);
            }
            queue.update_lag(cfg, ents, id);
            if cfg.has(Feature::PLACE_REL_DEADLINE) && !flags.sleep {
                queue.make_deadline_relative(ents, id);
            }
        }
        if queue.curr != id {
            queue.tree_remove(cfg, ents, id);
        }
        ents.at(id).on_rq = false;
        queue.account_dequeue(&ents[id]);
        if ents[id].delayed && flags.sleep {
            let entity = ents.at(id);
            entity.delayed = false;
            if cfg.delay_zero {
                entity.vlag = entity.vlag.min(0);
            }
        }
        if !cfg.eevdf && !flags.sleep {
            let entity = ents.at(id);
            entity.vruntime = entity.vruntime.minus(queue.min_vruntime.0);
        }
        if !cfg.zero_vruntime {
            queue.advance_min_vruntime(ents);
        }
        (Dequeued::Done, resched)
    }

    pub(crate) fn set_next_entity(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        now: Timestamp,
        first: bool,
    ) {
        let cfg = &self.cfg;
        let queue = &mut self.queues[ents[id].queue as usize];
        queue.clear_buddies(id);
        if ents[id].on_rq {
            queue.tree_remove(cfg, ents, id);
            if cfg.eevdf && (first || !cfg.vprot) {
                queue.protect(cfg, ents, id);
            }
        }
        let entity = ents.at(id);
        entity.exec_start = now;
        entity.prev_sum_exec = entity.sum_exec;
        queue.curr = id;
    }

    pub(crate) fn put_prev_entity(&mut self, ents: &mut Entities, id: EntityId, now: Timestamp) {
        let q = ents[id].queue;
        if ents[id].on_rq {
            let _ = self.charge(ents, q, now);
        }
        if q != 0 {
            self.throttle_if_spent(ents, q, now);
        }
        let queue = &mut self.queues[q as usize];
        if ents[id].on_rq {
            queue.tree_insert(&self.cfg, ents, id);
        }
        queue.curr = EntityId::NONE;
    }
}
