//! Recorded scheduling as a workload: who runs for how long, sleeps, and wakes whom.
//!
//! ```text
//!   events ──> work       CPU time of each task at full speed, without what the kernel took
//!      │
//!      └─────> edges      who wakes whom, and what timers wake
//!                │
//!             recorder    one program per task ──> Workload
//! ```
//!
//! # What is kept and what is not
//! Each task becomes a program of its own. CPU time is kept as work: less what switches, wakeups, moves
//! and forks took, and less what SMT siblings slowed it down by, both after the table of costs that the
//! simulation will charge again. Sleeps that a task ended are waits for that task, and the waker
//! posts at the same point of its own work: whoever gets there sooner lets the other begin sooner. Sleeps
//! that a timer or a device ended are kept at their length, whenever they begin. Time that a task
//! waited for a CPU is gone.
//!
//! # How a timer's wakeup is told from a task's
//! Events do not tell whether code of a task or an interrupt woke a task. A wakeup on an idle CPU is an
//! interrupt's, one elsewhere than where the wakee slept a task's. One on the CPU where the wakee slept may be
//! either, since that is where its timers fire: it is the running task's when that task is a child of the wakee, when
//! it wakes others about then or the same task from elsewhere, when interrupts never wake the wakee, or when the
//! task makes most of its wakeups.
//!
//! # In which order a task does its work
//! A task that is woken by several others answers each of them as often as it was woken by it, in the order in which
//! they come in the replay, not in the order of the recording: a server does not wait for its slowest client. See
//! [`Program::parts`](fairlab_workload::Program::parts).
//!
//! # Frequencies
//! A recording does not tell at which frequency its CPUs ran. Work is therefore what a CPU of that machine
//! does at the speed that it had, and a replay must not slow it down once more: [`replay_costs`].
//!
//! # What this crate is not
//! It reads no files and simulates nothing.

use fairlab_sim::{CostTable, MachineClass};
use fairlab_topology::Machine;

mod arrival;
mod draft;
mod edges;
mod fit;
mod recorder;
mod work;

pub use edges::Edges;
pub use fit::Nearness;
pub use recorder::{LeftOut, Recorded, Recorder};

/// The costs of `machine`'s class, with every core always at full speed: to record with, and to
/// simulate what was recorded.
#[must_use]
pub fn replay_costs(machine: &Machine) -> CostTable {
    CostTable {
        boost_speed: vec![1024],
        lowest_speed: 1024,
        ..MachineClass::of(machine).table()
    }
}
