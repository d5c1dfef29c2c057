//! Wakeup preemption and yield.

use fairlab_kernel::Feature;
use fairlab_units::Timestamp;

use crate::Resched;
use crate::cfs_rq::CfsRq;
use crate::entity::{Entities, EntityId, Policy};
use crate::flags::WakeFlags;
use crate::rq::FairRq;

impl FairRq {
    /// The ancestors of two entities that share a queue (`find_matching_se`).
    fn matching(
        &self,
        ents: &Entities,
        mut a: EntityId,
        mut b: EntityId,
    ) -> Option<(EntityId, EntityId)> {
        while ents[a].depth > ents[b].depth {
            a = ents[a].parent.some()?;
        }
        while ents[b].depth > ents[a].depth {
            b = ents[b].parent.some()?;
        }
        while ents[a].queue != ents[b].queue {
            a = ents[a].parent.some()?;
            b = ents[b].parent.some()?;
        }
        Some((a, b))
    }

    /// Prefers an entity and its ancestors at the next pick.
    pub(crate) fn set_next_buddy(&mut self, ents: &Entities, id: EntityId) {
        self.mark_upward(ents, id, |queue| &mut queue.next);
    }

    fn set_last_buddy(&mut self, ents: &Entities, id: EntityId) {
        self.mark_upward(ents, id, |queue| &mut queue.last);
    }

    /// Puts an entity and its ancestors into a place of their queues, up to the first that is not
    /// queued or idle.
    fn mark_upward(
        &mut self,
        ents: &Entities,
        id: EntityId,
        place: impl Fn(&mut CfsRq) -> &mut EntityId,
    ) {
        let mut at = id;
        while at != EntityId::NONE {
            if !ents[at].on_rq || self.is_idle_entity(ents, at) {
                return;
            }
            *place(&mut self.queues[ents[at].queue as usize]) = at;
            at = ents[at].parent;
        }
    }

    pub(crate) fn preempt_cfs(
        &mut self,
        ents: &mut Entities,
        curr: EntityId,
        wakee: EntityId,
        flags: WakeFlags,
        now: Timestamp,
    ) -> Resched {
        let is_crowded = self.queues[ents[curr].queue as usize].nr_queued >= self.cfg.nr_latency;
        let mut buddy_is_marked = false;
        if self.cfg.has(Feature::NEXT_BUDDY) && is_crowded && !flags.fork {
            self.set_next_buddy(ents, wakee);
            buddy_is_marked = true;
        }
        if flags.pending.is_requested() {
            return Resched::None;
        }
        let idle_gives_way =
            ents[curr].policy == Policy::Idle && ents[wakee].policy != Policy::Idle;
        if !idle_gives_way {
            if ents[wakee].policy != Policy::Normal || !self.cfg.has(Feature::WAKEUP_PREEMPTION) {
                return Resched::None;
            }
            let Some((se, pse)) = self.matching(ents, curr, wakee) else {
                return Resched::None;
            };
            let (curr_idle, wakee_idle) = (
                self.is_idle_entity(ents, se),
                self.is_idle_entity(ents, pse),
            );
            let idle_group_gives_way =
                self.cfg.has(Feature::GROUP_IDLE) && curr_idle && !wakee_idle;
            if self.cfg.has(Feature::GROUP_IDLE) && !curr_idle && wakee_idle {
                return Resched::None;
            }
            if !idle_group_gives_way {
                let _ = self.charge(ents, ents[se].queue, now);
                if CfsRq::preempts(&self.cfg, ents, se, pse) < 1 {
                    return Resched::None;
                }
                if !buddy_is_marked {
                    self.set_next_buddy(ents, pse);
                }
            }
        }
        if self.cfg.has(Feature::LAST_BUDDY) && is_crowded {
            self.set_last_buddy(ents, curr);
        }
        Resched::Now
    }

    pub(crate) fn preempt_eevdf(
        &mut self,
        ents: &mut Entities,
        curr: EntityId,
        wakee: EntityId,
        flags: WakeFlags,
        now: Timestamp,
    ) -> Resched {
        let request = self.cfg.request();
        let buddy_at_once = !self.cfg.has(Feature::PREEMPT_IN_ORDER);
        if buddy_at_once && self.cfg.has(Feature::NEXT_BUDDY) && !flags.fork && !ents[wakee].delayed
        {
            self.set_next_buddy(ents, wakee);
        }
        let pending_counts = if self.cfg.lazy {
            flags.pending == Resched::Now
        } else {
            flags.pending.is_requested()
        };
        if pending_counts {
            return Resched::None;
        }
        let by_entity = self.cfg.has(Feature::PREEMPT_IDLE_ENTITY);
        if !by_entity {
            let idle_gives_way =
                ents[curr].policy == Policy::Idle && ents[wakee].policy != Policy::Idle;
            if idle_gives_way {
                return request;
            }
            if ents[wakee].policy != Policy::Normal {
                return Resched::None;
            }
        }
        if !self.cfg.has(Feature::WAKEUP_PREEMPTION) {
            return Resched::None;
        }
        let Some((se, pse)) = self.matching(ents, curr, wakee) else {
            return Resched::None;
        };
        let q = ents[se].queue;
        let (curr_idle, wakee_idle) = (
            self.is_idle_entity(ents, se),
            self.is_idle_entity(ents, pse),
        );
        if curr_idle && !wakee_idle {
            if by_entity {
                self.queues[q as usize].cancel_protection(&self.cfg, ents, se);
            }
            return request;
        }
        if curr_idle != wakee_idle || (by_entity && ents[wakee].policy != Policy::Normal) {
            return Resched::None;
        }
        let charged = self.charge(ents, q, now);
        let preempts = if self.cfg.has(Feature::PREEMPT_IN_ORDER) {
            self.preempts_in_order(ents, se, pse, wakee, flags, now)
        } else {
            let queue = &mut self.queues[q as usize];
            if self.cfg.preempt_short && queue.is_short_and_due(&self.cfg, ents, se, pse) {
                queue.cancel_protection(&self.cfg, ents, se);
            }
            queue.pick_eevdf(&self.cfg, ents, true) == pse
        };
        if preempts {
            charged.or(request)
        } else {
            charged
        }
    }

    /// v7.2: short wakees first, regardless of protection; then the ordinary pick.
    fn preempts_in_order(
        &mut self,
        ents: &mut Entities,
        se: EntityId,
        pse: EntityId,
        wakee: EntityId,
        flags: WakeFlags,
        now: Timestamp,
    ) -> bool {
        let q = ents[se].queue as usize;
        let short = self.cfg.preempt_short && ents[pse].slice < ents[se].slice;
        if !short {
            if flags.fork || ents[wakee].delayed {
                return false;
            }
            if self.cfg.has(Feature::NEXT_BUDDY) {
                self.set_next_buddy(ents, pse);
            }
        }
        let pick = loop {
            let pick = self.queues[q].pick_eevdf(&self.cfg, ents, !short);
            if pick == EntityId::NONE || !ents[pick].delayed {
                break pick;
            }
            self.complete_delayed(ents, pick, now);
        };
        let queue = &mut self.queues[q];
        if pick == pse {
            if short {
                queue.cancel_protection(&self.cfg, ents, se);
                queue.clear_buddies(se);
            }
            return true;
        }
        if self.cfg.run_to_parity {
            queue.shorten_protection(&self.cfg, ents, se);
        }
        false
    }

    /// The running task gives way. With nobody else there, nothing happens.
    ///
    /// The caller reschedules afterwards, whatever the answer, as `sched_yield()` does.
    #[doc(alias = "yield_task_fair")]
    pub fn yield_task(&mut self, ents: &mut Entities, now: Timestamp) -> Resched {
        let Some(id) = self.curr(ents) else {
            return Resched::None;
        };
        if self.h_nr_queued() == 1 {
            return Resched::None;
        }
        let q = ents[id].queue as usize;
        self.queues[q].clear_buddies(id);
        if !self.cfg.eevdf {
            let mut resched = Resched::None;
            if ents[id].policy != Policy::Batch {
                resched = self.charge(ents, q as u32, now);
            }
            let mut at = id;
            while at != EntityId::NONE {
                self.queues[ents[at].queue as usize].skip = at;
                at = ents[at].parent;
            }
            return resched;
        }
        let resched = self.charge(ents, q as u32, now);
        let queue = &mut self.queues[q];
        if self.cfg.has(Feature::YIELD_FORFEIT) {
            if queue.is_eligible(&self.cfg, ents, ents[id].vruntime) {
                let entity = ents.at(id);
                entity.vruntime = entity.deadline;
                queue.renew_deadline(&self.cfg, ents, id);
            }
        } else {
            let entity = ents.at(id);
            entity.deadline = entity.deadline.plus(self.cfg.fair(entity.slice, entity));
        }
        resched
    }

    /// The running task gives way to `target`; false when that one is not queued.
    #[doc(alias = "yield_to_task_fair")]
    pub fn yield_to(&mut self, ents: &mut Entities, target: EntityId, now: Timestamp) -> bool {
        if !ents[target].on_rq || ents[target].delayed {
            return false;
        }
        self.set_next_buddy(ents, target);
        let _ = self.yield_task(ents, now);
        true
    }
}

impl CfsRq {
    /// v6.12: has the wakee a shorter slice, and is it due before the running entity?
    fn is_short_and_due(
        &self,
        cfg: &crate::RqConfig,
        ents: &Entities,
        se: EntityId,
        pse: EntityId,
    ) -> bool {
        ents[pse].slice < ents[se].slice
            && self.is_eligible(cfg, ents, ents[pse].vruntime)
            && (ents[pse].deadline.is_before(ents[se].deadline)
                || !self.is_eligible(cfg, ents, ents[se].vruntime))
    }
}
