//! Who runs: switches, moves, losses, and what has to be put right when the recording says otherwise
//! than the rebuilt state.

use fairlab_event::{EventKind, SchedEvent, SwitchState};
use fairlab_policy::hint_on_idle_entry;
use fairlab_runqueue::{DequeueFlags, EnqueueFlags, Resched};
use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};

use super::cpu::Curr;
use super::task::{Phase, Slot};
use super::view::Bend;
use super::{Asker, Reconstruction};

/// A queued task that goes elsewhere, on behalf of the CPU that recorded it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pulled {
    slot: Slot,
    from: CpuId,
    to: CpuId,
    by: CpuId,
    time: Timestamp,
    /// The CPU that pulls still seems to run what has left it: the switch comes later.
    awaits_switch: bool,
}

/// A CPU that pulls because it has nothing left switches within this time.
const PULL: Nanos = Nanos(10_000);

impl Reconstruction<'_> {
    /// `cpu` switches from `prev` to `next`.
    pub(super) fn switch(
        &mut self,
        cpu: CpuId,
        prev: Option<TaskId>,
        state: SwitchState,
        next: Option<TaskId>,
        asker: &mut dyn Asker,
    ) {
        asker.switched(cpu, self.now);
        let prev = prev.map(|id| self.slot(id));
        let next = next.map(|id| self.slot(id));
        self.believe(cpu, prev);
        if let Some(slot) = prev {
            self.no_exec(slot, asker);
            // Whoever could go on leaves for the idle task or a stopper only to be moved.
            let is_stopped = next.is_none_or(|next| self.is_stopper(next));
            if state.is_runnable() && is_stopped {
                self.may_exec(cpu, slot, true, asker);
            }
            self.stop(cpu, slot, state);
            if !state.is_runnable() && self.pulled.iter().any(|pulled| pulled.to == cpu) {
                self.let_sleepers_leave(cpu);
                self.look_for_tasks(cpu);
            }
        }
        self.take_pulled(|pulled| pulled.to == cpu);
        self.cpus[cpu].resched = Resched::None;
        match next {
            Some(slot) => {
                self.arrive(cpu, slot, asker);
                self.foresee(cpu, slot, prev);
                self.put_prev(cpu, prev);
                self.start(cpu, slot);
                asker.ran(slot, cpu, self.now);
            }
            None => {
                if !state.is_runnable() || prev.is_none() {
                    self.empty(cpu);
                }
                self.put_prev(cpu, prev);
                self.cpus[cpu].curr = Curr::Idle;
                if self.cpus[cpu].nr_running() == 0 {
                    self.enter_idle(cpu);
                }
            }
        }
    }

    /// Stoppers run above all classes; recordings show them with the highest priority.
    fn is_stopper(&self, slot: Slot) -> bool {
        self.tasks[slot.index()].is_stopper
    }

    /// `cpu` runs `task`, whatever was thought.
    pub(super) fn believe(&mut self, cpu: CpuId, task: Option<Slot>) {
        let c = &self.cpus[cpu];
        let is_so = match (c.curr, task) {
            (Curr::Task(known), Some(told)) => known == told,
            (Curr::Idle, None) => true,
            (Curr::Unknown, _) | (Curr::Idle, Some(_)) | (Curr::Task(_), None) => false,
        };
        if is_so {
            return;
        }
        match c.curr {
            Curr::Unknown => self.cpus[cpu].known_since = Some(self.now),
            _ => self.contradict(),
        }
        self.forget_current(cpu);
        match task {
            Some(slot) => self.start(cpu, slot),
            None => {
                self.shaken.clear(cpu);
                self.cpus[cpu].curr = Curr::Idle;
                self.cpus[cpu].class.enter_idle(self.now);
            }
        }
    }

    /// What `cpu` runs is not known any more; what it ran is somewhere.
    pub(super) fn forget_current(&mut self, cpu: CpuId) {
        if let Curr::Task(slot) = self.cpus[cpu].curr {
            self.expel(slot);
        }
        self.cpus[cpu].curr = Curr::Unknown;
    }

    /// Events of `cpu` were lost.
    pub(super) fn lost(&mut self, cpu: CpuId) {
        self.forget_current(cpu);
        self.cpus[cpu].known_since = None;
        // Wakeups and moves to other CPUs may be among what was lost.
        self.shaken.copy_from(&self.active);
        for slot in std::mem::take(&mut self.cpus[cpu].pending) {
            self.tasks[slot.index()].phase = Phase::Unknown;
        }
        self.empty(cpu);
    }

    /// Takes a task off wherever it is: what it does is not known.
    pub(super) fn expel(&mut self, slot: Slot) {
        let cpu = self.tasks[slot.index()].cpu;
        let is_curr = self.cpus[cpu].curr == Curr::Task(slot);
        self.cpus[cpu].pending.retain(|other| *other != slot);
        self.cpus[cpu].higher_waiting.retain(|other| *other != slot);
        if is_curr && self.cpus[cpu].curr_is_higher {
            self.cpus[cpu].curr_is_higher = false;
            self.cpus[cpu].class.update_higher(self.now, false);
        } else {
            if self.ents[slot.entity()].is_on_rq() {
                self.leave(slot, DequeueFlags::SPECIAL);
            }
            if is_curr {
                self.put_prev(cpu, Some(slot));
            }
        }
        if is_curr {
            self.cpus[cpu].curr = Curr::Unknown;
        }
        let task = &mut self.tasks[slot.index()];
        if matches!(task.phase, Phase::Running | Phase::Queued | Phase::Waking) {
            task.phase = Phase::Unknown;
        }
    }

    /// Takes a queued fair task off its queue.
    pub(super) fn leave(&mut self, slot: Slot, flags: DequeueFlags) {
        let task = &mut self.tasks[slot.index()];
        let class = &mut self.cpus[task.cpu].class;
        // The request of the accounting is moot: this was recorded, not decided.
        let _ = class.dequeue(
            &mut self.ents,
            slot.entity(),
            &mut task.avg,
            flags,
            self.now,
        );
    }

    /// The running task of `cpu` stops.
    fn stop(&mut self, cpu: CpuId, slot: Slot, state: SwitchState) {
        let task = &mut self.tasks[slot.index()];
        let is_runnable = state.is_runnable() || state == SwitchState::Unknown && !task.is_exiting;
        task.phase = match state {
            _ if is_runnable => Phase::Queued,
            SwitchState::Dead | SwitchState::Zombie => Phase::Dead,
            _ => Phase::Sleeping,
        };
        task.slept_at = (task.phase == Phase::Sleeping).then_some(self.now);
        let c = &mut self.cpus[cpu];
        if c.curr_is_higher {
            c.curr_is_higher = false;
            c.class.update_higher(self.now, false);
            if is_runnable {
                c.higher_waiting.push(slot);
            }
        } else if !is_runnable && self.ents[slot.entity()].is_on_rq() {
            let flags = match state {
                SwitchState::Sleeping | SwitchState::Uninterruptible | SwitchState::Idle => {
                    DequeueFlags::SLEEP
                }
                _ => DequeueFlags::SPECIAL,
            };
            self.leave(slot, flags);
        }
        if self.tasks[slot.index()].phase == Phase::Dead {
            let task = &mut self.tasks[slot.index()];
            task.allowed = None;
            if !task.is_higher {
                // The load of a task that is gone leaves its queue, that of a sleeper decays there.
                let class = &mut self.cpus[cpu].class;
                class.remove(&self.ents, slot.entity(), &mut task.avg);
            }
        }
    }

    /// Puts the task that ran back into its queue, or lets it go.
    fn put_prev(&mut self, cpu: CpuId, prev: Option<Slot>) {
        let class = &mut self.cpus[cpu].class;
        if let Some(slot) = prev
            && class.rq.curr(&self.ents) == Some(slot.entity())
        {
            let avg = &mut self.tasks[slot.index()].avg;
            class.put_prev(&mut self.ents, slot.entity(), avg, self.now);
        }
    }

    /// Lets the queue pick, and compares with what was recorded. Sleepers leave whose dequeue was
    /// delayed until now.
    fn foresee(&mut self, cpu: CpuId, next: Slot, prev: Option<Slot>) {
        if self.tasks[next.index()].is_higher {
            return;
        }
        let is_delayed = self.is_delayed(next);
        if is_delayed || !self.ents[next.entity()].is_on_rq() || self.tasks[next.index()].cpu != cpu
        {
            // Its wakeup was not recorded, or its move.
            self.bring(cpu, next, prev == Some(next));
        }
        let class = &mut self.cpus[cpu].class;
        let is_choice = class.rq.h_nr_queued() > 1;
        let picked = class.rq.pick_next(&mut self.ents, self.now);
        if is_choice {
            self.picks.asked += 1;
            self.picks.same += u64::from(picked == Some(next.entity()));
        }
        self.collect_left(cpu);
    }

    /// Sees to it that a fair task is runnable on `cpu`.
    fn bring(&mut self, cpu: CpuId, slot: Slot, is_expected: bool) {
        if !is_expected && self.tasks[slot.index()].phase != Phase::Unknown {
            self.contradict();
        }
        if self.is_delayed(slot) && self.tasks[slot.index()].cpu == cpu {
            self.activate(slot, cpu, cpu, EnqueueFlags::WAKEUP);
            return;
        }
        self.expel(slot);
        self.move_sleeper(slot, cpu);
        let flags = EnqueueFlags {
            wakeup: true,
            new: false,
            migrated: true,
        };
        self.activate(slot, cpu, cpu, flags);
    }

    /// Makes a task the running one.
    fn start(&mut self, cpu: CpuId, slot: Slot) {
        let now = self.now;
        if self.tasks[slot.index()].is_higher {
            let was = self.tasks[slot.index()].cpu;
            self.cpus[was].pending.retain(|other| *other != slot);
            self.cpus[was].higher_waiting.retain(|other| *other != slot);
            self.cpus[cpu].class.update_higher(now, true);
            self.cpus[cpu].curr_is_higher = true;
        } else {
            let is_here = self.tasks[slot.index()].cpu == cpu
                && self.ents[slot.entity()].is_on_rq()
                && !self.is_delayed(slot);
            if !is_here {
                self.bring(cpu, slot, false);
            }
            let class = &mut self.cpus[cpu].class;
            let avg = &mut self.tasks[slot.index()].avg;
            class.set_next(&mut self.ents, slot.entity(), avg, now);
            self.cpus[cpu].curr_is_higher = false;
        }
        let task = &mut self.tasks[slot.index()];
        task.phase = Phase::Running;
        task.cpu = cpu;
        task.known_since.get_or_insert(now);
        self.cpus[cpu].curr = Curr::Task(slot);
        self.arm_tick(cpu);
        self.cpus[cpu].busy_since.get_or_insert(now);
    }

    /// Nothing is queued on `cpu`, whatever was thought: it idles.
    fn empty(&mut self, cpu: CpuId) {
        self.cpus[cpu].higher_waiting.clear();
        // Sleepers whose dequeue was delayed leave first, as they would when the CPU picks.
        while let Some(picked) = {
            let class = &mut self.cpus[cpu].class;
            class.rq.pick_next(&mut self.ents, self.now)
        } {
            self.contradict();
            let slot = Slot::of_entity(picked);
            self.leave(slot, DequeueFlags::SPECIAL);
            self.tasks[slot.index()].phase = Phase::Unknown;
        }
        self.collect_left(cpu);
    }

    /// `cpu` has picked before it pulled, and found nobody: sleepers whose dequeue was delayed have left.
    fn let_sleepers_leave(&mut self, cpu: CpuId) {
        let class = &mut self.cpus[cpu].class;
        if class.rq.h_nr_runnable() == 0 {
            let _ = class.rq.pick_next(&mut self.ents, self.now);
            self.collect_left(cpu);
        }
    }

    /// Forgets which sleepers have left; where they are is known.
    pub(super) fn collect_left(&mut self, cpu: CpuId) {
        let class = &mut self.cpus[cpu].class;
        while class.rq.pop_left(&mut self.ents).is_some() {}
    }

    /// `cpu` has nothing left to run.
    fn enter_idle(&mut self, cpu: CpuId) {
        let now = self.now;
        self.shaken.clear(cpu);
        self.cpus[cpu].busy_since = None;
        self.look_for_tasks(cpu);
        self.cpus[cpu].idle_stamp = now.0.max(1);
        self.cpus[cpu].class.enter_idle(now);
        let hint = hint_on_idle_entry(&self.view(Bend::default()), &self.kernel, cpu);
        if let Some(shared) = hint.set {
            self.has_idle_cores[shared.0 as usize] = true;
        }
        self.look_around(|balancer, ops| balancer.nohz_enter_idle(ops, cpu));
    }

    /// `cpu` had nothing left, and has looked for tasks to pull before it switched.
    fn look_for_tasks(&mut self, cpu: CpuId) {
        self.cpus[cpu].idle_stamp = 0;
        self.look_back(|balancer, ops| {
            balancer.newidle_balance(ops, cpu);
        });
        self.keep_balance_cost(cpu);
    }

    /// Moves tasks that were held back because they seemed to be pulled by a CPU with nothing left.
    pub(super) fn take_pulled(&mut self, which: impl Fn(&Pulled) -> bool) {
        if self.pulled.is_empty() {
            return;
        }
        let (taken, held) = self.pulled.iter().partition(|pulled| which(pulled));
        self.pulled = held;
        // A pass takes all tasks off before it queues the first.
        let mut taken: Vec<Pulled> = taken;
        taken.retain(|pulled| {
            self.tasks[pulled.slot.index()].phase == Phase::Queued
                && self.tasks[pulled.slot.index()].cpu != pulled.to
        });
        let origins: Vec<CpuId> = taken
            .iter()
            .map(|pulled| self.take_off(pulled.slot))
            .collect();
        for (pulled, from) in taken.into_iter().zip(origins) {
            self.put_on(pulled.slot, from, pulled.to);
        }
    }

    /// Makes moves that were held back, unless `event` belongs to the same pass, or may be the switch
    /// that ends it.
    pub(super) fn settle_pulled(&mut self, event: &SchedEvent) {
        let now = self.now;
        let is_switch = matches!(event.kind, EventKind::Switch { .. });
        let is_move = matches!(event.kind, EventKind::Migrate { .. });
        self.take_pulled(|pulled| {
            if is_move && pulled.by == event.cpu && pulled.time == now {
                return false;
            }
            let is_over = now.saturating_since(pulled.time) > PULL;
            let is_other = pulled.to == event.cpu && !is_switch
                || pulled.from == event.cpu && pulled.to != event.cpu;
            !pulled.awaits_switch || is_over || is_other
        });
    }

    /// The task moves from `from` to `to`.
    pub(super) fn migrate(&mut self, cpu: CpuId, id: TaskId, from: CpuId, to: CpuId) {
        let slot = self.slot(id);
        let phase = self.tasks[slot.index()].phase;
        match phase {
            Phase::Waking => {
                let was = self.tasks[slot.index()].cpu;
                let pending = &mut self.cpus[was].pending;
                pending.retain(|other| *other != slot);
                self.move_sleeper(slot, to);
                self.cpus[to].pending.push(slot);
            }
            // The balancing pass that did it has been made.
            Phase::Queued if self.tasks[slot.index()].cpu == to => {}
            Phase::Queued => {
                self.pulled.retain(|pulled| pulled.slot != slot);
                self.pulled.push(Pulled {
                    slot,
                    from,
                    to,
                    by: cpu,
                    time: self.now,
                    awaits_switch: cpu == to && self.leaves_soon(to),
                });
            }
            Phase::Running => self.move_queued(slot, to),
            Phase::Sleeping if self.is_delayed(slot) => self.move_queued(slot, to),
            Phase::Unknown | Phase::Sleeping | Phase::Dead => {
                if phase == Phase::Unknown {
                    self.tasks[slot.index()].cpu = from;
                }
                self.move_sleeper(slot, to);
            }
        }
    }

    /// Does `cpu` still seem to run a task that has left it, as its next switch says? Otherwise what moves there
    /// was moved beside it, by a tick.
    fn leaves_soon(&self, cpu: CpuId) -> bool {
        if !matches!(self.cpus[cpu].curr, Curr::Task(_)) {
            return false;
        }
        let soon = self.soon.iter();
        soon.take_while(|event| event.time <= self.now + PULL)
            .find_map(|event| match event.kind {
                EventKind::Switch { prev_state, .. } if event.cpu == cpu => {
                    Some(!prev_state.is_runnable())
                }
                _ => None,
            })
            .unwrap_or(false)
    }

    fn move_queued(&mut self, slot: Slot, to: CpuId) {
        let from = self.take_off(slot);
        self.put_on(slot, from, to);
    }

    /// Takes a runnable task off its queue, to be put on another; says off which.
    fn take_off(&mut self, slot: Slot) -> CpuId {
        let now = self.now;
        let task = &self.tasks[slot.index()];
        let (from, is_higher) = (task.cpu, task.is_higher);
        let is_curr = self.cpus[from].curr == Curr::Task(slot);
        if is_higher {
            if is_curr {
                self.cpus[from].curr_is_higher = false;
                self.cpus[from].class.update_higher(now, false);
            }
            self.cpus[from]
                .higher_waiting
                .retain(|other| *other != slot);
        } else if self.ents[slot.entity()].is_on_rq() {
            if is_curr {
                self.put_prev(from, Some(slot));
            }
            self.leave(slot, DequeueFlags::MOVE);
            let avg = &mut self.tasks[slot.index()].avg;
            let class = &mut self.cpus[from].class;
            class.detach(&mut self.ents, slot.entity(), avg, now);
        }
        if is_curr {
            self.tasks[slot.index()].phase = Phase::Queued;
            self.cpus[from].curr = Curr::Unknown;
        }
        from
    }

    /// Puts a task that was taken off the queue of `from` on that of `to`.
    fn put_on(&mut self, slot: Slot, from: CpuId, to: CpuId) {
        let phase = self.tasks[slot.index()].phase;
        self.activate(slot, to, from, EnqueueFlags::MOVED);
        // A sleeper whose dequeue was delayed stays delayed on its new CPU.
        self.tasks[slot.index()].phase = phase;
        if self.cpus[from].curr == Curr::Idle && self.cpus[from].nr_running() == 0 && from != to {
            self.enter_idle(from);
        }
    }
}
