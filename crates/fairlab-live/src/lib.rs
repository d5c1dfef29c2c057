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
//!   Recorder           decisions of the kernel's own class with all that they depend on
//!   Shadow             the policy asked beside the kernel's own, and compared (Difference)
//! ```

#[cfg(feature = "live")]
mod builtin;
mod config;
mod difference;
#[cfg(feature = "live")]
mod ended;
mod error;
#[cfg(feature = "live")]
mod members;
#[cfg(feature = "live")]
mod object;
#[cfg(feature = "live")]
mod presence;
#[cfg(feature = "live")]
mod program;
#[cfg(feature = "live")]
mod record;
#[cfg(feature = "live")]
mod run;
#[cfg(feature = "live")]
mod session;
#[cfg(feature = "live")]
mod shadow;
mod stats;
mod status;
#[cfg(feature = "live")]
mod sys;

#[cfg(feature = "live")]
pub use builtin::Builtin;
pub use config::{Settings, config};
pub use difference::{Difference, Why};
#[cfg(feature = "live")]
pub use ended::Ended;
pub use error::LiveError;
#[cfg(feature = "live")]
pub use members::Members;
#[cfg(feature = "live")]
pub use object::Options;
#[cfg(feature = "live")]
pub use program::{Program, VERIFIED_LIMIT};
#[cfg(feature = "live")]
pub use record::{Recorder, Recording, record_decisions};
#[cfg(feature = "live")]
pub use run::{Until, domains_here, run};
#[cfg(feature = "live")]
pub use session::{Checked, Session};
#[cfg(feature = "live")]
pub use shadow::{Explained, Seen, Shadow, ShadowCounts, run_shadow};
pub use stats::{DISTANCES, FOUND, LATENCIES, LENGTHS, REASONS, Stats, quantile};
pub use status::{NAME, Status, is_root};
#[cfg(feature = "live")]
pub use sys::set_idle_policy;

/// The BPF program, as it was built with this crate.
#[cfg(feature = "live")]
pub static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/fairlab.bpf.o"));
