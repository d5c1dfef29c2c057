//! Who runs where: switches, and what is no longer known.

use fairlab_event::SwitchState;
use fairlab_units::{CpuId, TaskId, Timestamp};

use super::Auditor;
use crate::audit::LossWindow;
use crate::contradiction::Conflict;
use crate::delay::LongWait;
use crate::migration::Cause;
use crate::stacking::Stacking;
use crate::track::{Current, Moved, Status};

impl Auditor {
    pub(super) fn switch(
        &mut self,
        time: Timestamp,
        cpu: CpuId,
        prev: Option<TaskId>,
        prev_state: SwitchState,
        next: Option<TaskId>,
    ) {
        self.totals.switches += 1;
        self.expect(time, cpu, prev);
        if let Some(prev) = prev {
            self.leave(time, cpu, prev, prev_state);
        }
        self.shaky.clear(cpu);
        match next {
            None => self.set_current(time, cpu, Current::Idle),
            Some(next) => {
                self.start(time, cpu, next);
                self.set_current(time, cpu, Current::Task(next));
            }
        }
        if let Some(prev) = prev {
            let task = self.track.tasks.get_mut(prev);
            if prev_state.is_runnable() && task.status == Status::Unknown {
                self.queue(prev, cpu, time, false);
            }
        }
    }

    /// An event says that `task` runs on `cpu`.
    fn expect(&mut self, time: Timestamp, cpu: CpuId, task: Option<TaskId>) {
        let known = match self.track.cpus[cpu.index()].current {
            Current::Unknown => task,
            Current::Idle => None,
            Current::Task(task) => Some(task),
        };
        if known != task {
            // A switch between was not recorded.
            self.contradict(time, cpu, Conflict::Current { told: task, known });
            self.forget(time, cpu);
        }
    }

    /// `task` leaves `cpu`. If it is still runnable it is queued by the caller, once the CPU is
    /// known to run something else.
    fn leave(&mut self, time: Timestamp, cpu: CpuId, id: TaskId, state: SwitchState) {
        if let Some(Status::Waiting { .. }) = self.track.tasks.get(id).map(|task| task.status) {
            // It ran although it was last seen waiting.
            self.contradict(time, cpu, Conflict::Waited { task: id });
            self.dequeue(id);
        }
        let task = self.track.tasks.get_mut(id);
        if let Some(since) = task.running_since.take() {
            task.runtime += time.0.saturating_sub(since.0);
        }
        task.cpu = Some(cpu);
        task.seen = Some(time);
        task.status = match state {
            _ if state.is_runnable() => Status::Unknown,
            SwitchState::Dead | SwitchState::Zombie => Status::Dead,
            _ => Status::Sleeping,
        };
        // It was woken while it was about to sleep: the wakeup goes on now.
        if task.status == Status::Sleeping
            && let Some(pending) = &task.pending
        {
            let since = pending.time;
            self.queue(id, cpu, since, true);
        } else if task.status == Status::Unknown
            && let Some(pending) = task.pending.take()
        {
            // The wakeup found it still queued: nothing was placed.
            self.pictures.push(pending.picture);
        }
    }

    /// `task` begins to run on `cpu`.
    fn start(&mut self, time: Timestamp, cpu: CpuId, id: TaskId) {
        let is_told = self.is_where_it_was_put(id, cpu);
        self.settle(id, cpu, is_told);
        let task = self.track.tasks.get_mut(id);
        task.switches += 1;
        let status = task.status;
        match status {
            Status::Waiting {
                cpu: queued,
                since,
                is_woken,
            } => {
                let ns = time.0.saturating_sub(since.0);
                task.waited += ns;
                let wait = LongWait {
                    from: since,
                    ns,
                    task: id,
                    cpu,
                    is_woken,
                };
                let waker = task.waker.take();
                let verdict = task.verdict.take();
                let moved = task.moved;
                if let Some(moved) = &mut task.moved {
                    moved.is_open = false;
                }
                self.dequeue(id);
                if self.has_loss_since(since) {
                    self.delays.across_losses += 1;
                } else {
                    self.history.waited(wait);
                    let of_task = &mut self.track.tasks.get_mut(id).delays;
                    self.delays
                        .ran(of_task, Some(waker).filter(|_| is_woken), wait);
                    if let Some(verdict) = verdict {
                        self.placements.ran(id, &verdict, ns);
                    }
                }
                self.judge_move(moved);
                if queued != cpu {
                    self.count_move(Cause::Unrecorded, queued, cpu);
                }
            }
            Status::Running(elsewhere) if elsewhere != cpu => {
                let conflict = Conflict::Elsewhere {
                    task: id,
                    on: elsewhere,
                };
                self.contradict(time, cpu, conflict);
                self.forget(time, elsewhere);
            }
            _ => {}
        }
        let task = self.track.tasks.get_mut(id);
        task.status = Status::Running(cpu);
        task.running_since = Some(time);
        task.cpu = Some(cpu);
    }

    /// Where no event told the CPU of a wakeup: is it known to be that on which the task begins to run? It is
    /// where moves are recorded, none was since, and none can have been lost.
    pub(super) fn is_where_it_was_put(&self, id: TaskId, cpu: CpuId) -> bool {
        let Some(Status::Waiting {
            cpu: queued, since, ..
        }) = self.track.tasks.get(id).map(|task| task.status)
        else {
            return false;
        };
        self.totals.has_migrate
            && queued == cpu
            && self.shaky.is_empty()
            && !self.has_loss_since(since)
    }

    /// Are events known to be missing after `since`?
    fn has_loss_since(&self, since: Timestamp) -> bool {
        !self.lossy.is_empty() || self.last_loss.is_some_and(|loss| loss >= since)
    }

    /// Was the move of a waiting task worth it?
    fn judge_move(&mut self, moved: Option<Moved>) {
        if let Some(moved) = moved.filter(|moved| moved.is_open)
            && self.track.cpus[moved.from.index()]
                .idle_since
                .is_some_and(|idle| idle > moved.time)
        {
            self.migrations.useless += 1;
        }
    }

    pub(super) fn count_move(&mut self, cause: Cause, from: CpuId, to: CpuId) {
        if from != to && self.map.is_online(from) && self.map.is_online(to) {
            self.migrations.moved(cause, self.map.level(from, to));
        }
    }

    pub(super) fn current(&self, cpu: CpuId) -> Option<TaskId> {
        match self.track.cpus[cpu.index()].current {
            Current::Task(task) => Some(task),
            _ => None,
        }
    }

    /// A recording says beside another event what `cpu` runs.
    pub(super) fn running(&mut self, time: Timestamp, cpu: CpuId, task: Option<TaskId>) {
        self.expect(time, cpu, task);
        if let Some(task) = task {
            self.dequeue(task);
            let known = self.track.tasks.get_mut(task);
            known.status = Status::Running(cpu);
            known.running_since = Some(time);
            known.cpu = Some(cpu);
        }
        self.set_current(time, cpu, task.map_or(Current::Idle, Current::Task));
    }

    /// `cpu` runs something else from now on.
    pub(super) fn set_current(&mut self, time: Timestamp, cpu: CpuId, current: Current) {
        self.account_cpu(time, cpu);
        let was_busy = Stacking::is_busy(&self.track.cpus[cpu.index()]);
        self.track.change(cpu, |c| {
            c.current = current;
            if current == Current::Idle {
                c.idle_since = Some(time);
            }
        });
        let is_busy = Stacking::is_busy(&self.track.cpus[cpu.index()]);
        if was_busy != is_busy {
            self.stacking.changed(&self.map, cpu, is_busy);
        }
    }

    pub(super) fn lost(&mut self, time: Timestamp, cpu: CpuId) {
        self.losses.push(LossWindow {
            from: self.last_event[cpu.index()],
            to: time,
            cpu,
        });
        self.lossy.clear(cpu);
        self.last_loss = Some(time);
        self.shaky.copy_from(&self.map.online);
        self.forget(time, cpu);
    }

    /// What `cpu` ran and who waited there is unknown from now on.
    pub(super) fn forget(&mut self, time: Timestamp, cpu: CpuId) {
        if let Current::Task(task) = self.track.cpus[cpu.index()].current {
            let task = self.track.tasks.get_mut(task);
            if task.status == Status::Running(cpu) {
                task.status = Status::Unknown;
                task.running_since = None;
            }
        }
        for task in self.track.cpus[cpu.index()].waiting.clone() {
            self.dequeue(task);
            let task = self.track.tasks.get_mut(task);
            task.verdict = None;
            if let Some(pending) = task.pending.take() {
                self.pictures.push(pending.picture);
            }
        }
        self.set_current(time, cpu, Current::Unknown);
    }
}
