//! A CPU and what runs on it: segments, switches, ticks, interrupts, idleness.

use fairlab_event::{EventKind, SwitchState};
use fairlab_policy::hint_on_idle_entry;
use fairlab_runqueue::{DequeueFlags, Dequeued, Resched};
use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};

use crate::engine::Engine;
use crate::event_queue::Due;
use crate::task::Phase;
use crate::warmth::Warmth;
use crate::world::View;

impl Engine<'_> {
    /// Books what the running task of `cpu` has done since the last time.
    pub(crate) fn book_progress(&mut self, cpu: CpuId) {
        let now = self.now;
        let c = &mut self.world.cpus[cpu];
        let span = now - c.booked;
        c.booked = now;
        let Some(id) = c.curr else { return };
        let task = &mut self.world.tasks[id.index()];
        let overhead = span.min(task.overhead);
        task.overhead -= overhead;
        task.overhead_done += overhead;
        let computed = task.warmth.compute(span - overhead);
        let done = (computed.0 * c.speed_of(task)) >> 10;
        task.work = task.work.saturating_sub(Nanos(done));
    }

    /// Lets the running task of `cpu` go on: the end of its segment is due, unless it must leave.
    pub(crate) fn start_segment(&mut self, cpu: CpuId) {
        if self.world.cpus[cpu].need_resched {
            return self.schedule(cpu);
        }
        self.arm_segment(cpu);
    }

    pub(crate) fn arm_segment(&mut self, cpu: CpuId) {
        let now = self.now;
        let c = &mut self.world.cpus[cpu];
        let Some(id) = c.curr else {
            return self.queue.cancel_segment(cpu);
        };
        let task = &self.world.tasks[id.index()];
        c.booked = now;
        let end = now + c.wall_time(task);
        let end = task.spin_until.map_or(end, |until| until.max(end));
        self.queue.push(end, Due::Segment { cpu });
    }

    /// The running task of `cpu` has done what it had to do.
    pub(crate) fn end_segment(&mut self, cpu: CpuId) {
        self.book_progress(cpu);
        if let Some(id) = self.world.cpus[cpu].curr {
            let task = &mut self.world.tasks[id.index()];
            // What rounding left over.
            task.work = Nanos::ZERO;
            task.overhead = Nanos::ZERO;
        }
        self.step(cpu);
    }

    /// An interrupt takes `cost` from what runs on `cpu`. Follow up with [`Self::resume`].
    pub(crate) fn interrupt(&mut self, cpu: CpuId, cost: Nanos) {
        self.book_progress(cpu);
        self.charge(cpu, cost);
    }

    /// The interrupt is over.
    pub(crate) fn resume(&mut self, cpu: CpuId) {
        if self.world.cpus[cpu].curr.is_some() {
            self.start_segment(cpu);
        }
    }

    /// Kernel work on `cpu`: whoever runs there pays, or else the next one.
    pub(crate) fn charge(&mut self, cpu: CpuId, cost: Nanos) {
        self.counts.scheduler += cost;
        let c = &mut self.world.cpus[cpu];
        match c.curr {
            Some(id) => self.world.tasks[id.index()].overhead += cost,
            None => c.debt += cost,
        }
    }

    /// The running task of `cpu` goes to sleep or exits.
    pub(crate) fn deactivate(&mut self, cpu: CpuId, phase: Phase) {
        let Some(id) = self.world.cpus[cpu].curr else {
            return;
        };
        let now = self.now;
        let dead = phase == Phase::Dead;
        if self.world.cpus[cpu].curr_higher.take().is_some() {
            self.world.cpus[cpu].slice_over = false;
            self.world.cpus[cpu].queue.update_higher(now, false);
        } else {
            let flags = if dead {
                DequeueFlags::SPECIAL
            } else {
                DequeueFlags::SLEEP
            };
            let task = &mut self.world.tasks[id.index()];
            let queue = &mut self.world.cpus[cpu].queue;
            let (dequeued, _) = queue.dequeue(&mut self.world.ents, task, flags, now);
            debug_assert!(
                !(dead && dequeued == Dequeued::Delayed),
                "the dead do not stay"
            );
            if dead {
                // The load of a task that is gone leaves its queue, that of a sleeper decays there.
                queue.remove(&self.world.ents, task);
            }
        }
        if dead {
            let program = self.world.tasks[id.index()].program;
            let counts = !self.workload.programs[program.index()].is_background;
            self.alive -= usize::from(counts);
            self.counts.exits += 1;
            self.emit(cpu, EventKind::Exit { task: id });
            let program = self.world.tasks[id.index()].program;
            let process = self.workload.programs[program.index()].process;
            self.cache
                .count_thread(process, self.world.cpus.len(), false);
            self.caches.retire(&self.world.tasks[id.index()].warmth);
            self.world.tasks[id.index()].warmth = Warmth::default();
            if let Some(memory) = self.world.tasks[id.index()].memory.take() {
                self.memory.free(&memory);
            }
            let debt = std::mem::take(&mut self.world.tasks[id.index()].overhead);
            self.world.cpus[cpu].debt += debt;
        }
        let task = &mut self.world.tasks[id.index()];
        task.phase_after = phase;
        task.sleeps = task.sleeps.wrapping_add(1);
        let state = if dead {
            SwitchState::Dead
        } else {
            SwitchState::Sleeping
        };
        self.reschedule(cpu, state);
    }

    /// `sched_yield` by the running task of `cpu`.
    pub(crate) fn yield_cpu(&mut self, cpu: CpuId) {
        let now = self.now;
        if self.world.cpus[cpu].curr_higher.is_some() {
            self.world.cpus[cpu].slice_over = true;
        } else {
            // The request that the accounting may make is moot: a pick follows.
            let queue = &mut self.world.cpus[cpu].queue.rq;
            let _ = queue.yield_task(&mut self.world.ents, now);
        }
        self.schedule(cpu);
    }

    /// Takes the CPU from the running task, which stays queued. Follow up with [`Self::restart`].
    pub(crate) fn stop_current(&mut self, cpu: CpuId) {
        self.book_progress(cpu);
        let now = self.now;
        let Some(id) = self.world.cpus[cpu].curr else {
            return;
        };
        let higher = self.world.cpus[cpu].curr_higher.is_some();
        self.leave_hardware(cpu, id);
        self.requeue_higher(cpu);
        self.world.cpus[cpu].book_time(now);
        let task = &mut self.world.tasks[id.index()];
        if !higher {
            self.world.cpus[cpu]
                .queue
                .put_prev(&mut self.world.ents, task, now);
        }
        task.enter(Phase::Runnable, now);
        let c = &mut self.world.cpus[cpu];
        c.curr = None;
        c.stopper = true;
        c.idle_since = now;
        self.queue.cancel_segment(cpu);
        self.note_idle(cpu);
        let state = SwitchState::Runnable;
        self.emit(
            cpu,
            EventKind::Switch {
                prev: Some(id),
                prev_state: state,
                next: None,
            },
        );
        self.counts.switches += 1;
    }

    /// Picks what runs on `cpu` after [`Self::stop_current`].
    pub(crate) fn restart(&mut self, cpu: CpuId) {
        if self.world.cpus[cpu].nr_running() == 0 {
            self.newidle_balance(cpu);
        }
        self.world.cpus[cpu].stopper = false;
        self.note_idle(cpu);
        if self.world.cpus[cpu].nr_running() > 0 {
            self.reschedule(cpu, SwitchState::Runnable);
        }
        // Nothing was left, or only sleepers whose dequeue was delayed.
        if self.world.cpus[cpu].curr.is_none() {
            self.enter_idle(cpu);
            self.update_siblings(cpu);
        }
    }

    /// Picks what runs on `cpu` (`__schedule`), the running task being runnable.
    pub(crate) fn schedule(&mut self, cpu: CpuId) {
        self.book_progress(cpu);
        self.reschedule(cpu, SwitchState::Runnable);
    }

    fn reschedule(&mut self, cpu: CpuId, state: SwitchState) {
        let now = self.now;
        let c = &mut self.world.cpus[cpu];
        c.need_resched = false;
        c.lazy_resched = false;
        let prev = c.curr;
        if state == SwitchState::Runnable && prev.is_none() && c.nr_running() == 0 {
            return;
        }
        let was_higher = self.world.cpus[cpu].curr_higher.is_some()
            || prev.is_some_and(|id| self.world.tasks[id.index()].higher.is_some());
        if state == SwitchState::Runnable {
            self.requeue_higher(cpu);
        }
        let mut next = self.pick(cpu);
        if next.is_none() && self.newidle_balance(cpu) {
            next = self.pick(cpu);
        }
        self.world.cpus[cpu].curr_higher = next.and_then(|id| self.world.tasks[id.index()].higher);
        if next == prev && state == SwitchState::Runnable {
            if self.world.cpus[cpu].curr_higher.is_some() {
                self.world.cpus[cpu].queue.update_higher(now, true);
            }
            return self.arm_segment(cpu);
        }
        if let Some(id) = prev {
            self.leave_hardware(cpu, id);
            let task = &mut self.world.tasks[id.index()];
            if !was_higher {
                self.world.cpus[cpu]
                    .queue
                    .put_prev(&mut self.world.ents, task, now);
            }
            let phase = if state == SwitchState::Runnable {
                Phase::Runnable
            } else {
                task.phase_after
            };
            task.enter(phase, now);
            self.counts.preemptions += u64::from(state == SwitchState::Runnable);
        }
        self.world.cpus[cpu].book_time(now);
        self.world.cpus[cpu].curr = next;
        self.take_lock(cpu, cpu);
        self.note_idle(cpu);
        self.counts.switches += 1;
        self.emit(
            cpu,
            EventKind::Switch {
                prev,
                prev_state: state,
                next,
            },
        );
        match next {
            Some(id) => self.begin_run(cpu, id, prev.is_none()),
            None => self.enter_idle(cpu),
        }
        if prev.is_none() != next.is_none() {
            self.update_siblings(cpu);
        }
        self.arm_segment(cpu);
        self.complete_left(cpu);
    }

    fn begin_run(&mut self, cpu: CpuId, id: TaskId, from_idle: bool) {
        let now = self.now;
        let c = &mut self.world.cpus[cpu];
        let task = &mut self.world.tasks[id.index()];
        if task.higher.is_some() {
            c.queue.update_higher(now, true);
        } else {
            c.queue.set_next(&mut self.world.ents, task, now);
        }
        task.enter(Phase::Running, now);
        let mut switch = self.costs.context_switch;
        if let Some(process) = task.process
            && std::mem::replace(&mut c.process, process) != process
        {
            switch += self.costs.switch_process;
        }
        let mut cost = switch + std::mem::take(&mut c.debt);
        if from_idle {
            let idle = Nanos(now.0.saturating_sub(c.idle_since.0));
            cost += c.idle.leave(idle, &self.costs);
        }
        task.overhead += cost;
        self.counts.scheduler += switch;
        self.caches.enter(&mut task.warmth, cpu, &self.distances);
        self.update_frequency(cpu);
        self.set_memory_speed(cpu, id);
        self.share_bandwidth(cpu, id, true);
        self.arm_tick(cpu);
    }

    /// The running task of `cpu` is about to leave it.
    fn leave_hardware(&mut self, cpu: CpuId, id: TaskId) {
        self.account_cache(cpu, id);
        let warmth = &mut self.world.tasks[id.index()].warmth;
        self.caches.leave(warmth, cpu, id);
        self.share_bandwidth(cpu, id, false);
    }

    fn enter_idle(&mut self, cpu: CpuId) {
        let now = self.now;
        let c = &mut self.world.cpus[cpu];
        c.debt = Nanos::ZERO;
        c.idle_since = now;
        c.queue.enter_idle(now);
        c.idle.enter(now, &self.costs);
        let view = View {
            world: &self.world,
            balance: &self.balance,
            costs: &self.costs,
            timer: self.timer,
        };
        let hint = hint_on_idle_entry(&view, &self.world.kernel, cpu);
        if let Some(shared) = hint.set {
            self.world.shared[shared.0 as usize].has_idle_cores = true;
        }
        self.stop_tick(cpu);
    }

    /// The task to run, if there is one.
    fn pick(&mut self, cpu: CpuId) -> Option<TaskId> {
        let now = self.now;
        if let Some(task) = self.world.cpus[cpu].higher.pop_first() {
            return Some(TaskId(task));
        }
        loop {
            let queue = &mut self.world.cpus[cpu].queue;
            let picked = queue.pick_next(&mut self.world.ents, now);
            self.collect_left(cpu);
            let id = self.world.task_of(picked?);
            if !self.parks(cpu, id) {
                return Some(id);
            }
        }
    }

    /// Sleepers whose delayed dequeue is over have left the queue by now; something else may have changed
    /// too.
    pub(crate) fn collect_left(&mut self, cpu: CpuId) {
        self.take_left(cpu);
        self.note_idle(cpu);
    }

    /// The same where nothing else has changed since the CPU was looked at.
    pub(crate) fn complete_left(&mut self, cpu: CpuId) {
        if self.take_left(cpu) {
            self.note_idle(cpu);
        }
    }

    /// Takes who has left out of the counts; true when somebody has.
    fn take_left(&mut self, cpu: CpuId) -> bool {
        let mut has_left = false;
        while let Some(left) = self.world.cpus[cpu].queue.rq.pop_left(&mut self.world.ents) {
            has_left = true;
            let task = self.world.task_of(left);
            let task = &mut self.world.tasks[task.index()];
            self.world.cpus[cpu].queue.census.remove(task);
        }
        has_left
    }

    fn arm_tick(&mut self, cpu: CpuId) {
        let c = &mut self.world.cpus[cpu];
        if !std::mem::replace(&mut c.tick_pending, true) {
            let next = (self.now.0 / self.tick.0 + 1) * self.tick.0;
            self.queue.push(Timestamp(next), Due::Tick { cpu });
        }
    }

    /// The timer interrupt of a busy CPU. An idle one has none.
    pub(crate) fn tick(&mut self, cpu: CpuId) {
        self.world.cpus[cpu].tick_pending = false;
        let Some(id) = self.world.cpus[cpu].curr else {
            return;
        };
        let now = self.now;
        self.interrupt(cpu, self.costs.tick);
        self.update_frequency(cpu);
        let c = &mut self.world.cpus[cpu];
        match c.curr_higher {
            Some(class) => self.tick_higher(cpu, class),
            None => {
                let task = &mut self.world.tasks[id.index()];
                let resched = c.queue.tick(&mut self.world.ents, task, now);
                // A lazy request becomes a real one at the tick after it was made.
                if c.lazy_resched || resched == Resched::Now {
                    c.need_resched = true;
                } else if resched == Resched::Lazy {
                    c.lazy_resched = true;
                }
            }
        }
        let is_fair = self.world.cpus[cpu].curr_higher.is_none();
        self.arm_tick(cpu);
        self.note_overutilized(cpu);
        self.tick_balance(cpu);
        if is_fair && self.world.cpus[cpu].curr == Some(id) {
            self.tick_cache(cpu, id);
            self.tick_memory(cpu, id);
        }
        self.resume(cpu);
    }
}
