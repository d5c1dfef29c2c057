//! Records what the scheduler of this host does, through the kernel's tracefs and nothing else.
//!
//! ```text
//!   tracefs/instances/fairlab-PID-START/      a buffer of our own; other tracers are not disturbed
//!        per_cpu/cpuN/trace_pipe_raw ──> a thread for each CPU ──> pages in an unnamed file
//!        per_cpu/cpuN/stats          ──> what was lost
//!   /sys, /proc                      ──> snapshot: machine, settings, tasks with their CPUs and cgroups
//!                                        ──> trace.dat, version 6
//! ```
//!
//! # Whatever happens
//! The instance goes away when its owner is dropped, by a panic as well. What a killed process left
//! behind is found by its name, which says who made it, and removed by the next [`record`].
//!
//! # What this crate is not
//! It reads no events. The directories of tracefs and of /sys and /proc are arguments, so tests run on
//! trees of ordinary files.

mod error;
mod instance;
mod pages;
mod recorder;
mod snapshot;
mod tracefs;

pub use error::RecordError;
pub use instance::{instance_name, remove_stale};
pub use recorder::{CpuLoss, RecordOptions, Recorded, record};
pub use snapshot::{RecordedTask, tasks_of};
pub use tracefs::Tracefs;
