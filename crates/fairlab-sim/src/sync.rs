//! What tasks wait for each other with: mutexes, conditions, semaphores, timers, children.
//!
//! ```text
//!   CondWait:  give the mutex back --> in the list of the condition --signal--> Lock as usual
//! ```
//!
//! A mutex is not handed over: who is woken has to take it, and another task may be faster, as with
//! the futexes below `pthread_mutex_lock`.

use fairlab_policy::WakeFlags;
use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};
use fairlab_workload::{CondId, MetricId, MutexId, SemaphoreId, TimerId, TimerOrigin, TimerSpec};

use crate::engine::Engine;
use crate::event_queue::Due;
use crate::ops::Step;

impl Engine<'_> {
    pub(crate) fn lock(&mut self, id: TaskId, mutex: MutexId) -> Step {
        self.world.tasks[id.index()].granted = false;
        let mutex = &mut self.resources.mutexes[mutex.index()];
        if mutex.owner.is_some() {
            mutex.waiting.push_back(id);
            return Step::Sleep;
        }
        mutex.owner = Some(id);
        Step::Next
    }

    pub(crate) fn unlock(&mut self, cpu: CpuId, mutex: MutexId) -> Step {
        let mutex = &mut self.resources.mutexes[mutex.index()];
        mutex.owner = None;
        match mutex.waiting.pop_front() {
            Some(waiter) => {
                self.grant(cpu, waiter, 0);
                Step::Paid
            }
            None => Step::Next,
        }
    }

    pub(crate) fn cond_wait(
        &mut self,
        cpu: CpuId,
        id: TaskId,
        cond: CondId,
        mutex: MutexId,
    ) -> Step {
        let task = &mut self.world.tasks[id.index()];
        if task.in_cond_wait {
            let step = self.lock(id, mutex);
            if matches!(step, Step::Next) {
                self.world.tasks[id.index()].in_cond_wait = false;
            }
            return step;
        }
        task.in_cond_wait = true;
        self.resources.conds[cond.index()].push_back(id);
        // The waiter that this wakes costs us something, which we pay when we run again.
        self.unlock(cpu, mutex);
        Step::Sleep
    }

    /// Wakes up to `most` of those who wait for the condition.
    pub(crate) fn signal(&mut self, cpu: CpuId, cond: CondId, most: usize) -> Step {
        let waiting = &mut self.resources.conds[cond.index()];
        let nr = waiting.len().min(most);
        let woken: Vec<TaskId> = waiting.drain(..nr).collect();
        for waiter in &woken {
            self.grant(cpu, *waiter, 0);
        }
        if woken.is_empty() {
            Step::Next
        } else {
            Step::Paid
        }
    }

    pub(crate) fn semaphore_wait(&mut self, id: TaskId, semaphore: SemaphoreId) -> Step {
        self.world.tasks[id.index()].granted = false;
        let semaphore = &mut self.resources.semaphores[semaphore.index()];
        if semaphore.posted.pop_front().is_none() {
            semaphore.waiting.push_back(id);
            return Step::Sleep;
        }
        Step::Next
    }

    /// Takes one, and lets the stretch of `begins` begin when that one was posted. When the task had
    /// to be woken for it, the time since the wakeup goes to `latency`.
    pub(crate) fn semaphore_take(
        &mut self,
        id: TaskId,
        semaphore: SemaphoreId,
        begins: MetricId,
        latency: Option<MetricId>,
    ) -> Step {
        let now = self.now;
        let task = &mut self.world.tasks[id.index()];
        let woken = std::mem::take(&mut task.granted).then_some(task.granted_at);
        let semaphore = &mut self.resources.semaphores[semaphore.index()];
        let Some(posted) = semaphore.posted.pop_front() else {
            semaphore.waiting.push_back(id);
            return Step::Sleep;
        };
        task.begun.retain(|(m, _)| *m != begins.0);
        task.begun.push((begins.0, posted));
        if let (Some(metric), Some(woken)) = (latency, woken) {
            self.sample(metric, now - woken);
        }
        Step::Next
    }

    pub(crate) fn semaphore_post(&mut self, cpu: CpuId, semaphore: SemaphoreId) -> Step {
        let now = self.now;
        let semaphore = &mut self.resources.semaphores[semaphore.index()];
        semaphore.posted.push_back(now);
        match semaphore.waiting.pop_front() {
            Some(waiter) => {
                self.grant(cpu, waiter, 0);
                Step::Paid
            }
            None => Step::Next,
        }
    }

    /// Sleeps until `timer` fires next, or goes on at once when that is in the past.
    pub(crate) fn wait_for_timer(&mut self, id: TaskId, timer: TimerId, period: Nanos) -> Step {
        let now = self.now;
        let task = &mut self.world.tasks[id.index()];
        if std::mem::take(&mut task.granted) {
            let due = task.timer_due;
            if let Some(log) = &mut task.loop_log {
                log.woken_late += now - due;
            }
            return Step::Next;
        }
        let spec = self.workload.timers[timer.index()];
        let last = if spec.is_unique {
            task.timer(timer.0)
        } else {
            &mut self.resources.timers[timer.index()]
        };
        let due = last.unwrap_or(first_firing(spec, now)) + period;
        let is_ahead = now < due;
        *last = Some(if is_ahead || spec.is_absolute {
            due
        } else {
            now
        });
        if let Some(log) = &mut task.loop_log {
            log.configured_period += period;
            let slack = due.0 as i64 - now.0 as i64;
            log.slack = slack;
            log.slack_sum += slack;
        }
        if !is_ahead {
            return Step::Next;
        }
        task.timer_due = due;
        self.sleep_until(id, due)
    }

    /// Puts a task to sleep that its timer wakes at `due`, or later by the slack of its program.
    pub(crate) fn sleep_until(&mut self, id: TaskId, due: Timestamp) -> Step {
        let task = &self.world.tasks[id.index()];
        let slack = if task.higher.is_some() {
            Nanos::ZERO
        } else {
            self.workload.programs[task.program.index()].timer_slack
        };
        let due = due + slack;
        self.world.cpus[task.cpu].idle.set_timer(due, self.now);
        self.queue.push(due, Due::Timer { task: id });
        Step::Sleep
    }

    pub(crate) fn wait_for_children(&mut self, id: TaskId, most: u32) -> Step {
        let task = &mut self.world.tasks[id.index()];
        task.granted = false;
        if task.children <= most {
            task.waits_for_children = None;
            return Step::Next;
        }
        task.waits_for_children = Some(most);
        Step::Sleep
    }

    /// Tells the parent of a task that is about to exit, which wakes it if it waited for that
    /// (`exit_notify`).
    pub(crate) fn notify_parent(&mut self, cpu: CpuId, id: TaskId) {
        let Some(parent) = self.world.tasks[id.index()].parent else {
            return;
        };
        let task = &mut self.world.tasks[parent.index()];
        task.children -= 1;
        let enough = |most: &u32| task.children <= *most;
        if task
            .waits_for_children
            .take_if(|most| enough(most))
            .is_some()
        {
            self.grant(cpu, parent, WakeFlags::SYNC);
        }
    }
}

fn first_firing(spec: TimerSpec, now: Timestamp) -> Timestamp {
    match spec.origin {
        TimerOrigin::Start(delay) => Timestamp::ZERO + delay,
        TimerOrigin::FirstUse => now,
    }
}
