//! Delayed dequeue (v6.12 on): a sleeper in debt stays in the queue until the debt is paid.
//!
//! ```text
//!   sleeps in debt -> delayed --- picked --------> completed: leaves, reported by pop_left
//!                        |------- woken ---------> requeued: runnable again where it is
//!                        `------- moved, changed -> dequeued as any other
//! ```

use fairlab_kernel::Feature;
use fairlab_units::Timestamp;

use crate::Resched;
use crate::entity::{Entities, EntityId};
use crate::flags::{DequeueFlags, Dequeued};
use crate::rq::FairRq;

impl FairRq {
    /// Counts a task that became delayed as not runnable, all the way up.
    pub(crate) fn uncount_runnable(&mut self, ents: &Entities, id: EntityId) {
        let mut at = id;
        while at != EntityId::NONE {
            let queue = &mut self.queues[ents[at].queue as usize];
            queue.h_nr_runnable -= 1;
            at = self.above_unless_throttled(ents, at);
        }
    }

    fn count_runnable(&mut self, ents: &Entities, id: EntityId) {
        let mut at = id;
        while at != EntityId::NONE {
            let queue = &mut self.queues[ents[at].queue as usize];
            queue.h_nr_runnable += 1;
            at = self.above_unless_throttled(ents, at);
        }
    }

    /// The entity of the group, or none where the group is cut off by throttling.
    fn above_unless_throttled(&self, ents: &Entities, id: EntityId) -> EntityId {
        if self.keeps_throttled(ents[id].queue as usize) {
            EntityId::NONE
        } else {
            ents[id].parent
        }
    }

    /// Wakes a delayed task where it is (`requeue_delayed_entity`).
    #[doc(alias = "requeue_delayed_entity")]
    pub(crate) fn requeue_delayed(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        now: Timestamp,
    ) -> Resched {
        let resched = self.requeue_delayed_entity(ents, id, now);
        self.count_runnable(ents, id);
        resched
    }

    pub(crate) fn requeue_delayed_entity(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        now: Timestamp,
    ) -> Resched {
        let q = ents[id].queue;
        let mut resched = Resched::None;
        if self.cfg.has(Feature::DELAY_LAG_KEPT) {
            resched = self.charge(ents, q, now);
        }
        let cfg = &self.cfg;
        let queue = &mut self.queues[q as usize];
        let place_again = if cfg.has(Feature::DELAY_LAG_KEPT) {
            queue.update_lag(cfg, ents, id);
            queue.zero.offset(-ents[id].vlag) != ents[id].vruntime
        } else if cfg.delay_zero {
            queue.update_lag(cfg, ents, id);
            let entity = ents.at(id);
            let in_credit = entity.vlag > 0;
            if in_credit {
                entity.vlag = 0;
            }
            in_credit
        } else {
            false
        };
        if place_again {
            let is_curr = queue.curr == id;
            queue.nr_queued -= 1;
            if !is_curr {
                queue.tree_remove(cfg, ents, id);
            }
            queue.place_eevdf(cfg, ents, id, false);
            if !is_curr {
                queue.tree_insert(cfg, ents, id);
            }
            queue.nr_queued += 1;
        }
        ents.at(id).delayed = false;
        resched
    }

    /// Lets a delayed entity leave that came to the front.
    pub(crate) fn complete_delayed(&mut self, ents: &mut Entities, id: EntityId, now: Timestamp) {
        let is_task = ents[id].is_task();
        let flags = DequeueFlags {
            sleep: true,
            special: false,
        };
        if is_task {
            // A pick is under way, so the request of the accounting is moot.
            let (dequeued, _) = self.dequeue(ents, id, flags, now);
            debug_assert_eq!(
                dequeued,
                Dequeued::Done,
                "a delayed entity is not delayed twice"
            );
            self.push_left(ents, id);
        } else {
            self.complete_delayed_group(ents, id, now);
        }
    }
}
