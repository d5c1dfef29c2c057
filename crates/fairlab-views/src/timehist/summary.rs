//! Times of each task over the whole recording.

use std::io::{self, Write};

use fairlab_event::SwitchState;
use fairlab_trace::Names;
use fairlab_units::{CpuId, Nanos, TaskId};

use super::{Task, Timehist};
use crate::print;
use crate::tasks::Identity;

/// Sums over the runs of a task, and their mean and variance as they grow (Welford).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Runs {
    count: u64,
    mean: f64,
    squares: f64,
    min: u64,
    max: u64,
    run: u64,
    delay: u64,
    sleep: u64,
    blocked: u64,
    preempted: u64,
    pub(super) migrations: u64,
}

impl Runs {
    pub(super) fn add(&mut self, run: u64, wait: u64, delay: u64, was: Option<SwitchState>) {
        self.count += 1;
        let value = run as f64;
        let distance = value - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value - self.mean);
        self.max = self.max.max(run);
        self.min = if self.count == 1 {
            run
        } else {
            self.min.min(run)
        };
        self.run += run;
        self.delay += delay;
        match was {
            Some(SwitchState::Runnable | SwitchState::Preempted) => self.preempted += wait,
            Some(SwitchState::Uninterruptible) => self.blocked += wait,
            _ => self.sleep += wait,
        }
    }

    /// The standard error of the mean, in percent of the mean.
    fn error_percent(&self) -> f64 {
        if self.count < 2 || self.mean == 0.0 {
            return 0.0;
        }
        let count = self.count as f64;
        100.0 * (self.squares / (count - 1.0) / count).sqrt() / self.mean
    }
}

/// What [`Timehist`] sums up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Summary {
    /// Every task that ran, in perf's order; those that have ended last.
    pub tasks: Vec<TaskSummary>,
    /// By CPU: for how long it idled, `None` if no idle task stopped.
    pub idle: Vec<(CpuId, Option<Nanos>)>,
    /// From the first switch to the last.
    pub elapsed: Nanos,
    /// Switches, those away from idle tasks included.
    pub switches: u64,
    nr_cpus: u32,
}

/// Times of a task.
#[derive(Clone, Copy, Debug)]
pub struct TaskSummary {
    task: TaskId,
    who: Identity,
    runs: Runs,
    /// Did it end?
    pub has_exited: bool,
}

impl TaskSummary {
    /// Its number.
    #[must_use]
    pub const fn task(&self) -> TaskId {
        self.task
    }

    /// Its process, where known.
    #[must_use]
    pub const fn process(&self) -> Option<TaskId> {
        self.who.process
    }

    /// Who made it, where known.
    #[must_use]
    pub const fn parent(&self) -> Option<TaskId> {
        self.who.parent
    }

    /// Its name; empty where none was told.
    #[must_use]
    pub fn name<'a>(&self, names: &'a Names) -> &'a str {
        self.who.name.map_or("", |name| names.get(name))
    }

    /// How often it ran.
    #[must_use]
    pub const fn runs(&self) -> u64 {
        self.runs.count
    }

    /// For how long: altogether, at least, at most.
    #[must_use]
    pub const fn run_times(&self) -> (Nanos, Nanos, Nanos) {
        (
            Nanos(self.runs.run),
            Nanos(self.runs.min),
            Nanos(self.runs.max),
        )
    }

    /// For how long it did not run: asleep, blocked, preempted; and of all that, since its wakeups.
    #[must_use]
    pub const fn waits(&self) -> [Nanos; 4] {
        let runs = &self.runs;
        [
            Nanos(runs.sleep),
            Nanos(runs.blocked),
            Nanos(runs.preempted),
            Nanos(runs.delay),
        ]
    }

    /// How often it was moved.
    #[must_use]
    pub const fn migrations(&self) -> u64 {
        self.runs.migrations
    }
}

pub(super) fn of(timehist: &mut Timehist) -> Summary {
    let mut tasks = Vec::new();
    for (order, (task, is_present, life)) in timehist.lives.iter().enumerate() {
        if life.totals.count > 0 {
            let who = life.was.unwrap_or_else(|| timehist.tasks.get(task));
            let summary = TaskSummary {
                task,
                who,
                runs: life.totals,
                has_exited: life.has_exited,
            };
            // perf keeps tasks in 256 heaps by their numbers, and those whose number another has
            // behind them.
            let key = (life.has_exited, task.0 % 256, !is_present);
            let within = if is_present {
                u64::from(task.0)
            } else {
                order as u64
            };
            tasks.push((key, within, summary));
        }
    }
    tasks.sort_by_key(|&(key, within, _)| (key, within));
    let tasks = Vec::from_iter(tasks.into_iter().map(|(_, _, summary)| summary));
    let cpus = &timehist.options.filter;
    let ran = |task: &Task| (task.totals.count > 0).then_some(Nanos(task.totals.run));
    let idle = Vec::from_iter(
        (0..)
            .map(CpuId)
            .zip(timehist.idle.iter().map(ran))
            .filter(|(cpu, _)| cpus.has_cpu(*cpu)),
    );
    let idle_runs: u64 = timehist.idle.iter().map(|task| task.totals.count).sum();
    Summary {
        switches: tasks.iter().map(TaskSummary::runs).sum::<u64>() + idle_runs,
        elapsed: Nanos(timehist.to.saturating_sub(timehist.from.unwrap_or(0))),
        nr_cpus: timehist.idle.len() as u32,
        tasks,
        idle,
    }
}

/// Width of the column of tasks, unless one is longer.
const WIDTH: usize = 30;

impl Summary {
    /// Prints it as perf does: run times, or with `has_waits` (perf's `--state`) waits.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, names: &Names, has_waits: bool, out: &mut impl Write) -> io::Result<()> {
        let mut labels = Vec::new();
        for task in &self.tasks {
            let mut label = Vec::new();
            task.who.put(task.task, names, &mut label);
            labels.push(label);
        }
        let width = labels.iter().map(Vec::len).max().unwrap_or(0).max(WIDTH);
        let mut text = Vec::new();
        let (title, heads, units) = if has_waits {
            (
                "Wait-time summary",
                "   run-time      sleep      iowait     preempt       delay",
                "     (msec)     (msec)      (msec)      (msec)       (msec)",
            )
        } else {
            (
                "Runtime summary",
                "   run-time    min-run     avg-run     max-run  stddev  migrations",
                "     (msec)     (msec)      (msec)      (msec)       %",
            )
        };
        writeln!(text, "\n{title}")?;
        writeln!(text, "{:>width$}  parent   sched-in  {heads}", "comm")?;
        writeln!(text, "{:>width$}            (count)  {units}", "")?;
        writeln!(text, "{}", "-".repeat(117))?;
        for (has_exited, none) in [
            (false, "<no still running tasks>"),
            (true, "<no terminated tasks>"),
        ] {
            if has_exited {
                writeln!(text, "\nTerminated tasks:")?;
            }
            let mut is_any = false;
            for (task, label) in self.tasks.iter().zip(&labels) {
                if task.has_exited == has_exited {
                    is_any = true;
                    print::spaces(&mut text, width.saturating_sub(label.len()));
                    text.extend_from_slice(label);
                    task.put(has_waits, &mut text)?;
                }
            }
            if !is_any {
                writeln!(text, "{none}")?;
            }
        }
        self.write_totals(&mut text)?;
        out.write_all(&text)
    }

    fn write_totals(&self, text: &mut Vec<u8>) -> io::Result<()> {
        writeln!(text, "\nIdle stats:")?;
        for (cpu, idle) in &self.idle {
            match idle {
                Some(idle) => {
                    write!(text, "    CPU {:2} idle for ", cpu.0)?;
                    print::milliseconds(text, idle.0, 6);
                    let percent = 100.0 * idle.0 as f64 / self.elapsed.0 as f64;
                    writeln!(text, "  msec  ({percent:6.2}%)")?;
                }
                None => writeln!(
                    text,
                    "    CPU {:2} never stopped idling, or never idled",
                    cpu.0
                )?,
            }
        }
        writeln!(
            text,
            "\n    Total number of unique tasks: {}\nTotal number of context switches: {}",
            self.tasks.len(),
            self.switches
        )?;
        write!(text, "           Total run time (msec): ")?;
        let run = self.tasks.iter().map(|task| task.runs.run).sum();
        print::milliseconds(text, run, 2);
        write!(text, " \n    Total scheduling time (msec): ")?;
        print::milliseconds(text, self.elapsed.0, 2);
        writeln!(text, "  (x {})", self.nr_cpus)
    }
}

impl TaskSummary {
    fn put(&self, has_waits: bool, text: &mut Vec<u8>) -> io::Result<()> {
        let parent = self.who.parent.map_or(-1, |parent| i64::from(parent.0));
        let runs = &self.runs;
        write!(text, "   {parent:5}   {:8}   ", runs.count)?;
        print::milliseconds(text, runs.run, 6);
        let columns = if has_waits {
            [runs.sleep, runs.blocked, runs.preempted, runs.delay]
        } else {
            [runs.min, runs.mean as u64, runs.max, 0]
        };
        let nr = if has_waits { 4 } else { 3 };
        for (index, column) in columns.into_iter().take(nr).enumerate() {
            print::spaces(text, 1 + usize::from(index > 0));
            print::milliseconds(text, column, 6);
        }
        if has_waits {
            writeln!(text, " ")
        } else {
            writeln!(
                text,
                "   {:5.2}   {:5}",
                runs.error_percent(),
                runs.migrations
            )
        }
    }
}
