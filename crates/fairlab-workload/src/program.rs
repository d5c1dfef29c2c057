//! The operations that a task performs.

use alloc::string::String;
use alloc::vec::Vec;

use fairlab_rng::Rng;
use fairlab_units::{CpuId, Nanos};

use crate::memory::RegionUse;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $name(pub u32);

            impl $name {
                /// The number as an index.
                #[must_use]
                pub const fn index(self) -> usize {
                    self.0 as usize
                }
            }
        )*
    };
}

ids! {
    /// A futex word with at most one waiter: a post is kept until the waiter takes it.
    FutexId;
    /// A list of waiting tasks that another task wakes all at once.
    ListId;
    /// A pipe or socket: a bounded queue of messages.
    PipeId;
    /// A barrier: nobody passes before all have arrived.
    BarrierId;
    /// A measured quantity.
    MetricId;
    /// A program of the workload.
    ProgramId;
    /// A set of CPUs that the workload names.
    MaskId;
    /// A mutex.
    MutexId;
    /// A condition variable.
    CondId;
    /// A counting semaphore.
    SemaphoreId;
    /// A timer that fires periodically.
    TimerId;
    /// A stretch of memory.
    RegionId;
    /// A task group of the workload.
    TaskGroupId;
}

/// A length of time, possibly random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Always the same.
    Fixed(Nanos),
    /// Evenly spread over `low..=high`.
    Uniform {
        /// Shortest.
        low: Nanos,
        /// Longest.
        high: Nanos,
    },
    /// Exponentially distributed, as the gaps of arrivals that know nothing of each other (a Poisson
    /// process).
    Exponential {
        /// Mean.
        mean: Nanos,
    },
}

impl Span {
    /// `percent` around `mean`, evenly spread.
    #[must_use]
    pub const fn around(mean: Nanos, percent: u64) -> Self {
        let half = mean.0 / 100 * percent;
        Self::Uniform {
            low: Nanos(mean.0 - half),
            high: Nanos(mean.0 + half),
        }
    }

    /// One sample.
    pub fn sample(self, rng: &mut Rng) -> Nanos {
        match self {
            Self::Fixed(span) => span,
            Self::Uniform { low, high } => Nanos(low.0 + rng.below(high.0 - low.0 + 1)),
            Self::Exponential { mean } => Nanos(rng.exponential(mean.0)),
        }
    }
}

/// Whose attribute an operation changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The task itself.
    Myself,
    /// Every task that runs this program now.
    Program(ProgramId),
}

/// One operation of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Op {
    /// Compute for this much CPU time at full speed.
    Run(Span),
    /// Compute what takes this much CPU time at full speed where arithmetic has the usual speed, one
    /// multiply-add per nanosecond; the costs of a machine say how it compares.
    Arithmetic(Span),
    /// Sleep on a timer.
    Sleep(Span),
    /// Wait until the futex is posted, and take the post. The time from the post to the moment the
    /// task runs again goes to `latency`.
    Wait {
        /// The futex.
        futex: FutexId,
        /// Where the latency is recorded.
        latency: Option<MetricId>,
    },
    /// Post the futex and wake its waiter.
    Post(FutexId),
    /// Put the futex on the list.
    Push {
        /// The list.
        list: ListId,
        /// What to post when the list is woken.
        futex: FutexId,
    },
    /// Post every futex on the list, the last pushed first, and empty the list.
    PostAll(ListId),
    /// Write one message; sleeps while the pipe is full.
    Write(PipeId),
    /// Read one message; sleeps while the pipe is empty.
    Read(PipeId),
    /// Wait for the others.
    Barrier(BarrierId),
    /// A measured stretch begins.
    Begin(MetricId),
    /// The stretch ends; its length goes to the metric.
    End(MetricId),
    /// Give the CPU away (`sched_yield`).
    Yield,
    /// Start a task with this program.
    Fork(ProgramId),
    /// Restrict tasks to these CPUs (`sched_setaffinity`). Nothing happens when none of them is
    /// online.
    SetAffinity {
        /// Whom.
        who: Who,
        /// Where they may run from now on.
        cpus: MaskId,
    },
    /// Move tasks to another task group; None is the root (a write to `cgroup.procs`).
    SetGroup {
        /// Whom.
        who: Who,
        /// Where to.
        group: Option<TaskGroupId>,
    },
    /// Give tasks another nice value (`setpriority`), -20 to 19.
    SetNice {
        /// Whom.
        who: Who,
        /// The value.
        nice: i8,
    },
    /// Repeat from operation `to`, `times` times in all. `times` 0 is forever.
    Repeat {
        /// Index of the first operation of the loop.
        to: u32,
        /// Passes.
        times: u32,
    },
    /// End of the task. A program that runs out ends too.
    Exit,
    /// The kernel's work of an exit, before what follows: those who wait for the end of a task are woken after it.
    Finish,
    /// Take the mutex; sleeps while another task has it.
    Lock(MutexId),
    /// Give the mutex back and wake the first waiter, who takes it unless somebody is faster.
    Unlock(MutexId),
    /// Give the mutex back, sleep until the condition is signalled, and take the mutex again
    /// (`pthread_cond_wait`). A signal that nobody waits for is lost.
    CondWait {
        /// The condition.
        cond: CondId,
        /// The mutex.
        mutex: MutexId,
    },
    /// Wake the first who waits for the condition.
    Signal(CondId),
    /// Wake all who wait for the condition.
    Broadcast(CondId),
    /// Take one from the semaphore; sleeps while it is at zero.
    SemWait(SemaphoreId),
    /// Add one to the semaphore, and wake the first waiter.
    SemPost(SemaphoreId),
    /// Sleep until the timer fires next, `period` after it fired last; see [`TimerSpec`].
    Timer {
        /// The timer.
        timer: TimerId,
        /// From one firing to the next.
        period: Nanos,
    },
    /// Sleep until this much time since the start of the run has passed.
    SleepUntil(Nanos),
    /// Compute until this much wall-clock time has passed, whatever the speed of the CPU.
    Spin(Span),
    /// Become another program (`execve`): the policy may move the task, which has no caches to lose.
    Exec,
    /// Sleep until no more than this many children are alive.
    WaitChildren(u32),
    /// Ask for slices of this length (`sched_setattr`); zero goes back to the default. Kernels before
    /// v6.12 ignore it.
    SetSlice(Nanos),
    /// Change the scheduling class.
    SetClass(Class),
    /// Clamp the utilization that the scheduler sees, on the scale of 1024.
    SetClamp {
        /// At least.
        min: u16,
        /// At most.
        max: u16,
    },
    /// Take one from the semaphore as [`Op::SemWait`] does, and begin a stretch of a metric when that
    /// one was added: the stretch includes the time that it waited to be taken.
    SemTake {
        /// The semaphore.
        semaphore: SemaphoreId,
        /// The metric of the stretch.
        begins: MetricId,
        /// Where the time from the wakeup to the task's going on is recorded, if it slept.
        latency: Option<MetricId>,
    },
    /// Send a note to the task of this program, which answers it with one of its [parts](Program::parts), and wake it
    /// if it waits for one.
    Send {
        /// The task's program.
        to: ProgramId,
        /// Is it a sync wakeup (the sender is about to sleep)?
        sync: bool,
        /// So much of the sender's next stretch comes before the interrupt that tells another CPU.
        before: Nanos,
    },
    /// Go on with the next of the program's [parts](Program::parts).
    NextPart,
    /// A pass of a loop begins, of which a [`crate::Workload`] that logs loops keeps a record.
    LoopBegin {
        /// Number of the phase that the pass belongs to.
        phase: u32,
    },
    /// The pass ends.
    LoopEnd,
    /// Compute for this much CPU time at full speed, however little, after whatever the kernel still has to do for the
    /// task; and write down how long the task has run then.
    Stretch(Nanos),
}

/// How a timer behaves.
///
/// # Source
/// The timers of rt-app 1.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerSpec {
    /// Does each task have its own, instead of sharing one?
    pub is_unique: bool,
    /// Does a firing that was missed stay in the past, so that the next ones catch up? Otherwise the
    /// timer starts anew when it is found to be late.
    pub is_absolute: bool,
    /// When it starts to count.
    pub origin: TimerOrigin,
}

/// When a timer starts to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerOrigin {
    /// This much after the start of the run.
    Start(Nanos),
    /// At its first use.
    FirstUse,
}

/// The scheduling class of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// `SCHED_NORMAL`.
    #[default]
    Fair,
    /// `SCHED_FIFO` with a priority of 1 to 99.
    Fifo(u8),
    /// `SCHED_RR` with a priority of 1 to 99.
    RoundRobin(u8),
    /// `SCHED_DEADLINE`: each job has to be done this long after its wakeup.
    Deadline(Nanos),
    /// `SCHED_BATCH`: never preempts at its wakeup.
    Batch,
    /// `SCHED_IDLE`: of the fair class, with the least weight.
    Idle,
}

/// How a task of the start comes into the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begins {
    /// It is woken on the first CPU, and placed.
    #[default]
    Woken,
    /// It waits on the queue of this CPU, or on that of one that it may use.
    Queued(CpuId),
    /// It has slept since it ran on this CPU, or on one that it may use, and sleeps in the first operation of its
    /// program, if that is one to sleep in.
    Asleep(CpuId),
}

/// A stretch of a program that a task does not enter before something has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Index of its first operation. It ends with [`Op::NextPart`].
    pub at: u32,
    /// Whose note it answers; none: its turn comes when all before it are done.
    pub answers: Option<ProgramId>,
}

/// What a task does, and who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name of the tasks that run it, as `comm`.
    pub name: String,
    /// Nice value, -20 to 19.
    pub nice: i8,
    /// Scheduling class.
    pub class: Class,
    /// Which process its tasks belong to; tasks of one process share memory. See also
    /// [`Self::OWN_PROCESS`].
    pub process: u32,
    /// Where its tasks may run, until they change it. None: as the task that forks them may; the
    /// tasks of the start, everywhere.
    pub allowed: Option<MaskId>,
    /// The task group of its tasks, until they change it. None: that of the task that forks them; the
    /// tasks of the start are in the root.
    pub group: Option<TaskGroupId>,
    /// The memory that its tasks use.
    pub memory: Vec<RegionUse>,
    /// Percent of the running time of its tasks that is waiting for memory, while all of it is local.
    pub memory_bound: u32,
    /// What its tasks touch again and again, KiB: what they lose when they go elsewhere. None: as the
    /// machine's costs say.
    pub working_set_kib: Option<u32>,
    /// What its tasks move to and from memory while they run, MiB per ms, beside what they walk of
    /// their [memory](Self::memory). Others who do so slow them down, as far as they are
    /// [bound](Self::memory_bound) by memory.
    pub bandwidth: u32,
    /// Are its tasks threads of the kernel? One that may run on one CPU only is then a per-CPU
    /// kernel thread, which placement and balancing treat apart.
    pub is_kthread: bool,
    /// Sleeps of its tasks end up to this much late, so that wakeups can be put together
    /// (`PR_SET_TIMERSLACK`; 50 us in most processes). Not for the classes above the fair one.
    pub timer_slack: Nanos,
    /// Does a run that waits for all tasks not wait for these?
    pub is_background: bool,
    /// How its task comes into the run, if it is one of the start.
    pub begins: Begins,
    /// The operations.
    pub ops: Vec<Op>,
    /// Parts of the operations that answer notes, in the order in which they come where nothing decides otherwise; the
    /// task begins with the first operation, which belongs to none. At [`Op::NextPart`] the task takes the first part
    /// that is left, if that answers no note; or else the first that is left for whoever sent the next note, and
    /// waits for one. A server that answers in the order in which it is asked is written so.
    pub parts: Vec<Part>,
}

impl Program {
    /// As [`process`](Self::process): each task is a process of its own.
    pub const OWN_PROCESS: u32 = u32::MAX;

    /// All that its tasks move to and from memory while they run, MiB per ms.
    #[must_use]
    pub fn traffic(&self) -> u32 {
        let walked = self.memory.iter().map(|used| used.mb_per_ms);
        walked.fold(self.bandwidth, u32::saturating_add)
    }
}

/// Writes a program operation by operation.
#[derive(Clone, Debug)]
pub struct ProgramBuilder(Program);

impl ProgramBuilder {
    /// An empty program whose tasks are called `name`, nice 0, in process 0.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(Program {
            name: name.into(),
            nice: 0,
            class: Class::Fair,
            process: 0,
            allowed: None,
            group: None,
            memory: Vec::new(),
            memory_bound: 0,
            working_set_kib: None,
            bandwidth: 0,
            is_kthread: false,
            timer_slack: Nanos::ZERO,
            is_background: false,
            begins: Begins::Woken,
            ops: Vec::new(),
            parts: Vec::new(),
        })
    }

    /// Sets the name of the tasks.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.0.name = name.into();
        self
    }

    /// Sets how late sleeps may end.
    #[must_use]
    pub fn timer_slack(mut self, slack: Nanos) -> Self {
        self.0.timer_slack = slack;
        self
    }

    /// Lets runs end that wait for all tasks to exit, while these go on.
    #[must_use]
    pub fn background(mut self) -> Self {
        self.0.is_background = true;
        self
    }

    /// Sets the scheduling class.
    #[must_use]
    pub fn class(mut self, class: Class) -> Self {
        self.0.class = class;
        self
    }

    /// Sets the process.
    #[must_use]
    pub fn process(mut self, process: u32) -> Self {
        self.0.process = process;
        self
    }

    /// Sets the nice value, -20 to 19.
    #[must_use]
    pub fn nice(mut self, nice: i8) -> Self {
        self.0.nice = nice;
        self
    }

    /// Sets where the tasks may run at their start.
    #[must_use]
    pub fn allowed(mut self, cpus: MaskId) -> Self {
        self.0.allowed = Some(cpus);
        self
    }

    /// Sets the task group at the start of the tasks.
    #[must_use]
    pub fn group(mut self, group: TaskGroupId) -> Self {
        self.0.group = Some(group);
        self
    }

    /// Has the tasks walk through a region, `mb_per_ms` MiB per millisecond of running.
    #[must_use]
    pub fn uses(mut self, region: RegionId, mb_per_ms: u32) -> Self {
        self.0.memory.push(RegionUse { region, mb_per_ms });
        self
    }

    /// Sets how many percent of the running time is waiting for memory, while all of it is local.
    #[must_use]
    pub fn memory_bound(mut self, percent: u32) -> Self {
        self.0.memory_bound = percent.min(100);
        self
    }

    /// Sets what the tasks touch again and again, KiB.
    #[must_use]
    pub fn working_set_kib(mut self, kib: u32) -> Self {
        self.0.working_set_kib = Some(kib);
        self
    }

    /// Sets what the tasks move to and from memory, MiB per ms.
    #[must_use]
    pub fn bandwidth(mut self, mb_per_ms: u32) -> Self {
        self.0.bandwidth = mb_per_ms;
        self
    }

    /// Makes the tasks kernel threads.
    #[must_use]
    pub fn kthread(mut self) -> Self {
        self.0.is_kthread = true;
        self
    }

    /// Appends one operation.
    #[must_use]
    pub fn op(mut self, op: Op) -> Self {
        self.0.ops.push(op);
        self
    }

    /// Appends `body` as a loop of `times` passes; 0 is forever. Loops do not nest deeper than
    /// [`ProgramBuilder::MAX_LOOPS`].
    #[must_use]
    pub fn repeat(mut self, times: u32, body: impl FnOnce(Self) -> Self) -> Self {
        let to = self.0.ops.len() as u32;
        self = body(self);
        self.0.ops.push(Op::Repeat { to, times });
        self
    }

    /// How deep loops may nest.
    pub const MAX_LOOPS: usize = 4;

    /// The program.
    #[must_use]
    pub fn build(self) -> Program {
        self.0
    }
}
