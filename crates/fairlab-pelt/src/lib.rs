//! Per-entity load tracking (PELT) in the kernel's fixed point: how much entities, queues and CPUs
//! have been used lately, and what fits where.
//!
//! Equal to the kernels to the bit, because their decisions hang on single units: a queue of load
//! 1023 is not one of 1024. So nothing here is rounded better than Linux rounds it, and every
//! difference between releases is a [`Feature`](fairlab_kernel::Feature) that is looked up where
//! it matters.
//!
//! What it is not: it knows no queues' order, no CPUs beside the one asked about, no events and no
//! clock. Time is handed in, all state is in plain values that the caller keeps, and nothing
//! allocates.
//!
//! # The series
//!
//! Time is cut into periods of 1024 units of 1024 ns, about a millisecond. What happened `n` periods
//! ago counts `y^n`, with `y` such that `y^32 = 1/2`. If `u0` is the part of the present period in
//! which a signal was on, `u1` that of the period before, and so on, its sum is
//!
//! ```text
//!   sum = u0 + u1*y + u2*y^2 + u3*y^3 + ...
//! ```
//!
//! The whole past is one number: when a period ends, `sum = sum*y`. A span of time adds three parts,
//!
//! ```text
//!            first          p - 1 whole periods             last
//!          |<----->|<-------------------------------->|<------------>|
//!   ---x---|-------|--------|------- ... -----|-------|--------------x
//!      last update                                                 now
//!
//!   sum' = sum*y^p  +  first*y^p  +  1024*(y + ... + y^(p-1))  +  last
//!                      `------------- segments(p, first, last) -------'
//! ```
//!
//! and the middle one needs no loop: with `MAX = 1024*(1 + y + y^2 + ...)` it is
//! `MAX - MAX*y^p - 1024`. `MAX` is what a signal reaches that is always on; truncation at every
//! step makes it 47742 ([`LOAD_AVG_MAX`]) instead of 47789. The average is the sum divided by what
//! it could be at this point of the open period, `MAX - 1024 + (units of the open period)`
//! ([`SchedAvg::divider`]), so that it does not jump when a period ends.
//!
//! Each decay truncates. How a stretch of time is cut into updates therefore shows in the last
//! digits: 400 updates of a millisecond give a sum of 47182 where one update of 400 ms gives 47187.
//! An exact replay has to update when the kernel does.
//!
//! # The signals
//!
//! | | counts time | entity | queue |
//! |---|---|---|---|
//! | load | on the queue | times weight in the average | weights of all entities in the sum |
//! | runnable | running or waiting | 1024 = always | 1024 per task that is always runnable |
//! | utilization | running | 1024 = always, on the biggest CPU | same |
//!
//! # Life of an entity
//!
//! ```text
//!   SchedAvg::new_task -> init_util          fork: load full, utilization a guess
//!        |
//!        v                         QueueAvg::
//!   (belongs to no queue) ---------- attach ---------> on a queue: update, reweight
//!        ^                                               |        ^
//!        |                                         sleep |        | wake on the same CPU
//!        |                                               v        |
//!        '--- forget_queue <--- detach, remove --- blocked: update_blocked, sync
//! ```
//!
//! [`QueueAvg::update_load_avg`] does the steps of one event in the kernel's order.
//! [`PeltClock`] gives the time to hand in, [`UtilEst`] remembers what a sleeper used, and
//! [`cpu_util`], [`CapacityInput`], [`util_fits_cpu`] read the result.
//!
//! ```
//! use fairlab_kernel::{Kernel, Release};
//! use fairlab_pelt::{EntityMut, EntityState, PeltTime, QueueAvg, QueueState, SchedAvg, UpdateFlags};
//!
//! let kernel = Kernel::of(Release::V6_12);
//! let state = EntityState::task(1024 << 10, true, true);
//! let mut queue = QueueAvg::default();
//! let mut task = SchedAvg::new_task(&kernel, &state);
//! task.init_util(&kernel, &state, &queue.avg, 1024);
//! assert_eq!(task.util_avg, 512); // half of what the CPU has to spare
//!
//! // It is enqueued, and runs for 50 ms.
//! let alone = QueueState { weight: state.weight, h_nr_runnable: 1, has_curr: true, ..Default::default() };
//! for ms in 1..=50 {
//!     let now = PeltTime(ms * 1_000_000);
//!     let entity = EntityMut::task(&mut task, state);
//!     queue.update_load_avg(&kernel, now, &alone, entity, UpdateFlags::DO_ATTACH);
//! }
//! assert_eq!(task.util_avg, 838);
//! ```
#![no_std]

mod series;
mod time;

mod avg;
mod entity;
mod util_est;

mod change;
mod queue;

mod init;
mod transfer;
mod turn;

mod group;

mod classes;
mod clock;

mod capacity;
mod effective;
mod fit;
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
pub use turn::OnQueue;
pub use util_est::UtilEst;
pub use utilization::{
    CpuUtil, TaskUtil, cpu_util, cpu_util_call, cpu_util_cfs, cpu_util_cfs_boost, cpu_util_without,
    cpu_util_without_call,
};
