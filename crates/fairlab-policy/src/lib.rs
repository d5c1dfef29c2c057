//! Where a task goes: wakeup, fork and exec placement, and balancing.
//!
//! The policy is pure: it sees the machine only through [`MachineView`], which the simulator, the
//! auditor, the oracle comparison and library users implement, and it answers a [`Decision`]. It has
//! no clock, no random numbers, no heap on a decision, and it does not know how runqueues work.
#![no_std]
extern crate alloc;

mod decision;
mod view;

pub use decision::{Cost, Decision, Reason};
pub use view::{MachineView, Section, TaskView, WakeFlags};
