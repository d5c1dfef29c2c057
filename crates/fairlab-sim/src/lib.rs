//! The deterministic simulator: a machine, a kernel, a workload, and what came of them.
//!
//! ```text
//!   Workload --ops--> tasks --wake, fork--> policy (placement) --> FairQueue per CPU --> segments
//!                       ^                                              |
//!                       '-------- timers, pipes, futexes <------------'
//! ```
//!
//! One run is one thread; time is an argument; all randomness comes from named streams of one seed.
//! The engine takes what is due from a queue with a total order, so the same inputs give the same
//! events. It knows no files, no wall clock, and no metrics but its own counts.
//!
//! Where to start: [`run`]; then `engine.rs` (the loop), `ops.rs` (what programs do), `wake.rs` (where
//! tasks go), `schedule.rs` (what a CPU runs), `balance.rs`.

mod attributes;
mod balance;
mod begin;
mod cache_aware;
mod census;
mod costs;
mod cpu;
mod cpus;
mod energy;
mod engine;
mod event_queue;
mod exec;
mod fair_queue;
mod groups;
mod higher;
mod idle;
mod lock;
mod loops;
mod memory;
mod metrics;
mod misses;
mod moves;
mod numa;
mod observer;
mod operations;
mod ops;
mod parts;
mod resources;
mod schedule;
mod speed;
mod sync;
mod task;
mod turn;
mod wake;
mod warmth;
mod world;

pub use costs::{ByDistance, CostTable, ENTRIES, Entry, MachineClass, Shape, Unit};
pub use engine::{Explain, SimError, SimOptions, run, run_and_turn};
pub use fairlab_topology::{Distance, Distances};
pub use loops::{Lap, LoopRow};
pub use metrics::{Counts, CpuTime, GroupTime, RunResult, TaskTime};
pub use misses::{Found, Missed};
pub use observer::{Asked, Observer, Placement, SectionTimer, Silent};
pub use turn::Turn;
