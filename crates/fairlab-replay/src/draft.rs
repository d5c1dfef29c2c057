//! A task on its way to a program.

use std::collections::BTreeMap;

use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};
use fairlab_workload::{Begins, Class, Op, Part, Program, ProgramBuilder, ProgramId, Span};

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not seen yet, or not known.
    Unknown,
    Runnable,
    Sleeping {
        since: Timestamp,
    },
}

/// Where a part begins, and whom it answers.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: u32,
    answers: Option<TaskId>,
}

/// A stretch of work: its operation, and how long the task was on CPUs for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub op: u32,
    pub ran: Nanos,
    /// Had the task slept before?
    pub has_slept: bool,
}

/// A task on its way to a program.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub name: Option<String>,
    pub phase: Phase,
    /// Where it last ran.
    pub cpu: Option<CpuId>,
    /// Does another's program start it?
    pub is_forked: bool,
    pub has_exited: bool,
    pub prio: i16,
    begins: Begins,
    ops: Vec<Op>,
    parts: Vec<Entry>,
    stretches: Vec<Stretch>,
    /// Has it slept since its last stretch?
    has_slept: bool,
    /// Time on CPUs that belongs to the next stretch.
    carried: Nanos,
    /// Which of its operations name others, and whom: programs have numbers at the end only.
    names: Vec<(u32, TaskId)>,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            name: None,
            phase: Phase::Unknown,
            cpu: None,
            is_forked: false,
            has_exited: false,
            prio: 120,
            begins: Begins::Woken,
            ops: Vec::new(),
            parts: Vec::new(),
            stretches: Vec::new(),
            has_slept: false,
            carried: Nanos::ZERO,
            names: Vec::new(),
        }
    }
}

impl Draft {
    /// Nothing is known of what it does.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    fn here(&self) -> u32 {
        self.ops.len() as u32
    }

    /// The task comes into the run so.
    pub fn begin(&mut self, begins: Begins) {
        self.begins = begins;
        self.phase = Phase::Runnable;
    }

    /// It sleeps until this much time since the beginning has passed.
    pub fn sleep_until(&mut self, after: Nanos) {
        self.ops.push(Op::SleepUntil(after));
        self.has_slept = true;
    }

    /// It does this work, for which it was on CPUs for so long.
    pub fn run(&mut self, work: Nanos, ran: Nanos) {
        let ran = ran + std::mem::take(&mut self.carried);
        self.stretches.push(Stretch {
            op: self.here(),
            ran,
            has_slept: std::mem::take(&mut self.has_slept),
        });
        self.ops.push(Op::Stretch(work));
    }

    /// It sleeps until a task wakes it.
    pub fn wait_for(&mut self, waker: TaskId) {
        self.ops.push(Op::NextPart);
        self.parts.push(Entry {
            at: self.here(),
            answers: Some(waker),
        });
        self.has_slept = true;
        self.phase = Phase::Runnable;
    }

    /// It sleeps for this time.
    pub fn sleep(&mut self, span: Nanos) {
        if !self.parts.is_empty() {
            self.ops.push(Op::NextPart);
            self.parts.push(Entry {
                at: self.here(),
                answers: None,
            });
        }
        self.ops.push(Op::Sleep(Span::Fixed(span)));
        self.has_slept = true;
        self.phase = Phase::Runnable;
    }

    /// It wakes `task`, and does so much of what follows before an interrupt is sent.
    pub fn wake(&mut self, task: TaskId, sync: bool, before: Nanos) {
        self.names.push((self.here(), task));
        self.ops.push(Op::Send {
            to: ProgramId(u32::MAX),
            sync,
            before,
        });
    }

    /// It starts `task`, which took it `cost` of the last stretch. A simulation pays that between the two stretches.
    pub fn fork(&mut self, task: TaskId, cost: Nanos) {
        if let Some(last) = self.stretches.last_mut() {
            let cost = last.ran.min(cost);
            last.ran -= cost;
            self.carried += cost;
        }
        self.names.push((self.here(), task));
        self.ops.push(Op::Fork(ProgramId(u32::MAX)));
    }

    /// It becomes another program.
    pub fn exec(&mut self) {
        self.ops.push(Op::Exec);
    }

    /// Takes the cost of the exit, which a simulation charges every task at its end, out of its last work. Whom it
    /// wakes after that waits for its end.
    pub fn take_exit(&mut self, cost: Nanos) {
        let Some(last) = self.stretches.last().map(|stretch| stretch.op as usize) else {
            return;
        };
        if let Some(Op::Stretch(work)) = self.ops.get_mut(last) {
            *work = work.saturating_sub(cost);
        }
        let after = last + 1;
        let wakes = self.ops.get(after..).unwrap_or_default();
        if self.has_exited
            && !wakes.is_empty()
            && wakes.iter().all(|op| matches!(op, Op::Send { .. }))
        {
            self.ops.insert(after, Op::Finish);
            let later = self.names.iter_mut();
            later
                .filter(|(at, _)| *at as usize >= after)
                .for_each(|(at, _)| *at += 1);
        }
    }

    /// The program, and its stretches of work. `programs` has the numbers of all.
    pub fn finish(
        mut self,
        task: TaskId,
        programs: &BTreeMap<TaskId, ProgramId>,
    ) -> (Program, Vec<Stretch>) {
        for (at, other) in self.names {
            if let (Some(Op::Send { to: number, .. } | Op::Fork(number)), Some(program)) =
                (self.ops.get_mut(at as usize), programs.get(&other))
            {
                *number = *program;
            }
        }
        let name = self.name.unwrap_or_else(|| format!("task {}", task.0));
        let program = ProgramBuilder::new(name);
        let program = match self.prio {
            prio if prio < 0 => program.class(Class::Deadline(Nanos::from_millis(10))),
            prio @ 0..100 => program.class(Class::Fifo((99 - prio).clamp(1, 99) as u8)),
            prio => program.nice((prio - 120).clamp(-20, 19) as i8),
        };
        let mut program = program.build();
        let part = |entry: &Entry| Part {
            at: entry.at,
            answers: entry.answers.and_then(|task| programs.get(&task)).copied(),
        };
        program.parts = self.parts.iter().map(part).collect();
        program.begins = self.begins;
        if !program.parts.is_empty() {
            // The last part may not be the last that comes.
            self.ops.push(Op::NextPart);
        }
        program.ops = self.ops;
        (program, self.stretches)
    }
}
