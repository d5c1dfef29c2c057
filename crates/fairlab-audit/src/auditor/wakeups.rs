//! Wakeups, forks and moves: placements are opened, and judged when it is told where they went.

use fairlab_units::{CpuId, CpuMask, TaskId, Timestamp};

use super::Auditor;
use crate::contradiction::Conflict;
use crate::migration::Cause;
use crate::placement::{Certainty, Found, Kind, Pending, Picture, Verdict};
use crate::track::{Moved, Status};

impl Auditor {
    /// The task waits on `cpu` from `since` on.
    pub(super) fn queue(&mut self, task: TaskId, cpu: CpuId, since: Timestamp, is_woken: bool) {
        let known = self.track.tasks.get_mut(task);
        known.status = Status::Waiting {
            cpu,
            since,
            is_woken,
        };
        known.cpu = Some(cpu);
        if known.allowed.is_some() {
            self.restricted.push(task);
        }
        self.track.change(cpu, |c| c.waiting.push(task));
    }

    /// The task waits no longer where it waited.
    pub(super) fn dequeue(&mut self, task: TaskId) {
        let known = self.track.tasks.get_mut(task);
        let is_restricted = known.allowed.is_some();
        if let Status::Waiting { cpu, .. } = known.status {
            known.status = Status::Unknown;
            self.track.change(cpu, |c| {
                if let Some(at) = c.waiting.iter().position(|&other| other == task) {
                    c.waiting.swap_remove(at);
                }
            });
            if is_restricted {
                self.restricted.retain(|&other| other != task);
            }
        }
    }

    /// Moves a waiting task to another CPU's queue.
    fn requeue(&mut self, id: TaskId, to: CpuId) {
        if let Status::Waiting {
            since, is_woken, ..
        } = self.track.tasks.get_mut(id).status
        {
            self.dequeue(id);
            self.queue(id, to, since, is_woken);
        }
    }

    /// The picture of this moment.
    fn picture(&mut self) -> Picture {
        let nr_cpus = self.map.nr_cpus();
        let mut picture = self.pictures.pop().unwrap_or_else(|| Picture {
            idle: CpuMask::new(nr_cpus),
            unsure: CpuMask::new(nr_cpus),
        });
        picture.idle.copy_from(&self.track.idle);
        picture.unsure.copy_from(&self.track.unknown);
        picture.unsure.or_with(&self.shaky);
        picture.unsure.or_with(&self.lossy);
        picture
    }

    pub(super) fn waking(&mut self, time: Timestamp, cpu: CpuId, id: TaskId, prev_cpu: CpuId) {
        self.totals.has_waking = true;
        let status = self.track.tasks.get_mut(id).status;
        if matches!(status, Status::Waiting { .. }) {
            // Still queued: it only stops to go to sleep.
            return;
        }
        // After a loss a task that seems to sleep may run elsewhere, until it is seen again.
        let is_sure = self.lossy.is_empty()
            && self.last_loss.is_none_or(|loss| {
                let seen = self.track.tasks.get(id).and_then(|task| task.seen);
                seen.is_some_and(|seen| seen > loss)
            });
        self.open(time, cpu, id, Kind::Wakeup, Some(prev_cpu), is_sure);
        // A task that still runs is about to sleep, or is not: its next event tells.
        if !matches!(status, Status::Running(_)) && self.map.is_online(prev_cpu) {
            self.queue(id, prev_cpu, time, true);
        }
    }

    /// A placement of the task begins on `cpu`: takes the picture of the moment.
    fn open(
        &mut self,
        time: Timestamp,
        cpu: CpuId,
        id: TaskId,
        kind: Kind,
        prev_cpu: Option<CpuId>,
        is_sure: bool,
    ) {
        let picture = self.picture();
        let waker = self.current(cpu);
        let task = self.track.tasks.get_mut(id);
        task.waker = waker;
        task.pending = Some(Pending {
            time,
            by: cpu,
            kind,
            prev_cpu,
            is_sure,
            picture,
        });
    }

    /// The task went to `cpu`: judges the placement that was open, if one was. `is_told` when the
    /// event cannot belong to anything later.
    pub(super) fn settle(&mut self, id: TaskId, cpu: CpuId, is_told: bool) {
        let task = self.track.tasks.get_mut(id);
        let Some(pending) = task.pending.take() else {
            return;
        };
        match pending.kind {
            Kind::Wakeup => self.totals.wakeups += 1,
            Kind::Fork => self.totals.forks += 1,
        }
        let (found, missed, better, mut certainty) =
            pending.picture.judge(&self.map, task.allowed.as_ref(), cpu);
        if !pending.is_sure || !is_told {
            certainty = Certainty::Unsure;
        }
        let mut verdict = Verdict {
            time: pending.time,
            kind: pending.kind,
            found,
            missed,
            better,
            cpu,
            certainty,
            index: None,
        };
        self.placements.judged(id, &mut verdict);
        task.verdict = Some(verdict);
        if let Some(prev) = pending.prev_cpu
            && found != Found::Busy
            && self.map.has_clusters()
            && self.map.is_online(prev)
            && self.map.cluster_of(prev) != self.map.cluster_of(cpu)
        {
            let cluster = &self.map.clusters[self.map.cluster_of(prev)].cpus;
            let allowed = task.allowed.as_ref();
            let is_missed = cluster.iter().any(|other| {
                pending.picture.idle.test(other)
                    && allowed.is_none_or(|allowed| allowed.test(other))
            });
            self.placements.cluster_misses += u64::from(is_missed);
        }
        self.pictures.push(pending.picture);
    }

    pub(super) fn wakeup(&mut self, time: Timestamp, cpu: CpuId, id: TaskId, target: CpuId) {
        if !self.map.is_online(target) {
            self.contradict(time, cpu, Conflict::NoCpu { cpu: target });
            return;
        }
        self.totals.has_wakeup = true;
        let task = self.track.tasks.get_mut(id);
        match task.status {
            Status::Running(_) => {
                // The wakeup found it on its CPU.
                if let Some(pending) = task.pending.take() {
                    self.pictures.push(pending.picture);
                }
            }
            Status::Waiting { cpu: queued, .. } => {
                if queued != target {
                    let cause = if task.pending.is_some() {
                        Cause::Wakeup
                    } else {
                        Cause::Unrecorded
                    };
                    self.requeue(id, target);
                    self.count_move(cause, queued, target);
                }
                self.settle(id, target, true);
            }
            Status::Unknown | Status::Sleeping | Status::Dead => {
                // No `sched_waking`: the moment of the placement is about now.
                let prev = task.cpu;
                // Where others begin with `sched_waking`, this one's was lost.
                let is_sure = !self.totals.has_waking;
                self.open(time, cpu, id, Kind::Wakeup, prev, is_sure);
                self.settle(id, target, true);
                self.queue(id, target, time, true);
                if let Some(prev) = prev {
                    self.count_move(Cause::Unrecorded, prev, target);
                }
            }
        }
    }

    pub(super) fn wakeup_new(&mut self, time: Timestamp, cpu: CpuId, id: TaskId, target: CpuId) {
        if !self.map.is_online(target) {
            self.contradict(time, cpu, Conflict::NoCpu { cpu: target });
            return;
        }
        self.dequeue(id);
        self.open(time, cpu, id, Kind::Fork, None, true);
        self.settle(id, target, true);
        self.queue(id, target, time, true);
    }

    pub(super) fn migrate(
        &mut self,
        time: Timestamp,
        cpu: CpuId,
        id: TaskId,
        from: CpuId,
        to: CpuId,
    ) {
        self.totals.has_migrate = true;
        if let Some(odd) = [from, to].into_iter().find(|&cpu| !self.map.is_online(cpu)) {
            self.contradict(time, cpu, Conflict::NoCpu { cpu: odd });
            return;
        }
        // A wakeup that places the task elsewhere moves it before its CPU does anything else.
        let last = self.last_event[cpu.index()];
        let task = self.track.tasks.get_mut(id);
        let begun = task.pending.as_ref().map(|open| (open.by, open.time));
        let mut is_pending = begun.is_some();
        if let Status::Waiting { cpu: queued, .. } = task.status
            && begun.is_some_and(|begun| begun != (cpu, last))
        {
            let is_told = self.is_where_it_was_put(id, queued);
            self.settle(id, queued, is_told);
            is_pending = false;
        }
        let task = self.track.tasks.get_mut(id);
        match task.status {
            Status::Waiting { .. } => {
                self.requeue(id, to);
                if is_pending {
                    self.count_move(Cause::Wakeup, from, to);
                    // With losses about, this may be a later move than the wakeup's own. Where no
                    // `sched_wakeup` ends the wakeup, a CPU that takes the task to itself may have pulled it.
                    let is_told = self.shaky.is_empty()
                        && self.lossy.is_empty()
                        && (self.totals.has_wakeup || to != cpu);
                    self.settle(id, to, is_told);
                } else {
                    self.count_move(Cause::Runnable, from, to);
                    let window = self.options.ping_pong.0;
                    self.migrations.moved_runnable(id, time, from, to, window);
                    self.track.tasks.get_mut(id).moved = Some(Moved {
                        time,
                        from,
                        is_open: true,
                    });
                }
            }
            Status::Running(_) if !is_pending => {
                // It is stopped next; where it goes on is known.
                self.count_move(Cause::Runnable, from, to);
            }
            _ => {
                task.cpu = Some(to);
                let cause = if is_pending {
                    Cause::Wakeup
                } else {
                    Cause::Runnable
                };
                self.count_move(cause, from, to);
            }
        }
    }
}
