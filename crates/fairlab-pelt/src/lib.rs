//! Per-entity load tracking in the kernel's fixed point
#![no_std]

mod avg;
mod change;
mod entity;
mod group;
mod init;
mod queue;
mod series;
mod time;
mod transfer;
mod util_est;

pub use avg::{Contribution, SchedAvg};
pub use entity::{EntityState, scale_load_down};
pub use queue::{QueueAvg, QueueState, Removed};
pub use series::{
    HALF_LIFE_PERIODS, LOAD_AVG_MAX, MIN_DIVIDER, PERIOD_NS, PERIOD_UNITS, decay, segments,
};
pub use time::PeltTime;
pub use transfer::{EntityMut, LoadUpdate, UpdateFlags};
pub use util_est::UtilEst;
