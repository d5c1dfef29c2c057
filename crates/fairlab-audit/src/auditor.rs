//! Takes events in and keeps the books.

mod running;
mod time;
mod wakeups;

use fairlab_event::{EventKind, SchedEvent};
use fairlab_topology::Machine;
use fairlab_units::{CpuId, CpuMask, Nanos, TaskId, Timestamp};

use crate::audit::{Audit, CpuTotals, LossWindow, TaskTotals, Totals};
use crate::contradiction::{Conflict, Contradiction, Contradictions};
use crate::delay::Delays;
use crate::history::History;
use crate::idleness::Idleness;
use crate::map::Map;
use crate::migration::Migrations;
use crate::placement::{Picture, Placements};
use crate::stacking::Stacking;
use crate::track::{Current, Status, Track};

/// Settings of an audit.
#[derive(Clone, Debug)]
pub struct AuditOptions {
    /// How many of the worst cases of each sort are kept.
    pub keep: usize,
    /// Keep every placement ([`Placements::every`]), not only the worst.
    pub every_placement: bool,
    /// How much of what happened is kept ([`Audit::history`]): at most so many stretches, waits and
    /// moves in all. 0 keeps nothing.
    pub history: usize,
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
            history: 0,
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
    history: History,
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
    contradictions: Contradictions,
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
            history: History::keeping(options.history),
            cpu_totals: vec![CpuTotals::default(); nr_cpus],
            cpu_since: vec![Timestamp::default(); nr_cpus],
            last_event: vec![Timestamp::default(); nr_cpus],
            shaky: CpuMask::new(nr_cpus),
            lossy: CpuMask::new(nr_cpus),
            next_loss: 0,
            last_loss: None,
            losses: Vec::new(),
            contradictions: Contradictions::default(),
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
            self.contradict(event.time, event.cpu, Conflict::NoCpu { cpu: event.cpu });
            return;
        }
        self.contradictions.heard_of(event.cpu);
        self.advance(event.time);
        self.history.event(event);
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
            EventKind::Migrate { task, from, to } => self.migrate(time, cpu, task, from, to),
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

    fn contradict(&mut self, time: Timestamp, cpu: CpuId, conflict: Conflict) {
        self.contradictions.add(Contradiction {
            time,
            cpu,
            conflict,
        });
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
        self.end_episode();
        self.history.end();
        self.losses.sort_unstable();
        for cpu in self.map.online.clone().iter() {
            self.account_cpu(end, cpu);
        }
        let mut tasks = Vec::new();
        for (id, task) in self.track.tasks.iter_mut() {
            self.delays.collect(id, std::mem::take(&mut task.delays));
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
            contradictions: self.contradictions.count,
            first_contradiction: self.contradictions.first,
            history: self.history,
        }
    }
}
