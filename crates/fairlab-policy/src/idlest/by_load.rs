//! The idlest group by load (v5.4).

use fairlab_pelt::{cpu_util_without, cpu_util_without_call};
use fairlab_topology::DomainFlags;
use fairlab_topology::domains::DomainId;
use fairlab_units::CpuId;

use super::HERE;
use crate::explain::Explain;
use crate::search::Search;
use crate::{MachineView, Section, WakeFlags};

/// Loads per capacity of a group, and the largest spare capacity of one of its CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GroupLoad {
    runnable: u64,
    avg: u64,
    spare: u64,
}

/// The comparison under way. Sums wrap as in the kernel, whose start values are the largest.
#[derive(Clone, Copy, Debug)]
struct Choice {
    /// Percent by which a load must be smaller.
    scale: u64,
    /// The same as a load.
    imbalance: u64,
    local: GroupLoad,
    min_runnable: u64,
    min_avg: u64,
    idlest: Option<usize>,
    most_spare: u64,
    most_spare_group: Option<usize>,
}

impl Choice {
    fn new(imbalance_pct: u32) -> Self {
        let extra = u64::from(imbalance_pct) - 100;
        Self {
            scale: 100 + extra / 2,
            imbalance: 1024 * extra / 100,
            local: GroupLoad {
                runnable: u64::MAX,
                avg: u64::MAX,
                spare: 0,
            },
            min_runnable: u64::MAX,
            min_avg: u64::MAX,
            idlest: None,
            most_spare: 0,
            most_spare_group: None,
        }
    }

    fn other(&mut self, position: usize, group: GroupLoad) {
        if self.min_runnable > group.runnable.wrapping_add(self.imbalance) {
            self.min_runnable = group.runnable;
            self.min_avg = group.avg;
            self.idlest = Some(position);
        } else if group.runnable < self.min_runnable.wrapping_add(self.imbalance)
            && self.min_avg.wrapping_mul(100) > group.avg.wrapping_mul(self.scale)
        {
            self.min_avg = group.avg;
            self.idlest = Some(position);
        }
        if self.most_spare < group.spare {
            self.most_spare = group.spare;
            self.most_spare_group = Some(position);
        }
    }

    /// The chosen group; none stays local. `task_util` is absent at a fork, when it means nothing.
    fn finish(self, is_numa: bool, task_util: Option<u64>) -> Option<usize> {
        if let Some(util) = task_util {
            if self.local.spare > util / 2 && self.scale * self.local.spare > 100 * self.most_spare
            {
                return None;
            }
            if self.most_spare > util / 2 {
                return self.most_spare_group;
            }
        }
        let idlest = self.idlest?;
        let stays = (is_numa
            && self.min_runnable.wrapping_add(self.imbalance) >= self.local.runnable)
            || self.min_runnable > self.local.runnable.wrapping_add(self.imbalance)
            || (self.local.runnable < self.min_runnable.wrapping_add(self.imbalance)
                && self.local.avg.wrapping_mul(100) < self.min_avg.wrapping_mul(self.scale));
        (!stays).then_some(idlest)
    }
}

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// `find_idlest_group` before its rework.
    pub(super) fn find_idlest_group_by_load(&mut self, id: DomainId, cpu: CpuId) -> Option<usize> {
        if self.inlines_util() {
            self.idlest_by_load::<true>(id, cpu)
        } else {
            self.idlest_by_load::<false>(id, cpu)
        }
    }

    fn idlest_by_load<const INLINE: bool>(&mut self, id: DomainId, cpu: CpuId) -> Option<usize> {
        let (view, domains) = (self.view, self.domains);
        let domain = domains.domain(id);
        let mut choice = Choice::new(domain.imbalance_pct);
        for (position, group) in domains.groups(id).iter().enumerate() {
            let span = domains.mask(group.span);
            self.cost.mask_ops += 1;
            if !span.intersects(self.p.allowed) {
                continue;
            }
            let mut load = GroupLoad {
                runnable: 0,
                avg: 0,
                spare: 0,
            };
            let task = self.task_util();
            view.enter(Section::GroupStats, &self.cost);
            for cpu in span {
                self.cost.group_cpus += 1;
                load.runnable += self.load(cpu);
                load.avg += view.load_avg(cpu);
                let queue = self.queue_util(cpu);
                let util = if INLINE {
                    cpu_util_without(self.kernel, &queue, &task)
                } else {
                    cpu_util_without_call::<HERE>(self.kernel, &queue, &task)
                };
                let spare = view.capacity_of(cpu).saturating_sub(util);
                load.spare = load.spare.max(spare);
            }
            view.leave(Section::GroupStats, &self.cost);
            self.cost.groups += 1;
            let capacity = view.group_capacity(group.capacity).capacity.max(1);
            load.runnable = load.runnable * 1024 / capacity;
            load.avg = load.avg * 1024 / capacity;
            if span.test(cpu) {
                choice.local = load;
            } else {
                choice.other(position, load);
            }
        }
        let is_fork = self.ctx.flags.has(WakeFlags::FORK);
        choice.finish(
            domain.flags.has(DomainFlags::NUMA),
            (!is_fork).then_some(self.signals.util_avg),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// runnable load, load, largest spare, capacity; the first is local.
    fn choose(
        groups: &[(u64, u64, u64, u64)],
        is_numa: bool,
        task_util: Option<u64>,
    ) -> Option<usize> {
        let mut choice = Choice::new(125);
        for (position, (runnable, avg, spare, capacity)) in groups.iter().enumerate() {
            let load = GroupLoad {
                runnable: runnable * 1024 / capacity,
                avg: avg * 1024 / capacity,
                spare: *spare,
            };
            if position == 0 {
                choice.local = load;
            } else {
                choice.other(position, load);
            }
        }
        choice.finish(is_numa, task_util)
    }

    const CORES: [(u64, u64, u64, u64); 4] = [
        (1024, 1100, 1000, 2048),
        (0, 50, 1024, 2048),
        (0, 20, 1024, 2048),
        (1024, 1100, 900, 2048),
    ];

    #[test]
    fn a_fork_takes_the_group_of_least_load() {
        assert_eq!(choose(&CORES, false, None), Some(2));
    }

    #[test]
    fn an_exec_stays_where_enough_capacity_is_spare() {
        assert_eq!(choose(&CORES, false, Some(200)), None);
    }

    #[test]
    fn a_fork_stays_local_between_equal_groups() {
        let equal = (1024, 1024, 500, 2048);
        assert_eq!(choose(&[equal, equal], false, None), None);
    }

    #[test]
    fn a_fork_leaves_its_node_only_when_it_is_clearly_busier() {
        let empty = (0, 0, 1024, 16384);
        let one_task = (1024, 1024, 1024, 16384);
        assert_eq!(choose(&[one_task, empty], true, None), None);
        let six_tasks = (6144, 6144, 1024, 16384);
        assert_eq!(choose(&[six_tasks, empty], true, None), Some(1));
    }
}
