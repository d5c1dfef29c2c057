//! What a file says, checked; times in microseconds as in the file.

use crate::error::Place;

/// A workload file of rt-app.
#[derive(Clone, Debug, PartialEq)]
pub struct RtApp {
    /// What holds for all tasks.
    pub global: Global,
    /// The tasks, in the order of the file.
    pub tasks: Vec<Task>,
    /// What was read but has no effect, and other things worth knowing.
    pub notes: Vec<Note>,
}

/// Something worth knowing about a file that is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where.
    pub place: Place,
    /// What.
    pub message: String,
}

/// The `global` object.
#[derive(Clone, Debug, PartialEq)]
pub struct Global {
    /// Seconds until all tasks are stopped; none: until they end by themselves.
    pub duration: Option<u32>,
    /// What a `run` is measured in.
    pub calibration: Calibration,
    /// Policy of the tasks that name none.
    pub default_policy: Policy,
    /// Is the slack of all timers of a phase summed up?
    pub cumulative_slack: bool,
    /// Size of each thread's buffer for `mem` and `iorun`, in bytes.
    pub mem_buffer_size: u32,
    /// Where `iorun` writes to.
    pub io_device: String,
    /// Prefix of the names of log files.
    pub log_basename: String,
}

/// What one microsecond of `run` stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calibration {
    /// A microsecond of this CPU.
    Cpu(u32, Place),
    /// Loops of this many nanoseconds, measured on a CPU that the file does not name; taken for one
    /// of full speed.
    NsPerLoop(u32),
}

/// A scheduling policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// `SCHED_OTHER`.
    Other,
    /// `SCHED_IDLE`.
    Idle,
    /// `SCHED_RR`.
    RoundRobin,
    /// `SCHED_FIFO`.
    Fifo,
    /// `SCHED_DEADLINE`.
    Deadline,
}

impl Policy {
    pub(crate) const ALL: [Self; 5] = [
        Self::Other,
        Self::Idle,
        Self::RoundRobin,
        Self::Fifo,
        Self::Deadline,
    ];

    /// As in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Other => "SCHED_OTHER",
            Self::Idle => "SCHED_IDLE",
            Self::RoundRobin => "SCHED_RR",
            Self::Fifo => "SCHED_FIFO",
            Self::Deadline => "SCHED_DEADLINE",
        }
    }

    pub(crate) const fn is_fair(self) -> bool {
        matches!(self, Self::Other | Self::Idle)
    }

    /// The priority of tasks that name none: nice 0, or 10.
    pub(crate) const fn default_priority(self) -> i32 {
        match self {
            Self::RoundRobin | Self::Fifo => 10,
            _ => 0,
        }
    }
}

/// How often something is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loops {
    /// For ever (-1).
    Forever,
    /// This many times.
    Times(u32),
}

/// Scheduling attributes in force from a point on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sched {
    /// The policy.
    pub policy: Policy,
    /// Nice value, or real-time priority.
    pub priority: i32,
    /// `dl-runtime`, in us; for fair tasks the slice. 0: none.
    pub dl_runtime: u32,
    /// `dl-deadline`, in us.
    pub dl_deadline: u32,
    /// `dl-period`, in us.
    pub dl_period: u32,
    /// Clamps of the utilization.
    pub clamp: (u16, u16),
}

/// A set of numbers in the file: CPUs or nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// The numbers, each with its place.
    pub numbers: Vec<(u32, Place)>,
}

/// An entry of the `tasks` object.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its key.
    pub name: String,
    /// Where that is.
    pub place: Place,
    /// Number of threads at the start; 0 for a task that is only forked.
    pub instances: u32,
    /// Time before it starts, in us.
    pub delay: u32,
    /// How often the phases are repeated, all together.
    pub loops: Loops,
    /// Attributes at its start.
    pub sched: Sched,
    /// Its task group at the start.
    pub taskgroup: Option<String>,
    /// Memory nodes at its start.
    pub nodes: Option<Numbers>,
    /// The phases; at least one.
    pub phases: Vec<Phase>,
}

/// A phase of a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Its key; empty when the task has no `phases`.
    pub name: String,
    /// How often it is repeated before the next one.
    pub loops: Loops,
    /// Attributes that it changes.
    pub sched: Option<Sched>,
    /// CPUs that it may use: its own, or else the task's.
    pub cpus: Option<Numbers>,
    /// Task group that it changes to.
    pub taskgroup: Option<String>,
    /// Memory nodes that it changes to.
    pub nodes: Option<Numbers>,
    /// What it does.
    pub events: Vec<Event>,
}

/// A timer as an event refers to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimerUse {
    /// Its name; one that begins with `unique` stands for a timer of each thread.
    pub name: String,
    /// Period in us.
    pub period: u32,
    /// Does it keep its first reference?
    pub is_absolute: bool,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Compute what the calibrated CPU computes in this time.
    Run(u32),
    /// Compute for this time.
    Runtime(u32),
    /// Sleep.
    Sleep(u32),
    /// Wait for a timer.
    Timer(TimerUse),
    /// Take a mutex.
    Lock(String),
    /// Give it back.
    Unlock(String),
    /// Wait for a condition.
    Wait {
        /// The condition.
        cond: String,
        /// The mutex.
        mutex: String,
    },
    /// Signal a condition, and wait for it.
    Sync {
        /// The condition.
        cond: String,
        /// The mutex.
        mutex: String,
    },
    /// Signal a condition.
    Signal(String),
    /// Signal it to all.
    Broadcast(String),
    /// Wait for all others who use this name.
    Barrier(String),
    /// Take one from a semaphore.
    SemWait(String),
    /// Add one to it.
    SemPost(String),
    /// Wait until somebody resumes this name.
    Suspend(String),
    /// Wake all who are suspended under this name.
    Resume(String),
    /// Write this many bytes to memory.
    Mem(u32),
    /// Write this many bytes to the device.
    IoRun(u32),
    /// Give the CPU away.
    Yield,
    /// Start a task.
    Fork(String),
}
