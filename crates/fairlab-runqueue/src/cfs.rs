//! CFS (to v6.5): slices, sleeper credit, buddies, pick.

use fairlab_kernel::Feature;
use fairlab_units::Timestamp;

use crate::Resched;
use crate::cfs_rq::CfsRq;
use crate::config::RqConfig;
use crate::entity::{Entities, EntityId};
use crate::rq::FairRq;
use crate::timeline::NIL;

/// A sleep so long that comparing vruntimes could wrap: `2^63 / 1024` ns.
const LONGEST_COMPARABLE_SLEEP: u64 = (1 << 63) / 1024;

impl RqConfig {
    /// The period in which each of `nr` entities runs once.
    #[inline]
    pub(crate) fn period(&self, nr: u32) -> u64 {
        if nr > self.nr_latency {
            u64::from(nr) * self.min_granularity
        } else {
            self.latency
        }
    }

    /// The shortest slice of an entity; idle ones have their own where others compete.
    pub(crate) fn least_slice(&self, is_idle: bool, all_idle: bool) -> u64 {
        if is_idle && !all_idle && self.has(Feature::IDLE_MIN_GRANULARITY) {
            self.idle_min_granularity
        } else {
            self.min_granularity
        }
    }
}

impl CfsRq {
    /// Puts a woken entity at most its sleeper credit behind the queue (`place_entity`).
    pub(crate) fn place_cfs_wakeup(
        &self,
        cfg: &RqConfig,
        ents: &mut Entities,
        id: EntityId,
        is_idle: bool,
        now: Timestamp,
    ) {
        let mut credit = if is_idle && cfg.has(Feature::IDLE_MIN_GRANULARITY) {
            cfg.min_granularity
        } else {
            cfg.latency
        };
        if cfg.has(Feature::GENTLE_FAIR_SLEEPERS) {
            credit >>= 1;
        }
        let entity = ents.at(id);
        let floor = self.min_vruntime.minus(credit);
        let slept = now.0.saturating_sub(entity.exec_start.0);
        let too_long = cfg.has(Feature::SLEEPER_WRAP_GUARD) && slept > LONGEST_COMPARABLE_SLEEP;
        entity.vruntime = if too_long {
            floor
        } else {
            entity.vruntime.later(floor)
        };
    }

    /// Puts a new entity one slice behind the queue.
    pub(crate) fn place_cfs_new(
        &self,
        cfg: &RqConfig,
        ents: &mut Entities,
        id: EntityId,
        vslice: u64,
    ) {
        let mut start = self.min_vruntime;
        if cfg.has(Feature::START_DEBIT) {
            start = start.plus(vslice);
        }
        let entity = ents.at(id);
        entity.vruntime = entity.vruntime.later(start);
    }

    /// -1: `se` is not before `curr`; 1: it is ahead by more than the wakeup granularity; else 0
    /// (`wakeup_preempt_entity`).
    #[doc(alias = "wakeup_preempt_entity")]
    pub(crate) fn preempts(cfg: &RqConfig, ents: &Entities, curr: EntityId, se: EntityId) -> i32 {
        let lead = ents[curr].vruntime.since(ents[se].vruntime);
        if lead <= 0 {
            -1
        } else {
            i32::from(lead as u64 > cfg.fair(cfg.wakeup_granularity, &ents[se]))
        }
    }

    /// The entity to run: the earliest, unless a buddy is close enough behind it.
    pub(crate) fn pick_cfs(&mut self, cfg: &RqConfig, ents: &Entities) -> EntityId {
        let curr = self.queued_curr(ents);
        let before = |a: EntityId, b: EntityId| ents[a].vruntime.is_before(ents[b].vruntime);
        let tree_first = EntityId(self.timeline.first());
        let mut left = tree_first;
        if left == EntityId::NONE || (curr != EntityId::NONE && before(curr, left)) {
            left = curr;
        }
        if left == EntityId::NONE {
            return left;
        }
        let mut pick = left;
        if self.skip == pick {
            let mut second = if pick == curr {
                tree_first
            } else {
                EntityId(self.timeline.next(&ents.nodes, pick.0))
            };
            if second.0 == NIL || (curr != EntityId::NONE && before(curr, second)) {
                second = curr;
            }
            if second != EntityId::NONE && Self::preempts(cfg, ents, second, left) < 1 {
                pick = second;
            }
        }
        let close = |id: EntityId| {
            id != EntityId::NONE && ents[id].on_rq && Self::preempts(cfg, ents, id, left) < 1
        };
        if close(self.next) {
            pick = self.next;
        } else if close(self.last) {
            pick = self.last;
        }
        pick
    }
}

impl FairRq {
    /// Prepares a new task on the queue of its parent, before a CPU is chosen for it (CFS only;
    /// later releases do nothing here).
    ///
    /// # Source
    /// Linux v5.4 to v6.5 `kernel/sched/fair.c`, `task_fork_fair()`.
    #[doc(alias = "task_fork_fair")]
    pub fn fork(&mut self, ents: &mut Entities, child: EntityId, now: Timestamp) -> Resched {
        if self.cfg.eevdf {
            return Resched::None;
        }
        let queue = ents[child].queue;
        let mut resched = self.charge(ents, queue, now);
        let curr = self.queues[queue as usize].curr;
        if curr != EntityId::NONE {
            ents.at(child).vruntime = ents[curr].vruntime;
        }
        let slice = self.slice(ents, child);
        let vslice = self.cfg.fair(slice, &ents[child]);
        let cfs_rq = &self.queues[queue as usize];
        cfs_rq.place_cfs_new(&self.cfg, ents, child, vslice);
        let child_first = self.cfg.kernel.tunables.child_runs_first != 0;
        if child_first
            && curr != EntityId::NONE
            && ents[curr].vruntime.is_before(ents[child].vruntime)
        {
            let (a, b) = (ents[curr].vruntime, ents[child].vruntime);
            ents.at(curr).vruntime = b;
            ents.at(child).vruntime = a;
            resched = Resched::Now;
        }
        let floor = cfs_rq.min_vruntime;
        let entity = ents.at(child);
        entity.vruntime = entity.vruntime.minus(floor.0);
        resched
    }

    /// CFS: has the running entity had its share?
    pub(crate) fn check_preempt_tick(&mut self, ents: &mut Entities, curr: EntityId) -> Resched {
        let q = ents[curr].queue as usize;
        if self.queues[q].nr_queued <= 1 {
            return Resched::None;
        }
        let ideal = self.slice(ents, curr);
        let entity = &ents[curr];
        let ran = entity.sum_exec.saturating_sub(entity.prev_sum_exec).0;
        if ran > ideal {
            self.queues[q].clear_buddies(curr);
            return Resched::Now;
        }
        if ran < self.cfg.min_granularity {
            return Resched::None;
        }
        let Some(first) = EntityId(self.queues[q].timeline.first()).some() else {
            return Resched::None;
        };
        let lead = entity.vruntime.since(ents[first].vruntime);
        // A virtual time compared with a real one, as in Linux.
        if lead > 0 && lead as u64 > ideal {
            Resched::Now
        } else {
            Resched::None
        }
    }

    /// CFS: the real time that the entity may run at once, in ns.
    ///
    /// # Source
    /// Linux v5.4 to v6.5 `kernel/sched/fair.c`, `sched_slice()`.
    #[doc(alias = "sched_slice")]
    pub(crate) fn slice(&self, ents: &Entities, id: EntityId) -> u64 {
        let first = &ents[id];
        let nr = if self.cfg.has(Feature::ALT_PERIOD) {
            self.root().h_nr_queued
        } else {
            self.queues[first.queue as usize].nr_queued
        };
        let mut slice = self.cfg.period(nr + u32::from(!first.on_rq));
        let mut at = id;
        while at != EntityId::NONE {
            let entity = &ents[at];
            let mut load = self.queues[entity.queue as usize].load;
            if !entity.on_rq {
                load = load + entity.weight;
            }
            slice = self.cfg.share(slice, entity.weight, load);
            at = entity.parent;
        }
        if self.cfg.has(Feature::BASE_SLICE) {
            let queue = &self.queues[first.queue as usize];
            let is_idle = self.is_idle_entity(ents, id);
            let all_idle = queue.nr_queued > 0 && queue.h_nr_idle == queue.h_nr_queued;
            slice = slice.max(self.cfg.least_slice(is_idle, all_idle));
        }
        slice
    }
}
