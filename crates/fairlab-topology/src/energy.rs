//! What the CPUs of a machine consume: the energy model that firmware or a driver registers.

use alloc::vec::Vec;

use fairlab_units::CpuMask;

/// CPUs that change frequency together (`em_perf_domain`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnergyDomain {
    /// The CPUs.
    pub cpus: CpuMask,
    /// What they can do and consume, slowest first.
    pub states: Vec<EnergyState>,
}

/// One frequency of an energy domain (`em_perf_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnergyState {
    /// Capacity of a CPU at it, on the 1024 scale.
    pub capacity: u32,
    /// Power of a CPU that is busy all the time, in microwatts.
    pub power_uw: u64,
}

impl EnergyState {
    /// Energy per unit of utilization, in 1000ths of a microwatt: what domains and states are compared
    /// by.
    #[doc(alias = "em_compute_costs")]
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.power_uw
            .saturating_mul(1_000)
            .checked_div(u64::from(self.capacity))
            .unwrap_or(0)
    }
}
