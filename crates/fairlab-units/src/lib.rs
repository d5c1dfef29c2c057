//! The words of the model, as types: CPUs and sets of them, nodes, tasks, time, capacity.
//!
//! `no_std`; `alloc` is used to build masks, never to operate on them. The types carry no policy:
//! a [`CpuMask`] does not know machines, a [`Timestamp`] does not know clocks.
//!
//! ```text
//!   CpuId  NodeId  TaskId      who (newtypes over u32)
//!   CpuMask                    a set of CPUs, words of 64, with wrap-around walks
//!   Timestamp - Timestamp      = Nanos: a point and a span are different types
//!   Capacity, Util             the 1024 scale
//! ```
#![no_std]
extern crate alloc;

mod ids;
mod mask;
mod time;

pub use ids::{CpuId, NodeId, PerCpu, TaskId};
pub use mask::{CpuMask, Iter, ParseMaskError, Wrap};
pub use time::{Nanos, Timestamp};

/// One full CPU of the biggest kind on the capacity scale (`SCHED_CAPACITY_SCALE`).
pub const CAPACITY_SCALE: u64 = 1024;

/// Weight of a nice-0 task, unscaled (`NICE_0_LOAD >> 10` on 64-bit).
pub const NICE_0_WEIGHT: u64 = 1024;
