//! Watching a run without changing it.

use fairlab_event::SchedEvent;
use fairlab_policy::{Cost, Decision, Section};
use fairlab_units::{CpuId, CpuMask, TaskId, Timestamp};
use fairlab_workload::ProgramId;

/// One placement, as it was asked and answered.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    /// When.
    pub time: Timestamp,
    /// The CPU that asked.
    pub this_cpu: CpuId,
    /// Where the task last ran.
    pub prev_cpu: CpuId,
    /// The task.
    pub task: TaskId,
    /// What it runs, in the workload.
    pub program: ProgramId,
    /// The answer.
    pub decision: Decision,
    /// The answer of the kernel that is asked beside, see [`crate::SimOptions::beside`].
    pub beside: Option<Decision>,
}

/// Receives what happens. All methods do nothing unless overridden.
pub trait Observer {
    /// An event, in time order.
    fn event(&mut self, _event: &SchedEvent) {}

    /// A task came to be. Comes before its first event.
    fn task(&mut self, _time: Timestamp, _task: TaskId, _program: ProgramId) {}

    /// From now on `task` has this kernel priority, as `prev_prio` of `sched_switch` prints it. Comes
    /// before the task's first event too.
    fn priority(&mut self, _time: Timestamp, _task: TaskId, _prio: i16) {}

    /// A placement.
    fn placement(&mut self, _placement: &Placement) {}

    /// From now on `task` may run on `allowed` only. Comes before the task's first event too, if it
    /// is restricted from its start.
    fn affinity(&mut self, _time: Timestamp, _task: TaskId, _allowed: &CpuMask) {}

    /// A placement that was to be explained, told in sentences, one per line. Comes after
    /// [`Self::placement`].
    fn story(&mut self, _placement: &Placement, _lines: &[String]) {}
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// Which kernel a question is put to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The kernel that schedules.
    Main,
    /// The kernel that is asked beside, see [`crate::SimOptions::beside`].
    Beside,
}

/// Measures sections of the policy's own code while the simulated load runs. Takes `&self`, since
/// the policy sees the machine read-only; implementations keep their state in cells.
///
/// A placement is one question to each kernel, and then [`Self::repeats`] more to each, alternating:
/// the policy is pure, so the state and the answers are the same each time.
pub trait SectionTimer {
    /// A question is put to a kernel.
    fn ask(&self, asked: Asked);
    /// A section begins; `cost` is what the decision has touched so far.
    fn enter(&self, section: Section, cost: &Cost);
    /// It ends.
    fn leave(&self, section: Section, cost: &Cost);
    /// How many times more the present placement is to be asked of each kernel.
    fn repeats(&self) -> u32 {
        0
    }
    /// The placement is over.
    fn done(&self) {}
}
