//! What a performance domain consumes.

use alloc::vec::Vec;

use fairlab_kernel::{Feature, Kernel};
use fairlab_pelt::{Clamp, EffectiveInput, cpu_util, effective_cpu_util};
use fairlab_topology::{Domains, Machine};
use fairlab_units::{CpuId, CpuMask};

use crate::MachineView;
use crate::explain::Explain;
use crate::search::Search;

/// CPUs that change frequency together (`perf_domain`, `em_perf_domain`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerfDomain {
    /// The CPUs.
    pub cpus: CpuMask,
    /// Performance states, slowest first.
    pub states: Vec<PerfState>,
}

/// One frequency of a performance domain (`em_perf_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerfState {
    /// Capacity that it gives to a CPU of the domain.
    pub performance: u64,
    /// Energy per unit of utilization, in any unit that all domains share.
    pub cost: u64,
}

/// The performance domains of `machine`; empty when energy-aware scheduling is off: without asymmetric
/// capacities, with SMT, or when some online CPU has no energy model.
///
/// Differs from Linux: frequencies are taken to follow utilization (schedutil), and there is no limit
/// to the number of domains and states.
///
/// # Source
/// Linux v6.12 `kernel/sched/topology.c`, `build_perf_domains()`.
#[doc(alias = "build_perf_domains")]
#[must_use]
pub fn perf_domains(machine: &Machine, domains: &Domains, kernel: &Kernel) -> Vec<PerfDomain> {
    let online = machine.online();
    let switches = domains.switches();
    let has_model = |cpu| machine.energy().iter().any(|d| d.cpus.test(cpu));
    let is_on = kernel.has(Feature::ENERGY_AWARE)
        && switches.asym_cpucapacity
        && !switches.smt_present
        && online.iter().all(has_model);
    if !is_on {
        return Vec::new();
    }
    let with_cpus = machine
        .energy()
        .iter()
        .filter(|d| d.cpus.intersects(&online));
    with_cpus
        .map(|domain| PerfDomain {
            cpus: domain.cpus.and(&online),
            states: domain
                .states
                .iter()
                .map(|state| PerfState {
                    performance: u64::from(state.capacity),
                    cost: state.cost(),
                })
                .collect(),
        })
        .collect()
}

impl PerfDomain {
    /// Energy while the busiest CPU needs `performance` and all together are busy for `busy`.
    #[doc(alias = "em_cpu_energy")]
    #[must_use]
    pub fn energy(&self, performance: u64, busy: u64) -> u64 {
        let fast_enough = |state: &&PerfState| state.performance >= performance;
        let state = self.states.iter().find(fast_enough).or(self.states.last());
        state.map_or(0, |state| state.cost.saturating_mul(busy))
    }
}

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// Capacity that each CPU of `perf` can give at present: that of its first.
    pub(super) fn perf_capacity(&self, perf: &PerfDomain) -> u64 {
        let first = perf.cpus.first();
        first.map_or(0, |cpu| self.actual_capacity(cpu))
    }

    /// Energy of `perf` with the task on `dst`; none: without it (`compute_energy`).
    pub(super) fn energy(&self, perf: &PerfDomain, dst: Option<CpuId>) -> u64 {
        let task = self.task_util();
        let (mut performance, mut busy, mut capacity) = (0, 0u64, 0u64);
        let active = self.view.active();
        let per_cpu = self.perf_capacity(perf);
        for cpu in perf.cpus.iter().filter(|cpu| active.test(*cpu)) {
            let queue = self.queue_util(cpu);
            let other = self.view.other_util(cpu);
            let (mut min, mut max) = self.view.rq_uclamp(cpu);
            if dst == Some(cpu) && self.view.uclamp_used() {
                min = min.max(self.p.uclamp.0);
                // The clamp that an idle queue remembers does not hold for the task.
                max = if self.view.is_idle(cpu) {
                    self.p.uclamp.1
                } else {
                    max.max(self.p.uclamp.1)
                };
            }
            let effective = |boost| {
                effective_cpu_util(&EffectiveInput {
                    capacity_orig: queue.capacity_orig,
                    cfs: cpu_util(self.kernel, &queue, Some(&task), dst, boost),
                    rt: other.rt,
                    dl: other.dl,
                    dl_bandwidth: other.dl_bandwidth,
                    irq: other.irq,
                    clamp: Clamp { min, max },
                    uclamp_used: self.view.uclamp_used(),
                    has_rt: false,
                })
            };
            performance = performance.max(effective(true).performance());
            busy += effective(false).util;
            capacity += per_cpu;
        }
        perf.energy(performance, busy.min(capacity))
    }
}
