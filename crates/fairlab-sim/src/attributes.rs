//! Changes to tasks: where they may run, and how much they weigh.

use fairlab_policy::fallback_cpu;
use fairlab_runqueue::{Change, Resched};
use fairlab_units::{CpuId, CpuMask, TaskId};
use fairlab_workload::{MaskId, Who};

use crate::engine::Engine;
use crate::task::Phase;
use crate::world::{AllowedId, View};

impl Engine<'_> {
    /// The tasks that `who` means when `me` says it.
    pub(crate) fn tasks_of(&self, who: Who, me: TaskId) -> Vec<TaskId> {
        match who {
            Who::Myself => vec![me],
            Who::Program(program) => self
                .world
                .tasks
                .iter()
                .filter(|t| t.program == program && t.phase != Phase::Dead)
                .map(|t| t.id)
                .collect(),
        }
    }

    /// Restricts tasks to a set of CPUs, on behalf of `me`, which runs on `this`. True when `me` has
    /// to leave the CPU: follow up with [`Self::leave_cpu`].
    ///
    /// Differs from Linux: the stopper of another CPU runs without delay, since the caller waits for
    /// it anyhow.
    #[doc(alias = "sched_setaffinity")]
    pub(crate) fn set_affinity(&mut self, this: CpuId, me: TaskId, who: Who, mask: MaskId) -> bool {
        let allowed = AllowedId::of(mask);
        if self.world.mask(allowed).is_empty() {
            return false;
        }
        let mut leaves = false;
        for id in self.tasks_of(who, me) {
            self.charge(this, self.costs.set_attribute);
            leaves |= self.restrict(this, id, allowed) && id == me;
        }
        leaves
    }

    /// Restricts one task. True when it is the running task of `this` and has to leave.
    #[doc(alias = "__set_cpus_allowed_ptr")]
    fn restrict(&mut self, this: CpuId, id: TaskId, allowed: AllowedId) -> bool {
        let now = self.now;
        let task = &self.world.tasks[id.index()];
        if task.phase == Phase::Waking && !self.world.mask(allowed).test(task.cpu) {
            // The stopper takes in the pending wakeups of its CPU before it looks for the task.
            self.take_wake_list(task.cpu);
        }
        self.world.tasks[id.index()].allowed = allowed;
        self.observer
            .affinity(now, id, &self.world.masks[allowed.index()]);
        self.change(this, id, Change::Affinity);
        let task = &self.world.tasks[id.index()];
        if self.world.mask(allowed).test(task.cpu) {
            return false;
        }
        let cpu = task.cpu;
        let is_delayed = self.world.ents[task.entity].is_delayed();
        match task.phase {
            Phase::Running if cpu == this => return true,
            Phase::Running => {
                self.stop_current(cpu);
                self.move_to_allowed(this, id);
                self.restart(cpu);
            }
            Phase::Runnable => self.move_to_allowed(this, id),
            Phase::Sleeping if is_delayed => self.move_to_allowed(this, id),
            // Its wakeup will look at the mask.
            Phase::Sleeping | Phase::Waking | Phase::Dead => {}
        }
        false
    }

    /// The running task of `cpu` may not run there any more: the stopper takes it away.
    pub(crate) fn leave_cpu(&mut self, cpu: CpuId) {
        let Some(id) = self.world.cpus[cpu].curr else {
            return;
        };
        self.stop_current(cpu);
        self.move_to_allowed(cpu, id);
        self.restart(cpu);
    }

    /// Moves a waiting task to one of its CPUs.
    fn move_to_allowed(&mut self, this: CpuId, id: TaskId) {
        let task = &self.world.tasks[id.index()];
        let src = task.cpu;
        let mask = self.world.mask(task.allowed);
        if mask.test(src) {
            return;
        }
        // Masks hold online CPUs only, and are not empty.
        if let Some(dst) = self.spread_over.pick(mask) {
            self.move_queued(id, src, dst, this);
        }
    }

    /// `cpu`, or where the kernel falls back to when `id` may not run there.
    pub(crate) fn allowed_cpu(&self, id: TaskId, cpu: CpuId) -> CpuId {
        let view = View {
            world: &self.world,
            balance: &self.balance,
            costs: &self.costs,
            timer: None,
        };
        let p = self.world.task_view(id);
        fallback_cpu(&view, &p, cpu, &self.world.all).map_or(cpu, |(cpu, _)| cpu)
    }

    /// Gives tasks another nice value, on behalf of `me`, which runs on `this`.
    #[doc(alias = "set_user_nice")]
    pub(crate) fn set_nice(&mut self, this: CpuId, me: TaskId, who: Who, nice: i8) {
        for id in self.tasks_of(who, me) {
            self.charge(this, self.costs.set_attribute);
            let entity = self.world.tasks[id.index()].entity;
            let old = self.world.ents[entity].nice();
            self.change(this, id, Change::Nice(nice));
            let new = self.world.ents[entity].nice();
            self.tell_priority(id);
            self.note_priority(this, id, i16::from(new) - i16::from(old));
        }
    }

    /// After the nice value of a queued task has grown by `by`: does its CPU choose again?
    ///
    /// # Source
    /// Linux v6.12 `kernel/sched/fair.c`, `prio_changed_fair()`; earlier releases ask the same in
    /// `set_user_nice()`, from memory.
    #[doc(alias = "prio_changed_fair")]
    fn note_priority(&mut self, this: CpuId, id: TaskId, by: i16) {
        let task = &self.world.tasks[id.index()];
        let cpu = task.cpu;
        if task.higher.is_some() || by == 0 || self.world.cpus[cpu].queue.rq.h_nr_queued() <= 1 {
            return;
        }
        let resched = match task.phase {
            Phase::Running if by > 0 => Resched::Now,
            Phase::Runnable if self.world.cpus[cpu].curr_higher.is_none() => {
                let entity = task.entity;
                let c = &mut self.world.cpus[cpu];
                let pending = if c.need_resched || c.resched_sent {
                    Resched::Now
                } else {
                    Resched::None
                };
                let flags = fairlab_runqueue::WakeFlags {
                    fork: false,
                    pending,
                };
                c.queue
                    .check_preempt(&mut self.world.ents, entity, flags, self.now)
            }
            _ => Resched::None,
        };
        self.request(cpu, this, resched);
    }

    /// Changes a fair task on the queue where it is, or asleep.
    pub(crate) fn change(&mut self, this: CpuId, id: TaskId, change: Change) {
        let now = self.now;
        let task = &mut self.world.tasks[id.index()];
        let cpu = task.cpu;
        let queue = &mut self.world.cpus[cpu].queue;
        let resched = queue.change(&mut self.world.ents, task, change, now);
        self.collect_left(cpu);
        if self.world.cpus[cpu].curr.is_some() {
            self.request(cpu, this, resched);
        }
    }
}

/// Picks CPUs of masks in turn, so that tasks that are driven away together spread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpreadOver {
    last: Option<CpuId>,
    distributes: bool,
}

impl SpreadOver {
    /// Without `distributes` the first CPU is taken, always.
    pub(crate) const fn new(distributes: bool) -> Self {
        Self {
            last: None,
            distributes,
        }
    }

    /// A CPU of `mask`.
    #[doc(alias = "cpumask_any_and_distribute")]
    pub(crate) fn pick(&mut self, mask: &CpuMask) -> Option<CpuId> {
        if !self.distributes {
            return mask.first();
        }
        let start = self.last.map_or(CpuId(0), |last| CpuId(last.0 + 1));
        self.last = mask.iter_wrap(start).next();
        self.last
    }
}
