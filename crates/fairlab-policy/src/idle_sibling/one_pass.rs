//! The LLC scan of v5.13 and later: one walk that looks for an idle core when the hint promises one,
//! and for an idle CPU within a budget when it does not.

use fairlab_kernel::Feature;
use fairlab_topology::DomainFlags;
use fairlab_topology::domains::{DomainId, MaskId};
use fairlab_units::CpuId;

use super::budget::UNLIMITED;
use super::{Budget, ScanEnd};
use crate::explain::{Event, Explain, ProbeState, Step};
use crate::search::{Search, WrapWalk};
use crate::{MachineView, Reason, Section};

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    pub(super) fn scan_in_one_pass(&mut self, llc: DomainId, target: CpuId) -> ScanEnd {
        let has_idle_core = self.has_idle_cores(target);
        if self.has(Feature::SIS_PREV_SMT)
            && self.domains.switches().smt_present
            && !has_idle_core
            && self.domains.share_cache(self.ctx.prev_cpu, target)
            && let Some(thread) = self.select_idle_smt(llc, self.ctx.prev_cpu)
        {
            return ScanEnd::found(thread, Reason::PrevSmt);
        }
        self.select_idle_cpu(llc, target, has_idle_core)
    }

    fn select_idle_cpu(&mut self, llc: DomainId, target: CpuId, has_idle_core: bool) -> ScanEnd {
        let late_mask = self.has(Feature::SIS_EMPTY_STOP);
        if !late_mask {
            self.take_scan_mask(llc);
        }
        let Some(nr) = self.scan_budget(llc, target, has_idle_core) else {
            return ScanEnd::REFUSED;
        };
        if late_mask && !self.take_scan_mask(llc) {
            return ScanEnd::REFUSED;
        }
        self.explain.note(Event::Budget {
            nr: (nr != UNLIMITED).then_some(nr),
            has_idle_core,
        });
        let tests = self.cost.idle_tests;
        let section = if has_idle_core {
            Section::IdleCore
        } else {
            Section::IdleScan
        };
        self.view.enter(section, &self.cost);
        let end = if has_idle_core {
            self.walk_cores(llc, target)
        } else {
            self.walk_cpus(llc, target, nr)
        };
        self.view.leave(section, &self.cost);
        self.close_scan_account(end.reason == Reason::TargetBudget, tests);
        end
    }

    /// The CPUs to scan: those of the LLC where the task may run. False when there are none.
    #[inline(always)]
    fn take_scan_mask(&mut self, llc: DomainId) -> bool {
        self.cost.mask_ops += 1;
        if self.masks.is_some() {
            return !self.has(Feature::SIS_EMPTY_STOP) || !self.scan_is_empty(llc);
        }
        self.make_scan_mask(llc)
    }

    #[inline(never)]
    fn make_scan_mask(&mut self, llc: DomainId) -> bool {
        let scan = &mut self.scratch.cpus;
        scan.assign_and(self.domains.span(llc), self.p.allowed);
        !scan.is_empty()
    }

    /// The budget; none when there must be no scan.
    #[inline(always)]
    pub(super) fn scan_budget(
        &mut self,
        llc: DomainId,
        target: CpuId,
        has_idle_core: bool,
    ) -> Option<Budget> {
        let mut nr = UNLIMITED;
        let by_idle_time = self.has(Feature::SIS_PROP) && !has_idle_core;
        if by_idle_time || self.has(Feature::SIS_THIS_LLC) {
            let this_llc = self.domains.cached(self.ctx.this_cpu).llc?;
            if by_idle_time {
                let weight = self.domains.domain(llc).span_weight;
                nr = self.budget_by_idle_time(this_llc, weight)?;
            }
        }
        if self.has(Feature::SIS_UTIL) {
            nr = self.budget_by_utilization(target)?;
        }
        Some(nr)
    }

    /// The span of the target's cluster, when the scan begins there.
    fn cluster_span(&self, llc: DomainId) -> Option<MaskId> {
        if !(self.has(Feature::SIS_CLUSTER) && self.domains.switches().cluster_active) {
            return None;
        }
        let local = self.domains.groups(llc).first()?;
        local.flags.has(DomainFlags::CLUSTER).then_some(local.span)
    }

    /// No idle core is promised: the first usable CPU within the budget.
    fn walk_cpus(&mut self, llc: DomainId, target: CpuId, nr: Budget) -> ScanEnd {
        let cluster = self.cluster_span(llc);
        if self.has(Feature::SIS_FILTER) {
            return self.scan_filter(llc, target);
        }
        if let Some(masks) = self.masks {
            return self.fast_walk_cpus(masks, llc, cluster, target, nr);
        }
        self.scan_cpus(cluster, CpuId(target.0 + 1), nr)
    }

    /// The first idle CPU by a mask that idle entry and exit keep true: two more mask operations, and
    /// one look at the CPU that it names.
    ///
    /// # Source
    /// The patch "sched/fair: Introduce SIS_FILTER" of 2022, from its description; no release has it. There
    /// the mask lags behind a little, here it does not.
    #[inline(never)]
    fn scan_filter(&mut self, llc: DomainId, target: CpuId) -> ScanEnd {
        self.cost.mask_ops += 2;
        let (view, allowed) = (self.view, self.p.allowed);
        let span = self.domains.span(llc).iter_wrap(CpuId(target.0 + 1));
        let mut idle = span.filter(|cpu| allowed.test(*cpu) && view.is_available_idle(*cpu));
        match idle.next() {
            Some(cpu) => {
                self.note_probe(Step::Scan, cpu, ProbeState::Idle);
                ScanEnd::found(cpu, Reason::IdleCpu)
            }
            None => ScanEnd::NOTHING,
        }
    }

    #[inline(never)]
    fn scan_cpus(&mut self, cluster: Option<MaskId>, start: CpuId, mut nr: Budget) -> ScanEnd {
        if let Some(cluster) = cluster {
            let span = self.domains.mask(cluster);
            for cpu in span.iter_wrap(start) {
                if !self.scratch.cpus.test(cpu) {
                    continue;
                }
                nr = nr.wrapping_sub(1);
                if nr == 0 {
                    return ScanEnd::OUT_OF_BUDGET;
                }
                if self.is_usable(Step::Cluster, cpu) {
                    return ScanEnd::found(cpu, Reason::ClusterIdleCpu);
                }
            }
            self.scratch.cpus.and_not_with(span);
            self.cost.mask_ops += 1;
        }
        let mut walk = WrapWalk::from(start);
        while let Some(cpu) = walk.next(&self.scratch.cpus) {
            nr = nr.wrapping_sub(1);
            if nr == 0 {
                return ScanEnd::OUT_OF_BUDGET;
            }
            if self.is_usable(Step::Scan, cpu) {
                return ScanEnd::found(cpu, Reason::IdleCpu);
            }
        }
        ScanEnd::NOTHING
    }

    /// An idle core is promised: a core with all threads idle, else the first idle thread seen.
    /// The hint is cleared when there is no such core.
    fn walk_cores(&mut self, llc: DomainId, target: CpuId) -> ScanEnd {
        let cluster = self.cluster_span(llc);
        if let Some(masks) = self.masks {
            let end = self.fast_walk_cores(masks, llc, cluster, target);
            if !matches!(end.reason, Reason::IdleCore | Reason::ClusterIdleCore) {
                self.clear_idle_cores(target);
            }
            return end;
        }
        self.scan_cores(cluster, target)
    }

    #[inline(never)]
    fn scan_cores(&mut self, cluster: Option<MaskId>, target: CpuId) -> ScanEnd {
        let start = CpuId(target.0 + 1);
        let mut thread = None;
        if let Some(cluster) = cluster {
            let span = self.domains.mask(cluster);
            for core in span.iter_wrap(start) {
                if self.scratch.cpus.test(core) && self.is_idle_core(core, &mut thread) {
                    return ScanEnd::found(core, Reason::ClusterIdleCore);
                }
            }
            self.scratch.cpus.and_not_with(span);
            self.cost.mask_ops += 1;
        }
        let mut walk = WrapWalk::from(start);
        while let Some(core) = walk.next(&self.scratch.cpus) {
            if self.is_idle_core(core, &mut thread) {
                return ScanEnd::found(core, Reason::IdleCore);
            }
        }
        self.clear_idle_cores(target);
        match thread {
            Some(cpu) => ScanEnd::found(cpu, Reason::IdleThread),
            None => ScanEnd::NOTHING,
        }
    }

    /// Are all threads of the core of `core` idle? If not, the core leaves the scan. The first
    /// usable thread of any core is kept in `first`; once there is one, a core is given up at its
    /// first busy thread.
    fn is_idle_core(&mut self, core: CpuId, first: &mut Option<CpuId>) -> bool {
        let threads = self.domains.smt_mask(core);
        let in_scan = self.has(Feature::SIS_CORE_DOMAIN);
        let mut is_idle = true;
        for thread in threads {
            let state = self.probe(Step::Core, thread);
            let is_candidate = first.is_none()
                && if in_scan {
                    self.scratch.cpus.test(thread)
                } else {
                    self.p.allowed.test(thread)
                };
            match state {
                ProbeState::Idle => {
                    if is_candidate {
                        *first = Some(thread);
                    }
                }
                ProbeState::SchedIdle if is_candidate => {
                    is_idle = false;
                    *first = Some(thread);
                    break;
                }
                ProbeState::SchedIdle | ProbeState::Busy => {
                    is_idle = false;
                    if first.is_some() {
                        break;
                    }
                }
            }
        }
        if !is_idle {
            self.scratch.cpus.and_not_with(threads);
            self.cost.mask_ops += 1;
        }
        is_idle
    }
}
