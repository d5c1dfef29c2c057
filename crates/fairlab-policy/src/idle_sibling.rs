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
use crate::surroundings::Surroundings;
use crate::wake_affine::Weights;
use crate::{Affine, MachineView, Reason};

pub(crate) use budget::Budget;

/// How a scan of an LLC ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanEnd {
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
    /// There is nothing to search.
    pub const NO_CACHE: Self = Self::without(Reason::NoLlc);

    /// A CPU was found.
    #[must_use]
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

/// An idle CPU near `target`, else `target`.
///
/// # Source
/// Linux `kernel/sched/fair.c`, `select_idle_sibling()`.
#[inline(always)]
pub fn idle_sibling<S: Surroundings>(s: &mut S, target: CpuId) -> (CpuId, Reason) {
    if !s.has(Feature::SIS_ASYM_PREV)
        && let Some(choice) = s.search_by_capacity(target)
    {
        return choice;
    }
    if s.is_usable(Step::Target, target) && s.suits(target) {
        return (target, Reason::TargetIdle);
    }
    let mut fallbacks = Fallbacks::default();
    let prev = s.prev_cpu();
    if prev != target
        && s.share_cache(prev, target)
        && s.is_usable(Step::Prev, prev)
        && s.suits(prev)
    {
        if is_near(s, prev, target) {
            return (prev, Reason::PrevIdle);
        }
        fallbacks.prev = Some(prev);
        s.note_remembered(Step::Prev, prev);
    }
    if stacks_on_kthread(s) {
        return (prev, Reason::KthreadStack);
    }
    if let Some(recent) = usable_recent_cpu(s, target) {
        if is_near(s, recent, target) {
            return (recent, Reason::RecentIdle);
        }
        fallbacks.recent = Some(recent);
        s.note_remembered(Step::Recent, recent);
    }
    if let Some(choice) = s.search_by_capacity(target) {
        return choice;
    }
    let end = s.search_cache(target);
    if let Some(cpu) = end.cpu {
        return (cpu, end.reason);
    }
    if s.has(Feature::SIS_NODE)
        && let Some(cpu) = s.search_node(target)
    {
        return (cpu, Reason::NodeIdle);
    }
    // Without a cache there were no candidates that share it.
    fallbacks.choose(target, end.reason)
}

/// Is an idle candidate near enough to be taken at once? Where clusters count it has to share
/// one with the target.
#[inline(always)]
fn is_near<S: Surroundings>(s: &S, cpu: CpuId, target: CpuId) -> bool {
    !(s.has(Feature::SIS_CLUSTER_FALLBACK) && s.has_clusters()) || s.share_resources(cpu, target)
}

/// Does a per-CPU kernel thread wake the task whose work it did? Then it is about to sleep, and
/// the CPU is as good as idle.
#[inline(always)]
fn stacks_on_kthread<S: Surroundings>(s: &mut S) -> bool {
    let prev = s.prev_cpu();
    s.has(Feature::SIS_KTHREAD_STACK)
        && s.is_woken_by_kthread()
        && prev == s.this_cpu()
        && s.nr_running() <= 1
        && (!s.has(Feature::SIS_KTHREAD_FITS) || s.suits(prev))
}

/// The recently used CPU, if it is usable and near in cache.
#[inline(always)]
fn usable_recent_cpu<S: Surroundings>(s: &mut S, target: CpuId) -> Option<CpuId> {
    let (prev, recent) = (s.prev_cpu(), s.recent_cpu());
    let always = s.has(Feature::SIS_RECENT_ALWAYS);
    if always {
        s.set_recent_cpu(prev);
    }
    // With the defect the field has been overwritten before its affinity is tested.
    let tested = if always && s.has(Feature::SIS_RECENT_PREV_AFFINITY) {
        prev
    } else {
        recent
    };
    let is_good = recent != prev
        && recent != target
        && s.is_cpu(recent)
        && s.share_cache(recent, target)
        && s.is_usable(Step::Recent, recent)
        && s.is_allowed(tested)
        && s.suits(recent);
    if !is_good {
        return None;
    }
    s.set_recent_cpu(prev);
    Some(recent)
}

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// An idle CPU near `target`, else `target`.
    pub(crate) fn select_idle_sibling(&mut self, target: CpuId) -> (CpuId, Reason) {
        if self.is_asymmetric() {
            self.sync_signals();
        }
        idle_sibling(self, target)
    }
}

impl<V: MachineView, E: Explain> Surroundings for Search<'_, V, E> {
    #[inline]
    fn has(&self, feature: Feature) -> bool {
        self.kernel.has(feature)
    }

    #[inline]
    fn this_cpu(&self) -> CpuId {
        self.ctx.this_cpu
    }

    #[inline]
    fn prev_cpu(&self) -> CpuId {
        self.ctx.prev_cpu
    }

    #[inline]
    fn is_available(&mut self, step: Step, cpu: CpuId) -> bool {
        Search::is_available(self, step, cpu)
    }

    #[inline]
    fn is_usable(&mut self, step: Step, cpu: CpuId) -> bool {
        Search::is_usable(self, step, cpu)
    }

    #[inline]
    fn is_allowed(&self, cpu: CpuId) -> bool {
        self.p.allowed.test(cpu)
    }

    #[inline]
    fn suits(&mut self, cpu: CpuId) -> bool {
        Search::suits(self, cpu)
    }

    #[inline]
    fn is_cpu(&self, cpu: CpuId) -> bool {
        cpu.index() < self.domains.nr_cpu_ids()
    }

    #[inline]
    fn share_cache(&self, one: CpuId, other: CpuId) -> bool {
        self.domains.share_cache(one, other)
    }

    #[inline]
    fn share_resources(&self, one: CpuId, other: CpuId) -> bool {
        self.domains.share_resources(one, other)
    }

    #[inline]
    fn has_clusters(&self) -> bool {
        self.domains.switches().cluster_active
    }

    #[inline]
    fn nr_running(&self) -> u32 {
        self.view.nr_running(self.ctx.this_cpu)
    }

    #[inline]
    fn nr_delayed(&self) -> u32 {
        let this = self.ctx.this_cpu;
        let queued = self.view.h_nr_queued(this);
        queued.saturating_sub(self.view.h_nr_runnable(this))
    }

    #[inline]
    fn is_woken_by_kthread(&self) -> bool {
        self.current.is_per_cpu_kthread
            && (self.ctx.in_task || !self.kernel.has(Feature::SIS_KTHREAD_TASK_CONTEXT))
    }

    #[inline]
    fn recent_cpu(&self) -> CpuId {
        self.p.recent_used_cpu
    }

    #[inline]
    fn set_recent_cpu(&mut self, cpu: CpuId) {
        self.effects.recent_used_cpu = Some(cpu);
    }

    fn weights(&mut self, sync: bool) -> Weights {
        let (this, prev) = (self.ctx.this_cpu, self.ctx.prev_cpu);
        Weights {
            this_load: self.load(this),
            prev_load: self.load(prev),
            waker: sync.then(|| self.view.task_h_load(self.current, &self.current.signals)),
            wakee: self.h_load(),
            this_capacity: self.view.capacity_of(this),
            prev_capacity: self.view.capacity_of(prev),
            imbalance_pct: self.affine_imbalance_pct,
            biased: self.kernel.has(Feature::WA_BIAS),
        }
    }

    #[inline]
    fn note_remembered(&mut self, step: Step, cpu: CpuId) {
        self.explain.note(Event::Remembered { step, cpu });
    }

    #[inline]
    fn note_weights(&mut self, this: i64, prev: i64) {
        self.explain.note(Event::Weight { this, prev });
    }

    #[inline]
    fn search_by_capacity(&mut self, target: CpuId) -> Option<(CpuId, Reason)> {
        if !self.is_asymmetric() {
            return None;
        }
        let domain = self.domains.cached(target).asym_cpucapacity?;
        let choice = self.select_idle_capacity(domain, target);
        Some(choice.unwrap_or((target, Reason::CapacityTarget)))
    }

    #[inline]
    fn search_cache(&mut self, target: CpuId) -> ScanEnd {
        let Some(llc) = self.domains.cached(target).llc else {
            return ScanEnd::NO_CACHE;
        };
        if self.kernel.has(Feature::SIS_ONE_PASS) {
            self.scan_in_one_pass(llc, target)
        } else {
            self.scan_in_three_passes(llc, target)
        }
    }

    fn search_node(&mut self, target: CpuId) -> Option<CpuId> {
        let llc = self.domains.cached(target).llc?;
        self.select_idle_node(llc, target)
    }

    fn idler_cache(&mut self) -> Option<Affine> {
        self.wake_affine_idler_llc()
    }
}
