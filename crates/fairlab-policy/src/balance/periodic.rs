//! Balancing all domains of a CPU, as the softirq does.

use fairlab_kernel::Feature;
use fairlab_topology::domains::{DomainFlags, DomainId};
use fairlab_units::CpuId;

use super::cost::BalanceCost;
use super::env::IdleKind;
use super::interval::{balance_interval, decay_newidle_cost};
use super::pass::Balancer;
use super::view::BalanceOps;

/// What balancing the domains of a CPU did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PeriodicOutcome {
    /// Tasks moved.
    pub moved: u32,
    /// What it touched.
    pub cost: BalanceCost,
}

impl Balancer<'_> {
    /// Has the tick of `cpu` to raise the balancing softirq?
    #[doc(alias = "trigger_load_balance")]
    #[must_use]
    pub fn is_due<O: BalanceOps + ?Sized>(&self, ops: &O, cpu: CpuId) -> bool {
        self.domains.base(cpu).is_some()
            && ops.active().test(cpu)
            && ops.jiffies() >= self.state.cpus[cpu].next_balance
    }

    /// Balances the domains of `cpu` whose interval is over, lowest first. `idle` is
    /// [`IdleKind::Idle`] when the tick saw the CPU idle, else [`IdleKind::NotIdle`].
    ///
    /// # Source
    /// Linux v6.12 `kernel/sched/fair.c`, `sched_balance_domains()`.
    #[doc(alias = "sched_balance_domains")]
    pub fn rebalance_domains<O: BalanceOps + ?Sized>(
        &mut self,
        ops: &mut O,
        cpu: CpuId,
        mut idle: IdleKind,
    ) -> PeriodicOutcome {
        let kernel = self.kernel;
        let now = ops.jiffies();
        let mut outcome = PeriodicOutcome::default();
        let mut busy = self.is_busy(ops, cpu, idle);
        let mut next = now + 60 * kernel.tunables.hz;
        let mut lowered = false;
        let mut continue_balancing = true;
        let mut need_decay = false;
        let mut max_cost = 0;
        let mut cursor = self.domains.base(cpu);
        while let Some(id) = cursor {
            let sd = self.domains.domain(id);
            cursor = sd.parent;
            need_decay |= decay_newidle_cost(kernel, self.state.domain_mut(id), now);
            max_cost += self.state.domain(id).max_newidle_lb_cost;
            if kernel.has(Feature::SD_LOAD_BALANCE) && !sd.flags.has(DomainFlags::LOAD_BALANCE) {
                continue;
            }
            if !continue_balancing {
                if need_decay {
                    continue;
                }
                break;
            }
            let mut interval = self.interval(id, busy);
            let locked = sd.flags.has(DomainFlags::SERIALIZE)
                && !kernel.has(Feature::LB_SERIALIZE_NEWIDLE)
                && self.state.serialize_locked;
            if !locked && now >= self.state.domain(id).last_balance + interval {
                let attempt = self.load_balance(ops, cpu, idle, id);
                outcome.cost += attempt.cost;
                outcome.moved += attempt.moved;
                continue_balancing = attempt.continue_balancing;
                if attempt.moved > 0 {
                    idle = if ops.is_idle(cpu) {
                        IdleKind::Idle
                    } else {
                        IdleKind::NotIdle
                    };
                    busy = self.is_busy(ops, cpu, idle);
                }
                self.state.domain_mut(id).last_balance = now;
                interval = self.interval(id, busy);
            }
            let due = self.state.domain(id).last_balance + interval;
            if due < next {
                next = due;
                lowered = true;
            }
        }
        let rq = &mut self.state.cpus[cpu];
        if need_decay {
            rq.max_idle_balance_cost = max_cost.max(kernel.tunables.migration_cost_ns);
        }
        if lowered {
            rq.next_balance = next;
            let nohz = &mut self.state.nohz;
            if kernel.has(Feature::LB_NOHZ_NEXT_MIN) && idle == IdleKind::Idle {
                nohz.next_balance = nohz.next_balance.min(next);
            }
        }
        outcome
    }

    /// The present interval of domain `id`, jiffies.
    pub(crate) fn interval(&self, id: DomainId, busy: bool) -> u64 {
        balance_interval(
            self.kernel,
            self.domains.domain(id),
            self.state.domain(id),
            busy,
            self.state.max_interval,
        )
    }

    fn is_busy<O: BalanceOps + ?Sized>(&self, ops: &O, cpu: CpuId, idle: IdleKind) -> bool {
        let spared = self.kernel.has(Feature::LB_SCHED_IDLE_IS_IDLE) && ops.is_sched_idle(cpu);
        idle == IdleKind::NotIdle && !spared
    }
}
