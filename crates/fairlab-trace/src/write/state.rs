//! What an event's line says beside the event: names, priorities, who runs on the CPU.

use fairlab_event::{EventKind, NameId, SchedEvent};
use fairlab_units::{CpuId, TaskId, Timestamp};

use crate::names::Names;

/// Thread numbers that are looked up by index; the kernel's `PID_MAX_LIMIT`. Those above, which no
/// kernel gives, have no name.
const MOST_TASKS: usize = 4 << 20;
/// CPUs that are followed.
const MOST_CPUS: usize = 1 << 14;

/// Priority of a task that no event told: that of nice 0.
const DEFAULT_PRIO: i16 = 120;

/// A task as tracepoints print it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    name: Option<NameId>,
    pub(super) prio: i16,
}

const UNKNOWN: Known = Known {
    name: None,
    prio: DEFAULT_PRIO,
};

/// What is true after the events so far.
#[derive(Debug, Default)]
pub(super) struct State {
    tasks: Vec<Known>,
    /// By CPU: its task, and since when it runs.
    running: Vec<(Option<TaskId>, Timestamp)>,
    now: Timestamp,
}

impl State {
    /// Takes `event` in.
    pub(super) fn follow(&mut self, event: &SchedEvent) {
        self.now = event.time;
        match event.kind {
            EventKind::Switch { next, .. } => self.runs(event.cpu, next),
            EventKind::Running { task } => self.runs(event.cpu, task),
            EventKind::Named { task, name } => {
                if let Some(known) = self.task_mut(task) {
                    known.name = Some(name);
                }
            }
            EventKind::Priority { task, prio } => {
                if let Some(known) = self.task_mut(task) {
                    known.prio = prio;
                }
            }
            _ => {}
        }
    }

    fn runs(&mut self, cpu: CpuId, task: Option<TaskId>) {
        let index = cpu.index();
        if index >= MOST_CPUS {
            return;
        }
        if index >= self.running.len() {
            self.running.resize(index + 1, (None, Timestamp::ZERO));
        }
        self.running[index] = (task, self.now);
    }

    fn task_mut(&mut self, task: TaskId) -> Option<&mut Known> {
        let index = task.index();
        if index >= MOST_TASKS {
            return None;
        }
        if index >= self.tasks.len() {
            self.tasks.resize(index + 1, UNKNOWN);
        }
        Some(&mut self.tasks[index])
    }

    /// Who runs on `cpu`; the idle task when nothing was told.
    pub(super) fn running(&self, cpu: CpuId) -> Option<TaskId> {
        self.running.get(cpu.index()).and_then(|(task, _)| *task)
    }

    /// Since when what runs on `cpu` does so; the beginning of time when nothing was told.
    pub(super) fn since(&self, cpu: CpuId) -> Timestamp {
        self.running
            .get(cpu.index())
            .map_or(Timestamp::ZERO, |(_, since)| *since)
    }

    /// The CPUs of which something was told, and what they run.
    pub(super) fn all_running(&self) -> impl Iterator<Item = (CpuId, Option<TaskId>)> + '_ {
        (0..)
            .map(CpuId)
            .zip(self.running.iter().map(|(task, _)| *task))
    }

    /// Time of the last event.
    pub(super) const fn now(&self) -> Timestamp {
        self.now
    }

    fn known(&self, task: TaskId) -> Known {
        self.tasks.get(task.index()).copied().unwrap_or(UNKNOWN)
    }

    /// The name that the task had so far.
    pub(super) fn name(&self, task: TaskId) -> Option<NameId> {
        self.known(task).name
    }

    /// The task as tracepoints print it; the idle task of `cpu` for `None`.
    pub(super) fn printed<'a>(
        &self,
        task: Option<TaskId>,
        cpu: CpuId,
        names: &'a Names,
    ) -> Printed<'a> {
        match task {
            None => Printed {
                comm: Comm::Idle(cpu),
                pid: 0,
                prio: DEFAULT_PRIO,
            },
            Some(task) => {
                let known = self.known(task);
                Printed {
                    comm: known
                        .name
                        .map_or(Comm::Unknown, |name| Comm::Name(names.get(name))),
                    pid: task.0,
                    prio: known.prio,
                }
            }
        }
    }
}

/// A task as tracepoints print it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Printed<'a> {
    pub(super) comm: Comm<'a>,
    pub(super) pid: u32,
    pub(super) prio: i16,
}

/// A name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Comm<'a> {
    /// As recorded.
    Name(&'a str),
    /// `swapper/N`.
    Idle(CpuId),
    /// Never told: `<...>`, as ftrace prints it.
    Unknown,
}

impl Comm<'_> {
    /// Appends the name.
    pub(super) fn push(self, out: &mut Vec<u8>) {
        match self {
            Self::Name(name) => out.extend_from_slice(name.as_bytes()),
            Self::Idle(cpu) => {
                out.extend_from_slice(b"swapper/");
                push_number(out, u64::from(cpu.0));
            }
            Self::Unknown => out.extend_from_slice(b"<...>"),
        }
    }
}

/// Appends a decimal number.
pub(super) fn push_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a decimal number with at least `width` digits, zeros first.
pub(super) fn push_padded(out: &mut Vec<u8>, number: u64, width: usize) {
    let mut power = 10u64;
    for _ in 1..width {
        if number < power {
            out.push(b'0');
        }
        power = power.saturating_mul(10);
    }
    // The zeros that were pushed stand before the number, whatever its length.
    push_number(out, number);
}
