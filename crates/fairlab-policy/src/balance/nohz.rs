//! Balancing on behalf of idle CPUs whose tick is stopped.

use fairlab_kernel::Feature;
use fairlab_units::CpuId;

use super::asym;
use super::capacity::is_reduced;
use super::env::IdleKind;
use super::pass::Balancer;
use super::periodic::PeriodicOutcome;
use super::state::KickFlags;
use super::view::{BalanceOps, BalanceView};

/// An idle CPU that is asked to balance for all idle CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kick {
    /// The CPU that gets the interrupt.
    pub target: CpuId,
    /// What it is to do.
    pub flags: KickFlags,
}

const FULL: KickFlags = KickFlags(KickFlags::BALANCE.0 | KickFlags::STATS.0);

/// Time between refreshes of blocked averages (`LOAD_AVG_PERIOD`), ms.
const BLOCKED_PERIOD_MS: u64 = 32;

impl Balancer<'_> {
    /// The tick of `cpu` stops because it is idle.
    #[doc(alias = "nohz_balance_enter_idle")]
    pub fn nohz_enter_idle<V: BalanceView + ?Sized>(&mut self, view: &V, cpu: CpuId) {
        if !view.active().test(cpu) {
            return;
        }
        let rq = &mut self.state.cpus[cpu];
        rq.has_blocked = true;
        if !rq.tick_stopped {
            if self.domains.base(cpu).is_none() {
                return;
            }
            rq.tick_stopped = true;
            self.state.nohz.idle_cpus.set(cpu);
            self.state.nohz.needs_update = self.kernel.has(Feature::NOHZ_NEXT);
            if let Some(id) = self.domains.cached(cpu).llc_shared {
                let shared = self.state.shared_mut(id);
                shared.nr_busy_cpus = shared.nr_busy_cpus.saturating_sub(1);
            }
        }
        self.state.nohz.has_blocked = true;
    }

    /// The tick of `cpu` runs again.
    #[doc(alias = "nohz_balance_exit_idle")]
    pub fn nohz_exit_idle(&mut self, cpu: CpuId) {
        let rq = &mut self.state.cpus[cpu];
        if !rq.tick_stopped {
            return;
        }
        rq.tick_stopped = false;
        self.state.nohz.idle_cpus.clear(cpu);
        if let Some(id) = self.domains.cached(cpu).llc_shared {
            self.state.shared_mut(id).nr_busy_cpus += 1;
        }
    }

    /// The test in the tick of `cpu`: has an idle CPU to be kicked? The kicked CPU calls
    /// [`Self::nohz_idle_balance`].
    ///
    /// # Source
    /// Linux v6.12 `kernel/sched/fair.c`, `nohz_balancer_kick()`, `kick_ilb()`.
    #[doc(alias = "nohz_balancer_kick", alias = "kick_ilb")]
    pub fn nohz_kick<V: BalanceView + ?Sized>(&mut self, view: &V, cpu: CpuId) -> Option<Kick> {
        if view.is_idle(cpu) {
            return None;
        }
        self.nohz_exit_idle(cpu);
        let flags = self.kick_flags(view, cpu);
        if flags.is_empty() {
            return None;
        }
        let now = view.jiffies();
        if self.kernel.has(Feature::NOHZ_KICK_STEPS) {
            self.state.nohz.next_balance += 1;
        } else if flags.any(KickFlags::BALANCE) {
            self.state.nohz.next_balance = now + 1;
        }
        let others_only = self.kernel.has(Feature::NOHZ_OTHER_CPU);
        let target = self.state.nohz.idle_cpus.iter().find(|c| {
            view.is_housekeeping(*c) && view.is_idle(*c) && !(others_only && *c == cpu)
        })?;
        let pending = self.state.cpus[target].nohz_flags;
        self.state.cpus[target].nohz_flags = pending.with(flags);
        let needless = if self.kernel.has(Feature::NOHZ_KICK_ALL_FLAGS) {
            pending.has(flags)
        } else {
            !pending.is_empty()
        };
        (!needless).then_some(Kick { target, flags })
    }

    /// What a kick from `cpu` would ask for.
    #[must_use]
    pub fn kick_flags<V: BalanceView + ?Sized>(&self, view: &V, cpu: CpuId) -> KickFlags {
        let nohz = &self.state.nohz;
        let now = view.jiffies();
        let late = self.kernel.has(Feature::NOHZ_EMPTY_LATE);
        if !late && nohz.idle_cpus.is_empty() {
            return KickFlags::NONE;
        }
        let mut flags = KickFlags::NONE;
        if nohz.has_blocked && now > nohz.next_blocked {
            flags = KickFlags::STATS;
        }
        if now >= nohz.next_balance {
            if late && nohz.idle_cpus.is_empty() {
                return KickFlags::NONE;
            }
            if self.wants_balance(view, cpu) {
                flags = FULL;
            }
        }
        if nohz.needs_update && self.kernel.has(Feature::NOHZ_NEXT) {
            flags = flags.with(KickFlags::NEXT);
        }
        flags
    }

    /// Has `cpu` a reason to have idle CPUs balance?
    fn wants_balance<V: BalanceView + ?Sized>(&self, view: &V, cpu: CpuId) -> bool {
        if view.nr_running(cpu) >= 2 {
            return true;
        }
        let cached = self.domains.cached(cpu);
        let reduced = |pct| {
            let original = u64::from(self.domains.capacity_orig(cpu));
            is_reduced(self.state.capacity_of(cpu), original, pct)
        };
        let h_nr = if self.kernel.has(Feature::LB_NR_RUNNABLE) {
            view.h_nr_runnable(cpu)
        } else {
            view.h_nr_queued(cpu)
        };
        if let Some(base) = self.domains.base(cpu)
            && h_nr >= 1
            && reduced(self.domains.domain(base).imbalance_pct)
        {
            return true;
        }
        if let Some(id) = cached.asym_packing {
            let sd = self.domains.domain(id);
            let idle = &self.state.nohz.idle_cpus;
            let usable = |c| {
                !self.kernel.has(Feature::LB_ASYM_IDLE_CORE)
                    || asym::is_usable_in(self.domains, sd.flags, view, c)
            };
            let found = self
                .domains
                .span(id)
                .iter()
                .any(|c| idle.test(c) && usable(c) && asym::is_preferred(view, c, cpu));
            if found {
                return true;
            }
        }
        if let Some(id) = cached.asym_cpucapacity {
            let sd = self.domains.domain(id);
            let original = self.domains.capacity_orig(cpu);
            let bigger = |c| self.domains.capacity_orig(c) > original;
            return view.misfit_load(cpu) != 0
                && (self.kernel.has(Feature::NOHZ_MISFIT_ANY)
                    || view.active().iter().any(bigger)
                    || reduced(sd.imbalance_pct));
        }
        cached
            .balance_shared
            .is_some_and(|id| self.state.shared(id).nr_busy_cpus > 1)
    }

    /// Serves a kick on the idle CPU `this_cpu`: refreshes averages and balances the domains of all
    /// idle CPUs.
    ///
    /// # Source
    /// Linux v6.12 `kernel/sched/fair.c`, `_nohz_idle_balance()`.
    #[doc(alias = "_nohz_idle_balance")]
    pub fn nohz_idle_balance<O: BalanceOps + ?Sized>(
        &mut self,
        ops: &mut O,
        this_cpu: CpuId,
    ) -> PeriodicOutcome {
        let mut outcome = PeriodicOutcome::default();
        let flags = core::mem::take(&mut self.state.cpus[this_cpu].nohz_flags);
        if flags.is_empty() || !ops.is_idle(this_cpu) {
            return outcome;
        }
        let now = ops.jiffies();
        let mut next = None;
        let mut blocked_left = false;
        if flags.any(KickFlags::STATS) {
            self.state.nohz.has_blocked = false;
        }
        if flags.any(KickFlags::NEXT) {
            self.state.nohz.needs_update = false;
        }
        // Taken out for the walk, since balancing needs all of `self`; nothing is allocated.
        let mut walk = core::mem::take(&mut self.scratch.walk);
        walk.copy_from(&self.state.nohz.idle_cpus);
        let wraps = self.kernel.has(Feature::NOHZ_WALK_WRAPS);
        let start = if wraps {
            CpuId(this_cpu.0 + 1)
        } else {
            CpuId(0)
        };
        if !wraps {
            walk.clear(this_cpu);
        }
        let last = (!wraps).then_some(this_cpu);
        let mut aborted = false;
        for cpu in walk.iter_wrap(start).chain(last) {
            if cpu != this_cpu && !ops.is_idle(cpu) {
                continue;
            }
            let leaves = ops.need_resched(this_cpu)
                && !(self.kernel.has(Feature::NOHZ_STOP_UNLESS_IDLE) && ops.is_idle(this_cpu));
            if leaves {
                blocked_left |= flags.any(KickFlags::STATS);
                self.state.nohz.needs_update |= flags.any(KickFlags::NEXT);
                aborted = true;
                break;
            }
            if flags.any(KickFlags::STATS) {
                blocked_left |= self.refresh_blocked(ops, cpu, &mut outcome);
            }
            if now >= self.state.cpus[cpu].next_balance && flags.any(KickFlags::BALANCE) {
                let done = self.rebalance_domains(ops, cpu, IdleKind::Idle);
                outcome.moved += done.moved;
                outcome.cost += done.cost;
            }
            let due = self.state.cpus[cpu].next_balance;
            if next.is_none_or(|n| due < n) && due < now + 60 * self.kernel.tunables.hz {
                next = Some(due);
            }
        }
        self.scratch.walk = walk;
        if !aborted {
            if let Some(next) = next {
                self.state.nohz.next_balance = next;
            }
            if flags.any(KickFlags::STATS) {
                let period = (BLOCKED_PERIOD_MS * self.kernel.tunables.hz).div_ceil(1000);
                self.state.nohz.next_blocked = now + period;
            }
        }
        self.state.nohz.has_blocked |= blocked_left;
        outcome
    }

    /// Refreshes blocked averages of an idle CPU once per jiffy; true when load is left.
    #[doc(alias = "update_nohz_stats")]
    fn refresh_blocked<O: BalanceOps + ?Sized>(
        &mut self,
        ops: &mut O,
        cpu: CpuId,
        outcome: &mut PeriodicOutcome,
    ) -> bool {
        let now = ops.jiffies();
        let rq = &mut self.state.cpus[cpu];
        if !rq.has_blocked || !self.state.nohz.idle_cpus.test(cpu) {
            return false;
        }
        if now > rq.blocked_updated {
            rq.blocked_updated = now;
            rq.has_blocked = ops.update_blocked(cpu);
            outcome.cost.blocked_updates += 1;
            return rq.has_blocked;
        }
        true
    }
}
