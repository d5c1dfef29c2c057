//! Scheduling events as plain data: what the kernel's tracepoints say, and what the simulator emits.
//!
//! The one place where simulator and auditor meet. An event carries no file format and no state;
//! the meaning of each kind is that of the tracepoint with the same name.
#![no_std]

use fairlab_units::{CpuId, TaskId, Timestamp};

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
    /// Still runnable: preempted, or it yielded (`R`, `R+`).
    Runnable,
    /// It sleeps (`S`).
    Sleeping,
    /// It has exited (`X`).
    Dead,
}

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
}
