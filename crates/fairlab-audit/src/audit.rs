//! What an audit says.

use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};

use crate::contradiction::Contradiction;
use crate::delay::Delays;
use crate::history::History;
use crate::idleness::Idleness;
use crate::migration::Migrations;
use crate::placement::Placements;
use crate::stacking::Stacking;

/// The findings.
#[derive(Clone, Debug)]
pub struct Audit {
    /// Time and counts.
    pub totals: Totals,
    /// Wakeups and forks.
    pub placements: Placements,
    /// Waiting beside idleness.
    pub idleness: Idleness,
    /// Sharing cores beside idle cores.
    pub stacking: Stacking,
    /// Moves.
    pub migrations: Migrations,
    /// Delays.
    pub delays: Delays,
    /// Time of each task that was seen, in the order of numbers.
    pub tasks: Vec<TaskTotals>,
    /// Busy time of each CPU.
    pub cpus: Vec<(CpuId, CpuTotals)>,
    /// Stretches in which events were lost: from the last event of the CPU before. An audit that is
    /// given these from the start ([`crate::AuditOptions::losses`]) is not fooled by them.
    pub losses: Vec<LossWindow>,
    /// Events that contradict those before: something between was not recorded. A task that turns up elsewhere
    /// after the last event of its CPU is none: recorders stop one CPU after the other.
    pub contradictions: u64,
    /// The first of them.
    pub first_contradiction: Option<Contradiction>,
    /// What happened, as far as that was asked for ([`crate::AuditOptions::history`]).
    pub history: History,
}

/// Time and counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// First event.
    pub from: Timestamp,
    /// Last event.
    pub to: Timestamp,
    /// Events.
    pub events: u64,
    /// Switches.
    pub switches: u64,
    /// Wakeups of tasks that slept.
    pub wakeups: u64,
    /// New tasks.
    pub forks: u64,
    /// `sched_waking` was there.
    pub has_waking: bool,
    /// `sched_migrate_task` was there.
    pub has_migrate: bool,
    /// Was there any `sched_wakeup`? If not, wakeups end where their task begins to run.
    pub has_wakeup: bool,
}

/// Time of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskTotals {
    /// The task.
    pub task: TaskId,
    /// On CPUs.
    pub running: Nanos,
    /// Runnable but not on a CPU.
    pub waiting: Nanos,
    /// How often it was switched to.
    pub switches: u64,
}

/// Time of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTotals {
    /// A task ran.
    pub busy: Nanos,
    /// Nothing ran.
    pub idle: Nanos,
    /// It is not known what ran.
    pub unknown: Nanos,
}

/// A stretch of time in which events of a CPU were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LossWindow {
    /// The last event before.
    pub from: Timestamp,
    /// The first event after.
    pub to: Timestamp,
    /// The CPU.
    pub cpu: CpuId,
}
