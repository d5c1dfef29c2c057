//! Who runs where after each switch, as `perf sched map` prints it.

use std::io::{self, Write};

use fairlab_event::{EventKind, SchedEvent};
use fairlab_trace::Names;
use fairlab_units::{CpuId, TaskId};

use crate::filter::Filter;
use crate::lives::Lives;
use crate::print;
use crate::tasks::Tasks;

/// CPUs that have a column at most.
const MOST_CPUS: usize = 4096;

/// What the map shows.
#[derive(Clone, Debug, Default)]
pub struct MapOptions {
    /// Only these CPUs have columns, and only their switches rows; times and tasks pick rows alone.
    pub filter: Filter,
    /// Columns only for CPUs that were seen, in the order of their first switches.
    pub is_compact: bool,
    /// CPUs of the machine, where known; grows with what is seen.
    pub nr_cpus: u32,
}

/// The letter and digit of a task.
type Short = [u8; 2];

#[derive(Clone, Copy, Debug, Default)]
struct Labelled {
    short: Option<Short>,
    /// It has another name than the legend said.
    is_renamed: bool,
}

/// Takes events, and writes a row for each switch.
#[derive(Debug)]
pub struct Map<W> {
    out: W,
    options: MapOptions,
    tasks: Tasks,
    labels: Lives<Labelled>,
    is_idle_told: bool,
    next: Short,
    /// By CPU: what its column shows.
    shown: Vec<Option<Short>>,
    /// The columns, left to right.
    columns: Vec<CpuId>,
    line: Vec<u8>,
}

const IDLE: Short = [b'.', b' '];

impl<W: Write> Map<W> {
    /// Writes to `out`.
    pub fn new(options: MapOptions, out: W) -> Self {
        let mut map = Self {
            out,
            tasks: Tasks::new(),
            labels: Lives::new(),
            is_idle_told: false,
            next: [b'A', b'0'],
            shown: Vec::new(),
            columns: Vec::new(),
            line: Vec::new(),
            options,
        };
        if !map.options.is_compact {
            for cpu in (0..map.options.nr_cpus).map(CpuId).take(MOST_CPUS) {
                map.column(cpu);
            }
        }
        map
    }

    /// Makes a column for the CPU; true if it had none.
    fn column(&mut self, cpu: CpuId) -> bool {
        let is_new = !self.columns.contains(&cpu);
        if is_new && self.options.filter.has_cpu(cpu) && cpu.index() < MOST_CPUS {
            self.columns.push(cpu);
            if !self.options.is_compact {
                self.columns.sort_unstable();
            }
        }
        is_new
    }

    /// Takes an event in.
    ///
    /// # Errors
    /// Those of the way out.
    pub fn event(&mut self, event: &SchedEvent, names: &Names) -> io::Result<()> {
        self.tasks.follow(event);
        match event.kind {
            EventKind::Named { task, .. } => self.labels.get(task).is_renamed = true,
            EventKind::Fork { child, .. } => self.labels.begin(child),
            EventKind::Switch { prev, next, .. } => {
                let cpu = event.cpu;
                if cpu.index() >= MOST_CPUS {
                    return Ok(());
                }
                let is_new = self.column(cpu);
                let (short, has_legend) = self.label(next);
                if self.shown.len() <= cpu.index() {
                    self.shown.resize(cpu.index() + 1, None);
                }
                self.shown[cpu.index()] = Some(short);
                let is_wanted = self.options.filter.has_cpu(cpu)
                    && self.options.filter.has_time(event.time)
                    && (self.has_task(prev, names) || self.has_task(next, names));
                if is_wanted {
                    self.row(event, short);
                    if has_legend {
                        self.legend(next, short, names);
                    }
                    if is_new && self.options.is_compact {
                        self.line
                            .extend_from_slice(format!(" (CPU {})", cpu.0).as_bytes());
                    }
                    self.line.push(b'\n');
                    self.out.write_all(&self.line)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The label of the task, and whether the legend has to tell it.
    fn label(&mut self, task: Option<TaskId>) -> (Short, bool) {
        let Some(task) = task else {
            let was_told = std::mem::replace(&mut self.is_idle_told, true);
            return (IDLE, !was_told);
        };
        let label = self.labels.get(task);
        let is_renamed = std::mem::take(&mut label.is_renamed);
        if let Some(short) = label.short {
            return (short, is_renamed);
        }
        let short = self.next;
        label.short = Some(short);
        self.next = match short {
            [b'Z', b'9'] => [b'A', b'0'],
            [b'Z', digit] => [b'A', digit + 1],
            [letter, digit] => [letter + 1, digit],
        };
        (short, true)
    }

    fn has_task(&mut self, task: Option<TaskId>, names: &Names) -> bool {
        self.tasks.is_wanted(task, &self.options.filter, names)
    }

    /// Puts the row into the line, up to the time.
    fn row(&mut self, event: &SchedEvent, short: Short) {
        let line = &mut self.line;
        line.clear();
        line.extend_from_slice(b"  ");
        for &cpu in &self.columns {
            line.push(if cpu == event.cpu { b'*' } else { b' ' });
            let shown = self.shown.get(cpu.index()).copied().flatten();
            let shown = if cpu == event.cpu { Some(short) } else { shown };
            line.extend_from_slice(&shown.unwrap_or([b' '; 2]));
            line.push(b' ');
        }
        line.extend_from_slice(b"  ");
        print::seconds(line, event.time, 12);
        line.extend_from_slice(b" secs ");
    }

    fn legend(&mut self, task: Option<TaskId>, short: Short, names: &Names) {
        self.line.extend_from_slice(&short);
        self.line.extend_from_slice(b" => ");
        match task {
            None => self.line.extend_from_slice(b"swapper:0"),
            Some(task) => {
                self.tasks.get(task).put_name(task, names, &mut self.line);
                self.line.push(b':');
                print::padded(&mut self.line, u64::from(task.0), 0, b' ');
            }
        }
    }

    /// Writes out what is left, and gives the way out back.
    ///
    /// # Errors
    /// Those of the way out.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
