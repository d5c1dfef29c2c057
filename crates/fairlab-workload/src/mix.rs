//! Workloads side by side.
//!
//! Each keeps its own futexes, pipes, metrics and so on: the numbers of the second begin where those of
//! the first end.

use crate::program::{
    BarrierId, CondId, FutexId, ListId, MaskId, MetricId, MutexId, Op, PipeId, Program, ProgramId,
    RegionId, SemaphoreId, TaskGroupId, TimerId, Who,
};
use crate::workload::Workload;

/// Where the numbers of the second workload begin.
struct Shift {
    programs: u32,
    futexes: u32,
    lists: u32,
    pipes: u32,
    barriers: u32,
    masks: u32,
    groups: u32,
    metrics: u32,
    mutexes: u32,
    conds: u32,
    semaphores: u32,
    timers: u32,
}

impl Workload {
    /// This workload with the tasks of `other` beside them, in the background: the run ends as this one
    /// does. What `other` measures is measured and not reported: its metrics come after
    /// [`Workload::metrics`], in [`Workload::hidden_metrics`].
    #[must_use]
    pub fn beside(mut self, other: Self) -> Self {
        let shift = Shift {
            programs: self.programs.len() as u32,
            futexes: self.nr_futexes,
            lists: self.nr_lists,
            pipes: self.pipes.len() as u32,
            barriers: self.barriers.len() as u32,
            masks: self.masks.len() as u32,
            groups: self.groups.len() as u32,
            metrics: self.metrics.len() as u32 + self.hidden_metrics,
            mutexes: self.nr_mutexes,
            conds: self.nr_conds,
            semaphores: self.semaphores.len() as u32,
            timers: self.timers.len() as u32,
        };
        let regions = self.regions.len() as u32;
        let shared = |process: &u32| *process != Program::OWN_PROCESS;
        let processes = self.programs.iter().map(|p| p.process).filter(shared);
        let processes = processes.max().map_or(0, |last| last + 1);
        for mut program in other.programs {
            program.is_background = true;
            if shared(&program.process) {
                program.process += processes;
            }
            program.allowed = program.allowed.map(|m| MaskId(m.0 + shift.masks));
            program.group = program.group.map(|g| TaskGroupId(g.0 + shift.groups));
            for used in &mut program.memory {
                used.region = RegionId(used.region.0 + regions);
            }
            for op in &mut program.ops {
                *op = shift.op(*op);
            }
            for part in &mut program.parts {
                part.answers = part.answers.map(|p| ProgramId(p.0 + shift.programs));
            }
            self.programs.push(program);
        }
        let start = other.start.iter();
        self.start
            .extend(start.map(|p| ProgramId(p.0 + shift.programs)));
        self.description.push_str(" + ");
        self.description.push_str(&other.description);
        self.stacked |= other.stacked;
        self.nr_futexes += other.nr_futexes;
        self.nr_lists += other.nr_lists;
        self.pipes.extend(other.pipes);
        self.barriers.extend(other.barriers);
        self.masks.extend(other.masks);
        for mut group in other.groups {
            group.parent = group.parent.map(|g| TaskGroupId(g.0 + shift.groups));
            self.groups.push(group);
        }
        self.regions.extend(other.regions);
        self.nr_mutexes += other.nr_mutexes;
        self.nr_conds += other.nr_conds;
        self.semaphores.extend(other.semaphores);
        self.timers.extend(other.timers);
        self.hidden_metrics += other.metrics.len() as u32 + other.hidden_metrics;
        self
    }
}

impl Shift {
    /// The operation with all numbers moved up.
    fn op(&self, op: Op) -> Op {
        let futex = |id: FutexId| FutexId(id.0 + self.futexes);
        let list = |id: ListId| ListId(id.0 + self.lists);
        let pipe = |id: PipeId| PipeId(id.0 + self.pipes);
        let metric = |id: MetricId| MetricId(id.0 + self.metrics);
        let program = |id: ProgramId| ProgramId(id.0 + self.programs);
        let mutex = |id: MutexId| MutexId(id.0 + self.mutexes);
        let cond = |id: CondId| CondId(id.0 + self.conds);
        let semaphore = |id: SemaphoreId| SemaphoreId(id.0 + self.semaphores);
        let who = |who| match who {
            Who::Myself => Who::Myself,
            Who::Program(id) => Who::Program(program(id)),
        };
        match op {
            Op::Wait { futex: f, latency } => Op::Wait {
                futex: futex(f),
                latency: latency.map(metric),
            },
            Op::Post(f) => Op::Post(futex(f)),
            Op::Push { list: l, futex: f } => Op::Push {
                list: list(l),
                futex: futex(f),
            },
            Op::PostAll(l) => Op::PostAll(list(l)),
            Op::Write(p) => Op::Write(pipe(p)),
            Op::Read(p) => Op::Read(pipe(p)),
            Op::Barrier(b) => Op::Barrier(BarrierId(b.0 + self.barriers)),
            Op::Begin(m) => Op::Begin(metric(m)),
            Op::End(m) => Op::End(metric(m)),
            Op::Fork(p) => Op::Fork(program(p)),
            Op::SetAffinity { who: w, cpus } => Op::SetAffinity {
                who: who(w),
                cpus: MaskId(cpus.0 + self.masks),
            },
            Op::SetGroup { who: w, group } => Op::SetGroup {
                who: who(w),
                group: group.map(|g| TaskGroupId(g.0 + self.groups)),
            },
            Op::SetNice { who: w, nice } => Op::SetNice { who: who(w), nice },
            Op::Lock(m) => Op::Lock(mutex(m)),
            Op::Unlock(m) => Op::Unlock(mutex(m)),
            Op::CondWait { cond: c, mutex: m } => Op::CondWait {
                cond: cond(c),
                mutex: mutex(m),
            },
            Op::Signal(c) => Op::Signal(cond(c)),
            Op::Broadcast(c) => Op::Broadcast(cond(c)),
            Op::SemWait(s) => Op::SemWait(semaphore(s)),
            Op::SemPost(s) => Op::SemPost(semaphore(s)),
            Op::SemTake {
                semaphore: s,
                begins,
                latency,
            } => Op::SemTake {
                semaphore: semaphore(s),
                begins: metric(begins),
                latency: latency.map(metric),
            },
            Op::Send { to, sync, before } => Op::Send {
                to: program(to),
                sync,
                before,
            },
            Op::Timer { timer, period } => Op::Timer {
                timer: TimerId(timer.0 + self.timers),
                period,
            },
            // These name nothing.
            Op::Run(_)
            | Op::Arithmetic(_)
            | Op::Sleep(_)
            | Op::Yield
            | Op::Repeat { .. }
            | Op::Exit
            | Op::Finish
            | Op::SleepUntil(_)
            | Op::Spin(_)
            | Op::Exec
            | Op::WaitChildren(_)
            | Op::NextPart
            | Op::Stretch(_)
            | Op::SetSlice(_)
            | Op::SetClass(_)
            | Op::SetClamp { .. }
            | Op::LoopBegin { .. }
            | Op::LoopEnd => op,
        }
    }
}
