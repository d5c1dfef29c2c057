//! The fast path of a wakeup: an idle CPU that shares a cache with the target.

mod budget;
mod capacity;
mod node;
mod one_pass;
mod smt;
mod three_pass;

use fairlab_kernel::Feature;
use fairlab_units::CpuId;

use crate::explain::{Event, Explain, Step};
use crate::search::Search;
use crate::{MachineView, Reason};

pub(crate) use budget::Budget;

/// How a scan of an LLC ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScanEnd {
    /// What was found.
    pub cpu: Option<CpuId>,
    /// Where, or why the target is left with the task.
    pub reason: Reason,
}

impl ScanEnd {
    /// Everything was searched.
    pub const NOTHING: Self = Self::without(Reason::Target);
    /// The budget ran out.
    pub const OUT_OF_BUDGET: Self = Self::without(Reason::TargetBudget);
    /// The scan was not allowed to start.
    pub const REFUSED: Self = Self::without(Reason::TargetNoScan);

    pub const fn found(cpu: CpuId, reason: Reason) -> Self {
        Self {
            cpu: Some(cpu),
            reason,
        }
    }

    const fn without(reason: Reason) -> Self {
        Self { cpu: None, reason }
    }
}

/// Idle CPUs outside the target's cluster, kept for when nothing nearer is found.
#[derive(Clone, Copy, Debug, Default)]
struct Fallbacks {
    prev: Option<CpuId>,
    recent: Option<CpuId>,
}

impl Fallbacks {
    fn choose(self, target: CpuId, otherwise: Reason) -> (CpuId, Reason) {
        match (self.prev, self.recent) {
            (Some(prev), _) => (prev, Reason::PrevFallback),
            (None, Some(recent)) => (recent, Reason::RecentFallback),
            (None, None) => (target, otherwise),
        }
    }
}

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// An idle CPU near `target`, else `target`.
    pub(crate) fn select_idle_sibling(&mut self, target: CpuId) -> (CpuId, Reason) {
        if self.is_asymmetric() {
            self.sync_signals();
            if !self.has(Feature::SIS_ASYM_PREV)
                && let Some(choice) = self.capacity_choice(target)
            {
                return choice;
            }
        }
        if self.is_usable(Step::Target, target) && self.suits(target) {
            return (target, Reason::TargetIdle);
        }
        let mut fallbacks = Fallbacks::default();
        let prev = self.ctx.prev_cpu;
        if prev != target
            && self.domains.share_cache(prev, target)
            && self.is_usable(Step::Prev, prev)
            && self.suits(prev)
        {
            if self.is_near(prev, target) {
                return (prev, Reason::PrevIdle);
            }
            fallbacks.prev = Some(prev);
            self.explain.note(Event::Remembered {
                step: Step::Prev,
                cpu: prev,
            });
        }
        if self.stacks_on_kthread() {
            return (prev, Reason::KthreadStack);
        }
        if let Some(recent) = self.recent_cpu(target) {
            if self.is_near(recent, target) {
                return (recent, Reason::RecentIdle);
            }
            fallbacks.recent = Some(recent);
            self.explain.note(Event::Remembered {
                step: Step::Recent,
                cpu: recent,
            });
        }
        if self.is_asymmetric()
            && let Some(choice) = self.capacity_choice(target)
        {
            return choice;
        }
        let Some(llc) = self.domains.cached(target).llc else {
            return (target, Reason::NoLlc);
        };
        let end = if self.has(Feature::SIS_ONE_PASS) {
            self.scan_in_one_pass(llc, target)
        } else {
            self.scan_in_three_passes(llc, target)
        };
        if let Some(cpu) = end.cpu {
            return (cpu, end.reason);
        }
        if self.has(Feature::SIS_NODE)
            && let Some(cpu) = self.select_idle_node(llc, target)
        {
            return (cpu, Reason::NodeIdle);
        }
        fallbacks.choose(target, end.reason)
    }

    /// What the search by capacity answers; none where the domains of `target` see one capacity only.
    fn capacity_choice(&mut self, target: CpuId) -> Option<(CpuId, Reason)> {
        let domain = self.domains.cached(target).asym_cpucapacity?;
        let found = self.select_idle_capacity(domain, target);
        Some(found.unwrap_or((target, Reason::CapacityTarget)))
    }

    /// Is an idle candidate near enough to be taken at once? Where clusters count it has to share
    /// one with the target.
    fn is_near(&self, cpu: CpuId, target: CpuId) -> bool {
        !(self.has(Feature::SIS_CLUSTER_FALLBACK) && self.domains.switches().cluster_active)
            || self.domains.share_resources(cpu, target)
    }

    /// Does a per-CPU kernel thread wake the task whose work it did? Then it is about to sleep, and
    /// the CPU is as good as idle.
    fn stacks_on_kthread(&mut self) -> bool {
        self.has(Feature::SIS_KTHREAD_STACK)
            && self.current.is_per_cpu_kthread
            && (self.ctx.in_task || !self.has(Feature::SIS_KTHREAD_TASK_CONTEXT))
            && self.ctx.prev_cpu == self.ctx.this_cpu
            && self.view.nr_running(self.ctx.this_cpu) <= 1
            && (!self.has(Feature::SIS_KTHREAD_FITS) || self.suits(self.ctx.prev_cpu))
    }

    /// The recently used CPU, if it is usable and near in cache.
    fn recent_cpu(&mut self, target: CpuId) -> Option<CpuId> {
        let (prev, recent) = (self.ctx.prev_cpu, self.p.recent_used_cpu);
        let always = self.has(Feature::SIS_RECENT_ALWAYS);
        if always {
            self.effects.recent_used_cpu = Some(prev);
        }
        // With the defect the field has been overwritten before its affinity is tested.
        let tested = if always && self.has(Feature::SIS_RECENT_PREV_AFFINITY) {
            prev
        } else {
            recent
        };
        let is_good = recent != prev
            && recent != target
            && recent.index() < self.domains.nr_cpu_ids()
            && self.domains.share_cache(recent, target)
            && self.is_usable(Step::Recent, recent)
            && self.p.allowed.test(tested)
            && self.suits(recent);
        if !is_good {
            return None;
        }
        self.effects.recent_used_cpu = Some(prev);
        Some(recent)
    }
}
