//! Per-entity load tracking in the kernel's fixed point
#![no_std]

mod avg;
mod capacity;
mod change;
mod classes;
mod clock;
mod effective;
mod entity;
mod fit;
mod group;
mod init;
mod queue;
mod series;
mod time;
mod transfer;
mod util_est;
mod utilization;

pub use avg::{Contribution, SchedAvg};
pub use capacity::{CapacityInput, capacity_greater, fits_capacity, scale_irq_capacity};
pub use clock::{PeltClock, Speed, ThrottledClock};
pub use effective::{EffectiveInput, EffectiveUtil, effective_cpu_util};
pub use entity::{EntityState, scale_load_down};
pub use fit::{
    Clamp, CpuCapacity, Fit, MisfitInput, is_overutilized, misfit_load, task_fits_cpu,
    util_fits_cpu,
};
pub use queue::{QueueAvg, QueueState, Removed};
pub use series::{
    HALF_LIFE_PERIODS, LOAD_AVG_MAX, MIN_DIVIDER, PERIOD_NS, PERIOD_UNITS, decay, segments,
};
pub use time::PeltTime;
pub use transfer::{EntityMut, LoadUpdate, UpdateFlags};
pub use util_est::UtilEst;
pub use utilization::{
    CpuUtil, TaskUtil, cpu_util, cpu_util_call, cpu_util_cfs, cpu_util_cfs_boost, cpu_util_without,
    cpu_util_without_call,
};
