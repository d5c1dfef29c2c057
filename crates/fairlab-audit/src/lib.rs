//! Judges what a scheduler did, from its events: where tasks were placed badly, what waited while
//! CPUs idled, what it cost.
//!
//! An [`Auditor`] is handed events in time order, one by one, and keeps the state of every CPU and
//! task as far as the events tell it. [`Auditor::finish`] gives the [`Audit`].
//!
//! ```text
//!   events ──> track    who runs, waits, sleeps where; what is unknown
//!                │
//!                ├──> placement    each wakeup and fork: what was idle at that moment, and the delay
//!                ├──> idleness     tasks that wait beside idle CPUs, as episodes
//!                ├──> stacking     threads that share a core beside idle cores
//!                ├──> migration    by distance and cause; useless ones; ping-pong
//!                └──> delay        from wakeup to run, by task, CPU and pair
//!
//!   events ──> reconstruct ──> whatif    each placement, asked again of another kernel
//! ```
//!
//! # What is known and what is not
//! Recordings begin in the middle and lose events. A CPU is *unknown* until an event says what runs
//! on it, and again after a loss; so is a task. A verdict says whether it is sure ([`Certainty`]):
//! that an idle CPU existed is sure when that CPU is known to be idle, that none existed is sure
//! only when all were known. Where a task may not run everywhere ([`Auditor::allow`]), CPUs that it
//! may not use count neither as idle nor as better.
//!
//! # What this crate is not
//! An audit shares no code with what it judges: neither the simulator nor the policies are used for
//! it, and no file format is known. Only [`WhatIf`] asks the policies, which is its purpose.

mod audit;
mod auditor;
mod contradiction;
mod delay;
mod history;
mod idleness;
mod map;
mod migration;
mod placement;
mod reconstruct;
mod stacking;
mod track;
mod whatif;
mod words;

pub use audit::{Audit, CpuTotals, LossWindow, TaskTotals, Totals};
pub use auditor::{AuditOptions, Auditor};
pub use contradiction::{Conflict, Contradiction};
pub use delay::{DelayRow, Delays, LongWait, Pair};
pub use history::{History, Move, Stretch};
pub use idleness::{Episode, Idleness};
pub use map::{Level, Map};
pub use migration::{Cause, Migrations, PingPong};
pub use placement::{Certainty, Found, Kind, Missed, Placed, PlacementRow, Placements};
pub use reconstruct::{Asked, Assumed, Picks};
pub use stacking::Stacking;
pub use whatif::{
    Agreement, Answer, Difference, Doubt, Doubts, Example, Met, Relation, Skipped, SyncFlags,
    WhatIf, WhatIfOptions, Why,
};
pub use words::outcome;
