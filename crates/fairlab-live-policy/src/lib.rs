//! The policy as a scheduler inside a running kernel asks it.
//!
//! This crate is compiled twice: as BPF, where a shim in C fills a [`Request`] and calls the functions
//! of `entry` (feature of that name), and for the host, where a loader asks the same question again and
//! compares the answers. The rules themselves are those of `fairlab-policy` and `fairlab-runqueue`;
//! here is only what stands between them and memory of fixed size.
//!
//! ```text
//!   Config (read-only, from the loader)   Request (one wakeup, from the shim)
//!                    \                     /
//!                     Wakeup: Surroundings      -> place() -> Answer { cpu, reason }
//!                                               -> spare(), leaves_core(): balance when a slice ends
//!   TaskClock, QueueClock                       -> virtual time: lag, deadline
//! ```
//!
//! What a verifier accepts shapes the code: arrays have power-of-two sizes and are indexed through a
//! mask, nothing panics, loops run over whole words.
#![no_std]

mod clock;
mod config;
mod cores;
#[cfg(feature = "entry")]
mod entry;
mod place;
mod request;
mod search;
mod spare;
mod wakeup;

pub use clock::{QueueClock, TaskClock, VTIME_PER_NS_SHIFT, weight_of_nice};
pub use config::{CLUSTERS, CPUS, Config, CpuFacts, LLCS, NO_THREAD, NONE, THREADS, WORDS};
pub use cores::{Siblings, find_idle_cores};
pub use place::place;
pub use request::{Answer, Decision, Request, WakeKind};
pub use search::Hits;
pub use spare::{PATIENCE_NS, Place, Queued, is_crowded, leaves_core, spare};
