//! Load balancing of fair tasks: who pulls, from whom, how much, and which tasks.
//!
//! ```text
//!   rebalance_domains / newidle_balance / nohz_idle_balance      when        periodic, newidle, nohz
//!      |  for each domain upward
//!      v
//!   load_balance                                                 one domain  pass
//!      |  should_we_balance                                      who         should_balance
//!      |  find_busiest_group                                     from whom   group_stats, sums, classify,
//!      |                                                                     busiest_group, imbalance
//!      |  find_busiest_queue                                     which CPU   busiest_queue
//!      |  detach_tasks                                           which tasks detach, migrate
//!      v
//!   active_balance (in the source's stopper)                                 active
//! ```
//!
//! Decisions are pure functions of an [`Env`], a [`BalanceView`] and a [`BalanceState`]. Passes are
//! methods of [`Balancer`]; they move tasks through [`BalanceOps`]. The caller owns the state and
//! the scratch memory, and no pass allocates. What differs between releases is a
//! [`Feature`](fairlab_kernel::Feature); the algorithm before v5.5 is in [`v5_4`].
//!
//! One root domain is assumed: the flags `overload` and `overutilized` of [`BalanceState`] are kept
//! once. A caller with several partitions keeps one state for each.

pub mod active;
pub mod asym;
pub mod busiest_group;
pub mod busiest_queue;
pub mod capacity;
pub mod classify;
mod cost;
pub mod detach;
mod env;
pub mod group_stats;
pub mod idle_scan;
pub mod imbalance;
pub mod interval;
pub mod llc;
pub mod migrate;
pub mod newidle;
pub mod nohz;
mod pass;
pub mod periodic;
pub mod settle;
mod should_balance;
mod state;
mod sums;
pub mod v5_4;
mod view;

pub use active::ActiveOutcome;
pub use busiest_group::{DomainStats, Imbalance, find_busiest_group};
pub use busiest_queue::find_busiest_queue;
pub use classify::GroupType;
pub use cost::BalanceCost;
pub use env::{Env, IdleKind, MigrationType, NumaClass, is_core_idle};
pub use group_stats::GroupStats;
pub use migrate::{BalanceFlags, MigrateAnswer, Pull, can_migrate};
pub use newidle::{NewidleOutcome, NewidleResult};
pub use nohz::Kick;
pub use pass::{Attempt, Balancer};
pub use periodic::PeriodicOutcome;
pub use settle::AttemptEnd;
pub use should_balance::should_we_balance;
pub use state::{
    BalanceScratch, BalanceState, CpuBalance, DomainState, GroupState, KickFlags, NohzState,
    SharedBalance,
};
pub use view::{BalanceOps, BalanceTask, BalanceView, CapacityLoss, NumaFaults};
