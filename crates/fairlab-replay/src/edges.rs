//! Who wakes whom, and who belongs together: what is seen of it in a first pass over the events.

use std::collections::BTreeMap;

use fairlab_event::{EventKind, SchedEvent};
use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};

use crate::arrival::Arrivals;

/// How often a task wakes another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pair {
    /// While the waker ran on the CPU where the wakee had slept.
    here: u64,
    /// While it ran elsewhere.
    elsewhere: u64,
}

/// Wakeups of one broadcast follow each other so closely: each takes about a microsecond.
const BROADCAST: Nanos = Nanos::from_micros(2);

/// Wakeups of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wakeups {
    all: u64,
    /// By an interrupt, as the CPU was idle.
    by_interrupt: u64,
    /// By a task, as it ran elsewhere than where timers fire.
    by_task: u64,
}

/// The pairs of waker and wakee. Hand it all events in time order.
#[derive(Clone, Debug, Default)]
pub struct Edges {
    running: BTreeMap<CpuId, TaskId>,
    /// Where each task last ran.
    last: BTreeMap<TaskId, CpuId>,
    pairs: BTreeMap<(TaskId, TaskId), Pair>,
    /// Wakeups of each task.
    wakeups: BTreeMap<TaskId, Wakeups>,
    /// When the task that ran on each CPU woke others, as far as that is sure.
    by_task: BTreeMap<CpuId, Vec<Timestamp>>,
    /// How long wakeups are under way.
    arrivals: Arrivals,
    /// The process of each task.
    processes: BTreeMap<TaskId, TaskId>,
    /// Who made each task.
    parents: BTreeMap<TaskId, TaskId>,
    has_waking: bool,
    has_forks: bool,
}

impl Edges {
    /// No pairs yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an event in.
    pub fn event(&mut self, event: &SchedEvent) {
        self.arrivals.event(event);
        match event.kind {
            EventKind::Switch { prev, next, .. } => {
                if let Some(task) = prev {
                    self.last.insert(task, event.cpu);
                }
                match next {
                    Some(task) => {
                        self.running.insert(event.cpu, task);
                    }
                    None => {
                        self.running.remove(&event.cpu);
                    }
                }
            }
            EventKind::Waking { task, prev_cpu } => {
                self.has_waking = true;
                self.wakeup(event, task, prev_cpu);
                if let Some(&waker) = self.running.get(&event.cpu) {
                    self.arrivals.begins(event, waker, task);
                }
            }
            // Where the beginning of wakeups is not recorded, their end has to do.
            EventKind::Wakeup { task, .. } if !self.has_waking => {
                let slept = self.last.get(&task).copied();
                self.wakeup(event, task, slept.unwrap_or(event.cpu));
            }
            EventKind::Fork { parent, child } => {
                self.has_forks = true;
                self.parents.insert(child, parent);
            }
            EventKind::Process {
                task,
                process,
                parent,
            } => {
                self.processes.insert(task, process);
                if let Some(parent) = parent {
                    self.parents.insert(task, parent);
                }
            }
            _ => {}
        }
    }

    fn wakeup(&mut self, event: &SchedEvent, task: TaskId, slept: CpuId) {
        let on = event.cpu;
        let wakeups = self.wakeups.entry(task).or_default();
        wakeups.all += 1;
        let Some(&waker) = self.running.get(&on).filter(|waker| **waker != task) else {
            wakeups.by_interrupt += 1;
            return;
        };
        let pair = self.pairs.entry((waker, task)).or_default();
        if on == slept {
            pair.here += 1;
        } else {
            pair.elsewhere += 1;
            wakeups.by_task += 1;
            self.by_task.entry(on).or_default().push(event.time);
        }
    }

    /// Does the task that runs on `cpu` wake others about then?
    fn is_in_broadcast(&self, time: Timestamp, cpu: CpuId) -> bool {
        self.by_task.get(&cpu).is_some_and(|times| {
            let from = times.partition_point(|at| at.0 + BROADCAST.0 < time.0);
            times
                .get(from)
                .is_some_and(|at| at.0 <= time.0 + BROADCAST.0)
        })
    }

    /// How long wakeups are under way.
    pub(crate) const fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// The process that a task is a thread of, where it is known.
    #[must_use]
    pub fn process(&self, task: TaskId) -> Option<TaskId> {
        self.processes.get(&task).copied()
    }

    /// Are wakeups recorded?
    #[must_use]
    pub fn has_wakeups(&self) -> bool {
        !self.wakeups.is_empty()
    }

    /// Does the recording tell who forks whom?
    #[must_use]
    pub const fn has_forks(&self) -> bool {
        self.has_forks
    }

    /// Is a wakeup of `wakee` at `time` on the CPU `on`, where `waker` runs, that task's doing? `slept` is the
    /// CPU where the wakee slept.
    #[must_use]
    pub fn is_by_task(
        &self,
        time: Timestamp,
        waker: TaskId,
        wakee: TaskId,
        on: CpuId,
        slept: CpuId,
    ) -> bool {
        if waker == wakee {
            return false;
        }
        let tells_parent = self.parents.get(&waker) == Some(&wakee);
        if on != slept || tells_parent || self.is_in_broadcast(time, on) {
            return true;
        }
        let pair = self.pairs.get(&(waker, wakee)).copied();
        let pair = pair.unwrap_or_default();
        let wakeups = self.wakeups.get(&wakee).copied().unwrap_or_default();
        let is_never_by_interrupt = wakeups.by_interrupt == 0 && wakeups.by_task > 0;
        let is_mostly_by_this = pair.here >= 2 && pair.here * 2 > wakeups.all;
        pair.elsewhere > 0 || is_never_by_interrupt || is_mostly_by_this
    }
}
