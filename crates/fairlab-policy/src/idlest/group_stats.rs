//! What fork and exec know of a group.

use fairlab_kernel::Feature;
use fairlab_pelt::{cpu_util_without, cpu_util_without_call};
use fairlab_topology::DomainFlags;
use fairlab_topology::domains::DomainId;
use fairlab_units::CpuMask;

use super::group_type::GroupSums;
use super::{GroupType, HERE};
use crate::explain::Explain;
use crate::search::Search;
use crate::{MachineView, Section};

/// What fork and exec know of a group (`sg_lb_stats`), without the task that is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupStats {
    /// The class.
    pub kind: GroupType,
    /// Load per capacity, where the kernel computes it; else 0 (`avg_load`).
    pub avg_load: u64,
    /// Sum of loads (`group_load`).
    pub load: u64,
    /// Sum of utilization (`group_util`).
    pub util: u64,
    /// Sum of `runnable_avg` (`group_runnable`).
    pub runnable: u64,
    /// Runnable tasks (`sum_nr_running`).
    pub nr_running: u32,
    /// Idle CPUs (`idle_cpus`).
    pub idle_cpus: u32,
    /// Capacity of the group.
    pub capacity: u64,
    /// Capacity of its biggest CPU.
    pub max_capacity: u64,
}

/// What one walk over the CPUs of a group adds up.
#[derive(Clone, Copy, Debug, Default)]
struct Gathered {
    load: u64,
    util: u64,
    runnable: u64,
    nr_running: u32,
    idle_cpus: u32,
    visited: u32,
    fits_some_cpu: bool,
}

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// The statistics of one group (`update_sg_wakeup_stats`).
    pub(super) fn group_stats(&mut self, id: DomainId, position: usize) -> GroupStats {
        let (view, domains) = (self.view, self.domains);
        let domain = domains.domain(id);
        let group = &domains.groups(id)[position];
        let span = domains.mask(group.span);
        let capacity = view.group_capacity(group.capacity);
        let asymmetric = domain.flags.has(DomainFlags::ASYM_CPUCAPACITY);
        let misfit_by_cpu = self.has(Feature::FIG_MISFIT_BY_CPU);

        view.enter(Section::GroupStats, &self.cost);
        // The two forms of seed measurements: the same arithmetic, inlined or called per CPU.
        let gathered = if self.inlines_util() {
            self.gather::<true>(span, asymmetric && misfit_by_cpu)
        } else {
            self.gather::<false>(span, asymmetric && misfit_by_cpu)
        };
        self.cost.groups += 1;
        self.cost.group_cpus += gathered.visited;
        view.leave(Section::GroupStats, &self.cost);

        let misfit = asymmetric
            && if misfit_by_cpu {
                !gathered.fits_some_cpu
            } else {
                !self.fits_group(capacity.max)
            };
        let sums = GroupSums {
            nr_running: gathered.nr_running,
            weight: if self.has(Feature::FIG_WEIGHT_UNSET) {
                0
            } else {
                group.weight
            },
            capacity: capacity.capacity,
            util: gathered.util,
            runnable: gathered.runnable,
            imbalanced: view.group_imbalance(group.capacity),
            misfit,
        };
        let kind = sums.classify(self.kernel, domain.imbalance_pct);
        let has_avg_load = if self.has(Feature::FIG_AVG_LOAD_SPARE) {
            kind == GroupType::HasSpare
        } else {
            matches!(kind, GroupType::FullyBusy | GroupType::Overloaded)
        };
        GroupStats {
            kind,
            avg_load: if has_avg_load {
                gathered.load * 1024 / capacity.capacity.max(1)
            } else {
                0
            },
            load: gathered.load,
            util: gathered.util,
            runnable: gathered.runnable,
            nr_running: gathered.nr_running,
            idle_cpus: gathered.idle_cpus,
            capacity: capacity.capacity,
            max_capacity: capacity.max,
        }
    }

    /// Walks the CPUs of a group. What `p` itself contributes to a CPU is taken out.
    fn gather<const INLINE: bool>(&self, span: &CpuMask, tests_fit: bool) -> Gathered {
        let (view, p) = (self.view, self.p);
        let runnable = self.has(Feature::FIG_RUNNABLE);
        let allowed_only = self.has(Feature::FIG_ALLOWED_ONLY);
        let task = self.task_util();
        let mut sum = Gathered::default();
        for cpu in span {
            if allowed_only && !p.allowed.test(cpu) {
                continue;
            }
            sum.visited += 1;
            // A task that never ran has nothing to take out.
            let is_here = p.cpu == cpu && !p.is_new;
            let load = self.load(cpu);
            sum.load += if is_here {
                load.saturating_sub(self.h_load())
            } else {
                load
            };
            let queue = self.queue_util(cpu);
            sum.util += if INLINE {
                cpu_util_without(self.kernel, &queue, &task)
            } else {
                cpu_util_without_call::<HERE>(self.kernel, &queue, &task)
            };
            if runnable {
                let own = if is_here {
                    self.signals.runnable_avg
                } else {
                    0
                };
                sum.runnable += queue.runnable_avg.saturating_sub(own);
            }
            let own = u32::from(is_here && p.on_rq);
            let nr_running = view.nr_running(cpu).saturating_sub(own);
            sum.nr_running += nr_running;
            sum.idle_cpus += u32::from(nr_running == 0 && view.is_idle_without(cpu, p.id));
            if tests_fit && !sum.fits_some_cpu {
                sum.fits_some_cpu = self.task_fits(cpu).is_full();
            }
        }
        sum
    }
}
