//! Taking tasks off the source's queue.

use fairlab_kernel::Feature;
use fairlab_units::TaskId;

use super::capacity::task_fits;
use super::cost::BalanceCost;
use super::env::{Env, IdleKind, MigrationType};
use super::migrate::{BalanceFlags, Pull, can_migrate};
use super::state::BalanceState;
use super::view::{BalanceOps, BalanceView};

/// Tasks examined before the lock is released for a moment (`SCHED_NR_MIGRATE_BREAK`).
pub const LOOP_BREAK: u32 = 32;

/// Tasks of less load are not moved at first, with [`Feature::LB_MIN`].
const TINY_LOAD: u64 = 16;

/// How far the examination of a source has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Tasks examined.
    pub count: u32,
    /// Tasks to examine before a pause.
    pub pause: u32,
    /// Tasks to examine at most.
    pub max: u32,
}

impl Progress {
    /// The start of an examination of at most `max` tasks.
    #[must_use]
    pub const fn new(max: u32) -> Self {
        Self {
            count: 0,
            pause: LOOP_BREAK,
            max,
        }
    }

    /// Starts again with the same limit.
    pub fn restart(&mut self) {
        *self = Self::new(self.max);
    }
}

/// The amount that moving `task` takes from the imbalance; `None`: the task is passed over.
#[must_use]
pub fn charge<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    pull: &Pull,
    task: TaskId,
    amount: i64,
) -> Option<i64> {
    let failed = state.domain(env.domain).nr_balance_failed;
    match pull.migration {
        MigrationType::Load => {
            let mut load = view.task_h_load(task);
            if env.has(Feature::LB_LOAD_AT_LEAST_ONE) {
                load = load.max(1);
            }
            if env.has(Feature::LB_MIN) && load < TINY_LOAD && failed == 0 {
                return None;
            }
            let tested = if env.has(Feature::LB_LOAD_SHIFT) {
                load >> failed.min(63)
            } else {
                load / 2
            };
            (tested as i64 <= amount).then_some(load as i64)
        }
        MigrationType::Util => {
            let util = view.task_util_est(task);
            let tested = if env.has(Feature::LB_UTIL_SHIFT) {
                util >> failed.min(63)
            } else {
                util
            };
            (tested as i64 <= amount).then_some(util as i64)
        }
        MigrationType::Task | MigrationType::LlcTask => Some(1),
        MigrationType::Misfit => {
            (!task_fits(env, view, state, task, pull.src_cpu)).then_some(amount)
        }
    }
}

/// Detaches tasks from the source until `amount` is used up; they are collected in `detached`.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `detach_tasks()`.
#[allow(
    clippy::too_many_arguments,
    reason = "each is one part of the kernel's lb_env"
)]
pub fn detach_tasks<O: BalanceOps + ?Sized>(
    env: &Env<'_>,
    ops: &mut O,
    state: &BalanceState,
    pull: &mut Pull,
    progress: &mut Progress,
    amount: &mut i64,
    detached: &mut alloc::vec::Vec<TaskId>,
    cost: &mut BalanceCost,
) {
    let src = pull.src_cpu;
    if env.has(Feature::LB_DETACH_LAST_UNPINNED) && ops.nr_running(src) <= 1 {
        pull.flags.clear(BalanceFlags::ALL_PINNED);
        return;
    }
    if *amount <= 0 {
        return;
    }
    while let Some(task) = ops.task_from_tail(src, 0) {
        // An idle destination must not take the last task: both would only swap roles.
        if env.idle.is_idle() && ops.nr_running(src) <= 1 {
            break;
        }
        progress.count += 1;
        let goes_on =
            env.has(Feature::LB_LOOP_WHILE_PINNED) && pull.flags.has(BalanceFlags::ALL_PINNED);
        if progress.count > progress.max && !goes_on {
            break;
        }
        if progress.count > progress.pause {
            progress.pause += LOOP_BREAK;
            pull.flags |= BalanceFlags::NEED_BREAK;
            break;
        }
        cost.tasks += 1;
        let charged = if can_migrate(env, ops, state, pull, task).is_yes() {
            charge(env, ops, state, pull, task, *amount)
        } else {
            None
        };
        let Some(charged) = charged else {
            ops.move_to_front(src, task);
            continue;
        };
        ops.detach(task, src, env.dst_cpu);
        detached.push(task);
        cost.moved += 1;
        *amount -= charged;
        if env.idle == IdleKind::NewlyIdle && ops.is_preemptible() {
            break;
        }
        if *amount <= 0 {
            break;
        }
    }
}
