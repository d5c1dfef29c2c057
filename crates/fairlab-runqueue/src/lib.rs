//! The fair class's queues of one CPU: CFS (v5.4 to v6.1) and EEVDF (v6.6, v6.12, v7.2).
//!
//! A [`FairRq`] holds the queues of one CPU, [`Entities`] the entities of all CPUs; the queue keeps
//! only numbers, so a task moves between CPUs without being copied. Time comes in as an argument
//! and is the CPU's `clock_task`. Nothing here knows other CPUs or what a task does. Load averages are
//! kept beside the queue, by [`FairClass`], which puts the two together.
//!
//! ```text
//!   fork       add_task -> fork (parent's CPU) -> enqueue(NEW) -> check_preempt_wakeup
//!   wakeup     [migrate_wakeup (old CPU)] -> enqueue(WAKEUP) -> check_preempt_wakeup
//!   schedule   [dequeue(SLEEP) of the running task] -> pick_next -> put_prev -> set_next
//!   tick       tick -> Resched
//!   balance    dequeue(MOVE) -> enqueue(MOVED) on the other CPU -> check_preempt_wakeup
//!   always     pop_left after pick_next and check_preempt_wakeup: sleepers that have now left
//! ```
//!
//! # Invariants
//! - Enqueue, dequeue and pick allocate nothing; adding tasks and groups does.
//! - The sum of weighted lags of a queue is zero, up to rounding of the average.
//! - The order of entities with equal keys is the order of their insertion.
#![no_std]
extern crate alloc;

mod vruntime;
mod weight;

mod config;
mod entity;
mod flags;
mod resched;

mod cfs_rq;
mod timeline;

mod cfs;
mod eevdf;

mod rq;

mod bandwidth;
mod change;
mod delay;
mod entity_ops;
mod group;
mod hrtick;
mod preempt;
mod task_list;

mod restore;
mod turn;

mod higher;

mod fair_class;

#[cfg(test)]
mod tests;

pub use bandwidth::Bandwidth;
pub use cfs_rq::CfsRq;
pub use change::Change;
pub use config::RqConfig;
pub use entity::{Entities, Entity, EntityId, Policy};
pub use fair_class::FairClass;
pub use flags::{DequeueFlags, Dequeued, EnqueueFlags, WakeFlags};
pub use group::{GroupId, GroupLoad};
pub use higher::{HigherClass, HigherQueue, ROUND_ROBIN_SLICE};
pub use resched::Resched;
pub use restore::{EntityState, QueueSums};
pub use rq::FairRq;
pub use turn::Turned;
pub use vruntime::Vruntime;
pub use weight::{
    IDLE_WEIGHT, IDLE_WMULT, NICE_TO_WEIGHT, NICE_TO_WMULT, Weight, group_shares,
    weighted_by_division, weighted_by_inverse,
};
