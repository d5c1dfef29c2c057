//! Rows as text.

use fairlab_event::SwitchState;
use fairlab_trace::Names;
use fairlab_units::{CpuId, Nanos, Timestamp};

use super::{Row, Who};
use crate::print::{left, milliseconds, padded, seconds, spaces};

/// Which columns there are, and how wide the one of tasks has become.
#[derive(Clone, Debug)]
pub struct Columns {
    /// A column for each CPU, with a letter on the one of the row.
    pub cpus: bool,
    /// Why the task stops.
    pub state: bool,
    /// Who runs next.
    pub next: bool,
    /// There are rows of wakeups, beside which those of switches are filled up.
    pub wakeups: bool,
    /// One less than the CPUs that have a column.
    last_cpu: u32,
    width: usize,
    label: Vec<u8>,
}

/// Width of the column of tasks, until one is longer.
const WIDTH: usize = 30;

impl Columns {
    /// The usual columns, on a machine of `nr_cpus` CPUs.
    #[must_use]
    pub const fn new(nr_cpus: u32) -> Self {
        Self {
            cpus: false,
            state: false,
            next: false,
            wakeups: false,
            // As perf does, which makes one column more.
            last_cpu: if nr_cpus == 0 { 4 } else { nr_cpus },
            width: WIDTH,
            label: Vec::new(),
        }
    }

    /// Appends the three lines above the rows.
    pub fn head(&self, out: &mut Vec<u8>) {
        let nr_cpus = self.last_cpu as usize + 1;
        let lines = [
            (
                "           time    cpu ",
                "task name",
                "wait time  sch delay   run time",
                "  state",
            ),
            (
                "                       ",
                "[tid/pid]",
                "   (msec)     (msec)     (msec)",
                "       ",
            ),
            (
                "--------------- ------ ",
                "",
                "---------  ---------  ---------",
                "  -----",
            ),
        ];
        for (index, (start, task, times, state)) in lines.into_iter().enumerate() {
            let is_rule = index == 2;
            out.extend_from_slice(start.as_bytes());
            if self.cpus {
                out.push(b' ');
                for cpu in 0..nr_cpus {
                    out.push(match index {
                        0 => b"0123456789abcdef"[cpu % 16],
                        1 => b' ',
                        _ => b'-',
                    });
                }
                out.push(b' ');
            }
            out.push(b' ');
            if is_rule {
                out.resize(out.len() + self.width, b'-');
            } else {
                left(out, task.as_bytes(), self.width);
            }
            out.extend_from_slice(b"  ");
            out.extend_from_slice(times.as_bytes());
            if self.state {
                out.extend_from_slice(state.as_bytes());
            }
            out.push(b'\n');
        }
    }

    /// Appends a row.
    pub fn row(&mut self, row: &Row, names: &Names, out: &mut Vec<u8>) {
        match *row {
            Row::Switch {
                time,
                cpu,
                task,
                wait,
                delay,
                run,
                state,
                next,
            } => {
                let letter = if task.task.is_none() { b'i' } else { b's' };
                self.start(time, cpu, Some(letter), 1, out);
                self.task(&task, "<idle>", names, out);
                for Nanos(column) in [wait, delay, run] {
                    milliseconds(out, column, 6);
                    out.push(b' ');
                }
                if self.state {
                    spaces(out, 5);
                    out.extend_from_slice(&[letter_of(&task, state), b' ']);
                }
                if self.next {
                    let mut label = std::mem::take(&mut self.label);
                    label.clear();
                    label.extend_from_slice(b"next: ");
                    next_label(&next, cpu, names, &mut label);
                    out.push(b' ');
                    left(out, &label, self.width);
                    self.label = label;
                } else if self.wakeups {
                    spaces(out, self.width + 2);
                }
            }
            Row::Wakeup {
                time,
                cpu,
                waker,
                wakee,
            } => {
                self.start(time, cpu, None, 1, out);
                self.task(&waker, "swapper", names, out);
                spaces(out, 34);
                out.extend_from_slice(b"awakened: ");
                self.label(&wakee, "swapper", names);
                out.extend_from_slice(&self.label);
            }
            Row::Migration {
                time,
                cpu,
                mover,
                moved,
                from,
                to,
            } => {
                self.start(time, cpu, Some(b'm'), 2, out);
                self.task(&mover, "swapper", names, out);
                spaces(out, 34);
                out.extend_from_slice(b"migrated: ");
                self.label(&moved, "swapper", names);
                out.extend_from_slice(&self.label);
                out.extend_from_slice(b" cpu ");
                padded(out, u64::from(from.0), 0, b' ');
                out.extend_from_slice(b" => ");
                padded(out, u64::from(to.0), 0, b' ');
            }
            Row::Lost { time, cpu, count } => {
                seconds(out, time, 15);
                match count {
                    Some(count) => {
                        out.extend_from_slice(format!(" lost {count} events").as_bytes())
                    }
                    None => out.extend_from_slice(b" lost events"),
                }
                if cpu.0 != u32::MAX {
                    out.extend_from_slice(format!(" on cpu {}", cpu.0).as_bytes());
                }
            }
        }
        out.push(b'\n');
    }

    /// Time, CPU, and the columns of CPUs with `margin` spaces on both sides.
    fn start(
        &mut self,
        time: Timestamp,
        cpu: CpuId,
        letter: Option<u8>,
        margin: usize,
        out: &mut Vec<u8>,
    ) {
        self.last_cpu = self.last_cpu.max(cpu.0);
        seconds(out, time, 15);
        out.extend_from_slice(b" [");
        padded(out, u64::from(cpu.0), 4, b'0');
        out.extend_from_slice(b"] ");
        if self.cpus {
            spaces(out, margin);
            let start = out.len();
            spaces(out, self.last_cpu as usize + 1);
            if let Some(letter) = letter {
                out[start + cpu.index()] = letter;
            }
            spaces(out, margin);
        }
        out.push(b' ');
    }

    /// Makes the label of a task, and the column wide enough.
    fn label(&mut self, who: &Who, idle: &str, names: &Names) {
        self.label.clear();
        match who.task {
            None => self.label.extend_from_slice(idle.as_bytes()),
            Some(task) => who.identity.put(task, names, &mut self.label),
        }
        self.width = self.width.max(self.label.len());
    }

    fn task(&mut self, who: &Who, idle: &str, names: &Names, out: &mut Vec<u8>) {
        self.label(who, idle, names);
        left(out, &self.label, self.width);
        out.push(b' ');
    }
}

/// `name[7]`, with the name as tracepoints have it.
fn next_label(next: &Who, cpu: CpuId, names: &Names, out: &mut Vec<u8>) {
    let Some(task) = next.task else {
        out.extend_from_slice(b"swapper/");
        padded(out, u64::from(cpu.0), 0, b' ');
        out.extend_from_slice(b"[0]");
        return;
    };
    let mut name = next.name(names);
    // Tracepoints do not say what a kernel worker works on: `kworker/0:1-events` is `kworker/0:1`.
    if let Some((pool, rest)) = name.split_once(':')
        && pool.starts_with("kworker/")
    {
        let end = rest.find(['-', '+']).unwrap_or(rest.len());
        name = &name[..pool.len() + 1 + end];
    }
    out.extend_from_slice(name.as_bytes());
    out.push(b'[');
    padded(out, u64::from(task.0), 0, b' ');
    out.push(b']');
}

/// The first letter of a state; idle tasks are in their own.
fn letter_of(task: &Who, state: SwitchState) -> u8 {
    let state = if task.task.is_none() {
        SwitchState::Idle
    } else {
        state
    };
    state.letter().as_bytes()[0]
}
