//! Load averages of task groups on one CPU: carried up from queue to entity, and shared between CPUs.
//!
//! ```text
//!   task joins     its queue is aged, the task is attached           [fair_class]
//!   climb          queue -> group's global load -> entity -> queue above, up to the root
//!   the queue moves  weights of group entities may change            [group]
//!   settle         the load that follows from the new weights, and clocks of throttled queues
//! ```
//!
//! Differs from Linux: the levels are aged together before the queues change, where the kernel ages
//! and changes one level after the other; both happen at one moment.

use fairlab_kernel::Feature;
use fairlab_pelt::{
    EntityMut, EntityState, PeltTime, QueueAvg, SchedAvg, ThrottledClock, UpdateFlags,
};
use fairlab_units::{Nanos, Timestamp};

use super::FairClass;
use crate::flags::{DequeueFlags, Dequeued, EnqueueFlags};
use crate::{Entities, EntityId, GroupId, GroupLoad, Resched};

/// What a CPU keeps of a task group, beside its queue.
#[derive(Clone, Debug)]
pub(crate) struct GroupAvg {
    /// Number of the group around it.
    pub(super) above: u32,
    /// Averages of the group's queue.
    queue: QueueAvg,
    /// Averages of the group's entity.
    entity: SchedAvg,
    /// Weight of the entity that its averages follow from, and was it on its queue then?
    seen: (u64, bool),
    clock: ThrottledClock,
    throttled_since: Option<Timestamp>,
    throttled: Nanos,
}

/// The averages of the queue `q` among those of a CPU's root and groups.
#[inline]
pub(super) fn signals_of<'a>(
    root: &'a mut QueueAvg,
    groups: &'a mut [GroupAvg],
    q: u32,
) -> &'a mut QueueAvg {
    match q {
        0 => root,
        q => &mut groups[q as usize - 1].queue,
    }
}

impl GroupAvg {
    /// Load of the group's entity.
    pub(super) const fn entity_load(&self) -> u64 {
        self.entity.load_avg
    }
}

impl FairClass {
    /// Adds a group below `parent` with the default shares, see [`crate::FairRq::add_group`].
    pub fn add_group(&mut self, ents: &mut Entities, parent: GroupId) -> GroupId {
        let group = self.rq.add_group(ents, parent);
        let room = group.0 as usize + 1;
        if ents.group_loads.len() < room {
            ents.group_loads.resize(room, 0);
        }
        let entity = self.rq.queues[group.0 as usize].entity;
        let mut avg = SchedAvg::default();
        let state = self.entity_state(ents, entity);
        // An entity without a last update would count as one that comes from elsewhere.
        let queue = signals_of(&mut self.avg, &mut self.groups, parent.0);
        avg.last_update_time = queue.avg.last_update_time;
        self.groups.push(GroupAvg {
            above: parent.0,
            queue: QueueAvg::default(),
            entity: avg,
            seen: (state.weight, state.on_rq),
            clock: ThrottledClock::default(),
            throttled_since: None,
            throttled: Nanos::ZERO,
        });
        group
    }

    /// Sets the shares of a group on this CPU, see [`crate::FairRq::set_shares`].
    pub fn set_shares(
        &mut self,
        ents: &mut Entities,
        group: GroupId,
        shares: crate::Weight,
        now: Timestamp,
    ) {
        self.update_blocked(ents, now);
        self.rq.set_shares(ents, group, shares, now);
        self.settle(ents, now);
    }

    /// Makes a group idle or ordinary again, see [`crate::FairRq::set_idle`].
    pub fn set_idle(&mut self, ents: &mut Entities, group: GroupId, idle: bool, now: Timestamp) {
        self.update_blocked(ents, now);
        self.rq.set_idle(ents, group, idle, now);
        self.settle(ents, now);
    }

    /// The averages of a group's queue on this CPU; those of the root for [`GroupId::ROOT`].
    #[must_use]
    pub fn group_avg(&self, group: GroupId) -> &QueueAvg {
        self.signals(group.0)
    }

    /// How long the group's queue has been throttled on this CPU until `now`. Groups around it do not
    /// count.
    #[must_use]
    pub fn throttled_time(&self, group: GroupId, now: Timestamp) -> Nanos {
        let group = group
            .0
            .checked_sub(1)
            .and_then(|g| self.groups.get(g as usize));
        group.map_or(Nanos::ZERO, |g| {
            g.throttled + g.throttled_since.map_or(Nanos::ZERO, |since| now - since)
        })
    }

    /// Brings the averages of all groups of this CPU, and of the root, up to date
    /// (`update_blocked_averages`).
    pub fn update_blocked(&mut self, ents: &mut Entities, now: Timestamp) {
        self.update_queue(now);
        let time = self.time(now);
        // Groups below have larger numbers than those above.
        for q in (1..=self.groups.len() as u32).rev() {
            let at = self.time_of(q, time);
            let state = self.queue_state(q);
            signals_of(&mut self.avg, &mut self.groups, q).update(self.rq.cfg.kernel(), at, &state);
            self.carry_up(ents, q, time);
        }
    }

    /// Moves a task to another group of this CPU (`sched_move_task`). `is_relative`: it was taken off
    /// a queue by a migration, and has not reached the next one.
    ///
    /// # Source
    /// Linux v5.4 to v7.2 `kernel/sched/fair.c`, `task_change_group_fair()`.
    #[doc(alias = "sched_move_task")]
    pub fn move_to_group(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        avg: &mut SchedAvg,
        group: GroupId,
        is_relative: bool,
        now: Timestamp,
    ) -> Resched {
        let is_queued = ents[id].is_on_rq();
        let is_running = self.rq.curr(ents) == Some(id);
        let mut resched = Resched::None;
        if is_queued {
            let (_, request) = self.dequeue(ents, id, avg, DequeueFlags::MOVE, now);
            resched = resched.or(request);
        }
        if is_running {
            self.put_prev(ents, id, avg, now);
        }
        if !avg.last_update_time.is_never() {
            self.detach(ents, id, avg, now);
        }
        if !is_queued && !is_relative {
            self.rq.migrate_wakeup(ents, id);
        }
        self.rq.set_group(ents, id, group);
        if is_queued {
            resched = resched.or(self.enqueue(ents, id, avg, EnqueueFlags::RESTORED, now));
            if is_running {
                self.update_load(ents, id, avg, now);
                self.rq.set_next_again(ents, id, now);
            }
        } else if !is_relative {
            self.rq.rebase_wakeup(ents, id);
            self.update_blocked(ents, now);
            let state = self.entity_state(ents, id);
            signals_of(&mut self.avg, &mut self.groups, group.0).attach(
                self.rq.cfg.kernel(),
                avg,
                &state,
            );
            let time = self.time(now);
            self.climb(ents, group.0, time);
        }
        self.settle(ents, now);
        resched
    }

    /// Takes a picked or running task off whose group is throttled (v6.18 on). It comes back by
    /// [`Self::pop_released`]. False when no group around it is throttled.
    pub fn throttle_task(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        avg: &mut SchedAvg,
        now: Timestamp,
    ) -> bool {
        if self.groups.is_empty() || !self.rq.is_throttled(ents, id) {
            return false;
        }
        let (left, _) = self.dequeue(ents, id, avg, DequeueFlags::SPECIAL, now);
        debug_assert!(left == Dequeued::Done, "a special dequeue is not delayed");
        self.rq.enter_limbo(ents, id);
        true
    }

    /// Gives runtime to a throttled queue and lets it run again, if there is enough. Then ask
    /// [`Self::pop_released`].
    #[doc(alias = "unthrottle_cfs_rq")]
    pub fn unthrottle(&mut self, ents: &mut Entities, group: GroupId, now: Timestamp) -> Resched {
        self.update_blocked(ents, now);
        let resched = self.rq.lift_throttle(ents, group, now);
        self.settle(ents, now);
        resched
    }

    /// A task that [`Self::throttle_task`] took off and whose groups may run again: to be enqueued as
    /// woken.
    pub fn pop_released(&mut self, ents: &mut Entities) -> Option<EntityId> {
        self.rq.pop_released(ents)
    }

    /// Forgets that a task waits for its groups to run again; false when it does not.
    pub fn leave_limbo(&mut self, ents: &mut Entities, id: EntityId) -> bool {
        self.rq.leave_limbo(ents, id)
    }

    /// The task that should run now, see [`crate::FairRq::pick_next`]. Groups that are out of runtime
    /// are throttled on the way.
    #[inline]
    pub fn pick_next(&mut self, ents: &mut Entities, now: Timestamp) -> Option<EntityId> {
        if self.groups.is_empty() {
            return self.rq.pick_next(ents, now);
        }
        if ents.has_limits() {
            self.update_blocked(ents, now);
        }
        let picked = self.rq.pick_next(ents, now);
        self.settle(ents, now);
        picked
    }

    #[inline]
    pub(super) fn signals(&self, q: u32) -> &QueueAvg {
        match q {
            0 => &self.avg,
            q => &self.groups[q as usize - 1].queue,
        }
    }

    /// PELT time of a queue when that of the CPU is `time`.
    #[inline]
    pub(super) fn time_of(&self, q: u32, time: PeltTime) -> PeltTime {
        match q {
            0 => time,
            q => self.groups[q as usize - 1].clock.now(time),
        }
    }

    /// Carries changes of the queue `q` up to the root.
    #[inline]
    pub(super) fn climb(&mut self, ents: &mut Entities, q: u32, time: PeltTime) {
        let mut below = q;
        while below != 0 {
            below = self.carry_up(ents, below, time);
        }
    }

    /// Carries changes of the queue of a group to the group's load and entity, and to the queue above,
    /// which is the answer.
    fn carry_up(&mut self, ents: &mut Entities, below: u32, time: PeltTime) -> u32 {
        let entity = self.rq.queues[below as usize].entity;
        let above = ents[entity].queue;
        let state = self.entity_state(ents, entity);
        let queue_state = self.queue_state(above);
        let at = self.time_of(above, time);
        let child_weight = self.rq.queues[below as usize].load().0;
        // A group comes after the one above it, so both can be had at once.
        let (lower, upper) = self.groups.split_at_mut(below as usize - 1);
        let Some(group) = upper.first_mut() else {
            return 0;
        };
        let total = &mut ents.group_loads[below as usize];
        group
            .queue
            .update_group_load(self.rq.cfg.kernel(), time.0, total);
        let load = GroupLoad {
            load_avg: group.queue.avg.load_avg,
            tg_load_avg: *total,
            contrib: group.queue.tg_load_avg_contrib,
        };
        let parent = match above {
            0 => &mut self.avg,
            above => &mut lower[above as usize - 1].queue,
        };
        let child = EntityMut {
            avg: &mut group.entity,
            state,
            group: Some((&mut group.queue, child_weight)),
        };
        parent.update_load_avg(
            self.rq.cfg.kernel(),
            at,
            &queue_state,
            child,
            UpdateFlags::UPDATE_TG,
        );
        self.rq.set_group_load(GroupId(below), load);
        above
    }

    /// After the queues have changed: the load that follows from new weights of group entities, and
    /// clocks that stop or go on.
    #[inline]
    pub(super) fn settle(&mut self, ents: &Entities, now: Timestamp) {
        if self.groups.is_empty() {
            return;
        }
        for below in 1..=self.groups.len() as u32 {
            self.settle_weight(ents, below);
        }
        if ents.has_limits() {
            self.settle_throttling(ents, now);
        }
    }

    #[doc(alias = "reweight_entity")]
    fn settle_weight(&mut self, ents: &Entities, below: u32) {
        let entity = self.rq.queues[below as usize].entity;
        let above = ents[entity].queue;
        let new = (ents[entity].weight().0, ents[entity].is_on_rq());
        let (lower, upper) = self.groups.split_at_mut(below as usize - 1);
        let Some(group) = upper.first_mut() else {
            return;
        };
        let old = core::mem::replace(&mut group.seen, new);
        if old == new {
            return;
        }
        let parent = match above {
            0 => &mut self.avg,
            above => &mut lower[above as usize - 1].queue,
        };
        let [before, after] =
            [old, new].map(|(weight, on_rq)| EntityState::group(weight, on_rq, 0, false));
        let avg = &mut group.entity;
        if old.0 != new.0 {
            parent.reweight(self.rq.cfg.kernel(), avg, &before, &after);
        } else if new.1 {
            parent.add_runnable_load(self.rq.cfg.kernel(), avg, &after);
        } else {
            parent.subtract_runnable_load(self.rq.cfg.kernel(), avg, &before);
        }
    }

    fn settle_throttling(&mut self, ents: &Entities, now: Timestamp) {
        let time = self.time(now);
        let leaves_late = self.rq.cfg.has(Feature::THROTTLE_AT_EXIT);
        for below in 1..=self.groups.len() as u32 {
            let queue = &self.rq.queues[below as usize];
            let is_cut_off = self.rq.is_group_throttled(ents, GroupId(below));
            // From v6.18 on time stops when the last task has left.
            let stands_still = is_cut_off && !(leaves_late && queue.nr_queued() > 0);
            let is_throttled = queue.is_throttled();
            let group = &mut self.groups[below as usize - 1];
            if stands_still {
                group.clock.throttle(time);
            } else {
                group.clock.unthrottle(time);
            }
            match (group.throttled_since, is_throttled) {
                (None, true) => group.throttled_since = Some(now),
                (Some(since), false) => {
                    group.throttled += now - since;
                    group.throttled_since = None;
                }
                _ => {}
            }
        }
    }
}
