//! The threads beside a CPU.

use fairlab_kernel::Feature;
use fairlab_topology::domains::DomainId;
use fairlab_units::CpuId;

use super::words::{BITS, cpu_at, ones, sched_mask, up_to_lowest};
use crate::MachineView;
use crate::core_form::word;
use crate::explain::Explain;
use crate::idle_masks::IdleMasks;
use crate::search::Search;

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// The first usable thread beside `cpu`; none when the core is not within one word, or sched-idle
    /// threads are second choice.
    #[inline(always)]
    pub(crate) fn fast_idle_smt(
        &mut self,
        masks: &IdleMasks,
        llc: DomainId,
        cpu: CpuId,
    ) -> Option<Option<CpuId>> {
        if !self.has(Feature::SIS_SCHED_IDLE) {
            return None;
        }
        let i = cpu.index() / BITS;
        let mut threads = masks.core_bits(cpu)? & word(self.p.allowed, i);
        if self.has(Feature::SIS_SMT_DOMAIN) {
            let span = self.domains.domain(llc).span;
            threads &= word(self.domains.mask(span), i);
        }
        if !self.has(Feature::SIS_SMT_SELF) {
            threads &= !(1 << (cpu.index() % BITS));
        }
        let usable = masks.row(i).usable(sched_mask(self.takes_sched_idle));
        let hit = threads & usable;
        self.cost.idle_tests += ones(threads & up_to_lowest(hit));
        Some((hit != 0).then(|| cpu_at(i, hit)))
    }
}
