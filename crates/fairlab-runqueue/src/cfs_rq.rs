//! One queue: the root of a CPU, or one group on one CPU.

use crate::config::RqConfig;
use crate::entity::{Entities, Entity, EntityId};
use crate::group::GroupState;
use crate::timeline::{Keys, Timeline};
use crate::weight::Weight;
use crate::{Resched, Vruntime};

/// One queue of entities and the sums over them.
///
/// # Source
/// Linux v5.4 to v7.2 `kernel/sched/sched.h`, `struct cfs_rq`.
#[derive(Clone, Debug)]
#[doc(alias = "cfs_rq")]
pub struct CfsRq {
    pub(crate) timeline: Timeline,
    /// The running entity; it is not in the tree, and may have left the queue already.
    pub(crate) curr: EntityId,
    pub(crate) next: EntityId,
    pub(crate) last: EntityId,
    pub(crate) skip: EntityId,
    /// EEVDF: the reference of the sum below, and the average as last computed.
    pub(crate) zero: Vruntime,
    /// CFS, and EEVDF of v6.6 for an empty queue: never goes back.
    pub(crate) min_vruntime: Vruntime,
    /// EEVDF: sum over the tree of weight times (vruntime - zero).
    pub(crate) sum_w_vruntime: i128,
    /// EEVDF: sum of weights over the tree.
    pub(crate) sum_weight: u64,
    /// Sum of scaled weights, the running entity included if it is queued.
    pub(crate) load: Weight,
    pub(crate) nr_queued: u32,
    pub(crate) h_nr_queued: u32,
    pub(crate) h_nr_runnable: u32,
    pub(crate) h_nr_idle: u32,
    /// Group made idle by `cpu.idle`.
    pub(crate) idle: bool,
    /// The entity that stands for this queue in the queue above; none for the root.
    pub(crate) entity: EntityId,
    pub(crate) group: GroupState,
}

impl CfsRq {
    pub(crate) fn new(entity: EntityId) -> Self {
        Self {
            timeline: Timeline::EMPTY,
            curr: EntityId::NONE,
            next: EntityId::NONE,
            last: EntityId::NONE,
            skip: EntityId::NONE,
            zero: Vruntime::START,
            min_vruntime: Vruntime::START,
            sum_w_vruntime: 0,
            sum_weight: 0,
            load: Weight::ZERO,
            nr_queued: 0,
            h_nr_queued: 0,
            h_nr_runnable: 0,
            h_nr_idle: 0,
            idle: false,
            entity,
            group: GroupState::ROOT,
        }
    }

    /// Entities of this queue, the running one included.
    #[inline]
    #[must_use]
    #[doc(alias = "nr_running")]
    pub const fn nr_queued(&self) -> u32 {
        self.nr_queued
    }

    /// Tasks in this queue and all below it; delayed ones count.
    #[inline]
    #[must_use]
    #[doc(alias = "h_nr_running")]
    pub const fn h_nr_queued(&self) -> u32 {
        self.h_nr_queued
    }

    /// Tasks that want to run, in this queue and all below it.
    #[inline]
    #[must_use]
    pub const fn h_nr_runnable(&self) -> u32 {
        self.h_nr_runnable
    }

    /// `SCHED_IDLE` tasks and tasks of idle groups, in this queue and all below it.
    #[inline]
    #[must_use]
    #[doc(alias = "idle_h_nr_running")]
    pub const fn h_nr_idle(&self) -> u32 {
        self.h_nr_idle
    }

    /// Sum of the weights of its entities, scaled.
    #[inline]
    #[must_use]
    pub const fn load(&self) -> Weight {
        self.load
    }

    /// The running entity; it may have left the queue already.
    #[inline]
    #[must_use]
    pub const fn curr(&self) -> Option<EntityId> {
        self.curr.some()
    }

    /// Is the queue out of runtime (bandwidth control)?
    #[must_use]
    pub const fn is_throttled(&self) -> bool {
        self.group.throttled
    }

    /// CFS: the monotonic floor of vruntimes.
    #[must_use]
    pub const fn min_vruntime(&self) -> Vruntime {
        self.min_vruntime
    }

    /// EEVDF: the average vruntime as last computed.
    #[must_use]
    pub const fn zero_vruntime(&self) -> Vruntime {
        self.zero
    }

    /// EEVDF: sum over the waiting entities of weight times (vruntime - zero vruntime).
    #[must_use]
    #[doc(alias = "avg_vruntime")]
    pub const fn sum_w_vruntime(&self) -> i128 {
        self.sum_w_vruntime
    }

    /// EEVDF: sum of weights over the waiting entities (unscaled to v6.12).
    #[must_use]
    #[doc(alias = "avg_load")]
    pub const fn sum_weight(&self) -> u64 {
        self.sum_weight
    }

    /// The running entity, if it is (still) queued.
    #[inline]
    pub(crate) fn queued_curr(&self, ents: &Entities) -> EntityId {
        match self.curr.some() {
            Some(curr) if ents[curr].on_rq => curr,
            _ => EntityId::NONE,
        }
    }

    /// Puts an entity into the tree.
    #[inline]
    pub(crate) fn tree_insert(&mut self, cfg: &RqConfig, ents: &mut Entities, id: EntityId) {
        let entity = &ents.entities[id.index()];
        let key = if cfg.eevdf {
            let weight = cfg.sum_weight(entity.weight);
            let distance = entity.vruntime.since(self.zero);
            self.sum_w_vruntime += i128::from(distance) * i128::from(weight);
            self.sum_weight += weight;
            entity.deadline
        } else {
            entity.vruntime
        };
        let keys = Keys {
            key,
            vruntime: entity.vruntime,
            slice: entity.slice,
        };
        self.timeline.insert(&mut ents.nodes, id.0, keys);
    }

    /// Takes an entity out of the tree.
    #[inline]
    pub(crate) fn tree_remove(&mut self, cfg: &RqConfig, ents: &mut Entities, id: EntityId) {
        self.timeline.remove(&mut ents.nodes, id.0);
        if cfg.eevdf {
            let entity = &ents.entities[id.index()];
            let weight = cfg.sum_weight(entity.weight);
            let distance = entity.vruntime.since(self.zero);
            self.sum_w_vruntime -= i128::from(distance) * i128::from(weight);
            self.sum_weight -= weight;
        }
    }

    /// Counts an entity that joined.
    #[inline]
    pub(crate) fn account_enqueue(&mut self, entity: &Entity) {
        self.load.0 += entity.weight.0;
        self.nr_queued += 1;
    }

    /// Stops counting an entity that left.
    #[inline]
    pub(crate) fn account_dequeue(&mut self, entity: &Entity) {
        self.load.0 -= entity.weight.0;
        self.nr_queued -= 1;
    }

    /// Forgets an entity as buddy.
    #[inline]
    pub(crate) fn clear_buddies(&mut self, id: EntityId) {
        for buddy in [&mut self.next, &mut self.last, &mut self.skip] {
            if *buddy == id {
                *buddy = EntityId::NONE;
            }
        }
    }

    /// Sum of weighted distances from `zero`, and sum of weights, over all queued entities.
    #[inline]
    pub(crate) fn totals(&self, cfg: &RqConfig, ents: &Entities) -> (i128, u64) {
        let (mut sum, mut weight) = (self.sum_w_vruntime, self.sum_weight);
        if let Some(curr) = self.queued_curr(ents).some() {
            let curr = &ents[curr];
            let w = cfg.sum_weight(curr.weight);
            sum += i128::from(curr.vruntime.since(self.zero)) * i128::from(w);
            weight += w;
        }
        (sum, weight)
    }

    /// The weighted average of the vruntimes of all queued entities, rounded down.
    ///
    /// An entity is eligible if it is not after this point: the average is rounded down and
    /// vruntimes are whole numbers, so this equals the comparison without rounding.
    #[inline]
    pub(crate) fn average(&self, cfg: &RqConfig, ents: &Entities) -> Vruntime {
        if self.sum_weight == 0
            && let Some(curr) = self.queued_curr(ents).some()
        {
            return ents[curr].vruntime;
        }
        let (sum, weight) = self.totals(cfg, ents);
        if weight == 0 {
            return if cfg.zero_vruntime {
                self.zero
            } else {
                self.min_vruntime
            };
        }
        self.zero.offset(floor_div(sum, weight))
    }

    /// Computes the average and makes it the new reference of the sums.
    #[inline]
    pub(crate) fn keep_average(&mut self, cfg: &RqConfig, ents: &Entities) -> Vruntime {
        let average = self.average(cfg, ents);
        self.move_zero(average.since(self.zero));
        average
    }

    /// Moves the reference of the sums by `delta`.
    #[inline]
    pub(crate) fn move_zero(&mut self, delta: i64) {
        self.sum_w_vruntime -= i128::from(delta) * i128::from(self.sum_weight);
        self.zero = self.zero.offset(delta);
    }

    /// Is an entity at `vruntime` owed service? `avg_vruntime >= vruntime`, without rounding.
    #[inline]
    pub(crate) fn is_eligible(&self, cfg: &RqConfig, ents: &Entities, vruntime: Vruntime) -> bool {
        let (sum, weight) = self.totals(cfg, ents);
        sum >= i128::from(vruntime.since(self.zero)) * i128::from(weight)
    }

    /// CFS and v6.6: lets `min_vruntime` follow the earliest queued entity.
    #[inline]
    pub(crate) fn advance_min_vruntime(&mut self, ents: &Entities) {
        let mut candidate = self.timeline.min_vruntime(&ents.nodes);
        if let Some(curr) = self.queued_curr(ents).some() {
            let v = ents[curr].vruntime;
            candidate = Some(candidate.map_or(v, |c| c.earlier(v)));
        }
        if let Some(candidate) = candidate {
            self.min_vruntime = self.min_vruntime.later(candidate);
        }
    }

    /// Shortest and longest slice of all queued entities.
    pub(crate) fn slices(&self, ents: &Entities) -> Option<(u64, u64)> {
        let tree = self.timeline.slices(&ents.nodes);
        match self.queued_curr(ents).some() {
            Some(curr) => {
                let slice = ents[curr].slice;
                let (min, max) = tree.unwrap_or((slice, slice));
                Some((min.min(slice), max.max(slice)))
            }
            None => tree,
        }
    }

    /// Charges the running entity with the time since it was last accounted.
    ///
    /// Returns the nanoseconds charged, and the request to reschedule.
    pub(crate) fn update_curr(
        &mut self,
        cfg: &RqConfig,
        ents: &mut Entities,
        now: fairlab_units::Timestamp,
    ) -> (u64, Resched) {
        let Some(id) = self.curr.some() else {
            return (0, Resched::None);
        };
        let curr = &mut ents.entities[id.index()];
        if now <= curr.exec_start {
            return (0, Resched::None);
        }
        let delta = now - curr.exec_start;
        curr.exec_start = now;
        curr.sum_exec += delta;
        curr.vruntime = curr.vruntime.plus(cfg.fair(delta.0, curr));
        let resched = if cfg.eevdf {
            self.end_slice(cfg, ents, id)
        } else {
            Resched::None
        };
        if !cfg.zero_vruntime {
            self.advance_min_vruntime(ents);
        }
        (delta.0, resched)
    }
}

/// `sum / weight`, rounded down, for a weight above zero.
#[inline]
fn floor_div(sum: i128, weight: u64) -> i64 {
    // Sums fit in 64 bits but for very large or very unequal queues, and the short division is
    // several times faster.
    match (i64::try_from(sum), i64::try_from(weight)) {
        (Ok(sum), Ok(weight)) => sum.div_euclid(weight),
        _ => sum.div_euclid(i128::from(weight)) as i64,
    }
}
