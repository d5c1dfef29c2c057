//! The fair class of one CPU: its runqueue, and the load averages that go with it.
//!
//! The queues know vruntimes, the PELT crate knows averages; this is where one call does both, in
//! the kernel's order: averages are brought up to date with what was true until now, then the queue
//! changes.

mod groups;

use alloc::sync::Arc;
use alloc::vec::Vec;

use fairlab_pelt::{EntityState, PeltClock, PeltTime, QueueAvg, QueueState, SchedAvg, Speed};
use fairlab_units::{CpuId, Timestamp};

use self::groups::signals_of;
use crate::{
    Change, DequeueFlags, Dequeued, EnqueueFlags, Entities, EntityId, FairRq, GroupId, Resched,
    RqConfig, Turned, WakeFlags,
};

/// A signal that was last updated at zero would count as new.
const CLOCK_OFFSET: u64 = 1_000_000_000;

/// The fair class of one CPU: its runqueue and its load averages.
///
/// A task is named by its entity, and its averages are handed in beside it: whoever owns the tasks
/// keeps them.
///
/// # Source
/// Linux v5.4 to v7.2 `kernel/sched/fair.c`, the `fair_sched_class` operations with the
/// `update_load_avg()` calls in them.
#[derive(Clone, Debug)]
pub struct FairClass {
    /// The runqueue.
    pub rq: FairRq,
    /// The load averages of the root queue.
    pub avg: QueueAvg,
    /// Those of the groups; group 1 comes first.
    groups: Vec<groups::GroupAvg>,
    /// Averages of the classes above the fair one, together.
    pub higher: SchedAvg,
    clock: PeltClock,
    /// Does a task of those classes run?
    higher_runs: bool,
    speed: Speed,
}

impl FairClass {
    /// An empty queue of a CPU with this original capacity, 1024 = the biggest. CPUs of one machine
    /// may share the configuration.
    #[must_use]
    pub fn new(config: impl Into<Arc<RqConfig>>, capacity: u32) -> Self {
        Self::on_cpu(config, capacity, CpuId(0))
    }

    /// The same for a CPU whose number matters: groups that are limited name it.
    #[must_use]
    pub fn on_cpu(config: impl Into<Arc<RqConfig>>, capacity: u32, cpu: CpuId) -> Self {
        Self {
            rq: FairRq::on_cpu(config, cpu),
            avg: QueueAvg::default(),
            groups: Vec::new(),
            higher: SchedAvg::default(),
            clock: PeltClock::default(),
            higher_runs: false,
            speed: Speed {
                cpu_scale: u64::from(capacity),
                ..Speed::FULL
            },
        }
    }

    /// `rq->nr_running`: delayed sleepers count.
    #[inline]
    #[must_use]
    pub fn nr_running(&self) -> u32 {
        self.rq.h_nr_queued()
    }

    /// Is nothing but SCHED_IDLE work runnable?
    #[inline]
    #[must_use]
    pub fn is_sched_idle(&self) -> bool {
        let nr = self.rq.h_nr_queued();
        nr > 0 && nr == self.rq.h_nr_idle()
    }

    /// Share of a task of `group` with this `load_avg` in the load of the CPU.
    ///
    /// Differs from Linux: the loads on the way are those of now, not of the first reader of the
    /// jiffy.
    #[must_use]
    pub fn task_h_load(&self, group: GroupId, load_avg: u64) -> u64 {
        let load = self.signals(group.0).avg.load_avg;
        load_avg.wrapping_mul(self.h_load(group.0)) / (load + 1)
    }

    /// Share of a queue in the load of the CPU.
    #[doc(alias = "update_cfs_rq_h_load")]
    fn h_load(&self, q: u32) -> u64 {
        if q == 0 {
            return self.avg.avg.load_avg;
        }
        let group = &self.groups[q as usize - 1];
        let above = self.signals(group.above).avg.load_avg;
        self.h_load(group.above).wrapping_mul(group.entity_load()) / (above + 1)
    }

    /// Lets time count at `frequency` from `now` on, on the scale of 1024 for the highest.
    #[doc(alias = "arch_scale_freq_capacity")]
    pub fn set_frequency(&mut self, now: Timestamp, frequency: u32) {
        self.update_queue(now);
        self.speed.freq_scale = u64::from(frequency);
    }

    /// PELT time of `now`. Interrupts take no time of their own here, so `clock_task` is `now`.
    ///
    /// Offset by a second: a signal that was last updated at zero would count as new.
    fn pelt_now(&mut self, now: Timestamp, idle: bool) -> PeltTime {
        let clock = now.0 + CLOCK_OFFSET;
        let idle = idle && !self.higher_runs;
        self.clock.advance(clock, clock, &self.speed, idle);
        self.clock.now()
    }

    /// PELT time of `now` on the root queue.
    #[inline]
    fn time(&mut self, now: Timestamp) -> PeltTime {
        let idle = self.rq.root().curr().is_none();
        self.pelt_now(now, idle)
    }

    fn queue_state(&self, q: u32) -> QueueState {
        let queue = &self.rq.queues[q as usize];
        QueueState {
            weight: queue.load().0,
            runnable_weight: queue.load().0,
            h_nr_runnable: u64::from(queue.h_nr_runnable()),
            has_curr: queue.curr().is_some(),
        }
    }

    fn entity_state(&self, ents: &Entities, id: EntityId) -> EntityState {
        let entity = &ents[id];
        let running = self.rq.queues[entity.queue as usize].curr() == Some(id);
        if !entity.is_task() {
            let below = self.rq.queues[entity.my_queue as usize].h_nr_runnable();
            let runnable = if entity.is_delayed() { 0 } else { below };
            let weight = entity.weight().0;
            EntityState::group(weight, entity.is_on_rq(), u64::from(runnable), running)
        } else if entity.is_delayed() {
            EntityState::delayed_task(entity.weight().0)
        } else {
            EntityState::task(entity.weight().0, entity.is_on_rq(), running)
        }
    }

    /// Brings the averages of the root queue up to date. With groups, see [`Self::update_blocked`].
    pub fn update_queue(&mut self, now: Timestamp) {
        let time = self.time(now);
        let state = self.queue_state(0);
        self.avg.update(self.rq.cfg.kernel(), time, &state);
    }

    /// Brings the averages of a task of this CPU, and of the queues that it is in, up to date.
    pub fn update_load(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        avg: &mut SchedAvg,
        now: Timestamp,
    ) {
        let time = self.time(now);
        self.update_task(ents, id, avg, time);
        self.climb(ents, ents[id].queue, time);
    }

    /// The same for a task and its own queue.
    #[inline]
    fn update_task(&mut self, ents: &Entities, id: EntityId, avg: &mut SchedAvg, time: PeltTime) {
        let q = ents[id].queue;
        let time = self.time_of(q, time);
        if !avg.last_update_time.is_never() {
            let state = self.entity_state(ents, id);
            avg.update(self.rq.cfg.kernel(), time, &state);
        }
        let state = self.queue_state(q);
        signals_of(&mut self.avg, &mut self.groups, q).update(self.rq.cfg.kernel(), time, &state);
    }

    /// Adds a task, or wakes a delayed one.
    pub fn enqueue(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        avg: &mut SchedAvg,
        flags: EnqueueFlags,
        now: Timestamp,
    ) -> Resched {
        let q = ents[id].queue;
        let time = self.time(now);
        self.update_task(ents, id, avg, time);
        if avg.last_update_time.is_never() {
            let state = self.entity_state(ents, id);
            signals_of(&mut self.avg, &mut self.groups, q).attach(
                self.rq.cfg.kernel(),
                avg,
                &state,
            );
        }
        self.climb(ents, q, time);
        let resched = self.rq.enqueue(ents, id, flags, now);
        // A delayed sleeper that the balancer moved is still asleep.
        if !ents[id].is_delayed() {
            self.avg.add_util_est(self.rq.cfg.kernel(), avg);
        }
        let state = self.entity_state(ents, id);
        signals_of(&mut self.avg, &mut self.groups, q).add_runnable_load(
            self.rq.cfg.kernel(),
            avg,
            &state,
        );
        self.settle(ents, now);
        resched
    }

    /// Takes a task off.
    pub fn dequeue(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        avg: &mut SchedAvg,
        flags: DequeueFlags,
        now: Timestamp,
    ) -> (Dequeued, Resched) {
        let state = self.entity_state(ents, id);
        let was_delayed = ents[id].is_delayed();
        if !was_delayed {
            self.avg.subtract_util_est(self.rq.cfg.kernel(), avg);
        }
        let q = ents[id].queue;
        if flags.sleep && !was_delayed {
            let time = self.time(now);
            let time = self.time_of(q, time);
            avg.go_to_sleep(self.rq.cfg.kernel(), time, &state, self.speed.cpu_scale);
        }
        self.update_load(ents, id, avg, now);
        let left = self.rq.dequeue(ents, id, flags, now);
        if left.0 == Dequeued::Done {
            signals_of(&mut self.avg, &mut self.groups, q).subtract_runnable_load(
                self.rq.cfg.kernel(),
                avg,
                &state,
            );
        }
        self.settle(ents, now);
        left
    }

    /// Changes a task of this CPU, queued or not, and the load that follows from its weight.
    pub fn change(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        avg: &mut SchedAvg,
        change: Change,
        now: Timestamp,
    ) -> Resched {
        let is_attached = !avg.last_update_time.is_never();
        let q = ents[id].queue;
        if ents[id].is_on_rq() {
            self.update_load(ents, id, avg, now);
        } else if is_attached {
            self.signals(q).sync(
                self.rq.cfg.kernel(),
                avg,
                &EntityState::task(ents[id].weight().0, false, false),
            );
        }
        let old = self.entity_state(ents, id);
        let resched = self.rq.change(ents, id, change, now);
        let new = self.entity_state(ents, id);
        if old.weight != new.weight {
            // The load of a task between two queues is on none of them.
            let mut nowhere = QueueAvg::default();
            let queue = if is_attached {
                signals_of(&mut self.avg, &mut self.groups, q)
            } else {
                &mut nowhere
            };
            queue.reweight(self.rq.cfg.kernel(), avg, &old, &new);
        }
        self.settle(ents, now);
        resched
    }

    /// Goes on under another kernel at `now`, see [`FairRq::turn`]. The averages stay as they are.
    pub fn turn(
        &mut self,
        ents: &mut Entities,
        config: impl Into<Arc<RqConfig>>,
        now: Timestamp,
    ) -> Turned {
        self.update_queue(now);
        self.rq.turn(ents, config, now)
    }

    /// Brings the averages of a sleeping task up to its queue's (`sync_entity_load_avg`).
    pub fn sync(&self, ents: &Entities, id: EntityId, avg: &mut SchedAvg) {
        if !avg.last_update_time.is_never() {
            let state = self.entity_state(ents, id);
            let queue = self.signals(ents[id].queue);
            queue.sync(self.rq.cfg.kernel(), avg, &state);
        }
    }

    /// A sleeping task wakes up elsewhere, or a task is gone: its contribution goes at the next update.
    pub fn remove(&mut self, ents: &Entities, id: EntityId, avg: &mut SchedAvg) {
        if !avg.last_update_time.is_never() {
            let state = self.entity_state(ents, id);
            signals_of(&mut self.avg, &mut self.groups, ents[id].queue).remove(
                self.rq.cfg.kernel(),
                avg,
                &state,
            );
            avg.forget_queue();
        }
    }

    /// A queued task has been taken off and goes to another CPU: its contribution goes at once.
    pub fn detach(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        avg: &mut SchedAvg,
        now: Timestamp,
    ) {
        let q = ents[id].queue;
        let time = self.time(now);
        self.update_task(ents, id, avg, time);
        let state = self.entity_state(ents, id);
        signals_of(&mut self.avg, &mut self.groups, q).detach(self.rq.cfg.kernel(), avg, &state);
        avg.forget_queue();
        self.climb(ents, q, time);
    }

    /// The CPU goes idle.
    pub fn enter_idle(&mut self, now: Timestamp) {
        let none = SchedAvg::default();
        self.clock
            .enter_idle(now.0 + CLOCK_OFFSET, &self.avg.avg, &self.higher, &none);
    }

    /// A task of a higher class starts or stops to run, or goes on.
    pub fn update_higher(&mut self, now: Timestamp, runs: bool) {
        let time = self.time(now);
        self.higher
            .update_class(self.rq.cfg.kernel(), time, self.higher_runs);
        self.higher_runs = runs;
    }

    /// Makes a task the running one.
    pub fn set_next(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        avg: &mut SchedAvg,
        now: Timestamp,
    ) {
        self.update_load(ents, id, avg, now);
        self.rq.set_next(ents, id, now);
    }

    /// Puts the running task back.
    pub fn put_prev(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        avg: &mut SchedAvg,
        now: Timestamp,
    ) {
        if ents[id].is_on_rq() {
            self.update_load(ents, id, avg, now);
        }
        self.rq.put_prev(ents, id, now);
    }

    /// The periodic tick with `task` running.
    pub fn tick(
        &mut self,
        ents: &mut Entities,
        id: EntityId,
        avg: &mut SchedAvg,
        now: Timestamp,
    ) -> Resched {
        self.update_load(ents, id, avg, now);
        let resched = self.rq.tick(ents, now);
        self.settle(ents, now);
        resched
    }

    /// Should the wakee preempt?
    pub fn check_preempt(
        &mut self,
        ents: &mut Entities,
        wakee: EntityId,
        flags: WakeFlags,
        now: Timestamp,
    ) -> Resched {
        let resched = self.rq.check_preempt_wakeup(ents, wakee, flags, now);
        self.settle(ents, now);
        resched
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;
    use fairlab_kernel::{Kernel, Release};

    #[test]
    fn a_new_task_brings_its_first_utilization_and_leaves_it_when_it_sleeps() {
        for release in Release::ALL {
            let kernel = Kernel::of(release);
            let mut queue = FairClass::new(RqConfig::new(&kernel, 8), 1024);
            let mut ents = Entities::new();
            let entity = ents.add_task(0, Policy::Normal);
            let weight = ents[entity].weight().0;
            let state = EntityState::task(weight, false, false);
            let mut avg = SchedAvg::new_task(&kernel, &state);
            avg.init_util(&kernel, &state, &queue.avg.avg, 1024);
            // Half of what an empty CPU has to spare.
            assert_eq!(avg.util_avg, 512, "{release}");
            let at = |us: u64| Timestamp(us * 1_000);
            let _ = queue.enqueue(&mut ents, entity, &mut avg, EnqueueFlags::NEW, at(10));
            assert_eq!(queue.avg.avg.util_avg, 512, "{release}");
            queue.set_next(&mut ents, entity, &mut avg, at(10));
            let _ = queue.dequeue(&mut ents, entity, &mut avg, DequeueFlags::SLEEP, at(12));
            queue.put_prev(&mut ents, entity, &mut avg, at(12));
            queue.enter_idle(at(12));
            queue.update_queue(at(100));
            let left = queue.avg.avg.util_avg;
            assert!((505..=512).contains(&left), "{release}: {left}");
        }
    }
}
