//! Scheduling events as plain data: what the kernel's tracepoints say, and what the simulator emits.
//!
//! The one place where simulator and auditor meet. An event carries no file format and no state;
//! the meaning of each kind is that of the tracepoint with the same name. A [`TaskId`] is the
//! thread's number (`pid` in the tracepoints); the idle tasks, which all have 0, are `None`.
#![no_std]

use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};

/// One event: when, on which CPU it was recorded, and what happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SchedEvent {
    /// When.
    pub time: Timestamp,
    /// The CPU that executed the code (not necessarily the one that the event is about).
    pub cpu: CpuId,
    /// What.
    pub kind: EventKind,
}

/// Why a task leaves its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SwitchState {
    /// Still runnable (`R`): it yielded, or its turn was over. Recordings that do not tell one from
    /// the other say this of preempted tasks, too.
    Runnable,
    /// Still runnable, and taken off the CPU where it could not know (`R+`).
    Preempted,
    /// It sleeps (`S`).
    Sleeping,
    /// It has exited (`X`).
    Dead,
    /// It sleeps and signals do not wake it (`D`).
    Uninterruptible,
    /// Stopped by a signal (`T`).
    Stopped,
    /// Stopped by a tracer (`t`).
    Traced,
    /// It has exited and waits for its parent (`Z`).
    Zombie,
    /// A parked kernel thread (`P`).
    Parked,
    /// A kernel thread that sleeps without counting as load (`I`).
    Idle,
    /// The recording does not say.
    Unknown,
}

impl SwitchState {
    /// As the tracepoint prints it; `?` for [`Self::Unknown`].
    #[must_use]
    pub const fn letter(self) -> &'static str {
        match self {
            Self::Runnable => "R",
            Self::Preempted => "R+",
            Self::Sleeping => "S",
            Self::Dead => "X",
            Self::Uninterruptible => "D",
            Self::Stopped => "T",
            Self::Traced => "t",
            Self::Zombie => "Z",
            Self::Parked => "P",
            Self::Idle => "I",
            Self::Unknown => "?",
        }
    }

    /// Is the task still on the queue?
    #[must_use]
    pub const fn is_runnable(self) -> bool {
        matches!(self, Self::Runnable | Self::Preempted)
    }
}

/// Why a task did not run, in the words of the scheduler's statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DelayCause {
    /// It waited for a CPU (`sched_stat_wait`).
    Wait,
    /// It slept, and signals could wake it (`sched_stat_sleep`).
    Sleep,
    /// It slept uninterruptibly (`sched_stat_blocked`).
    Blocked,
    /// Of the blocked time, what it waited for a device (`sched_stat_iowait`).
    IoWait,
}

/// A name of a task (`comm`), as a number: whoever makes the events keeps the table of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub u32);

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// `sched_switch`: `prev` stops and `next` starts. `None` is the idle task.
    Switch {
        /// The task that ran.
        prev: Option<TaskId>,
        /// Why it stopped.
        prev_state: SwitchState,
        /// The task that runs from now on.
        next: Option<TaskId>,
    },
    /// `sched_waking`: a wakeup of `task` begins; it last ran on `prev_cpu`.
    Waking {
        /// The wakee.
        task: TaskId,
        /// Where it last ran.
        prev_cpu: CpuId,
    },
    /// `sched_wakeup`: the wakeup is done, the task is queued on `target`.
    Wakeup {
        /// The wakee.
        task: TaskId,
        /// Where it is queued.
        target: CpuId,
    },
    /// `sched_wakeup_new`: a new task is queued on `target`.
    WakeupNew {
        /// The new task.
        task: TaskId,
        /// Where it is queued.
        target: CpuId,
    },
    /// `sched_migrate_task`.
    Migrate {
        /// The task.
        task: TaskId,
        /// From here.
        from: CpuId,
        /// To here.
        to: CpuId,
    },
    /// `sched_process_fork`.
    Fork {
        /// The parent.
        parent: TaskId,
        /// The child.
        child: TaskId,
    },
    /// `sched_process_exec`.
    Exec {
        /// The task.
        task: TaskId,
    },
    /// `sched_process_exit`.
    Exit {
        /// The task.
        task: TaskId,
    },
    /// The task has this name from now on. Recordings write the name into every event; here it
    /// comes once, before the first event of the task, and again when it changes.
    Named {
        /// The task.
        task: TaskId,
        /// Its name.
        name: NameId,
    },
    /// The task is a thread of the process with the number of `process` (`tgid`), which is its own for
    /// a process's first thread. No tracepoint says it; recordings that know it tell it once, before
    /// the first event of the task, and again when it changes.
    Process {
        /// The task.
        task: TaskId,
        /// The first thread of its process.
        process: TaskId,
        /// The task that made it, where the recording knows (0 for the first tasks of a kernel).
        parent: Option<TaskId>,
    },
    /// The task has this kernel priority from now on: 0 to 99 real-time, 100 to 139 nice -20 to 19,
    /// negative deadline. Comes once and on every change, as [`Self::Named`].
    Priority {
        /// The task.
        task: TaskId,
        /// Its priority, as in `prev_prio`.
        prio: i16,
    },
    /// `sched_stat_runtime`: the task has run for so long since the last such event.
    StatRuntime {
        /// The task.
        task: TaskId,
        /// Time that it ran.
        runtime: Nanos,
    },
    /// `sched_stat_wait`, `_sleep`, `_blocked`, `_iowait`: for how long the task did not run, and why.
    StatDelay {
        /// The task.
        task: TaskId,
        /// What it waited for.
        cause: DelayCause,
        /// How long.
        delay: Nanos,
    },
    /// The CPU of the event runs this task, `None` the idle task. No tracepoint of its own: the
    /// recording says it beside another event, and no switch told of it (at its start, or because
    /// events were lost).
    Running {
        /// The task.
        task: Option<TaskId>,
    },
    /// `cpu_idle`: the CPU of the event enters an idle state, or leaves it (`None`).
    CpuIdle {
        /// Number of the state in the governor's table.
        state: Option<u32>,
    },
    /// `cpu_frequency`.
    CpuFrequency {
        /// The CPU whose clock changes.
        target: CpuId,
        /// Its new frequency in kHz.
        khz: u32,
    },
    /// Events of this CPU are missing here: the recording lost them.
    Lost {
        /// How many, where the recording says so.
        count: Option<u64>,
    },
}

impl EventKind {
    /// The same, with every task number replaced by what `number` makes of it.
    #[must_use]
    pub fn with_tasks(self, number: impl Fn(TaskId) -> TaskId) -> Self {
        let mut kind = self;
        match &mut kind {
            Self::Switch { prev, next, .. } => {
                *prev = prev.map(&number);
                *next = next.map(&number);
            }
            Self::Fork { parent, child } => {
                *parent = number(*parent);
                *child = number(*child);
            }
            Self::Process {
                task,
                process,
                parent,
            } => {
                *task = number(*task);
                *parent = parent.map(&number);
                *process = number(*process);
            }
            Self::Running { task } => *task = task.map(&number),
            Self::Waking { task, .. }
            | Self::Wakeup { task, .. }
            | Self::WakeupNew { task, .. }
            | Self::Migrate { task, .. }
            | Self::Exec { task }
            | Self::Exit { task }
            | Self::Named { task, .. }
            | Self::Priority { task, .. }
            | Self::StatRuntime { task, .. }
            | Self::StatDelay { task, .. } => *task = number(*task),
            Self::CpuIdle { .. } | Self::CpuFrequency { .. } | Self::Lost { .. } => {}
        }
        kind
    }
}
