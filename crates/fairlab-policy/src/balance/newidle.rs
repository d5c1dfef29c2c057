//! Balancing when a CPU has run out of tasks.

use fairlab_kernel::{Feature, Kernel};
use fairlab_topology::domains::{DomainFlags, DomainId};
use fairlab_units::CpuId;

use super::cost::BalanceCost;
use super::env::IdleKind;
use super::interval::note_newidle_cost;
use super::pass::Balancer;
use super::state::DomainState;
use super::view::BalanceOps;

/// What the pick should do after newidle balancing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NewidleResult {
    /// Go idle.
    Nothing,
    /// So many tasks were pulled.
    Pulled(u32),
    /// A fair task has come by itself.
    FairTask,
    /// A task of a higher class has come: pick again from the top.
    HigherClass,
}

impl NewidleResult {
    /// Is there a fair task now? Then `idle_stamp` is to be cleared.
    #[must_use]
    pub const fn has_task(self) -> bool {
        !matches!(self, Self::Nothing)
    }
}

/// What newidle balancing did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewidleOutcome {
    /// What the pick should do.
    pub result: NewidleResult,
    /// It gave up before looking at any domain.
    pub gave_up: bool,
    /// Blocked averages are to be refreshed when the CPU enters idle.
    pub stats_at_idle: bool,
    /// What it touched.
    pub cost: BalanceCost,
}

/// The weight of a success in a domain, by its success ratio: what is tried rarely counts more.
/// `None`: with this random number the domain is not tried.
///
/// # Source
/// Linux v7.2 `kernel/sched/fair.c`, `sched_balance_newidle()`, `NI_RANDOM`.
#[must_use]
pub const fn weight_of_success(ratio: u32, random: u32) -> Option<u32> {
    let k = 1 + ratio;
    if random % 1024 > k {
        return None;
    }
    Some((1024 + k / 2) / k)
}

/// Counts a newidle attempt in a domain with `success` at `now_ns`.
#[doc(alias = "update_newidle_stats")]
pub fn record(kernel: &Kernel, state: &mut DomainState, success: u32, now_ns: u64) {
    if !kernel.has(Feature::NI_RANDOM) {
        return;
    }
    state.newidle_call += 1;
    state.newidle_success += success;
    if state.newidle_call >= 1024 {
        let mut ratio = u64::from(state.newidle_success);
        if kernel.has(Feature::NI_RATE) {
            // Domains that are tried seldom are judged as more successful.
            ratio = (ratio + (now_ns.saturating_sub(state.newidle_stamp) >> 22)).min(1024);
            state.newidle_stamp = now_ns;
        }
        state.newidle_ratio = u32::try_from(ratio).unwrap_or(u32::MAX);
        state.newidle_call /= 2;
        state.newidle_success /= 2;
    }
}

impl Balancer<'_> {
    /// Does newidle balancing of `cpu` give up before it looks at a domain?
    #[must_use]
    pub fn newidle_gives_up(&self, avg_idle: u64, cpu: CpuId) -> bool {
        let base = self.domains.base(cpu);
        if !self.state.overload {
            return true;
        }
        if self.kernel.has(Feature::NEWIDLE_DOMAIN_COST) {
            base.is_none_or(|id| avg_idle < self.state.domain(id).max_newidle_lb_cost)
        } else {
            avg_idle < self.kernel.tunables.migration_cost_ns
        }
    }

    /// Tries to pull a task to `cpu`, which has none left. The caller has cleared the misfit load
    /// and set `idle_stamp`; it clears the stamp when [`NewidleResult::has_task`].
    ///
    /// # Source
    /// Linux v6.12 `kernel/sched/fair.c`, `sched_balance_newidle()`.
    #[doc(alias = "sched_balance_newidle", alias = "idle_balance")]
    pub fn newidle_balance<O: BalanceOps + ?Sized>(
        &mut self,
        ops: &mut O,
        cpu: CpuId,
    ) -> NewidleOutcome {
        let mut outcome = NewidleOutcome {
            result: NewidleResult::Nothing,
            gave_up: true,
            stats_at_idle: false,
            cost: BalanceCost::default(),
        };
        if self.kernel.has(Feature::NEWIDLE_PENDING) && ops.has_pending_wakeup(cpu) {
            return outcome;
        }
        if !ops.active().test(cpu) {
            return outcome;
        }
        let avg_idle = ops.avg_idle(cpu);
        let mut next = ops.jiffies() + self.kernel.tunables.hz;
        let mut spent = 0;
        let mut pulled = 0;
        if self.newidle_gives_up(avg_idle, cpu) {
            if let Some(base) = self.domains.base(cpu) {
                self.bound_next(base, &mut next);
            }
        } else {
            outcome.gave_up = false;
            pulled =
                self.walk_newidle(ops, cpu, avg_idle, &mut next, &mut spent, &mut outcome.cost);
        }
        let rq = &mut self.state.cpus[cpu];
        rq.max_idle_balance_cost = rq.max_idle_balance_cost.max(spent);
        rq.next_balance = rq.next_balance.min(next);
        outcome.result = if ops.nr_running(cpu) != ops.h_nr_queued(cpu) {
            NewidleResult::HigherClass
        } else if pulled > 0 {
            NewidleResult::Pulled(pulled)
        } else if ops.h_nr_queued(cpu) > 0 {
            NewidleResult::FairTask
        } else {
            NewidleResult::Nothing
        };
        let nohz = &self.state.nohz;
        outcome.stats_at_idle = !outcome.result.has_task()
            && avg_idle >= self.kernel.tunables.migration_cost_ns
            && nohz.has_blocked
            && ops.jiffies() >= nohz.next_blocked;
        outcome
    }

    /// The walk over the domains; answers how many tasks were pulled.
    fn walk_newidle<O: BalanceOps + ?Sized>(
        &mut self,
        ops: &mut O,
        cpu: CpuId,
        avg_idle: u64,
        next: &mut u64,
        spent: &mut u64,
        cost: &mut BalanceCost,
    ) -> u32 {
        let kernel = self.kernel;
        let counts_update = kernel.has(Feature::NEWIDLE_DOMAIN_COST);
        let mut stamp = ops.clock_ns(cost);
        ops.update_blocked(cpu);
        cost.blocked_updates += 1;
        if !counts_update {
            stamp = ops.clock_ns(cost);
        }
        let mut cursor = self.domains.base(cpu);
        while let Some(id) = cursor {
            let sd = self.domains.domain(id);
            cursor = sd.parent;
            self.bound_next(id, next);
            let state = self.state.domain_mut(id);
            if avg_idle < *spent + state.max_newidle_lb_cost {
                break;
            }
            let mut pulled = 0;
            let mut continue_balancing = true;
            let balances = sd.flags.has(DomainFlags::BALANCE_NEWIDLE)
                && (!kernel.has(Feature::SD_LOAD_BALANCE)
                    || sd.flags.has(DomainFlags::LOAD_BALANCE));
            if balances {
                let sure = kernel.has(Feature::NI_RATE) && state.newidle_ratio >= 1024;
                let mut weight = 1;
                if kernel.has(Feature::NI_RANDOM) && !sure {
                    match weight_of_success(state.newidle_ratio, ops.random()) {
                        Some(k) => weight = k,
                        None => {
                            record(kernel, state, 0, stamp);
                            continue;
                        }
                    }
                }
                let attempt = self.load_balance(ops, cpu, IdleKind::NewlyIdle, id);
                *cost += attempt.cost;
                pulled = attempt.moved;
                continue_balancing = attempt.continue_balancing;
                let now = ops.clock_ns(cost);
                let elapsed = now.saturating_sub(stamp);
                stamp = now;
                *spent += elapsed;
                let state = self.state.domain_mut(id);
                note_newidle_cost(kernel, state, elapsed, ops.jiffies());
                record(kernel, state, if pulled > 0 { weight } else { 0 }, now);
            }
            if pulled > 0 {
                return pulled;
            }
            let stops = if kernel.has(Feature::NEWIDLE_STOP_BY_ANSWER) {
                !continue_balancing
            } else {
                ops.nr_running(cpu) > 0 || ops.has_pending_wakeup(cpu)
            };
            if stops {
                break;
            }
        }
        0
    }

    /// Lowers `next` to when domain `id` is due for an idle CPU (`update_next_balance`).
    #[doc(alias = "update_next_balance")]
    fn bound_next(&self, id: DomainId, next: &mut u64) {
        let due = self.state.domain(id).last_balance + self.interval(id, false);
        *next = (*next).min(due);
    }
}
