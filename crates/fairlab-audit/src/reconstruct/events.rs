//! What each event says.

use fairlab_event::{EventKind, SchedEvent};
use fairlab_runqueue::{Change, DequeueFlags, EnqueueFlags};
use fairlab_units::{CpuId, CpuMask, Nanos, TaskId};

use super::balancing::SOON;
use super::cpu::Curr;
use super::task::{Phase, Slot};
use super::{Asker, Reconstruction};

/// Ticks between two events look as far into what comes after the second as they need.
const PATIENCE: Nanos = SOON;

/// So many events are waited for at most.
const MOST_SOON: usize = 4096;

/// Priorities from here on are of the fair class: nice -20 is 100.
const FAIR: i16 = 100;

/// The priority that recordings print for stoppers, the highest of the real-time ones.
const STOPPER: i16 = 0;

impl Reconstruction<'_> {
    /// Takes an event in. It is dealt with when it is known what comes soon after.
    pub(crate) fn event(&mut self, event: &SchedEvent, asker: &mut dyn Asker) {
        self.soon.push_back(*event);
        while let Some(first) = self.soon.front().copied()
            && (event.time > first.time + SOON + PATIENCE || self.soon.len() > MOST_SOON)
        {
            self.take(&first, asker);
        }
    }

    /// No more events come.
    pub(crate) fn end(&mut self, asker: &mut dyn Asker) {
        while let Some(first) = self.soon.front().copied() {
            self.take(&first, asker);
        }
    }

    /// Events about CPUs that the machine does not have are contradictions.
    fn take(&mut self, event: &SchedEvent, asker: &mut dyn Asker) {
        let is_known = self.is_known_cpu(event.cpu);
        if is_known {
            // What happens on the way sees this event among those to come.
            self.advance(event.time);
        }
        self.soon.pop_front();
        if !is_known {
            self.contradictions += 1;
            return;
        }
        let cpu = event.cpu;
        self.settle_pulled(event);
        let mut knows = |cpu: CpuId| {
            let known = cpu.index() < self.cpus.len() && self.active.test(cpu);
            self.contradictions += u64::from(!known);
            known
        };
        match event.kind {
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => self.switch(cpu, prev, prev_state, next, asker),
            EventKind::Waking { task, prev_cpu } if knows(prev_cpu) => {
                self.waking(cpu, task, prev_cpu, asker);
            }
            EventKind::Wakeup { task, target } if knows(target) => {
                self.wakeup(cpu, task, target, asker);
            }
            EventKind::WakeupNew { task, target } if knows(target) => {
                self.wakeup_new(cpu, task, target, asker);
            }
            EventKind::Migrate { task, from, to } if knows(from) && knows(to) => {
                self.migrate(cpu, task, from, to);
            }
            EventKind::Exec { task } => self.exec(cpu, task, asker),
            EventKind::Exit { task } => {
                let slot = self.slot(task);
                self.tasks[slot.index()].is_exiting = true;
            }
            EventKind::Priority { task, prio } => self.priority(task, prio),
            EventKind::Running { task } => {
                let slot = task.map(|task| self.slot(task));
                self.believe(cpu, slot);
            }
            // Whoever enters or leaves an idle state runs nothing else.
            EventKind::CpuIdle { .. } if self.cpus[cpu].curr == Curr::Unknown => {
                self.believe(cpu, None);
            }
            EventKind::Lost { .. } => self.lost(cpu),
            _ => {}
        }
    }

    /// The task has this priority from now on.
    fn priority(&mut self, id: TaskId, prio: i16) {
        let slot = self.slot(id);
        let is_higher = prio < FAIR;
        self.tasks[slot.index()].is_stopper = prio == STOPPER;
        self.set_higher(slot, is_higher);
        if is_higher {
            return;
        }
        let nice = (prio - 120).clamp(-20, 19) as i8;
        let task = &mut self.tasks[slot.index()];
        let c = &mut self.cpus[task.cpu];
        let entity = slot.entity();
        if self.ents[entity].nice() != nice {
            // What the change asks for was recorded, or not done.
            let change = Change::Nice(nice);
            let _ = c
                .class
                .change(&mut self.ents, entity, &mut task.avg, change, self.now);
        }
        if self.tasks[slot.index()].phase == Phase::Unknown {
            self.tasks[slot.index()].avg = self.new_avg(slot);
        }
    }

    /// Moves the task to a class above the fair one, or back.
    fn set_higher(&mut self, slot: Slot, is_higher: bool) {
        let (phase, cpu) = {
            let task = &self.tasks[slot.index()];
            if task.is_higher == is_higher {
                return;
            }
            (task.phase, task.cpu)
        };
        let runs = self.cpus[cpu].curr == Curr::Task(slot);
        if is_higher {
            if self.ents[slot.entity()].is_on_rq() {
                self.leave(slot, DequeueFlags::MOVE);
                let task = &mut self.tasks[slot.index()];
                let class = &mut self.cpus[cpu].class;
                if runs {
                    class.put_prev(&mut self.ents, slot.entity(), &mut task.avg, self.now);
                    class.update_higher(self.now, true);
                    self.cpus[cpu].curr_is_higher = true;
                } else if phase == Phase::Queued {
                    self.cpus[cpu].higher_waiting.push(slot);
                }
                let class = &mut self.cpus[cpu].class;
                class.detach(&mut self.ents, slot.entity(), &mut task.avg, self.now);
            }
            self.tasks[slot.index()].is_higher = true;
            return;
        }
        self.tasks[slot.index()].is_higher = false;
        let c = &mut self.cpus[cpu];
        c.higher_waiting.retain(|other| *other != slot);
        if runs {
            c.curr_is_higher = false;
            c.class.update_higher(self.now, false);
        }
        if runs || phase == Phase::Queued {
            let task = &mut self.tasks[slot.index()];
            let (ents, now) = (&mut self.ents, self.now);
            let flags = EnqueueFlags::RESTORED;
            let _ = c
                .class
                .enqueue(ents, slot.entity(), &mut task.avg, flags, now);
            if runs {
                c.class.set_next(ents, slot.entity(), &mut task.avg, now);
            }
        }
    }

    /// The task is a kernel thread that serves these CPUs, one as a rule.
    pub fn bind(&mut self, task: TaskId, allowed: &CpuMask) {
        self.allow(task, allowed);
        let slot = self.slot(task);
        self.tasks[slot.index()].is_bound_kthread = allowed.weight() == 1;
    }
}
