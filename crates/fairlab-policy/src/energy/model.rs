//! What a performance domain consumes.

use alloc::vec::Vec;

use fairlab_pelt::{Clamp, EffectiveInput, cpu_util, effective_cpu_util};
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
