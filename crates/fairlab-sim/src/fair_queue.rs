//! The fair class of one CPU: its runqueue, and the load averages that go with it.
//!
//! The runqueue crate knows vruntimes, the PELT crate knows averages; this is where one call does
//! both, in the kernel's order: averages are brought up to date with what was true until now, then
//! the queue changes.

use fairlab_kernel::Kernel;
use fairlab_pelt::{EntityState, PeltClock, PeltTime, QueueAvg, QueueState, SchedAvg, Speed};
use fairlab_runqueue::{
    Change, DequeueFlags, Dequeued, EnqueueFlags, Entities, EntityId, FairRq, Resched, RqConfig,
    WakeFlags,
};
use fairlab_units::Timestamp;

use crate::census::Census;
use crate::task::Task;

const CLOCK_OFFSET: u64 = 1_000_000_000;

/// The fair class of one CPU.
#[derive(Clone, Debug)]
pub(crate) struct FairQueue {
    pub(crate) rq: FairRq,
    pub(crate) census: Census,
    pub(crate) avg: QueueAvg,
    pub(crate) clock: PeltClock,
    /// Averages of the classes above the fair one, together.
    pub(crate) higher: SchedAvg,
    /// Does a task of those classes run?
    higher_runs: bool,
    speed: Speed,
    kernel: Kernel,
}

impl FairQueue {
    pub(crate) fn new(kernel: &Kernel, config: RqConfig, capacity: u32) -> Self {
        Self {
            rq: FairRq::new(config),
            census: Census::default(),
            avg: QueueAvg::default(),
            clock: PeltClock::default(),
            higher: SchedAvg::default(),
            higher_runs: false,
            speed: Speed {
                cpu_scale: u64::from(capacity),
                ..Speed::FULL
            },
            kernel: *kernel,
        }
    }

    /// The same queue with this census.
    pub(crate) fn counting(mut self, census: Census) -> Self {
        self.census = census;
        self
    }

    /// `rq->nr_running`: delayed sleepers count.
    #[inline]
    pub(crate) fn nr_running(&self) -> u32 {
        self.rq.h_nr_queued()
    }

    /// Is nothing but SCHED_IDLE work runnable?
    #[inline]
    pub(crate) fn is_sched_idle(&self) -> bool {
        let nr = self.rq.h_nr_queued();
        nr > 0 && nr == self.rq.h_nr_idle()
    }

    /// Share of a task with this `load_avg` in the load of the queue. There are no groups here.
    ///
    /// Differs from Linux: the queue's load is that of now, not of the first reader of the jiffy.
    pub(crate) fn task_h_load(&self, load_avg: u64) -> u64 {
        let queue = self.avg.avg.load_avg;
        load_avg * queue / (queue + 1)
    }

    /// PELT time of `now`. Interrupts take no time of their own here, so `clock_task` is `now`.
    ///
    /// Offset by a second: a signal that was last updated at zero would count as new.
    pub(crate) fn pelt_now(&mut self, now: Timestamp, idle: bool) -> PeltTime {
        let clock = now.0 + CLOCK_OFFSET;
        let idle = idle && !self.higher_runs;
        self.clock.advance(clock, clock, &self.speed, idle);
        self.clock.now()
    }

    fn queue_state(&self) -> QueueState {
        QueueState {
            weight: self.rq.load().0,
            runnable_weight: self.rq.load().0,
            h_nr_runnable: u64::from(self.rq.h_nr_runnable()),
            has_curr: self.rq.root().curr().is_some(),
        }
    }

    fn entity_state(&self, ents: &Entities, id: EntityId) -> EntityState {
        let entity = &ents[id];
        let running = self.rq.root().curr() == Some(id);
        if entity.is_delayed() {
            EntityState::delayed_task(entity.weight().0)
        } else {
            EntityState::task(entity.weight().0, entity.is_on_rq(), running)
        }
    }

    /// Brings the averages of the queue up to date (`update_blocked_averages`).
    pub(crate) fn update_queue(&mut self, now: Timestamp) {
        let idle = self.rq.root().curr().is_none();
        let time = self.pelt_now(now, idle);
        let state = self.queue_state();
        self.avg.update(&self.kernel, time, &state);
    }

    /// Brings the averages of a task of this CPU, and of the queue, up to date.
    pub(crate) fn update_load(&mut self, ents: &Entities, task: &mut Task, now: Timestamp) {
        let idle = self.rq.root().curr().is_none();
        let time = self.pelt_now(now, idle);
        if !task.avg.last_update_time.is_never() {
            let state = self.entity_state(ents, task.entity);
            task.avg.update(&self.kernel, time, &state);
        }
        let state = self.queue_state();
        self.avg.update(&self.kernel, time, &state);
    }

    /// Adds a task, or wakes a delayed one.
    pub(crate) fn enqueue(
        &mut self,
        ents: &mut Entities,
        task: &mut Task,
        flags: EnqueueFlags,
        now: Timestamp,
    ) -> Resched {
        self.update_load(ents, task, now);
        if task.avg.last_update_time.is_never() {
            let state = self.entity_state(ents, task.entity);
            self.avg.attach(&self.kernel, &mut task.avg, &state);
        }
        let resched = self.rq.enqueue(ents, task.entity, flags, now);
        // A delayed sleeper that the balancer moved is still asleep.
        if !ents[task.entity].is_delayed() {
            self.avg.add_util_est(&self.kernel, &task.avg);
        }
        let state = self.entity_state(ents, task.entity);
        self.avg.add_runnable_load(&self.kernel, &task.avg, &state);
        self.census.add(task);
        resched
    }

    /// Takes a task off.
    pub(crate) fn dequeue(
        &mut self,
        ents: &mut Entities,
        task: &mut Task,
        flags: DequeueFlags,
        now: Timestamp,
    ) -> (Dequeued, Resched) {
        let state = self.entity_state(ents, task.entity);
        let was_delayed = ents[task.entity].is_delayed();
        if !was_delayed {
            self.avg.subtract_util_est(&self.kernel, &task.avg);
        }
        if flags.sleep && !was_delayed {
            let idle = self.rq.root().curr().is_none();
            let time = self.pelt_now(now, idle);
            task.avg
                .go_to_sleep(&self.kernel, time, &state, self.speed.cpu_scale);
        }
        self.update_load(ents, task, now);
        let left = self.rq.dequeue(ents, task.entity, flags, now);
        if left.0 == Dequeued::Done {
            self.census.remove(task);
            self.avg
                .subtract_runnable_load(&self.kernel, &task.avg, &state);
        }
        left
    }

    /// Changes a task of this CPU, queued or not, and the load that follows from its weight.
    pub(crate) fn change(
        &mut self,
        ents: &mut Entities,
        task: &mut Task,
        change: Change,
        now: Timestamp,
    ) -> Resched {
        let is_attached = !task.avg.last_update_time.is_never();
        if ents[task.entity].is_on_rq() {
            self.update_load(ents, task, now);
        } else if is_attached {
            self.avg.sync(
                &self.kernel,
                &mut task.avg,
                &EntityState::task(ents[task.entity].weight().0, false, false),
            );
        }
        let old = self.entity_state(ents, task.entity);
        let resched = self.rq.change(ents, task.entity, change, now);
        let new = self.entity_state(ents, task.entity);
        if old.weight != new.weight {
            // The load of a task between two queues is on none of them.
            let mut nowhere = QueueAvg::default();
            let queue = if is_attached {
                &mut self.avg
            } else {
                &mut nowhere
            };
            queue.reweight(&self.kernel, &mut task.avg, &old, &new);
        }
        resched
    }

    /// Brings the averages of a sleeping task up to its queue's (`sync_entity_load_avg`).
    pub(crate) fn sync(&self, ents: &Entities, task: &mut Task) {
        if !task.avg.last_update_time.is_never() {
            let state = self.entity_state(ents, task.entity);
            self.avg.sync(&self.kernel, &mut task.avg, &state);
        }
    }

    /// A sleeping task wakes up elsewhere: its contribution goes at the next update.
    pub(crate) fn remove(&mut self, ents: &Entities, task: &mut Task) {
        if !task.avg.last_update_time.is_never() {
            let state = self.entity_state(ents, task.entity);
            self.avg.remove(&self.kernel, &mut task.avg, &state);
            task.avg.forget_queue();
        }
    }

    /// A queued task has been taken off and goes to another CPU: its contribution goes at once.
    pub(crate) fn detach(&mut self, ents: &Entities, task: &mut Task, now: Timestamp) {
        self.update_load(ents, task, now);
        let state = self.entity_state(ents, task.entity);
        self.avg.detach(&self.kernel, &task.avg, &state);
        task.avg.forget_queue();
    }

    /// The CPU goes idle.
    pub(crate) fn enter_idle(&mut self, now: Timestamp) {
        let none = SchedAvg::default();
        self.clock
            .enter_idle(now.0 + CLOCK_OFFSET, &self.avg.avg, &self.higher, &none);
    }

    /// A task of a higher class starts or stops to run, or goes on.
    pub(crate) fn update_higher(&mut self, now: Timestamp, runs: bool) {
        let idle = self.rq.root().curr().is_none();
        let time = self.pelt_now(now, idle);
        self.higher
            .update_class(&self.kernel, time, self.higher_runs);
        self.higher_runs = runs;
    }

    /// Makes a task the running one.
    pub(crate) fn set_next(&mut self, ents: &mut Entities, task: &mut Task, now: Timestamp) {
        self.update_load(ents, task, now);
        self.rq.set_next(ents, task.entity, now);
    }

    /// Puts the running task back.
    pub(crate) fn put_prev(&mut self, ents: &mut Entities, task: &mut Task, now: Timestamp) {
        if ents[task.entity].is_on_rq() {
            self.update_load(ents, task, now);
        }
        self.rq.put_prev(ents, task.entity, now);
    }

    /// The periodic tick with `task` running.
    pub(crate) fn tick(&mut self, ents: &mut Entities, task: &mut Task, now: Timestamp) -> Resched {
        self.update_load(ents, task, now);
        self.rq.tick(ents, now)
    }

    /// Should the wakee preempt?
    pub(crate) fn check_preempt(
        &mut self,
        ents: &mut Entities,
        wakee: EntityId,
        flags: WakeFlags,
        now: Timestamp,
    ) -> Resched {
        self.rq.check_preempt_wakeup(ents, wakee, flags, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Task;
    use fairlab_kernel::Release;
    use fairlab_runqueue::Policy;
    use fairlab_units::TaskId;
    use fairlab_workload::ProgramId;

    #[test]
    fn a_new_task_brings_its_first_utilization_and_leaves_it_when_it_sleeps() {
        for release in Release::ALL {
            let kernel = Kernel::of(release);
            let mut queue = FairQueue::new(&kernel, RqConfig::new(&kernel, 8), 1024);
            let mut ents = Entities::new();
            let entity = ents.add_task(0, Policy::Normal);
            let weight = ents[entity].weight().0;
            let state = EntityState::task(weight, false, false);
            let mut task = Task::new(
                TaskId(0),
                entity,
                ProgramId(0),
                Default::default(),
                Timestamp(0),
                SchedAvg::new_task(&kernel, &state),
                fairlab_rng::Rng::new(1),
            );
            task.avg.init_util(&kernel, &state, &queue.avg.avg, 1024);
            // Half of what an empty CPU has to spare.
            assert_eq!(task.avg.util_avg, 512, "{release}");
            let at = |us: u64| Timestamp(us * 1_000);
            let _ = queue.enqueue(&mut ents, &mut task, EnqueueFlags::NEW, at(10));
            assert_eq!(queue.avg.avg.util_avg, 512, "{release}");
            queue.set_next(&mut ents, &mut task, at(10));
            let _ = queue.dequeue(&mut ents, &mut task, DequeueFlags::SLEEP, at(12));
            queue.put_prev(&mut ents, &mut task, at(12));
            queue.enter_idle(at(12));
            queue.update_queue(at(100));
            let left = queue.avg.avg.util_avg;
            assert!((505..=512).contains(&left), "{release}: {left}");
        }
    }
}
