//! The LLC scan of v5.4 and v5.6: idle core, then idle CPU, then idle thread of the target.

use fairlab_kernel::Feature;
use fairlab_topology::domains::DomainId;
use fairlab_units::CpuId;

use super::ScanEnd;
use crate::explain::{Event, Explain, ProbeState, Step};
use crate::search::{Search, WrapWalk};
use crate::{MachineView, Reason, Section};

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    #[inline(never)]
    pub(super) fn scan_in_three_passes(&mut self, llc: DomainId, target: CpuId) -> ScanEnd {
        if self.has_idle_cores(target) {
            let (early_exit, clear_once) = (
                self.has(Feature::IDLE_CORE_EARLY_EXIT),
                self.has(Feature::IDLE_CORE_CLEAR_ONCE),
            );
            self.view.enter(Section::IdleCore, &self.cost);
            // The two switches of the patch that sped this up, resolved before the walk.
            let core = match (early_exit, clear_once) {
                (true, true) => self.select_idle_core::<true, true>(llc, target),
                (true, false) => self.select_idle_core::<true, false>(llc, target),
                (false, true) => self.select_idle_core::<false, true>(llc, target),
                (false, false) => self.select_idle_core::<false, false>(llc, target),
            };
            self.view.leave(Section::IdleCore, &self.cost);
            if let Some(cpu) = core {
                return ScanEnd::found(cpu, Reason::IdleCore);
            }
        }
        let end = self.select_idle_cpu_old(llc, target);
        if end.cpu.is_some() {
            return end;
        }
        if self.domains.switches().smt_present
            && let Some(thread) = self.select_idle_smt(llc, target)
        {
            return ScanEnd::found(thread, Reason::TargetSmt);
        }
        end
    }

    /// A core with all threads idle, in wrap order from `target`; clears the hint when there is none.
    fn select_idle_core<const EARLY_EXIT: bool, const CLEAR_ONCE: bool>(
        &mut self,
        llc: DomainId,
        target: CpuId,
    ) -> Option<CpuId> {
        let domains = self.domains;
        self.cost.mask_ops += 1;
        if let Some(masks) = self.masks {
            let core = self.fast_idle_core::<EARLY_EXIT, CLEAR_ONCE>(masks, llc, target);
            if core.is_none() {
                self.clear_idle_cores(target);
            }
            return core;
        }
        self.scratch
            .cpus
            .assign_and(domains.span(llc), self.p.allowed);
        let mut walk = WrapWalk::from(target);
        while let Some(core) = walk.next(&self.scratch.cpus) {
            let threads = domains.smt_mask(core);
            let mut is_idle = true;
            for thread in threads {
                if !CLEAR_ONCE {
                    self.scratch.cpus.clear(thread);
                    self.cost.bit_clears += 1;
                }
                if EARLY_EXIT && !is_idle {
                    continue;
                }
                if !self.is_available(Step::Core, thread) {
                    is_idle = false;
                    if EARLY_EXIT && CLEAR_ONCE {
                        break;
                    }
                }
            }
            if is_idle {
                return Some(core);
            }
            if CLEAR_ONCE {
                self.scratch.cpus.and_not_with(threads);
                self.cost.mask_ops += 1;
            }
        }
        self.clear_idle_cores(target);
        None
    }

    /// The first usable CPU in wrap order from `target`, within the budget.
    fn select_idle_cpu_old(&mut self, llc: DomainId, target: CpuId) -> ScanEnd {
        let Some(this_llc) = self.domains.cached(self.ctx.this_cpu).llc else {
            return ScanEnd::REFUSED;
        };
        let weight = self.domains.domain(llc).span_weight;
        let Some(nr) = self.budget_by_idle_time(this_llc, weight) else {
            return ScanEnd::REFUSED;
        };
        self.explain.note(Event::Budget {
            nr: Some(nr),
            has_idle_core: false,
        });
        let tests = self.cost.idle_tests;
        self.view.enter(Section::IdleScan, &self.cost);
        let end = if self.has(Feature::SIS_SCAN_ALLOWED) {
            self.walk_allowed(llc, target, nr)
        } else {
            self.walk_span(llc, target, nr)
        };
        self.view.leave(Section::IdleScan, &self.cost);
        let ran_out = matches!(end.reason, Reason::TargetBudget | Reason::ScanSchedIdle);
        self.close_scan_account(ran_out, tests);
        end
    }

    /// v5.6: walks allowed CPUs only.
    fn walk_allowed(&mut self, llc: DomainId, target: CpuId, mut nr: i32) -> ScanEnd {
        self.cost.mask_ops += 1;
        if let Some(masks) = self.masks {
            return self.fast_walk_old(masks, llc, target, nr, true);
        }
        self.scratch
            .cpus
            .assign_and(self.domains.span(llc), self.p.allowed);
        let mut second_choice = None;
        let mut walk = WrapWalk::from(target);
        while let Some(cpu) = walk.next(&self.scratch.cpus) {
            nr = nr.wrapping_sub(1);
            if nr == 0 {
                return out_of_budget(second_choice);
            }
            if self.takes(cpu, &mut second_choice) {
                return ScanEnd::found(cpu, Reason::IdleCpu);
            }
        }
        ScanEnd::NOTHING
    }

    /// v5.4: walks the whole span; CPUs that are not allowed cost budget too. A sched-idle CPU is
    /// second choice, and is forgotten when the walk comes to its end.
    fn walk_span(&mut self, llc: DomainId, target: CpuId, mut nr: i32) -> ScanEnd {
        if let Some(masks) = self.masks {
            return self.fast_walk_old(masks, llc, target, nr, false);
        }
        let mut second_choice = None;
        for cpu in self.domains.span(llc).iter_wrap(target) {
            nr = nr.wrapping_sub(1);
            if nr == 0 {
                return out_of_budget(second_choice);
            }
            if !self.p.allowed.test(cpu) {
                continue;
            }
            if self.takes(cpu, &mut second_choice) {
                return ScanEnd::found(cpu, Reason::IdleCpu);
            }
        }
        ScanEnd::NOTHING
    }

    #[inline]
    fn takes(&mut self, cpu: CpuId, second_choice: &mut Option<CpuId>) -> bool {
        match self.probe(Step::Scan, cpu) {
            ProbeState::Idle => true,
            ProbeState::SchedIdle if self.has(Feature::SIS_SCHED_IDLE) => true,
            ProbeState::SchedIdle => {
                second_choice.get_or_insert(cpu);
                false
            }
            ProbeState::Busy => false,
        }
    }
}

const fn out_of_budget(second_choice: Option<CpuId>) -> ScanEnd {
    match second_choice {
        Some(cpu) => ScanEnd::found(cpu, Reason::ScanSchedIdle),
        None => ScanEnd::OUT_OF_BUDGET,
    }
}
