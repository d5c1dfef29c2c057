//! Energy-aware placement: the CPU where the task costs the least energy.

use alloc::vec::Vec;

use fairlab_units::CpuMask;

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
