//! How a run begins: the tasks of the start, woken, queued or asleep.

use fairlab_runqueue::EnqueueFlags;
use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};
use fairlab_workload::{Begins, Op};

use crate::engine::Engine;
use crate::event_queue::Due;
use crate::ops::Step;

impl Engine<'_> {
    /// The tasks of the start come into the run.
    pub(crate) fn start(&mut self) {
        self.start_periods();
        if self.workload.warmup > Nanos::ZERO {
            let end = Timestamp::ZERO + self.workload.warmup;
            self.queue.push(end, Due::Warm);
        }
        for cpu in &self.world.active.clone() {
            self.stop_tick(cpu);
            self.note_idle(cpu);
            self.world.cpus[cpu].idle.enter(self.now, &self.costs);
        }
        let first = self.world.active.first().unwrap_or_default();
        for &program in &self.workload.start {
            let begins = match self.workload.programs[program.index()].begins {
                Begins::Woken if self.workload.stacked => Begins::Queued(first),
                begins => begins,
            };
            let cpu = match begins {
                Begins::Woken => first,
                Begins::Queued(cpu) | Begins::Asleep(cpu) => self.online_cpu(cpu).unwrap_or(first),
            };
            let id = self.new_task(program, cpu, None);
            let cpu = self.allowed_cpu(id, cpu);
            self.world.tasks[id.index()].cpu = cpu;
            let is_higher = self.world.tasks[id.index()].higher.is_some();
            match begins {
                Begins::Queued(_) if !is_higher => {
                    self.init_util(id, cpu);
                    self.activate(id, cpu, cpu, EnqueueFlags::NEW, true);
                }
                Begins::Asleep(_) if self.falls_asleep(cpu, id) => {}
                _ => self.wake_up(id, cpu, 0, false),
            }
        }
    }

    /// `cpu`, if the machine has it and it is online.
    fn online_cpu(&self, cpu: CpuId) -> Option<CpuId> {
        self.world.active.test(cpu).then_some(cpu)
    }

    /// Lets a task that has not run yet sleep in its first operation, if that lets it sleep.
    fn falls_asleep(&mut self, cpu: CpuId, id: TaskId) -> bool {
        let program = self.world.tasks[id.index()].program;
        let lets_sleep = matches!(
            self.ops.get(program, 0),
            Some(Op::SleepUntil(_) | Op::Sleep(_) | Op::NextPart | Op::SemWait(_))
        );
        let step = lets_sleep.then(|| self.perform(cpu, id));
        if let Some(Step::Next) = step {
            let task = &mut self.world.tasks[id.index()];
            task.pc = task.pc.wrapping_add(1);
        }
        matches!(step, Some(Step::Sleep))
    }
}
