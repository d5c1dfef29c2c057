//! The policy as a sched_ext scheduler of the running kernel.
//!
//! A BPF program schedules; where it puts a task that wakes, and who is owed time, is decided by
//! `fairlab-live-policy`, compiled into it. This crate builds that program (feature `live`, see
//! `build/bpf.rs`), tells it the machine and the rules, and watches it.
//!
//! ```text
//!   Status::check      may a scheduler be loaded here?
//!   config             machine and rules, as the program reads them
//!   Session            load, attach, counts, check of decisions, end
//! ```

mod config;
#[cfg(feature = "live")]
mod ended;
mod error;
#[cfg(feature = "live")]
mod run;
#[cfg(feature = "live")]
mod session;
mod stats;
mod status;
#[cfg(feature = "live")]
mod sys;

pub use config::{Settings, config};
#[cfg(feature = "live")]
pub use ended::Ended;
pub use error::LiveError;
#[cfg(feature = "live")]
pub use run::{domains_here, run};
#[cfg(feature = "live")]
pub use session::{Checked, Options, Session, Verified};
pub use stats::{LATENCIES, REASONS, Stats};
pub use status::{NAME, Status, is_root};
#[cfg(feature = "live")]
pub use sys::set_idle_policy;

/// The BPF program, as it was built with this crate.
#[cfg(feature = "live")]
pub static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/fairlab.bpf.o"));
