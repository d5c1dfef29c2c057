//! The other LLCs of the node, when that of the target has nothing.

use fairlab_kernel::Feature;
use fairlab_topology::DomainFlags;
use fairlab_topology::domains::DomainId;
use fairlab_units::CpuId;

use crate::MachineView;
use crate::explain::Explain;
use crate::search::Search;

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// An idle CPU of another LLC of the node of `target`, whose own LLC is the domain `llc`. Each LLC is
    /// searched as a wakeup with its first CPU as target would search it.
    ///
    /// # Source
    /// The patch "sched/fair: Multi-LLC select_idle_sibling()" of 2023, from its description; no release
    /// has it.
    #[inline(never)]
    pub(super) fn select_idle_node(&mut self, llc: DomainId, target: CpuId) -> Option<CpuId> {
        let domains = self.domains;
        let node = domains.domain(llc).parent?;
        if domains.domain(node).flags.has(DomainFlags::NUMA) {
            return None;
        }
        // The hint of the target's own LLC stays in its place.
        let own = self.effects.clear_idle_cores;
        let mut found = None;
        for (index, group) in domains.groups(node).iter().enumerate() {
            let Some(first) = domains.mask(group.span).first() else {
                continue;
            };
            let Some(other) = domains.cached(first).llc else {
                continue;
            };
            if domains.share_cache(first, target) {
                continue;
            }
            self.effects.clear_idle_cores = None;
            let end = if self.has(Feature::SIS_ONE_PASS) {
                self.scan_in_one_pass(other, first)
            } else {
                self.scan_in_three_passes(other, first)
            };
            if self.effects.clear_idle_cores.is_some() && index < 64 {
                let (_, groups) = self.effects.clear_groups.get_or_insert((node, 0));
                *groups |= 1 << index;
            }
            if end.cpu.is_some() {
                found = end.cpu;
                break;
            }
        }
        self.effects.clear_idle_cores = own;
        found
    }
}
