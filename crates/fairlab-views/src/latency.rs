//! Delays by task, as `perf sched latency` prints them.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::{self, Write};

use fairlab_event::{EventKind, SchedEvent, SwitchState};
use fairlab_trace::Names;
use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};

use crate::filter::Filter;
use crate::lives::Lives;
use crate::print;
use crate::tasks::{Identity, MOST_CPUS, Tasks};

/// By what rows are ordered, the largest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortKey {
    /// The mean delay.
    Average,
    /// The longest delay.
    Longest,
    /// How often it was switched to after a wait.
    Switches,
    /// Time on CPUs.
    Runtime,
}

/// What the table is made of.
#[derive(Clone, Debug)]
pub struct LatencyOptions {
    /// Only delays that end on these CPUs, at these times, of these tasks.
    pub filter: Filter,
    /// A row for each task, instead of one for all tasks of a name.
    pub per_task: bool,
    /// By these, one after the other.
    pub sort: Vec<SortKey>,
    /// Count every wait for a CPU. perf 6.1 leaves two kinds aside, and the table equals its own when this
    /// is not set: those that begin with `sched_waking`, which `perf sched record` records in place of
    /// `sched_wakeup`, and those of preempted tasks (`R+`).
    pub all_waits: bool,
}

impl Default for LatencyOptions {
    fn default() -> Self {
        Self {
            filter: Filter::default(),
            per_task: false,
            sort: vec![
                SortKey::Average,
                SortKey::Longest,
                SortKey::Switches,
                SortKey::Runtime,
            ],
            all_waits: false,
        }
    }
}

/// The table.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LatencyTable {
    /// Its rows, in order.
    pub rows: Vec<LatencyRow>,
    /// Time on CPUs of all rows.
    pub total_runtime: Nanos,
    /// Switches of all rows.
    pub total_switches: u64,
    /// Wakeups that were taken in.
    pub wakeups: u64,
    /// Wakeups at a time before the task went to sleep.
    pub unordered_wakeups: u64,
    /// Switches away from another task than the one that ran.
    pub switch_bugs: u64,
    /// Events that were lost, as far as counted, and at how many places.
    pub lost: (u64, u64),
    /// Waits that were left aside for want of [`LatencyOptions::all_waits`].
    pub left_aside: u64,
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LatencyRow {
    /// The tasks' name.
    pub name: String,
    /// The highest number among the tasks.
    pub task: TaskId,
    /// How many tasks the row stands for.
    pub nr_tasks: u64,
    /// Time on CPUs, from `sched_stat_runtime`.
    pub runtime: Nanos,
    /// How often it was switched to after a wait.
    pub switches: u64,
    /// Sum of the waits.
    pub total_delay: Nanos,
    /// The longest wait.
    pub max_delay: Nanos,
    /// When the longest wait began.
    pub max_from: Timestamp,
    /// When it ended.
    pub max_to: Timestamp,
}

/// What the task did last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    /// It left a CPU to sleep.
    #[default]
    Sleeps,
    /// It waits for a CPU.
    Waits,
    /// It was switched to.
    Runs,
    /// Its wakeup is later than its switch: not counted.
    Ignored,
}

#[derive(Clone, Debug, Default)]
struct Task {
    /// Was there any event of it?
    is_known: bool,
    step: Step,
    since: Timestamp,
    row: LatencyRow,
    /// Who it was, once another has its number.
    was: Option<Identity>,
}

impl Task {
    /// It leaves its CPU, or is first heard of.
    fn out(&mut self, is_runnable: bool, time: Timestamp) {
        self.is_known = true;
        self.step = if is_runnable {
            Step::Waits
        } else {
            Step::Sleeps
        };
        self.since = time;
    }

    /// It gets a CPU.
    fn enter(&mut self, time: Timestamp, is_wanted: bool) {
        if self.step != Step::Waits {
            return;
        }
        if time < self.since {
            self.step = Step::Ignored;
            return;
        }
        self.step = Step::Runs;
        if !is_wanted {
            return;
        }
        let delay = time - self.since;
        let row = &mut self.row;
        row.total_delay.0 = row.total_delay.0.saturating_add(delay.0);
        if delay > row.max_delay {
            row.max_delay = delay;
            row.max_from = self.since;
            row.max_to = time;
        }
        row.switches += 1;
    }
}

/// Takes events, and gives the table.
#[derive(Debug)]
pub struct Latency {
    options: LatencyOptions,
    tasks: Tasks,
    lives: Lives<Task>,
    /// By CPU: who a switch put on it, `None` before the first; only switches say it here.
    current: Vec<Option<Option<TaskId>>>,
    /// `sched_waking` without a `sched_wakeup` after it.
    wakings: u64,
    table: LatencyTable,
}

impl Latency {
    /// An empty table.
    #[must_use]
    pub fn new(options: LatencyOptions) -> Self {
        Self {
            options,
            tasks: Tasks::new(),
            lives: Lives::new(),
            current: Vec::new(),
            wakings: 0,
            table: LatencyTable::default(),
        }
    }

    /// Takes an event in.
    #[inline]
    pub fn event(&mut self, event: &SchedEvent) {
        let time = event.time;
        match event.kind {
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => {
                let is_wanted = self.is_wanted(event);
                let before = self.put_on(event.cpu, next);
                self.table.switch_bugs += u64::from(before.is_some_and(|before| before != prev));
                if let Some(prev) = prev {
                    let is_left_aside =
                        prev_state == SwitchState::Preempted && !self.options.all_waits;
                    self.table.left_aside += u64::from(is_left_aside);
                    let waits = prev_state.is_runnable() && !is_left_aside;
                    self.lives.get(prev).out(waits, time);
                }
                if let Some(next) = next {
                    let task = self.lives.get(next);
                    if !task.is_known {
                        task.out(true, time);
                    }
                    task.enter(time, is_wanted);
                }
            }
            EventKind::StatRuntime { task, runtime } => {
                let is_wanted = self.is_wanted(event);
                let task = self.lives.get(task);
                if !task.is_known {
                    task.out(true, time);
                }
                if is_wanted {
                    let sum = &mut task.row.runtime.0;
                    *sum = sum.saturating_add(runtime.0);
                }
            }
            EventKind::Wakeup { task, .. } => {
                self.wakings = self.wakings.saturating_sub(1);
                self.wakeup(task, time);
            }
            EventKind::WakeupNew { task, .. } => self.wakeup(task, time),
            EventKind::Waking { task, .. } => {
                if self.options.all_waits {
                    self.wakeup(task, time);
                } else {
                    self.wakings += 1;
                }
            }
            EventKind::Fork { child, .. } => {
                let was = self.tasks.before(child, time);
                let task = self.lives.get(child);
                if task.is_known {
                    task.was = Some(was);
                    self.lives.begin(child);
                }
                self.tasks.follow(event);
            }
            EventKind::Lost { count } => {
                self.table.lost.0 = self.table.lost.0.saturating_add(count.unwrap_or(0));
                self.table.lost.1 += 1;
            }
            EventKind::Named { .. } | EventKind::Process { .. } => self.tasks.follow(event),
            _ => {}
        }
    }

    /// `next` runs on `cpu`; who did before, if a switch said it.
    fn put_on(&mut self, cpu: CpuId, next: Option<TaskId>) -> Option<Option<TaskId>> {
        let index = cpu.index();
        if index >= self.current.len() {
            if index >= MOST_CPUS {
                return None;
            }
            self.current.resize(index + 1, None);
        }
        self.current[index].replace(next)
    }

    fn is_wanted(&self, event: &SchedEvent) -> bool {
        self.options.filter.has_cpu(event.cpu) && self.options.filter.has_time(event.time)
    }

    fn wakeup(&mut self, task: TaskId, time: Timestamp) {
        let task = self.lives.get(task);
        if !task.is_known {
            task.out(false, time);
        }
        // A task that is on a queue can be woken, too; it does not begin to wait then.
        if task.step != Step::Sleeps {
            return;
        }
        self.table.wakeups += 1;
        if task.since > time {
            self.table.unordered_wakeups += 1;
            return;
        }
        task.step = Step::Waits;
        task.since = time;
    }

    /// The table of what was taken in. `names` are those of the recording.
    #[must_use]
    pub fn finish(mut self, names: &Names) -> LatencyTable {
        let mut rows = Vec::new();
        for (id, _, task) in self.lives.iter() {
            let who = task.was.unwrap_or_else(|| self.tasks.get(id));
            let mut name = Vec::new();
            who.put_name(id, names, &mut name);
            let name = String::from_utf8_lossy(&name).into_owned();
            let process = who.process.unwrap_or(id);
            if task.is_known && self.options.filter.has_task(Some((id, process)), &name) {
                rows.push(LatencyRow {
                    name,
                    task: id,
                    nr_tasks: 1,
                    ..task.row.clone()
                });
            }
        }
        // Rows that are equal in all keys keep this order.
        rows.sort_by_key(|row| std::cmp::Reverse(row.task));
        if !self.options.per_task {
            rows = merged(rows);
        }
        rows.retain(|row| row.switches > 0);
        rows.sort_by(|a, b| self.compare(a, b));
        for row in &rows {
            self.table.total_runtime.0 = self.table.total_runtime.0.saturating_add(row.runtime.0);
            self.table.total_switches += row.switches;
        }
        self.table.left_aside += self.wakings;
        self.table.rows = rows;
        self.table
    }

    fn compare(&self, a: &LatencyRow, b: &LatencyRow) -> Ordering {
        let key = |row: &LatencyRow, key| match key {
            SortKey::Average => row.mean_delay().0,
            SortKey::Longest => row.max_delay.0,
            SortKey::Switches => row.switches,
            SortKey::Runtime => row.runtime.0,
        };
        let mut keys = self
            .options
            .sort
            .iter()
            .map(|&by| key(b, by).cmp(&key(a, by)));
        keys.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

/// One row for each name, the last name first.
fn merged(rows: Vec<LatencyRow>) -> Vec<LatencyRow> {
    let mut by_name = BTreeMap::<String, LatencyRow>::new();
    for row in rows {
        let Some(all) = by_name.get_mut(&row.name) else {
            by_name.insert(row.name.clone(), row);
            continue;
        };
        all.nr_tasks += 1;
        all.runtime.0 = all.runtime.0.saturating_add(row.runtime.0);
        all.switches += row.switches;
        all.total_delay.0 = all.total_delay.0.saturating_add(row.total_delay.0);
        if row.max_delay > all.max_delay {
            (all.max_delay, all.max_from, all.max_to) = (row.max_delay, row.max_from, row.max_to);
        }
    }
    by_name.into_values().rev().collect()
}

impl LatencyRow {
    /// The mean wait, cut off to whole nanoseconds; 0 without any.
    #[must_use]
    pub const fn mean_delay(&self) -> Nanos {
        match self.total_delay.0.checked_div(self.switches) {
            Some(mean) => Nanos(mean),
            None => Nanos(0),
        }
    }
}

const LINE: &str = " -------------------------------------------------------------------------------------------------------------------------------------------";
const HEAD: &str = "  Task                  |   Runtime ms  | Switches | Avg delay ms    | Max delay ms    | Max delay start           | Max delay end          |";

/// Nanoseconds as milliseconds.
fn ms(time: Nanos) -> f64 {
    time.0 as f64 / 1e6
}

impl LatencyTable {
    /// Prints the table as perf does.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n{LINE}\n{HEAD}\n{LINE}")?;
        for row in &self.rows {
            let who = if row.nr_tasks > 1 {
                format!("{}:({})", row.name, row.nr_tasks)
            } else {
                format!("{}:{}", row.name, row.task.0)
            };
            let mut from = Vec::new();
            print::seconds(&mut from, row.max_from, 12);
            let mut to = Vec::new();
            print::seconds(&mut to, row.max_to, 12);
            writeln!(
                out,
                "  {who:<21} |{:11.3} ms |{:9} | avg:{:8.3} ms | max:{:8.3} ms | max start: {} s | max end: {} s",
                ms(row.runtime),
                row.switches,
                ms(row.mean_delay()),
                ms(row.max_delay),
                String::from_utf8_lossy(&from),
                String::from_utf8_lossy(&to),
            )?;
        }
        writeln!(out, " {}", &LINE[..114][1..])?;
        writeln!(
            out,
            "  TOTAL:                |{:11.3} ms |{:9} |",
            ms(self.total_runtime),
            self.total_switches
        )?;
        writeln!(out, " {}", &LINE[..52][1..])?;
        self.write_oddities(out)?;
        writeln!(out)
    }

    fn write_oddities(&self, out: &mut impl Write) -> io::Result<()> {
        let percent = |part: u64| part as f64 / self.wakeups as f64 * 100.0;
        if self.unordered_wakeups > 0 {
            writeln!(
                out,
                "  INFO: {:.3}% unordered timestamps ({} out of {})",
                percent(self.unordered_wakeups),
                self.unordered_wakeups,
                self.wakeups
            )?;
        }
        let (lost, places) = self.lost;
        if places > 0 {
            writeln!(out, "  INFO: {lost} lost events in {places} chunks")?;
        }
        if self.switch_bugs > 0 && self.wakeups > 0 {
            let why = if places > 0 {
                " (due to lost events?)"
            } else {
                ""
            };
            writeln!(
                out,
                "  INFO: {:.3}% context switch bugs ({} out of {}){why}",
                percent(self.switch_bugs),
                self.switch_bugs,
                self.wakeups
            )?;
        }
        Ok(())
    }
}
