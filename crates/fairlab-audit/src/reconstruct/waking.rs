//! Wakeups, forks and execs: placements are asked, and tasks join queues.

use fairlab_policy::Outcome;
use fairlab_runqueue::{DequeueFlags, EnqueueFlags, WakeFlags};
use fairlab_units::{CpuId, TaskId};

use super::cpu::Curr;
use super::task::{Phase, Slot};
use super::{Asked, Asker, Question, Reconstruction};

impl Reconstruction<'_> {
    /// A wakeup of the task begins on `cpu`.
    pub(super) fn waking(
        &mut self,
        cpu: CpuId,
        id: TaskId,
        prev_cpu: CpuId,
        asker: &mut dyn Asker,
    ) {
        let slot = self.slot(id);
        match self.tasks[slot.index()].phase {
            // It is found on its queue, and stays.
            Phase::Running | Phase::Queued | Phase::Waking => {}
            Phase::Unknown | Phase::Sleeping | Phase::Dead => {
                self.begin_wakeup(cpu, slot, prev_cpu, true, asker);
            }
        }
    }

    fn begin_wakeup(
        &mut self,
        cpu: CpuId,
        slot: Slot,
        prev_cpu: CpuId,
        is_timed: bool,
        asker: &mut dyn Asker,
    ) {
        let phase = self.tasks[slot.index()].phase;
        if phase == Phase::Dead {
            self.renew(slot);
        }
        if phase == Phase::Unknown {
            let task = &mut self.tasks[slot.index()];
            task.cpu = prev_cpu;
            task.recent_used_cpu = prev_cpu;
        }
        self.move_sleeper(slot, prev_cpu);
        let is_delayed = self.is_delayed(slot);
        if !is_delayed {
            let task = &mut self.tasks[slot.index()];
            let class = &self.cpus[task.cpu].class;
            class.sync(&self.ents, slot.entity(), &mut task.avg);
        }
        let question = Question {
            time: self.now,
            kind: Asked::Wakeup,
            slot,
            this_cpu: cpu,
            prev_cpu,
            is_timed,
            is_delayed,
        };
        self.put(&question, asker);
        let task = &mut self.tasks[slot.index()];
        task.phase = Phase::Waking;
        task.moved = false;
        // Until a move is told it is on its way to where it was.
        if !is_delayed {
            self.cpus[prev_cpu].pending.push(slot);
        }
    }

    /// The wakeup of the task is done: it is queued on `target`.
    pub(super) fn wakeup(&mut self, cpu: CpuId, id: TaskId, target: CpuId, asker: &mut dyn Asker) {
        let slot = self.slot(id);
        match self.tasks[slot.index()].phase {
            Phase::Running | Phase::Queued => return,
            Phase::Waking => {}
            Phase::Unknown | Phase::Sleeping | Phase::Dead => {
                let task = &self.tasks[slot.index()];
                let prev = if task.phase == Phase::Sleeping {
                    task.cpu
                } else {
                    target
                };
                self.begin_wakeup(cpu, slot, prev, false, asker);
            }
        }
        let was = self.tasks[slot.index()].cpu;
        self.cpus[was].pending.retain(|other| *other != slot);
        self.move_sleeper(slot, target);
        asker.settle(self, slot, Asked::Wakeup, target);
        let flags = EnqueueFlags {
            wakeup: true,
            new: false,
            migrated: self.tasks[slot.index()].moved,
        };
        self.activate(slot, target, cpu, flags);
    }

    /// The task is about to run on `cpu`. When the end of its wakeup was not recorded, it is taken to have
    /// gone there.
    pub(super) fn arrive(&mut self, cpu: CpuId, slot: Slot, asker: &mut dyn Asker) {
        if self.tasks[slot.index()].phase == Phase::Waking {
            self.untold += 1;
            self.wakeup(cpu, self.tasks[slot.index()].id, cpu, asker);
        }
    }

    /// A new task is queued on `target`; who made it runs on `cpu`.
    pub(super) fn wakeup_new(
        &mut self,
        cpu: CpuId,
        id: TaskId,
        target: CpuId,
        asker: &mut dyn Asker,
    ) {
        let slot = self.slot(id);
        self.expel(slot);
        if matches!(
            self.tasks[slot.index()].phase,
            Phase::Dead | Phase::Sleeping | Phase::Queued | Phase::Running
        ) {
            self.renew(slot);
        }
        let parent = self.running_on(cpu);
        let allowed = parent.and_then(|parent| self.tasks[parent.index()].allowed.clone());
        let task = &mut self.tasks[slot.index()];
        task.cpu = cpu;
        task.recent_used_cpu = cpu;
        task.is_from_before = false;
        task.known_since = Some(self.now);
        if task.allowed.is_none() {
            task.allowed = allowed;
        }
        if !task.is_higher {
            let c = &mut self.cpus[cpu];
            let _ = c.class.rq.fork(&mut self.ents, slot.entity(), self.now);
        }
        // Only a task can fork. Who wakes a new task while its CPU idles does not place it.
        if parent.is_some() {
            let question = Question {
                time: self.now,
                kind: Asked::Fork,
                slot,
                this_cpu: cpu,
                prev_cpu: cpu,
                is_timed: true,
                is_delayed: false,
            };
            self.put(&question, asker);
            asker.settle(self, slot, Asked::Fork, target);
        }
        self.tasks[slot.index()].cpu = target;
        self.init_util(slot, target);
        self.activate(slot, target, cpu, EnqueueFlags::NEW);
    }

    /// First utilization of a new task, from the queue that it joins.
    fn init_util(&mut self, slot: Slot, cpu: CpuId) {
        let weight = self.ents[slot.entity()].weight().0;
        let state = fairlab_pelt::EntityState::task(weight, false, false);
        let capacity = u64::from(self.domains.capacity_orig(cpu));
        let queue = &self.cpus[cpu].class.avg.avg;
        let avg = &mut self.tasks[slot.index()].avg;
        avg.init_util(&self.kernel, &state, queue, capacity);
    }

    /// The running task of `cpu` may be about to become another program, and to go elsewhere; or it became one
    /// and stayed, which was decided before, when is not recorded.
    pub(super) fn may_exec(
        &mut self,
        cpu: CpuId,
        slot: Slot,
        is_timed: bool,
        asker: &mut dyn Asker,
    ) {
        let question = Question {
            time: self.now,
            kind: Asked::Exec,
            slot,
            this_cpu: cpu,
            prev_cpu: cpu,
            is_timed,
            is_delayed: false,
        };
        self.put(&question, asker);
        self.tasks[slot.index()].may_exec = true;
    }

    /// The task has become another program on `cpu`.
    pub(super) fn exec(&mut self, cpu: CpuId, id: TaskId, asker: &mut dyn Asker) {
        let slot = self.slot(id);
        if !self.tasks[slot.index()].may_exec {
            if self.running_on(cpu) != Some(slot) {
                return;
            }
            self.may_exec(cpu, slot, false, asker);
        }
        self.tasks[slot.index()].may_exec = false;
        asker.settle(self, slot, Asked::Exec, cpu);
    }

    /// What left its CPU for a moment did not do so for an exec.
    pub(super) fn no_exec(&mut self, slot: Slot, asker: &mut dyn Asker) {
        if std::mem::take(&mut self.tasks[slot.index()].may_exec) {
            asker.withdraw(slot, Asked::Exec);
        }
    }

    /// Puts a question, and writes down what the answer changes.
    fn put(&mut self, question: &Question, asker: &mut dyn Asker) {
        if let Some(outcome) = asker.ask(self, question) {
            self.apply(question, &outcome);
        }
    }

    fn apply(&mut self, question: &Question, outcome: &Outcome) {
        let effects = &outcome.effects;
        let slot = question.slot;
        if let Some(cpu) = effects.recent_used_cpu {
            self.tasks[slot.index()].recent_used_cpu = cpu;
        }
        if let Some(shared) = effects.clear_idle_cores {
            self.has_idle_cores[shared.0 as usize] = false;
        }
        let this = question.this_cpu;
        match self.running_on(this) {
            Some(waker) => {
                let waker = &mut self.tasks[waker.index()];
                if let Some(cpu) = effects.waker_recent_used_cpu {
                    waker.recent_used_cpu = cpu;
                }
                if let Some(update) = &effects.waker {
                    waker.wakee_flips = update.wakee_flips;
                    waker.wakee_flip_decay_ts = update.wakee_flip_decay_ts;
                    if update.is_new_wakee {
                        waker.last_wakee = Some(slot.number());
                    }
                }
            }
            None => {
                if let Some(update) = &effects.waker {
                    self.cpus[this].idle_task.apply(update, slot.number());
                }
            }
        }
        if let Some(scan) = &effects.scan {
            let time = u64::from(scan.idle_tests) * self.assumed.probe.0;
            let cost = &mut self.scan_cost[scan.domain.0 as usize];
            *cost = scan.avg_scan_cost(*cost, time);
            if let Some(idle) = scan.wake_avg_idle(time) {
                self.cpus[this].wake_avg_idle = (idle.stamp, idle.avg_ns);
            }
        }
    }

    /// Puts a task that is on no queue on that of `cpu`, on behalf of `by`, and asks whether it preempts.
    pub(super) fn activate(&mut self, slot: Slot, cpu: CpuId, by: CpuId, flags: EnqueueFlags) {
        let now = self.now;
        let c = &mut self.cpus[cpu];
        let task = &mut self.tasks[slot.index()];
        let was_idle = c.curr == Curr::Idle;
        task.phase = Phase::Queued;
        task.cpu = cpu;
        if task.is_higher {
            c.higher_waiting.push(slot);
        } else {
            let entity = slot.entity();
            let resched = c
                .class
                .enqueue(&mut self.ents, entity, &mut task.avg, flags, now);
            if !was_idle && !c.curr_is_higher {
                let flags = WakeFlags {
                    fork: flags.new,
                    pending: c.resched,
                };
                let wants = c.class.check_preempt(&mut self.ents, entity, flags, now);
                self.request(cpu, by, resched.or(wants));
            }
            self.collect_left(cpu);
        }
        if flags.wakeup && was_idle {
            self.cpus[cpu].end_idle_period(now, self.jiffies);
        }
        if !flags.new {
            self.note_overutilized(cpu);
        }
    }

    /// Lets a sleeping task belong to `target` from now on.
    pub(super) fn move_sleeper(&mut self, slot: Slot, target: CpuId) {
        let from = self.tasks[slot.index()].cpu;
        if from == target {
            return;
        }
        let entity = slot.entity();
        if self.ents[entity].is_on_rq() {
            // Its dequeue was delayed; the recording knows better.
            self.leave(slot, DequeueFlags::SLEEP);
        }
        let task = &mut self.tasks[slot.index()];
        let class = &mut self.cpus[from].class;
        if !task.is_higher {
            class.remove(&self.ents, entity, &mut task.avg);
            class.rq.migrate_wakeup(&mut self.ents, entity);
        }
        task.cpu = target;
        task.moved = true;
    }

    /// The number of a dead task is given to a new one.
    fn renew(&mut self, slot: Slot) {
        let avg = self.new_avg(slot);
        let task = &mut self.tasks[slot.index()];
        task.avg = avg;
        task.phase = Phase::Unknown;
        task.is_exiting = false;
        task.is_from_before = true;
        task.known_since = None;
        task.wakee_flips = 0;
        task.wakee_flip_decay_ts = 0;
        task.last_wakee = None;
    }
}
