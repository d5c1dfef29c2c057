//! Records of the passes of loops, as rt-app writes them to its logs.

use fairlab_units::{Nanos, TaskId, Timestamp};
use fairlab_workload::ProgramId;

/// How far a task had come at the end of an [`Op::Stretch`](fairlab_workload::Op::Stretch).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lap {
    /// The program of the task.
    pub program: ProgramId,
    /// Index of the operation.
    pub op: u32,
    /// The task.
    pub task: TaskId,
    /// Time that the task had run by then.
    pub ran: Nanos,
    /// What of that the kernel took.
    pub overhead: Nanos,
    /// How often it had gone to sleep.
    pub sleeps: u32,
}

/// One pass of a loop of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopRow {
    /// The task.
    pub task: TaskId,
    /// The phase that the pass belongs to.
    pub phase: u32,
    /// When it began.
    pub start: Timestamp,
    /// When it ended.
    pub end: Timestamp,
    /// Wall-clock time between the beginning and the end of its stretches of computing.
    pub run: Nanos,
    /// What its operations asked for: CPU time at full speed, or wall-clock time where the workload
    /// asked for that.
    pub configured_run: Nanos,
    /// Sum of the periods of its timers.
    pub configured_period: Nanos,
    /// Time left until its last timer was to fire, when it got there; in ns, negative when late.
    pub slack: i64,
    /// The sum of that over all its timers.
    pub slack_sum: i64,
    /// Time between the firing of its timers and the task's going on.
    pub woken_late: Nanos,
}

impl LoopRow {
    pub(crate) fn new(task: TaskId, phase: u32, now: Timestamp) -> Self {
        Self {
            task,
            phase,
            start: now,
            end: now,
            run: Nanos::ZERO,
            configured_run: Nanos::ZERO,
            configured_period: Nanos::ZERO,
            slack: 0,
            slack_sum: 0,
            woken_late: Nanos::ZERO,
        }
    }
}
