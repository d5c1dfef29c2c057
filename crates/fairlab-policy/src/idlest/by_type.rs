//! The idlest group by class (v5.5 and later).

use fairlab_kernel::{Feature, Kernel};
use fairlab_topology::DomainFlags;
use fairlab_topology::domains::{DomainId, SchedDomain};
use fairlab_units::CpuId;

use super::{GroupStats, GroupType};
use crate::MachineView;
use crate::explain::{Event, Explain};
use crate::search::Search;

/// The facts of a domain that the choice reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DomainFacts {
    is_numa: bool,
    imbalance_pct: u64,
    weight: u32,
    imb_numa_nr: u32,
}

impl From<&SchedDomain> for DomainFacts {
    fn from(domain: &SchedDomain) -> Self {
        Self {
            is_numa: domain.flags.has(DomainFlags::NUMA),
            imbalance_pct: u64::from(domain.imbalance_pct),
            weight: domain.span_weight,
            imb_numa_nr: domain.imb_numa_nr,
        }
    }
}

/// What NUMA balancing says about a task that wants to leave its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumaWish {
    None,
    Stay,
    Leave,
}

/// Is `candidate` idler than the best group so far (`update_pick_idlest`)?
fn is_idler(kernel: &Kernel, candidate: &GroupStats, best: Option<&GroupStats>) -> bool {
    let Some(best) = best else {
        // The search starts with an overloaded group of the largest 32-bit load.
        return candidate.kind != GroupType::Overloaded || candidate.avg_load < u64::from(u32::MAX);
    };
    if candidate.kind != best.kind {
        return candidate.kind < best.kind;
    }
    match candidate.kind {
        GroupType::Overloaded | GroupType::FullyBusy => candidate.avg_load < best.avg_load,
        GroupType::MisfitTask => candidate.max_capacity > best.max_capacity,
        GroupType::HasSpare => {
            candidate.idle_cpus > best.idle_cpus
                || (kernel.has(Feature::FIG_UTIL_TIE)
                    && candidate.idle_cpus == best.idle_cpus
                    && candidate.util < best.util)
        }
        GroupType::SmtBalance
        | GroupType::AsymPacking
        | GroupType::Imbalanced
        | GroupType::LlcBalance => false,
    }
}

/// The imbalance between nodes that counts (`adjust_numa_imbalance`): a difference of two tasks is
/// ignored while the destination runs few.
const fn adjust_numa_imbalance(difference: u32, running: u32, imb_numa_nr: u32) -> u32 {
    const NUMA_IMBALANCE_MIN: u32 = 2;
    if running > imb_numa_nr || difference > NUMA_IMBALANCE_MIN {
        difference
    } else {
        0
    }
}

/// Does a task leave the local group for the idlest one? `allowed` counts the CPUs of the local
/// group where it may run.
fn leaves_local(
    kernel: &Kernel,
    domain: DomainFacts,
    local: &GroupStats,
    idlest: &GroupStats,
    wish: NumaWish,
    allowed: u32,
) -> bool {
    if local.kind != idlest.kind {
        return local.kind > idlest.kind;
    }
    match local.kind {
        GroupType::Overloaded | GroupType::FullyBusy => {
            let imbalance = 1024 * (domain.imbalance_pct - 100) / 100;
            // Between nodes the task's memory weighs in.
            let stays = (domain.is_numa && idlest.avg_load + imbalance >= local.avg_load)
                || idlest.avg_load >= local.avg_load + imbalance
                || 100 * local.avg_load <= domain.imbalance_pct * idlest.avg_load;
            !stays
        }
        GroupType::MisfitTask => local.max_capacity < idlest.max_capacity,
        GroupType::SmtBalance
        | GroupType::AsymPacking
        | GroupType::Imbalanced
        | GroupType::LlcBalance => false,
        GroupType::HasSpare => {
            if domain.is_numa {
                match wish {
                    NumaWish::Stay => return false,
                    NumaWish::Leave => return true,
                    NumaWish::None => {}
                }
                if node_is_good_enough(kernel, domain, local, idlest, allowed) {
                    return false;
                }
            }
            local.idle_cpus < idlest.idle_cpus
        }
    }
}

/// May the local node take one more task although another has more idle CPUs?
fn node_is_good_enough(
    kernel: &Kernel,
    domain: DomainFacts,
    local: &GroupStats,
    idlest: &GroupStats,
    allowed: u32,
) -> bool {
    if kernel.has(Feature::FIG_NUMA_ANY_IDLE) && local.idle_cpus > 0 {
        return true;
    }
    if kernel.has(Feature::FIG_NUMA_QUARTER) && local.nr_running < domain.weight >> 2 {
        return true;
    }
    if kernel.has(Feature::FIG_NUMA_IMB) {
        let imb_numa_nr = domain.imb_numa_nr.min(allowed);
        let difference = local.idle_cpus.abs_diff(idlest.idle_cpus);
        return adjust_numa_imbalance(difference, local.nr_running + 1, imb_numa_nr) == 0;
    }
    false
}

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// Position of the idlest group of domain `id`; none when the group of `cpu` is as good
    /// (`find_idlest_group`, from v6.10 on `sched_balance_find_dst_group`).
    pub(super) fn find_idlest_group(&mut self, id: DomainId, cpu: CpuId) -> Option<usize> {
        let domains = self.domains;
        let mut local: Option<(usize, GroupStats)> = None;
        let mut idlest: Option<(usize, GroupStats)> = None;
        for (position, group) in domains.groups(id).iter().enumerate() {
            let span = domains.mask(group.span);
            self.cost.mask_ops += 1;
            if !span.intersects(self.p.allowed) {
                continue;
            }
            let stats = self.group_stats(id, position);
            let is_local = span.test(cpu);
            self.explain.note(Event::Group {
                domain: id,
                span,
                is_local,
                stats: &stats,
            });
            if is_local {
                local = Some((position, stats));
            } else if is_idler(self.kernel, &stats, idlest.as_ref().map(|(_, s)| s)) {
                idlest = Some((position, stats));
            }
        }
        let (position, idlest) = idlest?;
        let Some((local_position, local)) = local else {
            return Some(position);
        };
        let domain = domains.domain(id);
        let span_of = |position: usize| domains.mask(domains.groups(id)[position].span);
        let allowed = if domain.flags.has(DomainFlags::NUMA) {
            span_of(local_position).weight_and(self.p.allowed) as u32
        } else {
            0
        };
        let wish = match self.p.preferred_node {
            Some(node) if self.view.node_of(cpu) == node => NumaWish::Stay,
            Some(node)
                if span_of(position)
                    .first()
                    .is_some_and(|first| self.view.node_of(first) == node) =>
            {
                NumaWish::Leave
            }
            _ => NumaWish::None,
        };
        leaves_local(self.kernel, domain.into(), &local, &idlest, wish, allowed).then_some(position)
    }
}

#[cfg(test)]
mod tests;
