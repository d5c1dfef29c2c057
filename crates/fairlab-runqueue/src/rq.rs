//! The fair part of one CPU: its root queue and the queues of its groups.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use fairlab_units::{CpuId, Nanos, Timestamp};

use crate::cfs_rq::CfsRq;
use crate::config::RqConfig;
use crate::entity::{Entities, EntityId, Policy};
use crate::flags::{DequeueFlags, Dequeued, EnqueueFlags, WakeFlags};
use crate::group::{Cause, Counts};
use crate::{Resched, Vruntime, Weight};

/// The fair queues of one CPU.
///
/// Every method takes the arena first, and `now` is the CPU's `clock_task`.
///
/// # Source
/// Linux v5.4 to v7.2 `kernel/sched/fair.c`, the `fair_sched_class` operations.
#[derive(Clone, Debug)]
#[doc(alias = "fair_sched_class")]
pub struct FairRq {
    /// The same for all CPUs of a machine.
    pub(crate) cfg: Arc<RqConfig>,
    pub(crate) cpu: CpuId,
    /// Position 0 is the root.
    pub(crate) queues: Vec<CfsRq>,
    /// Newest and oldest task of the list of recently run ones.
    pub(crate) newest: EntityId,
    pub(crate) oldest: EntityId,
    /// Tasks whose delayed dequeue was completed and not yet reported.
    pub(crate) left: EntityId,
}

impl FairRq {
    /// Empty queues of CPU 0. CPUs of one machine may share the configuration.
    #[must_use]
    pub fn new(cfg: impl Into<Arc<RqConfig>>) -> Self {
        Self::on_cpu(cfg, CpuId(0))
    }

    /// Empty queues of a CPU. The number matters only for bandwidth control.
    #[must_use]
    pub fn on_cpu(cfg: impl Into<Arc<RqConfig>>, cpu: CpuId) -> Self {
        Self {
            cfg: cfg.into(),
            cpu,
            queues: vec![CfsRq::new(EntityId::NONE)],
            newest: EntityId::NONE,
            oldest: EntityId::NONE,
            left: EntityId::NONE,
        }
    }

    /// The switches and numbers of this queue.
    #[must_use]
    pub fn config(&self) -> &RqConfig {
        &self.cfg
    }

    /// The root queue.
    #[inline]
    #[must_use]
    pub fn root(&self) -> &CfsRq {
        &self.queues[0]
    }

    /// Tasks on the CPU that count for `nr_running`; delayed ones do.
    #[inline]
    #[must_use]
    #[doc(alias = "h_nr_running")]
    pub fn h_nr_queued(&self) -> u32 {
        self.root().h_nr_queued
    }

    /// Tasks that want to run.
    #[inline]
    #[must_use]
    #[doc(alias = "cfs_h_nr_runnable")]
    pub fn h_nr_runnable(&self) -> u32 {
        self.root().h_nr_runnable
    }

    /// `SCHED_IDLE` tasks and tasks of idle groups.
    #[inline]
    #[must_use]
    #[doc(alias = "cfs_idle_h_nr")]
    pub fn h_nr_idle(&self) -> u32 {
        self.root().h_nr_idle
    }

    /// Sum of the weights of the entities of the root queue, scaled.
    #[inline]
    #[must_use]
    pub fn load(&self) -> Weight {
        self.root().load
    }

    /// The task that runs, even if it has left the queue already.
    #[must_use]
    pub fn curr(&self, ents: &Entities) -> Option<EntityId> {
        let mut queue = &self.queues[0];
        loop {
            let curr = queue.curr.some()?;
            if ents[curr].is_task() {
                return Some(curr);
            }
            queue = &self.queues[ents[curr].my_queue as usize];
        }
    }

    /// The average vruntime of the root queue (its floor `min_vruntime` under CFS).
    #[must_use]
    pub fn avg_vruntime(&self, ents: &Entities) -> Vruntime {
        if self.cfg.eevdf {
            self.root().average(&self.cfg, ents)
        } else {
            self.root().min_vruntime
        }
    }

    /// Is the entity owed service in its queue? Always true under CFS.
    #[must_use]
    pub fn is_eligible(&self, ents: &Entities, id: EntityId) -> bool {
        let entity = &ents[id];
        let queue = &self.queues[entity.queue as usize];
        !self.cfg.eevdf || queue.is_eligible(&self.cfg, ents, entity.vruntime)
    }

    /// The waiting entities of the root queue, in the order of its tree.
    pub fn iter<'a>(&self, ents: &'a Entities) -> impl Iterator<Item = EntityId> + 'a {
        self.queues[0].timeline.iter(&ents.nodes)
    }

    /// Charges the running task with the time since it was last accounted.
    pub fn update_curr(&mut self, ents: &mut Entities, now: Timestamp) -> Resched {
        match self.curr(ents) {
            Some(curr) => self.charge(ents, ents[curr].queue, now),
            None => Resched::None,
        }
    }

    /// Charges the running entity of one queue.
    #[inline]
    pub(crate) fn charge(&mut self, ents: &mut Entities, queue: u32, now: Timestamp) -> Resched {
        let (delta, resched) = self.queues[queue as usize].update_curr(&self.cfg, ents, now);
        if queue == 0 || delta == 0 {
            return resched;
        }
        resched.or(self.account_runtime(ents, queue, delta))
    }

    /// Takes a sleeping task away from this CPU: it will wake up on another one. Call it when the
    /// other CPU is chosen, before the enqueue there.
    ///
    /// # Source
    /// Linux v5.4 to v7.2 `kernel/sched/fair.c`, `migrate_task_rq_fair()`.
    #[doc(alias = "migrate_task_rq_fair")]
    pub fn migrate_wakeup(&mut self, ents: &mut Entities, id: EntityId) {
        debug_assert!(!ents[id].on_rq, "only a sleeping task is moved at wakeup");
        if !self.cfg.eevdf {
            let floor = self.queues[ents[id].queue as usize].min_vruntime;
            let entity = ents.at(id);
            entity.vruntime = entity.vruntime.minus(floor.0);
        }
    }

    /// Gives a sleeping task, which [`Self::migrate_wakeup`] took away, its place on this CPU before it
    /// wakes up: it has changed its group.
    pub(crate) fn rebase_wakeup(&self, ents: &mut Entities, id: EntityId) {
        if !self.cfg.eevdf {
            let floor = self.queues[ents[id].queue as usize].min_vruntime;
            let entity = ents.at(id);
            entity.vruntime = entity.vruntime.plus(floor.0);
        }
    }

    /// Adds a task, or wakes a delayed one where it is.
    #[doc(alias = "enqueue_task_fair")]
    pub fn enqueue(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        flags: EnqueueFlags,
        now: Timestamp,
    ) -> Resched {
        let delayed = ents[id].delayed;
        if delayed && ents[id].on_rq {
            return self.requeue_delayed(ents, id, now);
        }
        debug_assert!(!ents[id].on_rq, "an entity is enqueued once");
        let idle = ents[id].policy == Policy::Idle;
        // The group's entity on this CPU; the task may come from another one.
        ents.at(id).parent = self.queues[ents[id].queue as usize].entity;
        let mut resched = self.enqueue_entity(ents, id, flags, now);
        self.push_newest(ents, id);
        let q = ents[id].queue;
        let queue = &mut self.queues[q as usize];
        queue.h_nr_queued += 1;
        queue.h_nr_runnable += u32::from(!delayed);
        queue.h_nr_idle += u32::from(idle);
        if queue.entity != EntityId::NONE {
            let counts = Counts {
                queued: 1,
                runnable: u32::from(!delayed),
                idle: u32::from(idle),
            };
            resched = resched.or(self.enqueue_above(ents, q, counts, now));
        }
        resched
    }

    /// Takes a task off, unless it has to stay until its lag is paid.
    #[doc(alias = "dequeue_task_fair")]
    pub fn dequeue(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        flags: DequeueFlags,
        now: Timestamp,
    ) -> (Dequeued, Resched) {
        debug_assert!(ents[id].on_rq, "only a queued entity is dequeued");
        let was_delayed = ents[id].delayed;
        let idle = ents[id].policy == Policy::Idle;
        let (dequeued, mut resched) = self.dequeue_entity(ents, id, flags, now);
        let q = ents[id].queue as usize;
        if dequeued == Dequeued::Delayed {
            self.uncount_runnable(ents, id);
            return (dequeued, resched);
        }
        self.unlink(ents, id);
        let queue = &mut self.queues[q];
        queue.h_nr_queued -= 1;
        queue.h_nr_runnable -= u32::from(!was_delayed);
        queue.h_nr_idle -= u32::from(idle);
        if queue.entity != EntityId::NONE {
            let counts = Counts {
                queued: 1,
                runnable: u32::from(!was_delayed),
                idle: u32::from(idle),
            };
            let cause = if flags.sleep {
                Cause::Sleep
            } else {
                Cause::Other
            };
            resched = resched.or(self.dequeue_above(ents, q as u32, counts, cause, now));
        }
        (dequeued, resched)
    }

    /// The task that should run now. The running one may be the answer; otherwise follow up with
    /// [`Self::put_prev`] and [`Self::set_next`].
    ///
    /// Delayed sleepers that come to the front leave the queue: ask [`Self::pop_left`] for them.
    #[doc(alias = "pick_next_task_fair")]
    pub fn pick_next(&mut self, ents: &mut Entities, now: Timestamp) -> Option<EntityId> {
        'again: loop {
            let mut q = 0;
            loop {
                let queue = &mut self.queues[q];
                let curr = queue.queued_curr(ents);
                if curr != EntityId::NONE {
                    // The request of this accounting is moot: a pick is under way.
                    let _ = self.charge(ents, q as u32, now);
                }
                if q != 0 && self.throttle_if_spent(ents, q as u32, now) {
                    continue 'again;
                }
                let queue = &mut self.queues[q];
                if queue.nr_queued == 0 {
                    return None;
                }
                let pick = if self.cfg.eevdf {
                    queue
                        .buddy_before_pick(&self.cfg, ents)
                        .unwrap_or_else(|| queue.pick_eevdf(&self.cfg, ents, true))
                } else {
                    queue.pick_cfs(&self.cfg, ents)
                };
                if ents[pick].delayed {
                    self.complete_delayed(ents, pick, now);
                    continue 'again;
                }
                if ents[pick].is_task() {
                    return Some(pick);
                }
                q = ents[pick].my_queue as usize;
            }
        }
    }

    /// Makes a queued task the running one.
    #[doc(alias = "set_next_task_fair")]
    pub fn set_next(&mut self, ents: &mut Entities, id: EntityId, now: Timestamp) {
        self.unlink(ents, id);
        self.push_newest(ents, id);
        let mut at = id;
        while at != EntityId::NONE {
            self.set_next_entity(ents, at, now, true);
            at = ents[at].parent;
        }
    }

    /// Puts the running task back into the tree, or lets it go if it has left the queue.
    ///
    /// The request that its last accounting makes is moot, because a switch is under way.
    #[doc(alias = "put_prev_task_fair")]
    pub fn put_prev(&mut self, ents: &mut Entities, id: EntityId, now: Timestamp) {
        let mut at = id;
        while at != EntityId::NONE {
            self.put_prev_entity(ents, at, now);
            at = ents[at].parent;
        }
    }

    /// The periodic tick.
    #[doc(alias = "task_tick_fair")]
    pub fn tick(&mut self, ents: &mut Entities, now: Timestamp) -> Resched {
        let mut resched = Resched::None;
        let mut at = self.curr(ents).unwrap_or(EntityId::NONE);
        while at != EntityId::NONE {
            resched = resched.or(self.charge(ents, ents[at].queue, now));
            self.update_group_weight(ents, at, now);
            if !self.cfg.eevdf {
                resched = resched.or(self.check_preempt_tick(ents, at));
            }
            at = ents[at].parent;
        }
        resched
    }

    /// The slice of a queued task, or of one that would be queued, in ns of run time.
    #[must_use]
    pub fn slice_of(&self, ents: &Entities, id: EntityId) -> Nanos {
        Nanos(if !self.cfg.eevdf {
            self.slice(ents, id)
        } else if ents[id].custom_slice {
            ents[id].slice
        } else {
            self.cfg.base_slice
        })
    }

    /// Should the woken task run at once?
    ///
    /// The running task must be of the fair class; against other classes the class decides.
    #[doc(alias = "wakeup_preempt_fair")]
    #[doc(alias = "check_preempt_wakeup_fair")]
    pub fn check_preempt_wakeup(
        &mut self,
        ents: &mut Entities,
        wakee: EntityId,
        flags: WakeFlags,
        now: Timestamp,
    ) -> Resched {
        let Some(curr) = self.curr(ents) else {
            return Resched::None;
        };
        if curr == wakee || (ents[wakee].queue != 0 && self.is_throttled(ents, wakee)) {
            return Resched::None;
        }
        if self.cfg.eevdf {
            self.preempt_eevdf(ents, curr, wakee, flags, now)
        } else {
            self.preempt_cfs(ents, curr, wakee, flags, now)
        }
    }

    /// Is this an idle task, or the entity of an idle group?
    pub(crate) fn is_idle_entity(&self, ents: &Entities, id: EntityId) -> bool {
        let entity = &ents[id];
        if entity.is_task() {
            entity.policy == Policy::Idle
        } else {
            self.queues[entity.my_queue as usize].idle
        }
    }
}
