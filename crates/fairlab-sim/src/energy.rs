//! Energy-aware scheduling: when it is on, and when the machine is too busy for it.

use fairlab_kernel::{Feature, Kernel};
use fairlab_pelt::{Clamp, CpuCapacity, CpuUtil, cpu_util_cfs, is_overutilized};
use fairlab_policy::{PerfDomain, PerfState};
use fairlab_topology::{Domains, Machine};
use fairlab_units::CpuId;

use crate::engine::Engine;

/// The performance domains of `machine`; empty when energy-aware scheduling is off: without asymmetric
/// capacities, with SMT, or when some online CPU has no energy model.
///
/// Differs from Linux: frequencies are taken to follow utilization (schedutil), and there is no limit
/// to the number of domains and states.
///
/// # Source
/// Linux v6.12 `kernel/sched/topology.c`, `build_perf_domains()`.
#[doc(alias = "build_perf_domains")]
pub(crate) fn perf_domains(
    machine: &Machine,
    domains: &Domains,
    kernel: &Kernel,
) -> Vec<PerfDomain> {
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

impl Engine<'_> {
    /// Sets the root domain's flag when `cpu` has more to do than it can; only balancing the whole
    /// machine clears it.
    #[doc(alias = "update_overutilized_status")]
    pub(crate) fn note_overutilized(&mut self, cpu: CpuId) {
        if self.world.perf.is_empty() || self.balance.overutilized {
            return;
        }
        let kernel = self.world.kernel;
        let avg = &self.world.cpus[cpu].queue.avg.avg;
        let capacity_orig = u64::from(self.world.domains.capacity_orig(cpu));
        let util = CpuUtil {
            cpu,
            util_avg: avg.util_avg,
            runnable_avg: avg.runnable_avg,
            util_est: u64::from(avg.util_est.enqueued),
            capacity_orig,
        };
        let capacity = CpuCapacity {
            capacity: self.balance.capacity_of(cpu),
            capacity_orig,
            actual: capacity_orig,
        };
        let util = cpu_util_cfs(&kernel, &util);
        self.balance.overutilized =
            is_overutilized(&kernel, util, Clamp::NONE, false, true, &capacity);
    }
}
