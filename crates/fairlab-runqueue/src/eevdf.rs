//! EEVDF (v6.6 on): lag, placement, slices and their protection, pick.

use fairlab_kernel::Feature;

use crate::cfs_rq::CfsRq;
use crate::config::RqConfig;
use crate::entity::{Entities, EntityId};
use crate::timeline::NIL;
use crate::{Resched, Vruntime};

impl CfsRq {
    /// How far lag may reach in either direction, in virtual ns.
    pub(crate) fn lag_limit(&self, cfg: &RqConfig, ents: &Entities, id: EntityId) -> i64 {
        let entity = &ents[id];
        let span = if cfg.has(Feature::LAG_LIMIT_MAX_SLICE) {
            let longest = self.slices(ents).map_or(0, |(_, max)| max);
            longest.max(entity.slice) + cfg.tick
        } else {
            (2 * entity.slice).max(cfg.tick)
        };
        cfg.fair(span, entity) as i64
    }

    /// The lag of a queued entity within its limit, in virtual ns. Keeps the average.
    pub(crate) fn clamped_lag(&mut self, cfg: &RqConfig, ents: &Entities, id: EntityId) -> i64 {
        let lag = self.keep_average(cfg, ents).since(ents[id].vruntime);
        let limit = self.lag_limit(cfg, ents, id);
        lag.clamp(-limit, limit)
    }

    /// Stores the lag of an entity that is about to leave.
    ///
    /// v7.2 lets a delayed entity keep what it paid since, and no credit beyond.
    pub(crate) fn update_lag(&mut self, cfg: &RqConfig, ents: &mut Entities, id: EntityId) {
        let mut lag = self.clamped_lag(cfg, ents, id);
        let entity = ents.at(id);
        if cfg.has(Feature::DELAY_LAG_KEPT) && entity.delayed {
            lag = lag.max(entity.vlag);
            if cfg.delay_zero {
                lag = lag.min(0);
            }
        }
        entity.vlag = lag;
    }

    /// Gives vruntime and deadline to an entity that joins (`place_entity`).
    pub(crate) fn place_eevdf(
        &mut self,
        cfg: &RqConfig,
        ents: &mut Entities,
        id: EntityId,
        initial: bool,
    ) {
        let average = self.keep_average(cfg, ents);
        let entity = &ents[id];
        let slice = if entity.custom_slice {
            entity.slice
        } else {
            cfg.base_slice
        };
        let mut vslice = cfg.fair(slice, entity);
        let mut lag = 0;
        if cfg.has(Feature::PLACE_LAG) && self.nr_queued > 0 && entity.vlag != 0 {
            let mut load = self.sum_weight;
            if let Some(curr) = self.queued_curr(ents).some() {
                load += cfg.sum_weight(ents[curr].weight);
            }
            let weight = cfg.sum_weight(entity.weight);
            lag = scale(entity.vlag, load + weight, load.max(1));
            // Only the reference moves, as in v7.2; no average and no pick depends on it.
            if cfg.division && weight > load {
                self.move_zero(-lag);
            }
        }
        let entity = ents.at(id);
        entity.slice = slice;
        entity.vruntime = average.offset(-lag);
        if entity.rel_deadline && cfg.has(Feature::PLACE_REL_DEADLINE) {
            entity.deadline = entity.deadline.plus(entity.vruntime.0);
            entity.rel_deadline = false;
            return;
        }
        if initial && cfg.has(Feature::PLACE_DEADLINE_INITIAL) {
            vslice /= 2;
        }
        entity.deadline = entity.vruntime.plus(vslice);
    }

    /// Makes the deadline of an entity that leaves without sleeping relative.
    pub(crate) fn make_deadline_relative(&self, ents: &mut Entities, id: EntityId) {
        let entity = ents.at(id);
        entity.deadline = entity.deadline.minus(entity.vruntime.0);
        entity.rel_deadline = true;
    }

    /// Gives a new deadline when the slice is used up, and asks for a reschedule where due.
    pub(crate) fn end_slice(
        &mut self,
        cfg: &RqConfig,
        ents: &mut Entities,
        id: EntityId,
    ) -> Resched {
        let ended = self.renew_deadline(cfg, ents, id);
        let wanted = ended
            || if cfg.vprot {
                !self.is_protected(cfg, ents, id)
            } else {
                cfg.preempt_short
                    && !self.is_protected(cfg, ents, id)
                    && !self.is_eligible(cfg, ents, ents[id].vruntime)
            };
        if !wanted || self.nr_queued == 1 {
            return Resched::None;
        }
        self.clear_buddies(id);
        cfg.request()
    }

    /// Gives a new deadline when vruntime has reached the old one; true if so.
    pub(crate) fn renew_deadline(
        &mut self,
        cfg: &RqConfig,
        ents: &mut Entities,
        id: EntityId,
    ) -> bool {
        let entity = ents.at(id);
        if entity.vruntime.is_before(entity.deadline) {
            return false;
        }
        if !entity.custom_slice {
            entity.slice = cfg.base_slice;
        }
        entity.deadline = entity.vruntime.plus(cfg.fair(entity.slice, entity));
        self.keep_average(cfg, ents);
        true
    }

    /// Starts the protection of an entity that becomes current.
    pub(crate) fn protect(&self, cfg: &RqConfig, ents: &mut Entities, id: EntityId) {
        if !cfg.vprot {
            let entity = ents.at(id);
            entity.vlag = entity.deadline.0 as i64;
            return;
        }
        let shortest = if cfg.run_to_parity {
            self.slices(ents).map_or(u64::MAX, |(min, _)| min)
        } else {
            cfg.normalized_base_slice
        };
        let entity = ents.at(id);
        entity.vprot = entity.deadline;
        if shortest < entity.slice {
            let end = entity.vruntime.plus(cfg.fair(shortest, entity));
            entity.vprot = entity.vprot.earlier(end);
        }
    }

    /// Is the running entity still within its protected part of the slice?
    #[inline]
    pub(crate) fn is_protected(&self, cfg: &RqConfig, ents: &Entities, id: EntityId) -> bool {
        let entity = &ents[id];
        if cfg.vprot {
            entity.vruntime.is_before(entity.vprot)
        } else {
            entity.vlag as u64 == entity.deadline.0
        }
    }

    /// Ends the protection of the running entity.
    pub(crate) fn cancel_protection(&self, cfg: &RqConfig, ents: &mut Entities, id: EntityId) {
        if !self.is_protected(cfg, ents, id) {
            return;
        }
        let entity = ents.at(id);
        if cfg.vprot {
            entity.vprot = entity.vruntime;
        } else {
            entity.vlag = entity.deadline.0.wrapping_add(1) as i64;
        }
    }

    /// Shortens the protection of the running entity to the shortest slice in the queue.
    pub(crate) fn shorten_protection(&self, cfg: &RqConfig, ents: &mut Entities, id: EntityId) {
        let Some((shortest, _)) = self.slices(ents) else {
            return;
        };
        let entity = ents.at(id);
        let end = entity.vruntime.plus(cfg.fair(shortest, entity));
        entity.vprot = entity.vprot.earlier(end);
    }

    /// The entity to run: of the eligible ones that with the earliest deadline, or the running one
    /// while it is protected.
    ///
    /// `protect` false (v7.2, for short wakees) ignores protection and buddies.
    pub(crate) fn pick_eevdf(&self, cfg: &RqConfig, ents: &Entities, protect: bool) -> EntityId {
        let curr = self.queued_curr(ents);
        if self.nr_queued == 1 && cfg.has(Feature::EEVDF_DEADLINE_TREE) {
            return if curr == EntityId::NONE {
                EntityId(self.timeline.first())
            } else {
                curr
            };
        }
        if self.timeline.is_empty() {
            return curr;
        }
        // One division serves all tests of this pick.
        let average = self.average(cfg, ents);
        let eligible = |id: EntityId| !average.is_before(ents[id].vruntime);
        if protect
            && self.next != EntityId::NONE
            && cfg.has(Feature::PICK_BUDDY_PROTECTED)
            && eligible(self.next)
        {
            return self.next;
        }
        let curr = if curr != EntityId::NONE && eligible(curr) {
            curr
        } else {
            EntityId::NONE
        };
        if curr != EntityId::NONE
            && protect
            && (cfg.vprot || cfg.run_to_parity)
            && self.is_protected(cfg, ents, curr)
        {
            return curr;
        }
        let best = self.timeline.first_not_after(&ents.nodes, average);
        if best == NIL {
            // With exact sums the entity of least vruntime is eligible, so this is the running one.
            return if curr == EntityId::NONE {
                EntityId(self.timeline.first())
            } else {
                curr
            };
        }
        let best = EntityId(best);
        if curr == EntityId::NONE {
            return best;
        }
        let lead = ents[curr].deadline.since(ents[best].deadline);
        let curr_wins_ties = !cfg.has(Feature::EEVDF_DEADLINE_TREE);
        if lead < 0 || (lead == 0 && curr_wins_ties) {
            curr
        } else {
            best
        }
    }

    /// The buddy that goes before the pick, if there is one.
    pub(crate) fn buddy_before_pick(&self, cfg: &RqConfig, ents: &Entities) -> Option<EntityId> {
        let honoured = if cfg.has(Feature::PICK_BUDDY) {
            !cfg.has(Feature::PICK_BUDDY_PROTECTED)
        } else {
            cfg.has(Feature::NEXT_BUDDY)
        };
        let next = self.next.some().filter(|_| honoured)?;
        self.is_eligible(cfg, ents, ents[next].vruntime)
            .then_some(next)
    }

    /// Changes the weight of a queued entity: its lag and the rest of its slice keep their size in
    /// real time.
    pub(crate) fn reweight_queued(
        &mut self,
        cfg: &RqConfig,
        ents: &mut Entities,
        id: EntityId,
        weight: crate::Weight,
    ) {
        let is_curr = self.curr == id;
        let average = self.keep_average(cfg, ents);
        let lag = self.clamped_lag(cfg, ents, id);
        if !is_curr {
            self.tree_remove(cfg, ents, id);
        }
        let scales_vruntime = cfg.has(Feature::REWEIGHT_KEEPS_LAG);
        let renew_vprot = cfg.vprot && is_curr && self.is_protected(cfg, ents, id);
        let entity = ents.at(id);
        let old = entity.weight.0;
        let rescale = |span: i64| scale(span, old, weight.0.max(1));
        if scales_vruntime {
            let rel_deadline = rescale(entity.deadline.since(average));
            let rel_vprot = rescale(entity.vprot.since(average));
            entity.vruntime = average.offset(-rescale(lag));
            entity.deadline = average.offset(rel_deadline);
            if renew_vprot {
                entity.vprot = average.offset(rel_vprot);
            }
        } else {
            let rest = rescale(entity.deadline.since(entity.vruntime));
            entity.deadline = entity.vruntime.offset(rest);
        }
        self.load.0 = self.load.0 - old + weight.0;
        entity.weight = weight;
        entity.inverse = weight.sum_inverse();
        if !is_curr {
            self.tree_insert(cfg, ents, id);
        }
    }
}

impl RqConfig {
    /// The request that the fair class makes.
    #[inline]
    pub(crate) const fn request(&self) -> Resched {
        if self.lazy {
            Resched::Lazy
        } else {
            Resched::Now
        }
    }
}

/// `span * num / den`, truncating.
pub(crate) fn scale(span: i64, num: u64, den: u64) -> i64 {
    if let (Ok(num), Ok(den)) = (i64::try_from(num), i64::try_from(den))
        && let Some(product) = span.checked_mul(num)
    {
        return product / den;
    }
    (i128::from(span) * i128::from(num) / i128::from(den)) as i64
}

/// Scales what a task that is on no queue keeps, for a new weight.
pub(crate) fn reweight_unqueued(cfg: &RqConfig, entity: &mut crate::Entity, old: crate::Weight) {
    let new = entity.weight.0.max(1);
    entity.vlag = scale(entity.vlag, old.0, new);
    if entity.rel_deadline && cfg.has(Feature::REWEIGHT_REL_DEADLINE) {
        entity.deadline = Vruntime(scale(entity.deadline.0 as i64, old.0, new) as u64);
    }
}
