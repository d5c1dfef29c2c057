//! A CPU's queues go on under another kernel, from the state that they are in.
//!
//! No kernel does this: it is for asking what another one would do from here on. What a queue owes its
//! entities is what both schedulers mean by fairness, so that is kept: the distance of each vruntime
//! from the weighted average. What only one of them knows (deadlines, protection, buddies) begins anew.

use alloc::sync::Arc;
use alloc::vec::Vec;

use fairlab_units::Timestamp;

use crate::Vruntime;
use crate::cfs_rq::CfsRq;
use crate::config::RqConfig;
use crate::entity::{Entities, EntityId};
use crate::rq::FairRq;

/// What the sleepers of a CPU have to know of its queues before and after, see [`FairRq::turn_sleeper`].
#[derive(Clone, Debug)]
#[must_use = "the sleepers of the CPU have to turn, too"]
pub struct Turned {
    was_eevdf: bool,
    /// The point that owes nothing, of each queue.
    neutral: Vec<Vruntime>,
}

impl FairRq {
    /// Goes on under `cfg` at `now`: queued and running tasks keep what they are owed, within the
    /// limits that `cfg` has for it.
    ///
    /// * Between two kernels of the same kind (CFS, EEVDF) vruntimes, deadlines and slices stay. The
    ///   protection of what runs begins anew where its form differs.
    /// * From CFS to EEVDF an entity gets a slice and a deadline as if it had joined now; lag beyond the
    ///   limit is cut off.
    /// * From EEVDF to CFS vruntimes stay, and `min_vruntime` is the earliest.
    /// * Delayed sleepers leave when `cfg` does not delay dequeues: ask [`Self::pop_left`] for them.
    ///
    /// Afterwards call [`Self::turn_sleeper`] for every task of the CPU that is not queued.
    pub fn turn(
        &mut self,
        ents: &mut Entities,
        cfg: impl Into<Arc<RqConfig>>,
        now: Timestamp,
    ) -> Turned {
        let cfg = cfg.into();
        for queue in 0..self.queues.len() as u32 {
            // A switch of kernels is no reason to reschedule; the next tick will tell.
            let _ = self.charge(ents, queue, now);
        }
        if self.cfg.delay_dequeue && !cfg.delay_dequeue {
            self.let_delayed_go(ents, now);
        }
        let was = Arc::clone(&self.cfg);
        let neutral: Vec<Vruntime> = self
            .queues
            .iter_mut()
            .map(|queue| queue.turn(ents, &was, &cfg))
            .collect();
        self.cfg = cfg;
        let turned = Turned {
            was_eevdf: was.eevdf,
            neutral,
        };
        let groups: Vec<EntityId> = self.queues.iter().filter_map(|q| q.entity.some()).collect();
        for group in groups {
            self.turn_sleeper(ents, group, &turned, false);
        }
        turned
    }

    /// A task of this CPU that is not queued keeps what it is owed, in the terms of the new kernel.
    ///
    /// `has_left`: it is on its way to another CPU, [`Self::migrate_wakeup`] was called for it. Nothing
    /// happens to a queued one, so the caller may go through all tasks of the CPU.
    pub fn turn_sleeper(&self, ents: &mut Entities, id: EntityId, turned: &Turned, has_left: bool) {
        if ents[id].on_rq || turned.was_eevdf == self.cfg.eevdf {
            return;
        }
        let cfg = &self.cfg;
        let queue = ents[id].queue as usize;
        let neutral = if has_left {
            Vruntime(0)
        } else {
            turned.neutral[queue]
        };
        let had_run = ents[id].has_run();
        if cfg.eevdf {
            ents.at(id).slice = cfg.base_slice;
            // One that never ran is placed as a new one whatever it carries.
            let lag = if had_run {
                neutral.since(ents[id].vruntime)
            } else {
                0
            };
            let limit = self.queues[queue].lag_limit(cfg, ents, id);
            let entity = ents.at(id);
            entity.vlag = lag.clamp(-limit, limit);
            entity.rel_deadline = false;
        } else {
            let entity = ents.at(id);
            entity.vruntime = neutral.offset(-entity.vlag);
        }
    }

    /// Ends all delayed dequeues, the tasks' before those of the groups that they leave empty.
    fn let_delayed_go(&mut self, ents: &mut Entities, now: Timestamp) {
        let tasks: Vec<EntityId> = self
            .iter_oldest(ents)
            .filter(|id| ents[*id].delayed)
            .collect();
        let groups: Vec<EntityId> = self.queues.iter().filter_map(|q| q.entity.some()).collect();
        // Deeper groups have higher numbers.
        for id in tasks.into_iter().chain(groups.into_iter().rev()) {
            if ents[id].on_rq && ents[id].delayed {
                self.complete_delayed(ents, id, now);
            }
        }
    }
}

impl CfsRq {
    /// Rebuilds tree and sums under `cfg`. Gives the point that owes nothing.
    fn turn(&mut self, ents: &mut Entities, was: &RqConfig, cfg: &RqConfig) -> Vruntime {
        let waiting: Vec<EntityId> = self.timeline.iter(&ents.nodes).collect();
        let curr = self.queued_curr(ents).some();
        let neutral = if was.eevdf {
            self.average(was, ents)
        } else {
            self.average_of(ents, waiting.iter().copied().chain(curr))
        };
        for id in &waiting {
            self.tree_remove(was, ents, *id);
        }
        let changes_kind = was.eevdf != cfg.eevdf;
        let earliest = waiting
            .iter()
            .copied()
            .chain(curr)
            .map(|id| ents[id].vruntime)
            .reduce(Vruntime::earlier);
        if cfg.eevdf {
            self.zero = neutral;
            self.sum_w_vruntime = 0;
            self.sum_weight = 0;
        }
        if changes_kind || was.zero_vruntime != cfg.zero_vruntime {
            self.min_vruntime = earliest.unwrap_or(neutral);
        }
        if changes_kind {
            for buddy in [&mut self.next, &mut self.last, &mut self.skip] {
                *buddy = EntityId::NONE;
            }
        }
        for id in waiting.iter().copied().chain(curr) {
            if changes_kind && cfg.eevdf {
                ents.at(id).slice = cfg.base_slice;
                let limit = self.lag_limit(cfg, ents, id);
                let entity = ents.at(id);
                let lag = neutral.since(entity.vruntime).clamp(-limit, limit);
                entity.vruntime = neutral.offset(-lag);
                let vslice = cfg.fair(entity.slice, entity);
                entity.deadline = entity.vruntime.plus(vslice);
                entity.rel_deadline = false;
            }
        }
        for id in waiting {
            self.tree_insert(cfg, ents, id);
        }
        if let Some(curr) = curr
            && cfg.eevdf
            && (changes_kind || was.vprot != cfg.vprot)
        {
            self.protect(cfg, ents, curr);
        }
        neutral
    }

    /// The weighted average of the vruntimes of `queued`; the floor of the queue when there are none.
    fn average_of(&self, ents: &Entities, queued: impl Iterator<Item = EntityId>) -> Vruntime {
        let floor = self.min_vruntime;
        let (sum, weight) = queued.fold((0i128, 0i128), |(sum, weight), id| {
            let w = i128::from(ents[id].weight.0);
            (
                sum + i128::from(ents[id].vruntime.since(floor)) * w,
                weight + w,
            )
        });
        if weight == 0 {
            return floor;
        }
        floor.offset(sum.div_euclid(weight) as i64)
    }
}
