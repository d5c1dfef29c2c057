//! From a file to the programs of its threads.
//!
//! ```text
//!   main:    Fork every thread, WaitChildren
//!   thread:  Barrier(all threads), SleepUntil(delay), attributes,
//!            loops x { for each phase: attributes, loops x { LoopBegin, events, LoopEnd, log } }
//! ```

use std::collections::BTreeMap;

use fairlab_units::{CpuId, CpuMask, Nanos};
use fairlab_workload::{
    BarrierId, Class, CondId, End, MaskId, MutexId, Op, ProgramBuilder, ProgramId, Report,
    SemaphoreId, Span, TaskGroup, TaskGroupId, TimerId, TimerOrigin, TimerSpec, Who, Workload,
    WorkloadBuilder,
};

use crate::error::{Result, RtAppError};
use crate::host::Host;
use crate::model::{
    Calibration, Event, Loops, Note, Numbers, Phase, Policy, RtApp, Sched, Task, TimerUse,
};

/// Slack of the timers of ordinary threads (`prctl(PR_SET_TIMERSLACK)`).
const TIMER_SLACK: Nanos = Nanos(50_000);

/// What rt-app itself does between two passes: reading the clock and writing a line of its log. Seen
/// as the gap between the end of a pass and the start of the next in the logs of version 1.0.
const LOG_LINE: Nanos = Nanos(8_000);

/// Bytes that a core writes to its buffer per nanosecond. `memset` on cores of the last ten years,
/// buffers of the size of the last-level cache: 8 to 14 GB/s.
const MEMORY_RATE: u64 = 10;

/// Bytes that a write to a file copies per nanosecond, through the page cache. `dd` to tmpfs on the
/// same machines: 2 to 4 GB/s.
const FILE_RATE: u64 = 3;

/// CPU time of a `write` that copies nothing. `lat_syscall write` of lmbench: 0.1 to 0.4 us.
const WRITE_CALL: Nanos = Nanos(300);

/// Time after which a file without a `duration` is stopped.
const FOR_EVER: Nanos = Nanos(10_000_000_000);

/// The programs of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// The workload. Its passes of loops are logged.
    pub workload: Workload,
    /// What each program stands for: nothing for the main thread.
    pub programs: Vec<Option<CompiledTask>>,
    /// What the simulation leaves out.
    pub notes: Vec<Note>,
}

/// Which task of the file a program stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompiledTask {
    /// Index into [`RtApp::tasks`].
    pub task: usize,
    /// Is it the program of forked threads?
    pub is_forked: bool,
}

impl RtApp {
    /// The programs of the threads, on `host`. `description` is what the run is called; `duration`
    /// overrides the file's.
    ///
    /// # Errors
    /// When the file asks for something that the machine does not have.
    pub fn compile(
        &self,
        description: &str,
        host: &Host,
        duration: Option<Nanos>,
    ) -> Result<Compiled> {
        self.check_host(host)?;
        let mut notes = self.notes.clone();
        let own = self.global.duration.map(|s| Nanos::from_secs(s.into()));
        let end = match duration.or(own) {
            Some(span) => End::After(span),
            None => {
                if let Some(task) = self.tasks.iter().find(|t| runs_for_ever(t)) {
                    let message = format!(
                        "there is no 'duration' and task '{}' never ends: stopped after {FOR_EVER}",
                        task.name
                    );
                    let place = task.place;
                    notes.push(Note { place, message });
                }
                End::AllExitedBy(FOR_EVER)
            }
        };
        self.note_omissions(&mut notes);
        let builder = WorkloadBuilder::new(description, Report::RtApp, end).log_loops();
        let mut writer = Writer::new(self, host, builder);
        let mut programs = Vec::new();
        for (task, spec) in self.tasks.iter().enumerate() {
            writer.thread(spec, false);
            programs.push(Some(CompiledTask {
                task,
                is_forked: false,
            }));
        }
        for task in writer.forked.clone() {
            writer.thread(&self.tasks[task], true);
            programs.push(Some(CompiledTask {
                task,
                is_forked: true,
            }));
        }
        writer.main();
        programs.push(None);
        Ok(Compiled {
            workload: writer.builder.build(),
            programs,
            notes,
        })
    }

    /// Notes what a file asks for and the simulation does not do, once each.
    fn note_omissions(&self, notes: &mut Vec<Note>) {
        let mut note = |task: Option<&Task>, message: &str| {
            if let Some(task) = task {
                notes.push(Note {
                    place: task.place,
                    message: message.to_owned(),
                });
            }
        };
        let mut tasks = self.tasks.iter();
        note(
            tasks.find(|t| t.nodes.is_some() || t.phases.iter().any(|p| p.nodes.is_some())),
            "memory is not bound to nodes in the simulation",
        );
        let mut tasks = self.tasks.iter();
        let is_deadline = |s: &Sched| s.policy == Policy::Deadline;
        note(
            tasks.find(|t| {
                is_deadline(&t.sched)
                    || t.phases
                        .iter()
                        .filter_map(|p| p.sched.as_ref())
                        .any(is_deadline)
            }),
            "SCHED_DEADLINE tasks run by their deadlines; their budget (dl-runtime) is not enforced",
        );
    }

    fn check_host(&self, host: &Host) -> Result<()> {
        let sets = self.tasks.iter().flat_map(|t| &t.phases);
        for numbers in sets.clone().filter_map(|p| p.cpus.as_ref()) {
            for &(cpu, place) in &numbers.numbers {
                if !host.cpus.test(CpuId(cpu)) {
                    return Err(RtAppError::new(
                        place,
                        format!("this machine has no CPU {cpu}; its CPUs are {}", host.cpus),
                    ));
                }
            }
        }
        let nodes = sets.filter_map(|p| p.nodes.as_ref());
        for numbers in nodes.chain(self.tasks.iter().filter_map(|t| t.nodes.as_ref())) {
            for &(node, place) in &numbers.numbers {
                if !host.nodes.contains(&node) {
                    return Err(RtAppError::new(
                        place,
                        format!("this machine has no memory node {node}"),
                    ));
                }
            }
        }
        match self.global.calibration {
            Calibration::Cpu(cpu, place) if cpu != 0 && !host.cpus.test(CpuId(cpu)) => {
                Err(RtAppError::new(
                    place,
                    format!(
                        "this machine has no CPU {cpu} to calibrate; its CPUs are {}",
                        host.cpus
                    ),
                ))
            }
            _ => Ok(()),
        }
    }
}

fn runs_for_ever(task: &Task) -> bool {
    task.loops == Loops::Forever || task.phases.iter().any(|p| p.loops == Loops::Forever)
}

/// Names of the file and what they stand for.
#[derive(Default)]
struct Names {
    mutexes: BTreeMap<String, MutexId>,
    conds: BTreeMap<String, CondId>,
    semaphores: BTreeMap<String, SemaphoreId>,
    barriers: BTreeMap<String, BarrierId>,
    timers: BTreeMap<String, TimerId>,
    groups: BTreeMap<String, TaskGroupId>,
}

struct Writer<'a> {
    app: &'a RtApp,
    host: &'a Host,
    builder: WorkloadBuilder,
    names: Names,
    /// Barrier at the start of all threads.
    ready: BarrierId,
    /// Tasks that are forked by others, by number.
    forked: Vec<usize>,
}

impl<'a> Writer<'a> {
    fn new(app: &'a RtApp, host: &'a Host, mut builder: WorkloadBuilder) -> Self {
        let threads: u32 = app.tasks.iter().map(|t| t.instances).sum();
        let ready = builder.barrier(threads.max(1));
        let mut writer = Self {
            app,
            host,
            builder,
            names: Names::default(),
            ready,
            forked: Vec::new(),
        };
        writer.declare();
        writer
    }

    /// What has to be known of all tasks before one is written.
    fn declare(&mut self) {
        let mut users: BTreeMap<&str, u32> = BTreeMap::new();
        let mut timers: BTreeMap<&str, TimerSpec> = BTreeMap::new();
        for task in &self.app.tasks {
            for event in task.phases.iter().flat_map(|p| &p.events) {
                match event {
                    Event::Barrier(name) => *users.entry(name).or_default() += task.instances,
                    Event::Timer(timer) => {
                        let spec = timers.entry(&timer.name).or_insert(TimerSpec {
                            is_unique: timer.name.starts_with("unique"),
                            is_absolute: false,
                            origin: TimerOrigin::Start(micros(task.delay)),
                        });
                        // The mode belongs to the timer: one event that names it is enough.
                        spec.is_absolute |= timer.is_absolute;
                    }
                    Event::Fork(name) => {
                        let found = self.app.tasks.iter().position(|t| t.name == *name);
                        self.forked
                            .extend(found.filter(|t| !self.forked.contains(t)));
                    }
                    _ => {}
                }
            }
        }
        for (name, users) in users {
            let id = self.builder.barrier(users.max(1));
            self.names.barriers.insert(name.to_owned(), id);
        }
        for (name, spec) in timers {
            // Unique ones of tasks with different delays count from different times.
            if !spec.is_unique {
                let id = self.builder.timer(spec);
                self.names.timers.insert(name.to_owned(), id);
            }
        }
    }

    fn main(&mut self) {
        let mut main = ProgramBuilder::new("rt-app");
        for (i, task) in self.app.tasks.iter().enumerate() {
            for _ in 0..task.instances {
                main = main.op(Op::Fork(ProgramId(i as u32)));
            }
        }
        let main = self.builder.program(main.op(Op::WaitChildren(0)).build());
        self.builder.start(main);
    }

    fn thread(&mut self, task: &Task, is_forked: bool) {
        let mut p = ProgramBuilder::new(task.name.as_str())
            .class(class(task.sched))
            .timer_slack(TIMER_SLACK);
        if task.sched.policy == Policy::Other {
            p = p.nice(task.sched.priority as i8);
        }
        if !is_forked {
            p = p.op(Op::Barrier(self.ready));
        }
        if let Some(group) = task.taskgroup.as_deref().and_then(|path| self.group(path)) {
            p = p.group(group);
        }
        if task.delay > 0 {
            p = p.op(Op::SleepUntil(micros(task.delay)));
        }
        if task.sched.policy.is_fair() && task.sched.dl_runtime > 0 {
            p = p.op(Op::SetSlice(micros(task.sched.dl_runtime)));
        }
        if task.sched.clamp != (0, 1024) {
            let (min, max) = task.sched.clamp;
            p = p.op(Op::SetClamp { min, max });
        }
        let cpus: Vec<Option<&Numbers>> = task.phases.iter().map(|p| p.cpus.as_ref()).collect();
        if cpus[0].is_some() {
            p = p.op(self.affinity(cpus[0]));
        }
        let passes = |loops| match loops {
            Loops::Forever => Some(0),
            Loops::Times(0) => None,
            Loops::Times(n) => Some(n),
        };
        let Some(times) = passes(task.loops) else {
            self.builder.program(p.build());
            return;
        };
        let p = p.repeat(times, |mut p| {
            let mut sched = task.sched;
            for (i, phase) in task.phases.iter().enumerate() {
                let before = if i == 0 {
                    cpus[cpus.len() - 1]
                } else {
                    cpus[i - 1]
                };
                if !same(before, cpus[i]) {
                    p = p.op(self.affinity(cpus[i]));
                }
                if let Some(path) = &phase.taskgroup {
                    p = p.op(Op::SetGroup {
                        who: Who::Myself,
                        group: self.group(path),
                    });
                }
                if let Some(wanted) = phase.sched {
                    p = attributes(p, sched, wanted);
                    sched = wanted;
                }
                p = p.repeat(passes(phase.loops).unwrap_or(1), |p| {
                    self.pass(p, task, i as u32, phase)
                });
            }
            p
        });
        self.builder.program(p.build());
    }

    fn pass(
        &mut self,
        p: ProgramBuilder,
        task: &Task,
        number: u32,
        phase: &Phase,
    ) -> ProgramBuilder {
        let mut p = p.op(Op::LoopBegin { phase: number });
        for event in &phase.events {
            p = self.event(p, task, event);
        }
        p.op(Op::LoopEnd).op(Op::Run(Span::Fixed(LOG_LINE)))
    }

    fn affinity(&mut self, cpus: Option<&Numbers>) -> Op {
        let mask: CpuMask = match cpus {
            // Each of them is one of the machine's: checked before.
            Some(cpus) => CpuMask::from_cpus(
                self.host.cpus.room(),
                cpus.numbers.iter().map(|(cpu, _)| CpuId(*cpu)),
            ),
            None => self.host.cpus.clone(),
        };
        let cpus: MaskId = self.builder.mask(mask);
        Op::SetAffinity {
            who: Who::Myself,
            cpus,
        }
    }

    fn event(&mut self, p: ProgramBuilder, task: &Task, event: &Event) -> ProgramBuilder {
        match event {
            Event::Run(us) => p.op(Op::Run(Span::Fixed(self.run_time(*us)))),
            Event::Runtime(us) => p.op(Op::Spin(Span::Fixed(micros(*us)))),
            Event::Sleep(us) => p.op(Op::Sleep(Span::Fixed(micros(*us)))),
            Event::Mem(bytes) => {
                let time = Nanos(u64::from(*bytes) / MEMORY_RATE);
                p.op(Op::Run(Span::Fixed(time)))
            }
            Event::IoRun(bytes) => p.op(Op::Run(Span::Fixed(self.write_time(*bytes)))),
            Event::Timer(timer) => {
                let id = self.timer(task, timer);
                p.op(Op::Timer {
                    timer: id,
                    period: micros(timer.period),
                })
            }
            Event::Lock(name) => p.op(Op::Lock(self.mutex(name))),
            Event::Unlock(name) => p.op(Op::Unlock(self.mutex(name))),
            Event::Wait { cond, mutex } => {
                let (cond, mutex) = (self.cond(cond), self.mutex(mutex));
                p.op(Op::CondWait { cond, mutex })
            }
            Event::Sync { cond, mutex } => {
                let (cond, mutex) = (self.cond(cond), self.mutex(mutex));
                p.op(Op::Signal(cond)).op(Op::CondWait { cond, mutex })
            }
            Event::Signal(name) => p.op(Op::Signal(self.cond(name))),
            Event::Broadcast(name) => p.op(Op::Broadcast(self.cond(name))),
            // A mutex and a condition of the same name, in one step.
            Event::Suspend(name) => {
                let (cond, mutex) = (self.cond(name), self.mutex(name));
                p.op(Op::Lock(mutex))
                    .op(Op::CondWait { cond, mutex })
                    .op(Op::Unlock(mutex))
            }
            Event::Resume(name) => {
                let (cond, mutex) = (self.cond(name), self.mutex(name));
                p.op(Op::Lock(mutex))
                    .op(Op::Broadcast(cond))
                    .op(Op::Unlock(mutex))
            }
            Event::Barrier(name) => match self.names.barriers.get(name) {
                Some(id) => p.op(Op::Barrier(*id)),
                None => p,
            },
            Event::SemWait(name) => p.op(Op::SemWait(self.semaphore(name))),
            Event::SemPost(name) => p.op(Op::SemPost(self.semaphore(name))),
            Event::Yield => p.op(Op::Yield),
            Event::Fork(name) => {
                let task = self.app.tasks.iter().position(|t| t.name == *name);
                let nth = task.and_then(|t| self.forked.iter().position(|f| *f == t));
                match nth {
                    Some(nth) => p.op(Op::Fork(ProgramId((self.app.tasks.len() + nth) as u32))),
                    None => p,
                }
            }
        }
    }

    /// CPU time at full speed of what the calibrated CPU does in `us`.
    fn run_time(&self, us: u32) -> Nanos {
        let capacity = match self.app.global.calibration {
            Calibration::Cpu(cpu, _) => self.host.capacities.get(cpu as usize).copied(),
            Calibration::NsPerLoop(_) => None,
        };
        Nanos((u64::from(us) * 1_000 * u64::from(capacity.unwrap_or(1024))) >> 10)
    }

    fn write_time(&self, bytes: u32) -> Nanos {
        let calls = bytes.div_ceil(self.app.global.mem_buffer_size);
        let copied = match self.app.global.io_device.as_str() {
            "/dev/null" => 0,
            _ => u64::from(bytes) / FILE_RATE,
        };
        WRITE_CALL * u64::from(calls) + Nanos(copied)
    }

    fn timer(&mut self, task: &Task, timer: &TimerUse) -> TimerId {
        let is_unique = timer.name.starts_with("unique");
        let key = if is_unique {
            format!("{}/{}", timer.name, task.place)
        } else {
            timer.name.clone()
        };
        if let Some(id) = self.names.timers.get(&key) {
            return *id;
        }
        let mut uses = task.phases.iter().flat_map(|p| &p.events);
        let is_absolute = uses.any(
            |e| matches!(e, Event::Timer(other) if other.name == timer.name && other.is_absolute),
        );
        let id = self.builder.timer(TimerSpec {
            is_unique,
            is_absolute,
            origin: TimerOrigin::Start(micros(task.delay)),
        });
        self.names.timers.insert(key, id);
        id
    }

    /// The group of this path and those around it, with default shares; none for the root.
    fn group(&mut self, path: &str) -> Option<TaskGroupId> {
        let path = path.trim_end_matches('/');
        let (above, name) = path.rsplit_once('/')?;
        if let Some(id) = self.names.groups.get(path) {
            return Some(*id);
        }
        let parent = self.group(above);
        let id = self.builder.group(TaskGroup {
            parent,
            ..TaskGroup::new(name)
        });
        self.names.groups.insert(path.to_owned(), id);
        Some(id)
    }

    fn mutex(&mut self, name: &str) -> MutexId {
        let builder = &mut self.builder;
        *self
            .names
            .mutexes
            .entry(name.to_owned())
            .or_insert_with(|| builder.mutex())
    }

    fn cond(&mut self, name: &str) -> CondId {
        let builder = &mut self.builder;
        *self
            .names
            .conds
            .entry(name.to_owned())
            .or_insert_with(|| builder.cond())
    }

    fn semaphore(&mut self, name: &str) -> SemaphoreId {
        let builder = &mut self.builder;
        *self
            .names
            .semaphores
            .entry(name.to_owned())
            .or_insert_with(|| builder.semaphore(0))
    }
}

fn micros(us: u32) -> Nanos {
    Nanos::from_micros(us.into())
}

fn same(a: Option<&Numbers>, b: Option<&Numbers>) -> bool {
    let cpus = |n: &Numbers| n.numbers.iter().map(|(cpu, _)| *cpu).collect::<Vec<_>>();
    a.map(cpus) == b.map(cpus)
}

fn class(sched: Sched) -> Class {
    // In range: checked when the file was read.
    let priority = sched.priority as u8;
    match sched.policy {
        Policy::Other => Class::Fair,
        Policy::Idle => Class::Idle,
        Policy::RoundRobin => Class::RoundRobin(priority),
        Policy::Fifo => Class::Fifo(priority),
        Policy::Deadline => Class::Deadline(micros(sched.dl_deadline)),
    }
}

/// Changes the attributes from those `before` to those that are `wanted`.
fn attributes(mut p: ProgramBuilder, before: Sched, wanted: Sched) -> ProgramBuilder {
    p = p.op(Op::SetClass(class(wanted)));
    if wanted.policy == Policy::Other {
        p = p.op(Op::SetNice {
            who: Who::Myself,
            nice: wanted.priority as i8,
        });
    }
    if wanted.policy.is_fair() && wanted.dl_runtime != before.dl_runtime {
        p = p.op(Op::SetSlice(micros(wanted.dl_runtime)));
    }
    let (min, max) = wanted.clamp;
    if wanted.clamp != before.clamp {
        p = p.op(Op::SetClamp { min, max });
    }
    p
}
