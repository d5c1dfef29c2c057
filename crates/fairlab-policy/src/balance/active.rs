//! Active balance: pushing the task that runs, by the stopper of the source.

use fairlab_kernel::Feature;
use fairlab_units::{CpuId, TaskId};

use super::asym;
use super::cost::BalanceCost;
use super::env::{Env, IdleKind, MigrationType};
use super::llc;
use super::migrate::{BalanceFlags, Pull, can_migrate};
use super::pass::Balancer;
use super::state::BalanceState;
use super::view::{BalanceOps, BalanceView};

/// Is moving queued tasks not enough, so that the running task of `src` must be pushed?
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `need_active_balance()`.
#[doc(alias = "need_active_balance")]
#[must_use]
pub fn is_needed<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    src: CpuId,
    migration: MigrationType,
) -> bool {
    if llc::vetoes_active(env, view, state, src, migration) {
        return false;
    }
    if is_voluntary(env, view, state, src, migration) {
        return true;
    }
    let failed = state.domain(env.domain).nr_balance_failed > env.sd.cache_nice_tries + 2;
    failed && (migration == MigrationType::Task || !env.has(Feature::LB_ACTIVE_BY_TYPE))
}

/// The reasons other than repeated failure (`voluntary_active_balance` to v5.10).
#[must_use]
pub(crate) fn is_voluntary<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    src: CpuId,
    migration: MigrationType,
) -> bool {
    if asym::wants_active(env, view, src) {
        return true;
    }
    if env.idle.is_idle()
        && env.h_nr(view, src) == 1
        && env.is_capacity_reduced(state, src)
        && state.capacity_of(src) * u64::from(env.sd.imbalance_pct)
            < state.capacity_of(env.dst_cpu) * 100
    {
        return true;
    }
    matches!(migration, MigrationType::Misfit | MigrationType::LlcTask)
}

/// What the stopper did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveOutcome {
    /// The CPU that was to take the task.
    pub dst: Option<CpuId>,
    /// The task that was moved.
    pub moved: Option<TaskId>,
    /// What it touched.
    pub cost: BalanceCost,
}

impl Balancer<'_> {
    /// Runs in the stopper of `src` after [`BalanceOps::start_active_balance`]: moves one task to
    /// the CPU that asked. The stopper itself is not counted by [`BalanceView::nr_running`], and
    /// the task that ran is not running any more.
    ///
    /// # Source
    /// Linux v6.12 `kernel/sched/fair.c`, `active_load_balance_cpu_stop()`.
    #[doc(alias = "active_load_balance_cpu_stop")]
    pub fn active_balance<O: BalanceOps + ?Sized>(
        &mut self,
        ops: &mut O,
        src: CpuId,
    ) -> ActiveOutcome {
        let mut outcome = ActiveOutcome {
            dst: self.state.cpus[src].push_to.take(),
            moved: None,
            cost: BalanceCost::default(),
        };
        let Some(dst) = outcome.dst else {
            return outcome;
        };
        if !ops.active().test(src) || !ops.active().test(dst) || ops.nr_running(src) == 0 {
            return outcome;
        }
        let Some(domain) = self
            .domains
            .chain(dst)
            .find(|id| self.domains.span(*id).test(src))
        else {
            return outcome;
        };
        self.scratch.cpus.copy_from(self.domains.span(domain));
        let env = Env::new(
            self.kernel,
            self.domains,
            domain,
            &self.scratch.cpus,
            dst,
            IdleKind::Idle,
        );
        let flags = if self.kernel.has(Feature::LB_ACTIVE_IGNORES_HOT) {
            BalanceFlags::ACTIVE
        } else {
            // Keeps can_migrate from looking for another destination.
            BalanceFlags::DST_PINNED
        };
        let mut pull = Pull {
            src_cpu: src,
            migration: MigrationType::Load,
            flags,
            new_dst_cpu: None,
        };
        let mut nth = 0;
        while let Some(task) = ops.task_from_tail(src, nth) {
            nth += 1;
            outcome.cost.tasks += 1;
            if can_migrate(&env, ops, self.state, &mut pull, task).is_yes() {
                outcome.moved = Some(task);
                break;
            }
        }
        if let Some(task) = outcome.moved {
            ops.detach(task, src, dst);
            self.state.domain_mut(domain).nr_balance_failed = 0;
            ops.attach(task, dst);
            outcome.cost.moved += 1;
        }
        outcome
    }
}
