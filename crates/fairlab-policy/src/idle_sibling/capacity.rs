//! The scan of asymmetric machines: an idle CPU whose capacity fits the task.

use fairlab_kernel::Feature;
use fairlab_pelt::Fit;
use fairlab_topology::domains::DomainId;
use fairlab_units::CpuId;

use super::budget::UNLIMITED;
use crate::explain::{Explain, Step};
use crate::search::{Search, WrapWalk};
use crate::{MachineView, Reason};

/// How good a candidate is; smaller is better. The numbers are the kernel's.
type Rank = i32;

/// A thread of an idle core is better than any other by this much.
const IDLE_CORE: Rank = -3;

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    #[inline(never)]
    pub(super) fn select_idle_capacity(
        &mut self,
        domain: DomainId,
        target: CpuId,
    ) -> Option<(CpuId, Reason)> {
        let ranks_cores = self.has(Feature::SIS_ASYM_SMT);
        let has_idle_core = ranks_cores && self.has_idle_cores(target);
        let mut nr = UNLIMITED;
        if ranks_cores && self.has(Feature::SIS_UTIL) {
            nr = self.budget_by_utilization(target)?;
        }
        self.scratch
            .cpus
            .assign_and(self.domains.span(domain), self.p.allowed);
        self.cost.mask_ops += 1;

        let mut best = None;
        let mut best_rank: Rank = 0;
        let mut best_value = 0;
        let mut walk = WrapWalk::from(target);
        while let Some(cpu) = walk.next(&self.scratch.cpus) {
            if ranks_cores && !has_idle_core {
                nr -= 1;
                if nr <= 0 {
                    return best.map(|cpu| (cpu, Reason::CapacityBest));
                }
            }
            if !self.is_usable(Step::Capacity, cpu) {
                continue;
            }
            let fit = self.task_fits(cpu);
            let on_idle_core = !has_idle_core || self.is_core_idle(cpu);
            if fit == Fit::Yes && on_idle_core {
                return Some((cpu, Reason::CapacityFits));
            }
            let mut rank: Rank = match fit {
                Fit::BelowMin => -1,
                Fit::No => 0,
                // It would fit, but shares its core with a running task.
                Fit::Yes => -2,
            };
            if ranks_cores && on_idle_core {
                rank += IDLE_CORE;
            }
            let value = if fit == Fit::BelowMin {
                self.actual_capacity(cpu)
            } else {
                self.view.capacity_of(cpu)
            };
            if rank < best_rank || (rank == best_rank && value > best_value) {
                best = Some(cpu);
                best_rank = rank;
                best_value = value;
            }
        }
        if has_idle_core && best_rank > IDLE_CORE {
            self.clear_idle_cores(target);
        }
        best.map(|cpu| (cpu, Reason::CapacityBest))
    }
}
