//! Writes the programs.

use std::collections::BTreeMap;

use fairlab_event::{EventKind, SchedEvent, SwitchState};
use fairlab_sim::CostTable;
use fairlab_topology::Machine;
use fairlab_units::{CpuId, CpuMask, Nanos, TaskId, Timestamp};
use fairlab_workload::{
    Class, End, Op, Program, ProgramBuilder, ProgramId, Report, SemaphoreId, Span, Workload,
    WorkloadBuilder,
};

use crate::edges::Edges;
use crate::work::Work;

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not seen yet, or not known.
    Unknown,
    Runnable,
    Sleeping {
        since: Timestamp,
    },
}

/// A task on its way to a program.
#[derive(Clone, Debug)]
struct Draft {
    name: Option<String>,
    ops: Vec<Op>,
    phase: Phase,
    /// Where it last ran.
    cpu: Option<CpuId>,
    /// Does another's program start it?
    is_forked: bool,
    has_exited: bool,
    prio: i16,
    /// The process that it is a thread of, where known.
    process: Option<TaskId>,
    semaphore: Option<SemaphoreId>,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            name: None,
            ops: Vec::new(),
            phase: Phase::Unknown,
            cpu: None,
            is_forked: false,
            has_exited: false,
            prio: 120,
            process: None,
            semaphore: None,
        }
    }
}

/// A workload, and whose program is whose.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The workload.
    pub workload: Workload,
    /// The recorded task of each program.
    pub tasks: Vec<TaskId>,
    /// How long each program's task was on CPUs.
    pub ran: Vec<Nanos>,
    /// Wakeups by tasks, which became waits.
    pub edges: u64,
    /// Wakeups by timers and devices, which became sleeps.
    pub sleeps: u64,
}

/// Writes programs. Hand it all events in time order, after [`Edges`] has seen them.
#[derive(Debug)]
pub struct Recorder<'a> {
    edges: &'a Edges,
    costs: &'a CostTable,
    work: Work<'a>,
    begin: Option<Timestamp>,
    drafts: BTreeMap<TaskId, Draft>,
    /// Where tasks may run. More may be known of than turn up.
    allowed: BTreeMap<TaskId, CpuMask>,
    /// In the order in which they turned up.
    order: Vec<TaskId>,
    builder: WorkloadBuilder,
    is_by_task: u64,
    is_by_timer: u64,
}

impl<'a> Recorder<'a> {
    /// Of a recording on `machine`; a simulation will charge `costs`.
    #[must_use]
    pub fn new(name: &str, machine: &Machine, costs: &'a CostTable, edges: &'a Edges) -> Self {
        Self {
            edges,
            costs,
            work: Work::new(machine, costs),
            begin: None,
            drafts: BTreeMap::new(),
            allowed: BTreeMap::new(),
            order: Vec::new(),
            builder: WorkloadBuilder::new(name, Report::Plain, End::AllExited),
            is_by_task: 0,
            is_by_timer: 0,
        }
    }

    /// The task is called so from now on.
    pub fn name(&mut self, task: TaskId, name: &str) {
        self.draft(task).name = Some(name.to_owned());
    }

    /// The task may run on these CPUs of the replaying machine only, of which there is one at least.
    pub fn allow(&mut self, task: TaskId, allowed: &CpuMask) {
        self.allowed.insert(task, allowed.clone());
    }

    fn draft(&mut self, task: TaskId) -> &mut Draft {
        self.drafts.entry(task).or_insert_with(|| {
            self.order.push(task);
            Draft::default()
        })
    }

    /// Takes an event in.
    pub fn event(&mut self, event: &SchedEvent) {
        let (time, cpu) = (event.time, event.cpu);
        self.begin.get_or_insert(time);
        if !self.work.has(cpu) {
            return;
        }
        match event.kind {
            EventKind::Switch {
                prev,
                prev_state,
                next,
            } => self.switch(time, cpu, prev, prev_state, next),
            EventKind::Running { task } if self.work.running(cpu) != task => {
                self.work.switch(cpu, task, time);
            }
            EventKind::Waking { task, prev_cpu } => self.wake(time, cpu, task, Some(prev_cpu)),
            EventKind::Wakeup { task, .. } => self.wake(time, cpu, task, None),
            EventKind::WakeupNew { task, .. } => self.fork(time, cpu, task),
            EventKind::Migrate { task, from, to } => self.work.moves(task, from, to),
            EventKind::Exec { task } => {
                self.flush(time, cpu, task);
                self.work.charge(task, self.costs.exec);
                self.draft(task).ops.push(Op::Exec);
            }
            EventKind::Exit { task } => self.draft(task).has_exited = true,
            EventKind::Process { task, process, .. } => self.draft(task).process = Some(process),
            EventKind::Priority { task, prio } => {
                let draft = self.draft(task);
                if draft.ops.is_empty() {
                    draft.prio = prio;
                }
            }
            _ => {}
        }
    }

    /// Writes down what the task has done until now.
    fn flush(&mut self, time: Timestamp, cpu: CpuId, task: TaskId) {
        self.work.book(cpu, time);
        let work = self.work.take(task);
        if work.0 > 0 {
            self.draft(task).ops.push(Op::Run(Span::Fixed(work)));
        }
    }

    fn switch(
        &mut self,
        time: Timestamp,
        cpu: CpuId,
        prev: Option<TaskId>,
        state: SwitchState,
        next: Option<TaskId>,
    ) {
        if self.work.running(cpu) != prev {
            self.work.switch(cpu, prev, time);
        }
        if let Some(task) = prev {
            self.begin_at(time, task);
            if !state.is_runnable() && state != SwitchState::Unknown {
                self.flush(time, cpu, task);
                let draft = self.draft(task);
                draft.phase = Phase::Sleeping { since: time };
                draft.has_exited |= matches!(state, SwitchState::Dead | SwitchState::Zombie);
            }
            self.draft(task).cpu = Some(cpu);
        }
        self.work.switch(cpu, next, time);
        if let Some(task) = next {
            // Seen for the first time, it has been waiting; or its wakeup was not recorded.
            self.begin_at(time, task);
            self.end_sleep(time, task);
            let draft = self.draft(task);
            draft.phase = Phase::Runnable;
            draft.cpu = Some(cpu);
        }
    }

    /// A task that turns up begins to run about now, unless something wakes it.
    fn begin_at(&mut self, time: Timestamp, task: TaskId) {
        let begin = self.begin.unwrap_or(time);
        let draft = self.draft(task);
        if draft.phase == Phase::Unknown && !draft.is_forked {
            let after = time.saturating_since(begin);
            if draft.ops.is_empty() && after.0 > 0 {
                draft.ops.push(Op::SleepUntil(after));
            }
            draft.phase = Phase::Runnable;
        }
    }

    /// A sleep ends at `time` without a task that ended it.
    fn end_sleep(&mut self, time: Timestamp, task: TaskId) {
        let draft = self.draft(task);
        if let Phase::Sleeping { since } = draft.phase {
            let span = time.saturating_since(since);
            draft.ops.push(Op::Sleep(Span::Fixed(span)));
            draft.phase = Phase::Runnable;
            self.is_by_timer += 1;
        }
    }

    /// A wakeup of `task` on `cpu`.
    fn wake(&mut self, time: Timestamp, cpu: CpuId, task: TaskId, prev_cpu: Option<CpuId>) {
        let waker = self.work.running(cpu);
        let (phase, slept) = {
            let draft = self.draft(task);
            (draft.phase, prev_cpu.or(draft.cpu))
        };
        if phase == Phase::Runnable {
            return;
        }
        if self.draft(task).has_exited {
            // The number is used again.
            return;
        }
        let by = waker.filter(|waker| {
            let slept = slept.unwrap_or(cpu);
            self.edges.is_by_task(*waker, task, cpu, slept)
        });
        if let Some(waker) = by {
            self.begin_at(time, waker);
            self.flush(time, cpu, waker);
            self.work.charge(waker, self.costs.wakeup);
            let known = self.draft(task).semaphore;
            let semaphore = known.unwrap_or_else(|| self.builder.semaphore(0));
            let draft = self.draft(task);
            draft.semaphore = Some(semaphore);
            draft.ops.push(Op::SemWait(semaphore));
            draft.phase = Phase::Runnable;
            self.draft(waker).ops.push(Op::SemPost(semaphore));
            self.is_by_task += 1;
            return;
        }
        if let Some(other) = waker {
            self.work.charge(other, self.costs.wakeup);
        }
        if phase == Phase::Unknown {
            self.begin_at(time, task);
        } else {
            self.end_sleep(time, task);
        }
    }

    /// A new task starts, on behalf of what runs on `cpu`.
    fn fork(&mut self, time: Timestamp, cpu: CpuId, child: TaskId) {
        if self.draft(child).phase != Phase::Unknown {
            return;
        }
        let Some(parent) = self.work.running(cpu).filter(|parent| *parent != child) else {
            return self.begin_at(time, child);
        };
        self.begin_at(time, parent);
        self.flush(time, cpu, parent);
        self.work.charge(parent, self.costs.clone_thread);
        // Programs are numbered in the order in which tasks turned up.
        let number = self.order.iter().position(|task| *task == child);
        let draft = self.draft(child);
        draft.is_forked = true;
        draft.phase = Phase::Runnable;
        if let Some(number) = number {
            let program = ProgramId(number as u32);
            self.draft(parent).ops.push(Op::Fork(program));
        }
    }

    /// The workload.
    #[must_use]
    pub fn finish(mut self, end: Timestamp) -> Recorded {
        for cpu in self.work.busy() {
            self.work.book(cpu, end);
        }
        // Those that wait have work behind them, too.
        for task in self.order.clone() {
            let work = self.work.take(task);
            if work.0 > 0 {
                self.draft(task).ops.push(Op::Run(Span::Fixed(work)));
            }
        }
        let (mut tasks, mut ran) = (Vec::new(), Vec::new());
        let mut starts = Vec::new();
        for id in &self.order {
            let Some(mut draft) = self.drafts.remove(id) else {
                continue;
            };
            take_exit(&mut draft.ops, self.costs.exit);
            let allowed = self.allowed.remove(id);
            let allowed = allowed.map(|mask| self.builder.mask(mask));
            let name = draft
                .name
                .take()
                .unwrap_or_else(|| format!("task {}", id.0));
            let mut program = ProgramBuilder::new(name);
            if let Some(mask) = allowed {
                program = program.allowed(mask);
            }
            program = match draft.prio {
                prio if prio < 0 => program.class(Class::Deadline(Nanos::from_millis(10))),
                prio @ 0..100 => program.class(Class::Fifo((99 - prio).clamp(1, 99) as u8)),
                prio => program.nice((prio - 120).clamp(-20, 19) as i8),
            };
            let mut program: Program = program.build();
            if let Some(process) = draft.process {
                program.process = process.0;
            }
            program.ops = draft.ops;
            let number = self.builder.program(program);
            tasks.push(*id);
            ran.push(self.work.ran(*id));
            if !draft.is_forked {
                starts.push(number);
            }
        }
        for number in starts {
            self.builder.start(number);
        }
        Recorded {
            workload: self.builder.build(),
            tasks,
            ran,
            edges: self.is_by_task,
            sleeps: self.is_by_timer,
        }
    }
}

/// Takes the cost of the exit, which a simulation charges every task at its end, out of its last work.
fn take_exit(ops: &mut [Op], cost: Nanos) {
    if let Some(Op::Run(Span::Fixed(span))) = ops.last_mut() {
        *span = Nanos(span.0.saturating_sub(cost.0).max(1));
    }
}
