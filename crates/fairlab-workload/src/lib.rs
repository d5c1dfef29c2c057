//! Tasks as small programs, and the workloads made of them.
//!
//! ```text
//!   "schbench -m 4 -t 16"  --parse-->  Workload { programs, tasks, futexes, pipes, metrics }
//!                                          Program = [Wait, Begin, Run, End, Push, Post, Jump]
//! ```
//!
//! A workload is named and parameterised like the tool that it models. It says what tasks do, never
//! where or when they run: no machines, no policies here. Time is CPU time at full speed.
#![no_std]
extern crate alloc;

mod catalogue;
mod compute;
mod group;
mod hackbench;
mod hogs;
mod memory;
mod messaging;
mod mix;
mod options;
mod processes;
mod program;
mod requests;
mod schbench;
mod services;
mod unixbench;
mod workload;

pub use catalogue::{CATALOGUE, Entry, parse};
pub use group::{CpuMax, TaskGroup};
pub use memory::{Home, Region, RegionUse};
pub use options::{OptionError, OptionSpec, Options, WordSpec, WorkloadError};
pub use program::{
    BarrierId, Begins, Class, CondId, FutexId, ListId, MaskId, MetricId, MutexId, Op, Part, PipeId,
    Program, ProgramBuilder, ProgramId, RegionId, SemaphoreId, Span, TaskGroupId, TimerId,
    TimerOrigin, TimerSpec, Who,
};
pub use workload::{Channel, End, Metric, MetricUnit, PipeSpec, Report, Workload, WorkloadBuilder};
