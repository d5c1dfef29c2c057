//! Takes events in and keeps the books.

use fairlab_event::{EventKind, SchedEvent, SwitchState};
use fairlab_topology::Machine;
use fairlab_units::{CpuId, CpuMask, Nanos, TaskId, Timestamp};

use crate::audit::{Audit, CpuTotals, LossWindow, TaskTotals, Totals};
use crate::delay::{Delays, LongWait};
use crate::idleness::Idleness;
use crate::map::Map;
use crate::migration::{Cause, Migrations};
use crate::placement::{Certainty, Found, Kind, Pending, Picture, Placements, Verdict};
use crate::stacking::Stacking;
use crate::track::{Current, Moved, Status, Track};

/// Settings of an audit.
#[derive(Clone, Debug)]
pub struct AuditOptions {
    /// How many of the worst cases of each sort are kept.
    pub keep: usize,
    /// Keep every placement ([`Placements::every`]), not only the worst.
    pub every_placement: bool,
    /// A task that returns within this time goes back and forth.
    pub ping_pong: Nanos,
    /// Stretches in which events were lost, sorted by their begins, as an audit of the same events
    /// has found them ([`Audit::losses`]). Known from the start, they make verdicts unsure that
    /// fall into them; found on the way, only those that come after.
    pub losses: Vec<LossWindow>,
}

impl Default for AuditOptions {
    fn default() -> Self {
        Self {
            keep: 20,
            every_placement: false,
            ping_pong: Nanos(10_000_000),
            losses: Vec::new(),
        }
    }
}

/// Judges events. Hand it all of them in time order.
#[derive(Debug)]
pub struct Auditor {
    map: Map,
    options: AuditOptions,
    track: Track,
    totals: Totals,
    has_begun: bool,
    placements: Placements,
    idleness: Idleness,
    stacking: Stacking,
    migrations: Migrations,
    delays: Delays,
    cpu_totals: Vec<CpuTotals>,
    cpu_since: Vec<Timestamp>,
    last_event: Vec<Timestamp>,
    /// CPUs on whose way a wakeup may have been lost: all after a loss, each until its next switch.
    shaky: CpuMask,
    /// CPUs within a loss that was told from the start.
    lossy: CpuMask,
    next_loss: usize,
    /// The last moment at which events are known to be missing.
    last_loss: Option<Timestamp>,
    losses: Vec<LossWindow>,
    contradictions: u64,
    /// Restricted tasks that wait.
    restricted: Vec<TaskId>,
    /// Pictures that are free for the next wakeup.
    pictures: Vec<Picture>,
}

impl Auditor {
    /// An auditor for events of `machine`.
    #[must_use]
    pub fn new(machine: &Machine, options: AuditOptions) -> Self {
        let map = Map::of(machine);
        let nr_cpus = map.nr_cpus();
        Self {
            track: Track::new(nr_cpus, &map.online),
            totals: Totals::default(),
            has_begun: false,
            placements: Placements::keeping(options.keep, options.every_placement),
            idleness: Idleness::keeping(options.keep),
            stacking: Stacking::new(&map),
            migrations: Migrations::default(),
            delays: Delays::keeping(options.keep),
            cpu_totals: vec![CpuTotals::default(); nr_cpus],
            cpu_since: vec![Timestamp::default(); nr_cpus],
            last_event: vec![Timestamp::default(); nr_cpus],
            shaky: CpuMask::new(nr_cpus),
            lossy: CpuMask::new(nr_cpus),
            next_loss: 0,
            last_loss: None,
            losses: Vec::new(),
            contradictions: 0,
            restricted: Vec::new(),
            pictures: Vec::new(),
            map,
            options,
        }
    }

    /// From now on `task` may run on these CPUs only.
    pub fn allow(&mut self, task: TaskId, allowed: &CpuMask) {
        let mut mask = CpuMask::new(self.map.nr_cpus());
        mask.copy_from(allowed);
        let is_everywhere = self.map.online.is_subset(&mask);
        let waits = matches!(
            self.track.tasks.get(task),
            Some(known) if matches!(known.status, Status::Waiting { .. })
        );
        self.restricted.retain(|&other| other != task);
        if waits && !is_everywhere {
            self.restricted.push(task);
        }
        self.track.tasks.get_mut(task).allowed = (!is_everywhere).then_some(mask);
    }

    /// Takes an event in. Events of CPUs that the machine does not have are counted as
    /// contradictions.
    pub fn event(&mut self, event: &SchedEvent) {
        self.totals.events += 1;
        if !self.map.is_online(event.cpu) {
            self.contradictions += 1;
            return;
        }
        self.advance(event.time);
        let (time, cpu) = (event.time, event.cpu);
        match event.kind {
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => self.switch(time, cpu, prev, prev_state, next),
            EventKind::Waking { task, prev_cpu } => self.waking(time, cpu, task, prev_cpu),
            EventKind::Wakeup { task, target } => self.wakeup(time, cpu, task, target),
            EventKind::WakeupNew { task, target } => self.wakeup_new(time, cpu, task, target),
            EventKind::Migrate { task, from, to } => self.migrate(time, task, from, to),
            EventKind::Running { task } => self.running(time, cpu, task),
            // Whoever enters or leaves an idle state runs nothing else.
            EventKind::CpuIdle { .. } if self.track.cpus[cpu.index()].is_unknown() => {
                self.set_current(time, cpu, Current::Idle);
            }
            EventKind::Lost { .. } => self.lost(time, cpu),
            _ => {}
        }
        self.last_event[cpu.index()] = time;
        self.review_idleness(time);
    }

    /// Ends the audit at `end`, or at the last event if that is later.
    #[must_use]
    pub fn finish_at(mut self, end: Timestamp) -> Audit {
        self.advance(end);
        self.finish()
    }

    /// Ends the audit at the time of the last event.
    #[must_use]
    pub fn finish(mut self) -> Audit {
        let end = self.totals.to;
        self.idleness.end();
        self.losses.sort_unstable();
        for cpu in self.map.online.clone().iter() {
            self.account_cpu(end, cpu);
        }
        let mut tasks = Vec::new();
        for (id, task) in self.track.tasks.iter() {
            let mut running = task.runtime;
            let mut waiting = task.waited;
            match task.status {
                Status::Running(_) => {
                    running += task.running_since.map_or(0, |since| end.0 - since.0);
                }
                Status::Waiting { since, .. } => waiting += end.0 - since.0,
                _ => {}
            }
            tasks.push(TaskTotals {
                task: id,
                running: Nanos(running),
                waiting: Nanos(waiting),
                switches: task.switches,
            });
        }
        Audit {
            totals: self.totals,
            placements: self.placements,
            idleness: self.idleness,
            stacking: self.stacking,
            migrations: self.migrations,
            delays: self.delays,
            tasks,
            cpus: self
                .map
                .online
                .iter()
                .map(|cpu| (cpu, self.cpu_totals[cpu.index()]))
                .collect(),
            losses: self.losses,
            contradictions: self.contradictions,
        }
    }

    /// Time goes on to `time`.
    fn advance(&mut self, time: Timestamp) {
        if !self.has_begun {
            self.has_begun = true;
            self.totals.from = time;
            self.totals.to = time;
            self.cpu_since.fill(time);
            self.last_event.fill(time);
        }
        let ns = time.0.saturating_sub(self.totals.to.0);
        if ns > 0 {
            if self.idleness.is_open() {
                let certainty = if self.track.unknown.is_empty()
                    && self.shaky.is_empty()
                    && self.lossy.is_empty()
                {
                    Certainty::Sure
                } else {
                    Certainty::Unsure
                };
                let matched = self.matched();
                self.idleness.pass(ns, matched, certainty);
            }
            self.stacking.pass(ns);
            self.totals.to = time;
        }
        while let Some(loss) = self.options.losses.get(self.next_loss)
            && loss.from <= time
        {
            if loss.to > time && self.map.is_online(loss.cpu) {
                self.last_loss = Some(time);
                self.lossy.set(loss.cpu);
                self.shaky.copy_from(&self.map.online);
            }
            self.next_loss += 1;
        }
    }

    /// How many waiting tasks could run on idle CPUs.
    fn matched(&self) -> u64 {
        let mut waiting = self.track.left_waiting;
        for &task in &self.restricted {
            let can_move = self
                .track
                .tasks
                .get(task)
                .and_then(|task| task.allowed.as_ref())
                .is_none_or(|allowed| allowed.intersects(&self.track.idle));
            if !can_move {
                waiting = waiting.saturating_sub(1);
            }
        }
        waiting.min(self.track.nr_idle)
    }

    /// Begins or ends an episode after the state has changed.
    fn review_idleness(&mut self, time: Timestamp) {
        let is_beside = self.track.left_waiting > 0 && self.track.nr_idle > 0 && self.matched() > 0;
        if is_beside == self.idleness.is_open() {
            return;
        }
        if !is_beside {
            self.idleness.end();
            return;
        }
        if let (Some(idle), Some(busy)) = (self.track.idle.first(), self.track.crowded.first())
            && let Some(&task) = self.track.cpus[busy.index()].waiting.last()
        {
            self.idleness.begin(time, idle, busy, task);
        }
    }

    fn account_cpu(&mut self, time: Timestamp, cpu: CpuId) {
        let since = &mut self.cpu_since[cpu.index()];
        let ns = Nanos(time.0.saturating_sub(since.0));
        *since = time;
        let totals = &mut self.cpu_totals[cpu.index()];
        let part = match self.track.cpus[cpu.index()].current {
            Current::Unknown => &mut totals.unknown,
            Current::Idle => &mut totals.idle,
            Current::Task(_) => &mut totals.busy,
        };
        part.0 += ns.0;
    }

    /// `cpu` runs something else from now on.
    fn set_current(&mut self, time: Timestamp, cpu: CpuId, current: Current) {
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

    /// The task waits on `cpu` from `since` on.
    fn queue(&mut self, task: TaskId, cpu: CpuId, since: Timestamp, is_woken: bool) {
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
    fn dequeue(&mut self, task: TaskId) {
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

    fn switch(
        &mut self,
        time: Timestamp,
        cpu: CpuId,
        prev: Option<TaskId>,
        prev_state: SwitchState,
        next: Option<TaskId>,
    ) {
        self.totals.switches += 1;
        let known = match self.track.cpus[cpu.index()].current {
            Current::Unknown => prev,
            Current::Idle => None,
            Current::Task(task) => Some(task),
        };
        if known != prev {
            // A switch between was not recorded.
            self.contradictions += 1;
            self.forget(time, cpu);
        }
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
            if prev_state == SwitchState::Runnable && task.status == Status::Unknown {
                self.queue(prev, cpu, time, false);
            }
        }
    }

    /// `task` leaves `cpu`. If it is still runnable it is queued by the caller, once the CPU is
    /// known to run something else.
    fn leave(&mut self, time: Timestamp, cpu: CpuId, id: TaskId, state: SwitchState) {
        if let Some(Status::Waiting { .. }) = self.track.tasks.get(id).map(|task| task.status) {
            // It ran although it was last seen waiting.
            self.contradictions += 1;
            self.dequeue(id);
        }
        let task = self.track.tasks.get_mut(id);
        if let Some(since) = task.running_since.take() {
            task.runtime += time.0.saturating_sub(since.0);
        }
        task.cpu = Some(cpu);
        task.seen = Some(time);
        task.status = match state {
            SwitchState::Runnable => Status::Unknown,
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
        // No event told where the wakeup went: it may have been moved on since.
        self.settle(id, cpu, false);
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
                self.delays
                    .ran(id, cpu, Some(waker).filter(|_| is_woken), wait);
                if let Some(verdict) = verdict {
                    self.placements.ran(id, &verdict, ns);
                }
                self.judge_move(moved);
                if queued != cpu {
                    self.count_move(Cause::Unrecorded, queued, cpu);
                }
            }
            Status::Running(elsewhere) if elsewhere != cpu => {
                self.contradictions += 1;
                self.forget(time, elsewhere);
            }
            _ => {}
        }
        let task = self.track.tasks.get_mut(id);
        task.status = Status::Running(cpu);
        task.running_since = Some(time);
        task.cpu = Some(cpu);
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

    fn count_move(&mut self, cause: Cause, from: CpuId, to: CpuId) {
        if from != to && self.map.is_online(from) && self.map.is_online(to) {
            self.migrations.moved(cause, self.map.level(from, to));
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

    fn current(&self, cpu: CpuId) -> Option<TaskId> {
        match self.track.cpus[cpu.index()].current {
            Current::Task(task) => Some(task),
            _ => None,
        }
    }

    fn waking(&mut self, time: Timestamp, cpu: CpuId, id: TaskId, prev_cpu: CpuId) {
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
            kind,
            prev_cpu,
            is_sure,
            picture,
        });
    }

    /// The task went to `cpu`: judges the placement that was open, if one was. `is_told` when the
    /// event cannot belong to anything later.
    fn settle(&mut self, id: TaskId, cpu: CpuId, is_told: bool) {
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

    fn wakeup(&mut self, time: Timestamp, cpu: CpuId, id: TaskId, target: CpuId) {
        if !self.map.is_online(target) {
            self.contradictions += 1;
            return;
        }
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

    fn wakeup_new(&mut self, time: Timestamp, cpu: CpuId, id: TaskId, target: CpuId) {
        if !self.map.is_online(target) {
            self.contradictions += 1;
            return;
        }
        self.dequeue(id);
        self.open(time, cpu, id, Kind::Fork, None, true);
        self.settle(id, target, true);
        self.queue(id, target, time, true);
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

    fn migrate(&mut self, time: Timestamp, id: TaskId, from: CpuId, to: CpuId) {
        self.totals.has_migrate = true;
        if !self.map.is_online(from) || !self.map.is_online(to) {
            self.contradictions += 1;
            return;
        }
        let task = self.track.tasks.get_mut(id);
        let is_pending = task.pending.is_some();
        match task.status {
            Status::Waiting { .. } => {
                self.requeue(id, to);
                if is_pending {
                    self.count_move(Cause::Wakeup, from, to);
                    // With losses about, this may be a later move than the wakeup's own.
                    let is_told = self.shaky.is_empty() && self.lossy.is_empty();
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

    fn running(&mut self, time: Timestamp, cpu: CpuId, task: Option<TaskId>) {
        if let Some(task) = task {
            self.dequeue(task);
            let known = self.track.tasks.get_mut(task);
            known.status = Status::Running(cpu);
            known.running_since = Some(time);
            known.cpu = Some(cpu);
        }
        self.set_current(time, cpu, task.map_or(Current::Idle, Current::Task));
    }

    fn lost(&mut self, time: Timestamp, cpu: CpuId) {
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
    fn forget(&mut self, time: Timestamp, cpu: CpuId) {
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
