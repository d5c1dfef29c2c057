//! Every switch with its times, as `perf sched timehist` prints them.

mod columns;
mod summary;

use fairlab_event::{EventKind, SchedEvent, SwitchState};
use fairlab_trace::Names;
use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};

use crate::filter::Filter;
use crate::lives::Lives;
use crate::tasks::{Identity, Tasks};

pub use columns::Columns;
use summary::Runs;
pub use summary::{Summary, TaskSummary};

/// CPUs that are followed.
const MOST_CPUS: usize = 1 << 14;

/// Which rows are made.
#[derive(Clone, Debug, Default)]
pub struct TimehistOptions {
    /// Which switches, wakeups and migrations.
    pub filter: Filter,
    /// Rows of wakeups.
    pub wakeups: bool,
    /// Rows of migrations.
    pub migrations: bool,
    /// Delays begin at `sched_waking`, and `sched_wakeup` is left aside. Otherwise so as soon as there is
    /// a `sched_waking`.
    pub has_waking: bool,
}

/// A task as it was known at the time of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    task: Option<TaskId>,
    identity: Identity,
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Row {
    /// A task stops, after it ran.
    Switch {
        /// When, at the end of the wanted time at the latest.
        time: Timestamp,
        /// On which CPU.
        cpu: CpuId,
        /// The task that stops.
        task: Who,
        /// How long it was away before it ran: sleeping, blocked or waiting.
        wait: Nanos,
        /// Of this, from its wakeup on.
        delay: Nanos,
        /// How long it ran.
        run: Nanos,
        /// Why it stops.
        state: SwitchState,
        /// Who runs now.
        next: Who,
    },
    /// A task is woken.
    Wakeup {
        /// When.
        time: Timestamp,
        /// On which CPU the wakeup was done.
        cpu: CpuId,
        /// Who ran there.
        waker: Who,
        /// The task that is woken.
        wakee: Who,
    },
    /// A task is moved.
    Migration {
        /// When.
        time: Timestamp,
        /// The CPU that moves it.
        cpu: CpuId,
        /// Who ran there.
        mover: Who,
        /// The task that is moved.
        moved: Who,
        /// From where.
        from: CpuId,
        /// To where.
        to: CpuId,
    },
    /// Events were lost.
    Lost {
        /// When the recording goes on.
        time: Timestamp,
        /// Of which CPU.
        cpu: CpuId,
        /// How many, where known.
        count: Option<u64>,
    },
}

/// What is remembered of a task between its rows.
#[derive(Clone, Debug, Default)]
struct Task {
    /// When it stopped last; 0 before.
    stopped: u64,
    stopped_as: Option<SwitchState>,
    /// When it was woken, 0 when it was not.
    woken: u64,
    wait: u64,
    delay: u64,
    run: u64,
    totals: Runs,
    /// Who it was, once another has its number.
    was: Option<Identity>,
    has_exited: bool,
}

impl Task {
    /// It stops at `end`, having run since `start`, the last switch on its CPU, if there was one.
    fn account(&mut self, start: Option<u64>, end: u64) {
        (self.wait, self.delay, self.run) = (0, 0, 0);
        if let Some(start) = start {
            self.run = end.saturating_sub(start);
            if self.woken != 0 {
                self.delay = start.saturating_sub(self.woken);
            }
            if self.stopped != 0 {
                self.wait = start.saturating_sub(self.stopped);
            }
        }
        self.totals
            .add(self.run, self.wait, self.delay, self.stopped_as);
    }
}

/// Takes events, and gives rows.
#[derive(Debug)]
pub struct Timehist {
    options: TimehistOptions,
    tasks: Tasks,
    lives: Lives<Task>,
    idle: Vec<Task>,
    /// By CPU: the last switch.
    switched: Vec<Option<u64>>,
    from: Option<u64>,
    to: u64,
}

impl Timehist {
    /// Before the first event. `nr_cpus` is how many CPUs the machine has, where known.
    #[must_use]
    pub fn new(options: TimehistOptions, nr_cpus: u32) -> Self {
        let nr_cpus = (nr_cpus as usize).min(MOST_CPUS);
        Self {
            options,
            tasks: Tasks::new(),
            lives: Lives::new(),
            idle: vec![Task::default(); nr_cpus],
            switched: vec![None; nr_cpus],
            from: None,
            to: 0,
        }
    }

    /// Takes an event in; gives the row that it makes, if any.
    #[inline]
    pub fn event(&mut self, event: &SchedEvent, names: &Names) -> Option<Row> {
        let SchedEvent { time, cpu, kind } = *event;
        self.tasks.follow(event);
        match kind {
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => {
                let row = self.switch(event, prev, prev_state, next, names);
                self.tasks.run(cpu, Some(next));
                row
            }
            EventKind::Waking { task, .. } => {
                self.options.has_waking = true;
                self.wakeup(event, task, names)
            }
            EventKind::WakeupNew { task, .. } => self.wakeup(event, task, names),
            EventKind::Wakeup { task, .. } if !self.options.has_waking => {
                self.wakeup(event, task, names)
            }
            EventKind::Migrate { task, from, to } => {
                self.lives.get(task).totals.migrations += 1;
                let mover = self.tasks.running(cpu);
                let is_wanted = self.options.migrations
                    && self.options.filter.has_time(time)
                    && (self.is_wanted(mover, names) || self.is_wanted(Some(task), names));
                is_wanted.then(|| Row::Migration {
                    time,
                    cpu,
                    mover: self.who(mover),
                    moved: self.who(Some(task)),
                    from,
                    to,
                })
            }
            EventKind::Fork { child, .. } => {
                let was = self.tasks.before(child, time);
                self.lives.get(child).was = Some(was);
                self.lives.begin(child);
                None
            }
            EventKind::Exit { task } => {
                self.lives.get(task).has_exited = true;
                None
            }
            EventKind::Lost { count } => Some(Row::Lost { time, cpu, count }),
            _ => None,
        }
    }

    fn is_wanted(&mut self, task: Option<TaskId>, names: &Names) -> bool {
        self.tasks.is_wanted(task, &self.options.filter, names)
    }

    fn who(&mut self, task: Option<TaskId>) -> Who {
        Who {
            task,
            identity: task.map(|task| self.tasks.get(task)).unwrap_or_default(),
        }
    }

    fn switch(
        &mut self,
        event: &SchedEvent,
        prev: Option<TaskId>,
        state: SwitchState,
        next: Option<TaskId>,
        names: &Names,
    ) -> Option<Row> {
        let index = event.cpu.index();
        if index >= MOST_CPUS {
            return None;
        }
        if index >= self.switched.len() {
            self.switched.resize(index + 1, None);
        }
        if index >= self.idle.len() {
            self.idle.resize(index + 1, Task::default());
        }
        let now = event.time.0;
        let before = self.switched[index].replace(now);
        let is_wanted = self.is_wanted(prev, names);
        let filter = &self.options.filter;
        let from = filter.from.map_or(0, |from| from.0);
        let to = filter.to.map_or(u64::MAX, |to| to.0);
        let is_cpu_wanted = filter.has_cpu(event.cpu);
        let end = now.min(to);
        if now >= from && self.from.is_none() {
            self.from = Some(end);
        }
        if now >= from && before.is_none_or(|before| before <= to) {
            self.to = self.to.max(end);
        }
        if !is_wanted {
            return None;
        }
        let task = match prev {
            Some(prev) => self.lives.get(prev),
            None => &mut self.idle[index],
        };
        // What ran over the end of the wanted time counts up to there; what began later does not.
        let is_within = now >= from && before.is_none_or(|before| before <= to);
        let mut row = None;
        if is_within && is_cpu_wanted {
            let start = before.map(|before| before.max(from));
            task.account(start, end);
            row = Some((task.wait, task.delay, task.run));
        }
        task.stopped = now;
        task.stopped_as = Some(state);
        task.woken = 0;
        let (wait, delay, run) = row?;
        Some(Row::Switch {
            time: Timestamp(end),
            cpu: event.cpu,
            task: self.who(prev),
            wait: Nanos(wait),
            delay: Nanos(delay),
            run: Nanos(run),
            state,
            next: self.who(next),
        })
    }

    fn wakeup(&mut self, event: &SchedEvent, wakee: TaskId, names: &Names) -> Option<Row> {
        let task = self.lives.get(wakee);
        if task.woken == 0 {
            task.woken = event.time.0;
        }
        if !self.options.wakeups || !self.options.filter.has_time(event.time) {
            return None;
        }
        let waker = self.tasks.running(event.cpu);
        let is_wanted = self.is_wanted(waker, names) || self.is_wanted(Some(wakee), names);
        is_wanted.then(|| Row::Wakeup {
            time: event.time,
            cpu: event.cpu,
            waker: self.who(waker),
            wakee: self.who(Some(wakee)),
        })
    }

    /// Sums up what was taken in.
    #[must_use]
    pub fn finish(mut self) -> Summary {
        summary::of(&mut self)
    }
}

impl Who {
    /// The task's number; `None` for the idle task.
    #[must_use]
    pub const fn task(&self) -> Option<TaskId> {
        self.task
    }

    /// Its process, where known.
    #[must_use]
    pub const fn process(&self) -> Option<TaskId> {
        self.identity.process
    }

    /// Its name; empty where none was told.
    #[must_use]
    pub fn name<'a>(&self, names: &'a Names) -> &'a str {
        match self.task {
            None => "swapper",
            Some(_) => self.identity.name.map_or("", |name| names.get(name)),
        }
    }
}
