//! Bandwidth control (`cpu.max`): groups run for a quota of time per period.
//!
//! The pool of a group is shared by all CPUs, so it lives in the arena. A queue takes runtime from
//! it in slices; out of runtime, it is throttled until the next period. To v6.17 that takes the
//! group's entity off its queue at once; v6.18 on tasks go on in the kernel, and leave one by one
//! when they return to user mode.
//!
//! ```text
//!   every period   start_period (arena) -> next_throttled -> unthrottle (on that CPU), repeated
//!   v6.18 on       pick_next gives a task -> is_throttled? -> throttle_task when it would return to
//!                  user mode -> comes back by itself at unthrottle
//! ```
//!
//! Differs from Linux: a queue that becomes empty keeps its unused runtime, where Linux returns
//! what exceeds 1 ms to the pool.

use alloc::vec::Vec;

use fairlab_kernel::Feature;
use fairlab_units::{CpuId, Nanos, Timestamp};

use crate::Resched;
use crate::config::RqConfig;
use crate::entity::{Entities, EntityId};
use crate::flags::{DequeueFlags, EnqueueFlags};
use crate::group::{Counts, GroupId};
use crate::rq::FairRq;

/// Limits of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    /// Runtime per period, on all CPUs together (`cpu.max`, first number).
    pub quota: Nanos,
    /// Length of a period (`cpu.max`, second number). The caller starts periods.
    pub period: Nanos,
    /// Unused runtime that is kept for later periods (`cpu.max.burst`; nothing before v5.14).
    pub burst: Nanos,
}

/// Runtime of one group.
#[derive(Clone, Debug, Default)]
#[doc(alias = "cfs_bandwidth")]
pub(crate) struct Pool {
    limits: Option<Bandwidth>,
    runtime: u64,
    /// Where queues wait for runtime, the longest waiting first. One entry per CPU at most, and
    /// room for all of them, so that throttling allocates nothing.
    throttled: Vec<CpuId>,
    nr_throttled: u64,
}

impl Entities {
    /// Limits a group on all of the `nr_cpus` CPUs, or lifts the limit. A queue that is throttled
    /// stays so until the next period starts.
    pub fn set_bandwidth(
        &mut self,
        cfg: &RqConfig,
        group: GroupId,
        limits: Option<Bandwidth>,
        nr_cpus: usize,
    ) {
        let limits = limits.map(|mut limits| {
            if !cfg.has(Feature::CFS_BANDWIDTH_BURST) {
                limits.burst = Nanos::ZERO;
            }
            limits
        });
        let at = group.0 as usize;
        if self.pools.len() <= at {
            self.pools.resize(at + 1, Pool::default());
        }
        let pool = &mut self.pools[at];
        pool.limits = limits;
        pool.runtime = limits.map_or(0, |l| l.quota.0);
        pool.throttled.reserve(nr_cpus);
    }

    /// The limits of a group.
    #[must_use]
    pub fn bandwidth(&self, group: GroupId) -> Option<Bandwidth> {
        self.pools.get(group.0 as usize)?.limits
    }

    /// Is any group limited?
    #[inline]
    #[must_use]
    pub fn has_limits(&self) -> bool {
        self.pools.iter().any(|pool| pool.limits.is_some())
    }

    /// Starts a period: the group gets its quota. Follow up with [`Self::next_throttled`].
    ///
    /// # Source
    /// Linux v5.4 to v7.2 `kernel/sched/fair.c`, `__refill_cfs_bandwidth_runtime()`.
    #[doc(alias = "__refill_cfs_bandwidth_runtime")]
    pub fn start_period(&mut self, group: GroupId) {
        if let Some(pool) = self.pools.get_mut(group.0 as usize)
            && let Some(limits) = pool.limits
        {
            let most = limits.quota.0.saturating_add(limits.burst.0);
            pool.runtime = pool.runtime.saturating_add(limits.quota.0).min(most);
        }
    }

    /// The CPU whose queue of the group has waited longest, while there is runtime for it. Call
    /// [`FairRq::unthrottle`] there and ask again.
    #[must_use]
    pub fn next_throttled(&self, group: GroupId) -> Option<CpuId> {
        let pool = self.pools.get(group.0 as usize)?;
        let can_run = pool.runtime > 0 || pool.limits.is_none();
        pool.throttled.first().copied().filter(|_| can_run)
    }

    /// How often a queue of the group was throttled (`nr_throttled` counts periods in `cpu.stat`;
    /// this counts queues).
    #[must_use]
    pub fn nr_throttled(&self, group: GroupId) -> u64 {
        self.pools
            .get(group.0 as usize)
            .map_or(0, |p| p.nr_throttled)
    }
}

impl FairRq {
    /// Charges a group's queue with runtime; asks for a reschedule when none is left.
    #[doc(alias = "account_cfs_rq_runtime")]
    pub(crate) fn account_runtime(&mut self, ents: &mut Entities, q: u32, delta: u64) -> Resched {
        let limited = ents
            .pools
            .get(q as usize)
            .is_some_and(|p| p.limits.is_some());
        if !limited {
            return Resched::None;
        }
        let group = &mut self.queues[q as usize].group;
        group.runtime_remaining -= delta as i64;
        if group.runtime_remaining > 0 || group.throttled {
            return Resched::None;
        }
        let slice = self.cfg.kernel.tunables.cfs_bandwidth_slice_us * 1_000;
        if self.take_runtime(ents, q, slice as i64) {
            Resched::None
        } else {
            Resched::Now
        }
    }

    /// Fills the queue's runtime up to `target`, as far as the pool allows; true if some is left.
    fn take_runtime(&mut self, ents: &mut Entities, q: u32, target: i64) -> bool {
        let group = &mut self.queues[q as usize].group;
        let pool = &mut ents.pools[q as usize];
        let wanted = target.saturating_sub(group.runtime_remaining).max(0) as u64;
        let amount = match pool.limits {
            Some(_) => wanted.min(pool.runtime),
            None => wanted,
        };
        pool.runtime = pool.runtime.saturating_sub(amount);
        group.runtime_remaining += amount as i64;
        group.runtime_remaining > 0
    }

    /// Throttles a group's queue that is out of runtime; true if its entity left the queue above.
    #[doc(alias = "throttle_cfs_rq")]
    pub(crate) fn throttle_if_spent(
        &mut self,
        ents: &mut Entities,
        q: u32,
        now: Timestamp,
    ) -> bool {
        if q == 0
            || ents
                .pools
                .get(q as usize)
                .is_none_or(|p| p.limits.is_none())
        {
            return false;
        }
        let queue = &self.queues[q as usize];
        if queue.group.throttled || queue.group.runtime_remaining > 0 {
            return false;
        }
        if self.take_runtime(ents, q, 1) {
            return false;
        }
        let pool = &mut ents.pools[q as usize];
        pool.throttled.push(self.cpu);
        pool.nr_throttled += 1;
        self.queues[q as usize].group.throttled = true;
        if self.cfg.has(Feature::THROTTLE_AT_EXIT) {
            return false;
        }
        let queue = &self.queues[q as usize];
        let counts = Counts {
            queued: queue.h_nr_queued,
            runnable: queue.h_nr_runnable,
            idle: queue.h_nr_idle,
        };
        if !ents[queue.entity].on_rq {
            return false;
        }
        self.throttle_above(ents, q, counts, now);
        true
    }

    /// A newly filled queue may be out of runtime already (`check_enqueue_throttle`).
    pub(crate) fn throttle_at_enqueue(&mut self, ents: &mut Entities, q: u32, now: Timestamp) {
        let queue = &self.queues[q as usize];
        if queue.nr_queued != 1 || queue.curr != EntityId::NONE || queue.group.throttled {
            return;
        }
        // The running task is not of this queue, so there is nothing to ask of it.
        let _ = self.account_runtime(ents, q, 0);
        self.throttle_if_spent(ents, q, now);
    }

    /// Is the task's group, or one above it, throttled on this CPU?
    #[must_use]
    #[doc(alias = "throttled_hierarchy")]
    pub fn is_throttled(&self, ents: &Entities, id: EntityId) -> bool {
        self.is_group_throttled(ents, GroupId(ents[id].queue))
    }

    /// Is the group, or one above it, throttled on this CPU?
    #[must_use]
    pub fn is_group_throttled(&self, ents: &Entities, group: GroupId) -> bool {
        let mut q = group.0 as usize;
        loop {
            let Some(queue) = self.queues.get(q) else {
                return false;
            };
            if queue.group.throttled {
                return true;
            }
            match queue.entity.some() {
                Some(entity) => q = ents[entity].queue as usize,
                None => return false,
            }
        }
    }

    /// Takes a task of a throttled group off when it returns to user mode (v6.18 on). It comes
    /// back at [`Self::unthrottle`]. False when the group is not throttled (any more).
    #[doc(alias = "throttle_cfs_rq_work")]
    pub fn throttle_task(&mut self, ents: &mut Entities, id: EntityId, now: Timestamp) -> bool {
        if !self.is_throttled(ents, id) || !ents[id].on_rq {
            return false;
        }
        let (_, _) = self.dequeue(ents, id, DequeueFlags::SPECIAL, now);
        self.enter_limbo(ents, id);
        true
    }

    /// A task that has been taken off waits for its groups to run again.
    pub(crate) fn enter_limbo(&mut self, ents: &mut Entities, id: EntityId) {
        let group = &mut self.queues[ents[id].queue as usize].group;
        ents.at(id).older = group.limbo;
        group.limbo = id;
    }

    /// Takes a task out of those that wait for their groups to run again; false when it is not there.
    pub(crate) fn leave_limbo(&mut self, ents: &mut Entities, id: EntityId) -> bool {
        let q = ents[id].queue as usize;
        let after = ents[id].older;
        let first = self.queues[q].group.limbo;
        if first == id {
            self.queues[q].group.limbo = after;
        } else {
            let mut before = first;
            while before != EntityId::NONE && ents[before].older != id {
                before = ents[before].older;
            }
            if before == EntityId::NONE {
                return false;
            }
            ents.at(before).older = after;
        }
        ents.at(id).older = EntityId::NONE;
        true
    }

    /// The next task that waited for its groups and may run again, newest first.
    pub(crate) fn pop_released(&mut self, ents: &mut Entities) -> Option<EntityId> {
        let first = self.queues.iter().skip(1).find_map(|queue| {
            let first = queue.group.limbo.some()?;
            (!self.is_throttled(ents, first)).then_some(first)
        })?;
        self.leave_limbo(ents, first);
        Some(first)
    }

    /// Gives runtime to a throttled queue and lets it run again, if there is enough.
    #[doc(alias = "unthrottle_cfs_rq")]
    pub fn unthrottle(&mut self, ents: &mut Entities, group: GroupId, now: Timestamp) -> Resched {
        let mut resched = self.lift_throttle(ents, group, now);
        while let Some(id) = self.pop_released(ents) {
            resched = resched.or(self.enqueue(ents, id, EnqueueFlags::WAKEUP, now));
        }
        self.request_if_idle(ents, resched)
    }

    /// Something is queued, and nothing runs.
    fn request_if_idle(&self, ents: &Entities, resched: Resched) -> Resched {
        if self.curr(ents).is_none() && self.h_nr_queued() > 0 {
            Resched::Now
        } else {
            resched
        }
    }

    /// [`Self::unthrottle`] without the tasks that have been taken off.
    pub(crate) fn lift_throttle(
        &mut self,
        ents: &mut Entities,
        group: GroupId,
        now: Timestamp,
    ) -> Resched {
        let q = group.0;
        let Some(queue) = self.queues.get(q as usize) else {
            return Resched::None;
        };
        if !queue.group.throttled || !self.take_runtime(ents, q, 1) {
            return Resched::None;
        }
        let cpu = self.cpu;
        ents.pools[q as usize].throttled.retain(|c| *c != cpu);
        self.queues[q as usize].group.throttled = false;
        let mut resched = Resched::None;
        if !self.cfg.has(Feature::THROTTLE_AT_EXIT) && self.queues[q as usize].nr_queued > 0 {
            let queue = &self.queues[q as usize];
            let counts = Counts {
                queued: queue.h_nr_queued,
                runnable: queue.h_nr_runnable,
                idle: queue.h_nr_idle,
            };
            resched = self.enqueue_above(ents, q, counts, now);
        }
        self.request_if_idle(ents, resched)
    }
}
