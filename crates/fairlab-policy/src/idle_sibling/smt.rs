//! A free thread beside a CPU.

use fairlab_kernel::Feature;
use fairlab_topology::domains::DomainId;
use fairlab_units::CpuId;

use crate::MachineView;
use crate::explain::{Explain, ProbeState, Step};
use crate::search::Search;

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// A usable thread of the core of `cpu` (`select_idle_smt`).
    #[inline(always)]
    pub(super) fn select_idle_smt(&mut self, llc: DomainId, cpu: CpuId) -> Option<CpuId> {
        if let Some(masks) = self.masks
            && let Some(answer) = self.fast_idle_smt(masks, llc, cpu)
        {
            return answer;
        }
        self.scan_idle_smt(llc, cpu)
    }

    #[inline(never)]
    fn scan_idle_smt(&mut self, llc: DomainId, cpu: CpuId) -> Option<CpuId> {
        let domains = self.domains;
        let takes_self = self.has(Feature::SIS_SMT_SELF);
        let span = self.has(Feature::SIS_SMT_DOMAIN).then(|| domains.span(llc));
        // Before sched-idle CPUs counted as idle, the first of them was second choice.
        let first_usable = self.has(Feature::SIS_SCHED_IDLE);
        let mut second_choice = None;
        for thread in domains.smt_mask(cpu) {
            if (thread == cpu && !takes_self)
                || !self.p.allowed.test(thread)
                || span.is_some_and(|s| !s.test(thread))
            {
                continue;
            }
            match self.probe(Step::Smt, thread) {
                ProbeState::Idle => return Some(thread),
                ProbeState::SchedIdle if first_usable => return Some(thread),
                ProbeState::SchedIdle => {
                    second_choice.get_or_insert(thread);
                }
                ProbeState::Busy => {}
            }
        }
        second_choice
    }
}
