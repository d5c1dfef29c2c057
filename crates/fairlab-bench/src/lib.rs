//! Measurements on this host, for real.
//!
//! ```text
//!   load::fork, pipe, hackbench, schbench, tbench    real processes, threads, pipes and sockets
//!        |
//!        v
//!   Measured: rows with a unit and a direction       in the words of the tool that is modelled
//!        |
//!        v
//!   calibrate: what hardware and kernel cost here, for the simulator
//!   ab::compare: two sides, interleaved, until it is known   environment: what may matter to it
//! ```
//!
//! [`ticks`] reads the tick counter of this CPU, which tables of ticks around a piece of code are
//! made of. The loads are those of the tools that scheduler developers quote, and print what these
//! print; where a load has to assume something about the tool, its file says so.

mod sys;

mod children;
mod cpus;
mod error;
mod measured;
mod messages;

pub mod ab;
pub mod calibrate;
pub mod environment;
pub mod load;
pub mod policy;

pub use cpus::CpuList;
pub use error::BenchError;
pub use measured::{Measured, Row};
pub use sys::{TICK_UNIT, ticks};
