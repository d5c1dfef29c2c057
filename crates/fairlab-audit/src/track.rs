//! Who runs, waits and sleeps where, as far as the events tell.

use std::collections::BTreeMap;

use crate::delay::TaskDelays;
use crate::placement::{Pending, Verdict};
use fairlab_units::{CpuId, CpuMask, TaskId, Timestamp};

/// What a CPU does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Current {
    /// No event said it yet, or events were lost.
    Unknown,
    Idle,
    Task(TaskId),
}

/// A CPU.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    pub(crate) current: Current,
    /// Tasks that wait here, those on their way included.
    pub(crate) waiting: Vec<TaskId>,
    /// When it last began to idle.
    pub(crate) idle_since: Option<Timestamp>,
}

impl Cpu {
    /// Nothing runs and nothing is about to.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.current, Current::Idle) && self.waiting.is_empty()
    }

    pub(crate) const fn is_unknown(&self) -> bool {
        matches!(self.current, Current::Unknown)
    }

    /// Tasks that wait for something else than the CPU's switch to them, which is under way when
    /// it idles.
    pub(crate) fn left_waiting(&self) -> usize {
        match self.current {
            Current::Idle => self.waiting.len().saturating_sub(1),
            Current::Task(_) => self.waiting.len(),
            Current::Unknown => 0,
        }
    }
}

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// No event said it.
    Unknown,
    Running(CpuId),
    /// Runnable on a CPU, or on its way there.
    Waiting {
        cpu: CpuId,
        since: Timestamp,
        /// Was it woken or forked (and not preempted)?
        is_woken: bool,
    },
    Sleeping,
    Dead,
}

/// A task.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) status: Status,
    /// Where it last was.
    pub(crate) cpu: Option<CpuId>,
    /// Time on CPUs, in ns, as far as seen.
    pub(crate) runtime: u64,
    pub(crate) running_since: Option<Timestamp>,
    /// When it last left a CPU.
    pub(crate) seen: Option<Timestamp>,
    /// Time waiting, in ns.
    pub(crate) waited: u64,
    pub(crate) switches: u64,
    pub(crate) waker: Option<TaskId>,
    /// Where it may run, when told.
    pub(crate) allowed: Option<CpuMask>,
    /// A placement that has begun and whose outcome no event told yet.
    pub(crate) pending: Option<Pending>,
    /// The placement after which it has not run yet.
    pub(crate) verdict: Option<Verdict>,
    /// The last move of a runnable task.
    pub(crate) moved: Option<Moved>,
    pub(crate) delays: TaskDelays,
}

/// A move between CPUs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    pub(crate) time: Timestamp,
    pub(crate) from: CpuId,
    /// It has not run since, and was moved while it waited.
    pub(crate) is_open: bool,
}

impl Default for Task {
    fn default() -> Self {
        Self {
            status: Status::Unknown,
            cpu: None,
            runtime: 0,
            running_since: None,
            seen: None,
            waited: 0,
            switches: 0,
            waker: None,
            allowed: None,
            pending: None,
            verdict: None,
            moved: None,
            delays: TaskDelays::default(),
        }
    }
}

/// All CPUs and tasks.
#[derive(Debug)]
pub(crate) struct Track {
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) idle: CpuMask,
    pub(crate) unknown: CpuMask,
    pub(crate) tasks: Tasks<Task>,
    /// CPUs with [`Cpu::left_waiting`].
    pub(crate) crowded: CpuMask,
    /// Sum of [`Cpu::left_waiting`].
    pub(crate) left_waiting: u64,
    pub(crate) nr_idle: u64,
}

/// What is kept of tasks, by their numbers.
#[derive(Debug)]
pub(crate) struct Tasks<T> {
    /// Those below `PID_MAX_LIMIT`, which are all that kernels give.
    low: Vec<Option<Box<T>>>,
    high: BTreeMap<u32, T>,
}

impl<T> Default for Tasks<T> {
    fn default() -> Self {
        Self {
            low: Vec::new(),
            high: BTreeMap::new(),
        }
    }
}

const LOW: usize = 4 << 20;

impl<T: Default> Tasks<T> {
    pub(crate) fn get(&self, id: TaskId) -> Option<&T> {
        if id.index() < LOW {
            self.low.get(id.index())?.as_deref()
        } else {
            self.high.get(&id.0)
        }
    }

    pub(crate) fn get_mut(&mut self, id: TaskId) -> &mut T {
        if id.index() < LOW {
            if id.index() >= self.low.len() {
                self.low.resize_with(id.index() + 1, || None);
            }
            self.low[id.index()].get_or_insert_default()
        } else {
            self.high.entry(id.0).or_default()
        }
    }

    /// All of them, in the order of their numbers.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (TaskId, &mut T)> {
        let low = self
            .low
            .iter_mut()
            .enumerate()
            .filter_map(|(id, task)| Some((TaskId(id as u32), task.as_deref_mut()?)));
        let high = self.high.iter_mut();
        low.chain(high.map(|(&id, task)| (TaskId(id), task)))
    }
}

impl Track {
    pub(crate) fn new(nr_cpus: usize, online: &CpuMask) -> Self {
        let mut unknown = CpuMask::new(nr_cpus);
        unknown.copy_from(online);
        Self {
            cpus: vec![
                Cpu {
                    current: Current::Unknown,
                    waiting: Vec::new(),
                    idle_since: None,
                };
                nr_cpus
            ],
            idle: CpuMask::new(nr_cpus),
            unknown,
            crowded: CpuMask::new(nr_cpus),
            tasks: Tasks::default(),
            left_waiting: 0,
            nr_idle: 0,
        }
    }

    /// Changes a CPU and keeps the sums true. Says whether the CPU was idle before and is now.
    pub(crate) fn change(&mut self, cpu: CpuId, change: impl FnOnce(&mut Cpu)) -> (bool, bool) {
        let c = &mut self.cpus[cpu.index()];
        let (was_idle, waited) = (c.is_idle(), c.left_waiting());
        change(c);
        let (is_idle, waits) = (c.is_idle(), c.left_waiting());
        self.left_waiting = self.left_waiting + waits as u64 - waited as u64;
        if waits > 0 {
            self.crowded.set(cpu);
        } else {
            self.crowded.clear(cpu);
        }
        if c.is_unknown() {
            self.unknown.set(cpu);
        } else {
            self.unknown.clear(cpu);
        }
        if was_idle != is_idle {
            if is_idle {
                self.idle.set(cpu);
                self.nr_idle += 1;
            } else {
                self.idle.clear(cpu);
                self.nr_idle -= 1;
            }
        }
        (was_idle, is_idle)
    }
}
