//! Writes the programs.

use std::collections::BTreeMap;

use fairlab_event::{EventKind, SchedEvent, SwitchState};
use fairlab_sim::CostTable;
use fairlab_topology::Machine;
use fairlab_units::{CpuId, CpuMask, Nanos, TaskId, Timestamp};
use fairlab_workload::{Begins, End, ProgramId, Report, Workload, WorkloadBuilder};

use crate::draft::{Draft, Phase, Stretch};
use crate::edges::Edges;
use crate::work::Work;

/// What of a recording cannot be repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Events on CPUs that the recorded machine does not have.
    pub elsewhere: u64,
    /// Changes of priority of tasks that had begun to work: they keep the one that they began with.
    pub priorities: u64,
    /// Are there no wakeups? Time that a task waited for a CPU after one is then part of its sleep.
    pub all_wakeups: bool,
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
    /// What of the recording is not in it.
    pub left_out: LeftOut,
    /// From the first event to the last moment at which a task ran: a replay ends when there is nothing left to do.
    pub elapsed: Nanos,
    /// Stretches of work of each program.
    pub(crate) stretches: Vec<Vec<Stretch>>,
    /// Wakeups by tasks, which became waits.
    pub edges: u64,
    /// Wakeups by timers and devices, which became sleeps.
    pub sleeps: u64,
}

/// Was the wakeup of a task by another synchronous? Time, waker, wakee.
type IsSync<'a> = dyn Fn(Timestamp, TaskId, TaskId) -> bool + 'a;

/// Writes programs. Hand it all events in time order, after [`Edges`] has seen them.
pub struct Recorder<'a> {
    description: String,
    edges: &'a Edges,
    is_sync: &'a IsSync<'a>,
    costs: &'a CostTable,
    work: Work<'a>,
    begin: Option<Timestamp>,
    /// When a task ran last.
    last_run: Timestamp,
    drafts: BTreeMap<TaskId, Draft>,
    /// Where tasks may run. More may be known of than turn up.
    allowed: BTreeMap<TaskId, CpuMask>,
    /// In the order in which they turned up.
    order: Vec<TaskId>,
    /// What comes before the interrupts of wakeups, by waker and wakee.
    before_interrupt: BTreeMap<(TaskId, TaskId), Nanos>,
    is_by_task: u64,
    is_by_timer: u64,
    left_out: LeftOut,
}

impl<'a> Recorder<'a> {
    /// Of a recording on `machine`; a simulation will charge `costs`.
    #[must_use]
    pub fn new(name: &str, machine: &Machine, costs: &'a CostTable, edges: &'a Edges) -> Self {
        Self {
            description: name.to_owned(),
            edges,
            is_sync: &|_, _, _| false,
            costs,
            work: Work::new(machine, costs),
            begin: None,
            last_run: Timestamp::ZERO,
            drafts: BTreeMap::new(),
            allowed: BTreeMap::new(),
            order: Vec::new(),
            before_interrupt: BTreeMap::new(),
            is_by_task: 0,
            is_by_timer: 0,
            left_out: LeftOut {
                all_wakeups: !edges.has_wakeups(),
                ..LeftOut::default()
            },
        }
    }

    /// Which wakeups by tasks are synchronous (time, waker, wakee), which no event tells; without it none is.
    #[must_use]
    pub fn synchronous(mut self, is_sync: &'a IsSync<'a>) -> Self {
        self.is_sync = is_sync;
        self
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
            self.left_out.elsewhere += 1;
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
                if let Some(task) = task {
                    self.turns_up(time, cpu, task);
                }
            }
            EventKind::Waking { task, prev_cpu } => self.wake(time, cpu, task, Some(prev_cpu)),
            EventKind::Wakeup { task, .. } => self.wake(time, cpu, task, None),
            EventKind::Fork { parent, child } => self.fork(time, cpu, parent, child),
            EventKind::WakeupNew { task, .. } => self.wake_new(time, cpu, task),
            EventKind::Migrate { task, from, to } => self.work.moves(task, from, to),
            EventKind::Exec { task } => {
                self.flush(time, cpu, task);
                self.work.charge(task, self.costs.exec);
                self.draft(task).exec();
            }
            EventKind::CpuIdle { state } => self.work.idles(cpu, state),
            EventKind::Exit { task } => self.draft(task).has_exited = true,
            EventKind::Priority { task, prio } => {
                let draft = self.draft(task);
                if draft.is_empty() {
                    draft.prio = prio;
                } else {
                    self.left_out.priorities += u64::from(draft.prio != prio);
                }
            }
            _ => {}
        }
    }

    /// Writes down what the task has done until now.
    fn flush(&mut self, time: Timestamp, cpu: CpuId, task: TaskId) {
        self.work.book(cpu, time);
        if let Some((work, ran)) = self.work.take(task) {
            self.draft(task).run(work, ran);
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
            self.last_run = time;
            self.turns_up(time, cpu, task);
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
            self.turns_up(time, cpu, task);
            self.end_sleep(time, task);
            let draft = self.draft(task);
            draft.phase = Phase::Runnable;
            draft.cpu = Some(cpu);
        }
    }

    /// A task runs on `cpu`. One of which nothing has been seen has been on a queue since the beginning; where
    /// wakeups are not recorded, it may as well have slept until now.
    fn turns_up(&mut self, time: Timestamp, cpu: CpuId, task: TaskId) {
        if self.draft(task).phase != Phase::Unknown {
            return;
        }
        let after = time.saturating_since(self.begin.unwrap_or(time));
        let was_queued = after == Nanos::ZERO || self.edges.has_wakeups();
        let draft = self.draft(task);
        if was_queued {
            draft.begin(Begins::Queued(cpu));
        } else {
            draft.begin(Begins::Asleep(cpu));
            draft.sleep_until(after);
        }
    }

    /// A sleep ends at `time` without a task that ended it.
    fn end_sleep(&mut self, time: Timestamp, task: TaskId) {
        let draft = self.draft(task);
        if let Phase::Sleeping { since } = draft.phase {
            draft.sleep(time.saturating_since(since));
            self.is_by_timer += 1;
        }
    }

    /// A wakeup of `task` on `cpu`.
    fn wake(&mut self, time: Timestamp, cpu: CpuId, task: TaskId, prev_cpu: Option<CpuId>) {
        let waker = self.work.running(cpu);
        let after = time.saturating_since(self.begin.unwrap_or(time));
        let edges = self.edges;
        let draft = self.draft(task);
        // A number may be used again after its task has exited.
        if draft.phase == Phase::Runnable || draft.has_exited {
            return;
        }
        let slept = prev_cpu.or(draft.cpu).unwrap_or(cpu);
        let by = waker.filter(|waker| edges.is_by_task(time, *waker, task, cpu, slept));
        if draft.phase == Phase::Unknown {
            // The first that a simulation wakes are at its beginning.
            draft.begin(if after == Nanos::ZERO {
                Begins::Woken
            } else {
                Begins::Asleep(slept)
            });
            if by.is_none() && after > Nanos::ZERO {
                draft.sleep_until(after);
            }
        }
        if let Some(waker) = by {
            draft.wait_for(waker);
            self.flush(time, cpu, waker);
            self.work.charge(waker, self.costs.wakeup);
            let is_sync = (self.is_sync)(time, waker, task);
            let before = self.before_interrupt(waker, task);
            self.draft(waker).wake(task, is_sync, before);
            self.is_by_task += 1;
            return;
        }
        self.end_sleep(time, task);
        if let Some(other) = waker {
            self.work.charge(other, self.costs.wakeup);
        }
    }

    fn before_interrupt(&mut self, waker: TaskId, wakee: TaskId) -> Nanos {
        let (edges, costs, distances) = (self.edges, self.costs, self.work.distances());
        let known = self.before_interrupt.entry((waker, wakee));
        *known.or_insert_with(|| edges.arrivals().before(waker, wakee, costs, distances))
    }

    /// `parent` starts `child`.
    fn fork(&mut self, time: Timestamp, cpu: CpuId, parent: TaskId, child: TaskId) {
        if parent == child || self.draft(child).phase != Phase::Unknown {
            return;
        }
        self.turns_up(time, cpu, parent);
        let are_threads = self.edges.process(parent) == self.edges.process(child);
        // The kernel's work comes before the child.
        self.work.book(cpu, time);
        let cost = if are_threads {
            self.costs.clone_thread
        } else {
            self.costs.fork
        };
        self.work.charge_past(parent, cost);
        self.flush(time, cpu, parent);
        let prio = self.draft(parent).prio;
        self.draft(parent).fork(child, cost);
        let draft = self.draft(child);
        draft.is_forked = true;
        draft.prio = prio;
        draft.phase = Phase::Runnable;
    }

    /// A new task is queued, by what runs on `cpu`.
    fn wake_new(&mut self, time: Timestamp, cpu: CpuId, child: TaskId) {
        if self.draft(child).phase != Phase::Unknown {
            return;
        }
        match self.work.running(cpu).filter(|parent| *parent != child) {
            Some(parent) if !self.edges.has_forks() => self.fork(time, cpu, parent, child),
            // Its fork was before the beginning.
            _ => self.turns_up(time, cpu, child),
        }
    }

    /// The workload.
    #[must_use]
    pub fn finish(mut self, end: Timestamp) -> Recorded {
        for cpu in self.work.busy() {
            self.work.book(cpu, end);
            self.last_run = end;
        }
        // Those that wait have work behind them, too.
        for task in self.order.clone() {
            if let Some((work, ran)) = self.work.take(task) {
                self.draft(task).run(work, ran);
            }
        }
        let mut builder = WorkloadBuilder::new(&self.description, Report::Plain, End::AllExited);
        let numbers: BTreeMap<TaskId, ProgramId> = (0..)
            .map(ProgramId)
            .zip(&self.order)
            .map(|(number, task)| (*task, number))
            .collect();
        let (mut ran, mut stretches) = (Vec::new(), Vec::new());
        for task in &self.order {
            let mut draft = self.drafts.remove(task).unwrap_or_default();
            draft.take_exit(self.costs.exit);
            let is_forked = draft.is_forked;
            let (mut program, of_program) = draft.finish(*task, &numbers);
            program.allowed = self.allowed.remove(task).map(|mask| builder.mask(mask));
            if let Some(process) = self.edges.process(*task) {
                program.process = process.0;
            }
            let number = builder.program(program);
            ran.push(self.work.ran(*task));
            stretches.push(of_program);
            if !is_forked {
                builder.start(number);
            }
        }
        Recorded {
            workload: builder.build(),
            left_out: self.left_out,
            elapsed: self.last_run.saturating_since(self.begin.unwrap_or(end)),
            tasks: self.order,
            ran,
            stretches,
            edges: self.is_by_task,
            sleeps: self.is_by_timer,
        }
    }
}
