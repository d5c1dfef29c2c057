//! Simulated tasks have the numbers of processes wherever people see them beside real ones.

use fairlab::units::TaskId;

/// Simulated tasks have these numbers and up in a trace, where 0 is the idle task and the first
/// few hundred belong to the kernel's own threads.
const FIRST_PID: u32 = 1_000;

/// The number of a simulated task in traces and pages.
pub const fn pid(task: TaskId) -> TaskId {
    TaskId(task.0 + FIRST_PID)
}
