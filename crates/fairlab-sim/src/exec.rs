//! `execve`: a task becomes another program, and may go elsewhere, since it leaves no caches behind.

use fairlab_event::EventKind;
use fairlab_policy::WakeFlags;
use fairlab_units::{CpuId, Nanos, TaskId};

use crate::engine::Engine;
use crate::ops::Step;

impl Engine<'_> {
    /// The running task of `cpu` becomes another program. The policy is asked as at a fork, and the
    /// stopper moves the task when the answer is another CPU.
    #[doc(alias = "sched_exec")]
    pub(crate) fn exec(&mut self, cpu: CpuId, id: TaskId) -> Step {
        self.counts.execs += 1;
        if self.world.tasks[id.index()].higher.is_some() {
            self.emit(cpu, EventKind::Exec { task: id });
            self.charge(cpu, self.costs.exec);
            return Step::Paid;
        }
        let target = self.place(id, cpu, cpu, WakeFlags::EXEC, true);
        self.before_ipi = Nanos::ZERO;
        if target == cpu {
            self.emit(cpu, EventKind::Exec { task: id });
            self.charge(cpu, self.costs.exec);
            self.caches.forget(&mut self.world.tasks[id.index()].warmth);
            return Step::Paid;
        }
        self.stop_current(cpu);
        // Before the new program runs there is nothing in the caches to be lost.
        let overhead = self.world.tasks[id.index()].overhead;
        self.move_queued(id, cpu, target, cpu);
        let task = &mut self.world.tasks[id.index()];
        task.overhead = overhead + self.costs.exec;
        self.caches.forget(&mut task.warmth);
        self.counts.scheduler += self.costs.exec;
        self.emit(target, EventKind::Exec { task: id });
        self.restart(cpu);
        Step::Gone
    }
}
