//! The fair part of one CPU: its root queue and the queues of its groups.

use alloc::vec;
use alloc::vec::Vec;

use fairlab_kernel::Feature;
use fairlab_units::{CpuId, Nanos, Timestamp};

use crate::cfs_rq::CfsRq;
use crate::config::RqConfig;
use crate::entity::{Entities, Entity, EntityId, Policy};
use crate::group::{Cause, Counts};
use crate::{Resched, Vruntime, Weight};

/// How an entity joins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EnqueueFlags {
    /// It wakes up.
    #[doc(alias = "ENQUEUE_WAKEUP")]
    pub wakeup: bool,
    /// It is a new task at its first enqueue.
    #[doc(alias = "ENQUEUE_INITIAL")]
    pub new: bool,
    /// Its last queue was that of another CPU (for a wakeup: [`FairRq::migrate_wakeup`] was
    /// called).
    #[doc(alias = "ENQUEUE_MIGRATED")]
    pub migrated: bool,
}

impl EnqueueFlags {
    /// A wakeup on the CPU where the task slept.
    pub const WAKEUP: Self = Self {
        wakeup: true,
        new: false,
        migrated: false,
    };
    /// A wakeup on another CPU.
    pub const WAKEUP_MIGRATED: Self = Self {
        wakeup: true,
        new: false,
        migrated: true,
    };
    /// The first enqueue of a new task.
    pub const NEW: Self = Self {
        wakeup: false,
        new: true,
        migrated: false,
    };
    /// A task that did not sleep and comes from another CPU.
    pub const MOVED: Self = Self {
        wakeup: false,
        new: false,
        migrated: true,
    };
    /// A task that is put back after a change.
    #[doc(alias = "ENQUEUE_RESTORE")]
    pub const RESTORED: Self = Self {
        wakeup: false,
        new: false,
        migrated: false,
    };
}

/// How an entity leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DequeueFlags {
    /// It goes to sleep; without this it is moved or changed.
    #[doc(alias = "DEQUEUE_SLEEP")]
    pub sleep: bool,
    /// It must not stay behind: stopped, traced, parked, frozen or dying.
    #[doc(alias = "DEQUEUE_SPECIAL")]
    pub special: bool,
}

impl DequeueFlags {
    /// An ordinary sleep.
    pub const SLEEP: Self = Self {
        sleep: true,
        special: false,
    };
    /// Exit, stop, park: a sleep that is never delayed.
    pub const SPECIAL: Self = Self {
        sleep: true,
        special: true,
    };
    /// Taken off to be moved to another CPU, or to be changed.
    pub const MOVE: Self = Self {
        sleep: false,
        special: false,
    };
}

/// What became of a dequeue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a delayed entity is still in the queue"]
pub enum Dequeued {
    /// It has left.
    Done,
    /// It sleeps, but stays in the queue until its lag is paid; it will turn up in
    /// [`FairRq::pop_left`], or be woken where it is.
    Delayed,
}

/// What a wakeup brings along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeFlags {
    /// The wakee is a new task.
    #[doc(alias = "WF_FORK")]
    pub fork: bool,
    /// The request that is pending on the CPU already.
    pub pending: Resched,
}

/// The fair queues of one CPU.
///
/// Every method takes the arena first, and `now` is the CPU's `clock_task`.
///
/// # Source
/// Linux v5.4 to v7.2 `kernel/sched/fair.c`, the `fair_sched_class` operations.
#[derive(Clone, Debug)]
#[doc(alias = "fair_sched_class")]
pub struct FairRq {
    pub(crate) cfg: RqConfig,
    pub(crate) cpu: CpuId,
    /// Position 0 is the root.
    pub(crate) queues: Vec<CfsRq>,
    /// Newest and oldest task of the list of recently run ones.
    newest: EntityId,
    oldest: EntityId,
    /// Tasks whose delayed dequeue was completed and not yet reported.
    left: EntityId,
}

impl FairRq {
    /// Empty queues of CPU 0.
    #[must_use]
    pub fn new(cfg: RqConfig) -> Self {
        Self::on_cpu(cfg, CpuId(0))
    }

    /// Empty queues of a CPU. The number matters only for bandwidth control.
    #[must_use]
    pub fn on_cpu(cfg: RqConfig, cpu: CpuId) -> Self {
        Self {
            cfg,
            cpu,
            queues: vec![CfsRq::new(EntityId::NONE)],
            newest: EntityId::NONE,
            oldest: EntityId::NONE,
            left: EntityId::NONE,
        }
    }

    /// The switches and numbers of this queue.
    #[must_use]
    pub const fn config(&self) -> &RqConfig {
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

    /// All tasks of the CPU, groups included, most recently enqueued or run first (`cfs_tasks`).
    ///
    /// The balancer of the kernel examines them from the other end: see [`Self::iter_oldest`].
    #[doc(alias = "cfs_tasks")]
    pub fn iter_newest<'a>(&self, ents: &'a Entities) -> impl Iterator<Item = EntityId> + 'a {
        core::iter::successors(self.newest.some(), |id| ents[*id].older.some())
    }

    /// Puts a task to the front of the list, as the balancer does with tasks that it examined and
    /// left where they are.
    pub fn move_to_newest(&mut self, ents: &mut Entities, id: EntityId) {
        debug_assert!(ents[id].on_rq, "only queued tasks are listed");
        self.unlink(ents, id);
        self.push_newest(ents, id);
    }

    /// All tasks of the CPU, groups included, least recently enqueued or run first.
    pub fn iter_oldest<'a>(&self, ents: &'a Entities) -> impl Iterator<Item = EntityId> + 'a {
        core::iter::successors(self.oldest.some(), |id| ents[*id].newer.some())
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

    /// A task whose delayed dequeue was completed by one of the calls since the last report.
    pub fn pop_left(&mut self, ents: &mut Entities) -> Option<EntityId> {
        let id = self.left.some()?;
        self.left = ents[id].older;
        ents.at(id).older = EntityId::NONE;
        Some(id)
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

    /// CFS: has the running entity had its share?
    fn check_preempt_tick(&mut self, ents: &mut Entities, curr: EntityId) -> Resched {
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

    pub(crate) fn enqueue_entity(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        flags: EnqueueFlags,
        now: Timestamp,
    ) -> Resched {
        let q = ents[id].queue;
        let cfg = self.cfg;
        let is_curr = self.queues[q as usize].curr == id;
        let relative = !cfg.eevdf && (!flags.wakeup || flags.migrated);
        // A running task that is put back gets its new position first, which the charge adds to.
        if is_curr && cfg.eevdf {
            self.queues[q as usize].place_eevdf(&cfg, ents, id, flags.new);
        } else if is_curr && relative {
            let floor = self.queues[q as usize].min_vruntime;
            ents.at(id).vruntime = ents[id].vruntime.plus(floor.0);
        }
        let resched = self.charge(ents, q, now);
        let is_idle = !cfg.eevdf && self.is_idle_entity(ents, id);
        let cfg = &self.cfg;
        let queue = &mut self.queues[q as usize];
        if cfg.eevdf {
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

    pub(crate) fn push_newest(&mut self, ents: &mut Entities, id: EntityId) {
        let old = self.newest;
        let entity = ents.at(id);
        entity.newer = EntityId::NONE;
        entity.older = old;
        self.newest = id;
        if old == EntityId::NONE {
            self.oldest = id;
        } else {
            ents.at(old).newer = id;
        }
    }

    pub(crate) fn unlink(&mut self, ents: &mut Entities, id: EntityId) {
        let Entity { newer, older, .. } = ents[id];
        if newer == EntityId::NONE {
            self.newest = older;
        } else {
            ents.at(newer).older = older;
        }
        if older == EntityId::NONE {
            self.oldest = newer;
        } else {
            ents.at(older).newer = newer;
        }
        let entity = ents.at(id);
        entity.newer = EntityId::NONE;
        entity.older = EntityId::NONE;
    }

    /// Remembers a task whose delayed dequeue was completed.
    pub(crate) fn push_left(&mut self, ents: &mut Entities, id: EntityId) {
        ents.at(id).older = self.left;
        self.left = id;
    }
}
