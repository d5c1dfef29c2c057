//! Tasks of the classes above the fair one: they wake up where they last ran, and take the CPU away.
//!
//! Differs from Linux: real-time tasks are not pushed to CPUs that run less important ones, nor
//! pulled; deadline tasks have no budget.

use fairlab_runqueue::{
    Change, DequeueFlags, EnqueueFlags, HigherClass, Policy, ROUND_ROBIN_SLICE, Resched,
};
use fairlab_units::{CpuId, TaskId};
use fairlab_workload::Class;

use crate::engine::Engine;
use crate::task::Phase;

impl Engine<'_> {
    /// Gives a task the class that was asked for. A deadline counts from now.
    pub(crate) fn set_class(&mut self, id: TaskId) {
        let task = &mut self.world.tasks[id.index()];
        task.higher = match task.class {
            Class::Fair | Class::Batch | Class::Idle => None,
            Class::Fifo(priority) => Some(HigherClass::Realtime {
                priority,
                round_robin: false,
            }),
            Class::RoundRobin(priority) => Some(HigherClass::Realtime {
                priority,
                round_robin: true,
            }),
            Class::Deadline(relative) => Some(HigherClass::Deadline(self.now + relative)),
        };
    }

    /// Tells whoever watches the priority that the kernel would print for the task.
    #[doc(alias = "normal_prio")]
    pub(crate) fn tell_priority(&mut self, id: TaskId) {
        let task = &self.world.tasks[id.index()];
        let prio = match task.class {
            Class::Fair | Class::Batch | Class::Idle => {
                120 + i16::from(self.world.ents[task.entity].nice())
            }
            Class::Fifo(priority) | Class::RoundRobin(priority) => 99 - i16::from(priority),
            Class::Deadline(_) => -1,
        };
        self.observer.priority(self.now, id, prio);
    }

    /// Moves the running task of `cpu` to another class (`sched_setscheduler`). Whoever waits there
    /// may take the CPU from it.
    pub(crate) fn change_class(&mut self, cpu: CpuId, id: TaskId, class: Class) {
        let now = self.now;
        self.charge(cpu, self.costs.set_attribute);
        self.world.tasks[id.index()].class = class;
        let before = self.world.tasks[id.index()].higher;
        self.set_class(id);
        self.tell_priority(id);
        let c = &mut self.world.cpus[cpu];
        let task = &mut self.world.tasks[id.index()];
        let ents = &mut self.world.ents;
        if before.is_none() && task.higher.is_some() {
            // The request that the accounting may make is moot: see the end.
            let _ = c.queue.dequeue(ents, task, DequeueFlags::MOVE, now);
            c.queue.put_prev(ents, task, now);
            c.queue.detach(ents, task, now);
            c.queue.update_higher(now, true);
        }
        c.curr_higher = task.higher;
        if task.higher.is_none() {
            let policy = Change::Policy(fair_policy(class));
            // Not queued when it comes from a higher class, running when it does not.
            let _ = c.queue.change(ents, task, policy, now);
            if before.is_some() {
                c.queue.update_higher(now, false);
                let _ = c.queue.enqueue(ents, task, EnqueueFlags::RESTORED, now);
                c.queue.set_next(ents, task, now);
            }
        }
        c.need_resched = true;
        self.note_idle(cpu);
    }

    /// Wakes a task of a higher class on `cpu` if it may run there, on behalf of `this`. It is `new`
    /// when it was just forked.
    pub(crate) fn wake_higher(&mut self, id: TaskId, cpu: CpuId, this: CpuId, new: bool) {
        let now = self.now;
        let target = self.allowed_cpu(id, cpu);
        self.note_found(id, target);
        if target != cpu && !new {
            self.note_migration(this, id, cpu, target);
        }
        let cpu = target;
        self.set_class(id);
        let task = &mut self.world.tasks[id.index()];
        let Some(class) = task.higher else { return };
        task.cpu = cpu;
        task.woken_at = Some(now);
        task.enter(Phase::Runnable, now);
        let target = &mut self.world.cpus[cpu];
        let idle_before = target.curr.is_none();
        target.higher.push_back(id.0, class);
        let preempts = idle_before || target.curr_higher.is_none_or(|curr| class.preempts(curr));
        self.emit_woken(this, id, cpu, new);
        self.note_idle(cpu);
        if idle_before {
            self.end_idle_period(cpu);
        }
        self.request(
            cpu,
            this,
            if preempts {
                Resched::Now
            } else {
                Resched::None
            },
        );
    }

    /// Queues the running task of `cpu` again, if it is of a higher class. It was preempted, or has
    /// used its slice.
    pub(crate) fn requeue_higher(&mut self, cpu: CpuId) {
        let c = &mut self.world.cpus[cpu];
        let (Some(id), Some(class)) = (c.curr, c.curr_higher.take()) else {
            return;
        };
        if std::mem::take(&mut c.slice_over) {
            c.higher.push_back(id.0, class);
        } else {
            c.higher.push_front(id.0, class);
        }
        c.queue.update_higher(self.now, false);
    }

    /// The tick of a CPU whose running task is of a higher class: a round-robin slice may be over.
    pub(crate) fn tick_higher(&mut self, cpu: CpuId, class: HigherClass) {
        let now = self.now;
        let c = &mut self.world.cpus[cpu];
        c.queue.update_higher(now, true);
        let Some(id) = c.curr else { return };
        let ran = now - self.world.tasks[id.index()].since;
        let round_robin = matches!(
            class,
            HigherClass::Realtime {
                round_robin: true,
                ..
            }
        );
        let waits_for_equal = c.higher.first().is_some_and(|first| !class.preempts(first));
        if round_robin && ran >= ROUND_ROBIN_SLICE && waits_for_equal {
            c.slice_over = true;
            c.need_resched = true;
        }
    }
}

/// The policy of a task as the fair class knows it, should it be there.
pub(crate) fn fair_policy(class: Class) -> Policy {
    match class {
        Class::Batch => Policy::Batch,
        Class::Idle => Policy::Idle,
        _ => Policy::Normal,
    }
}
