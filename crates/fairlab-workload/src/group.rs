//! Task groups: who shares the CPUs with whom.

use alloc::string::String;

use fairlab_units::Nanos;

use crate::program::TaskGroupId;

/// A task group (`cpu` controller of cgroups).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskGroup {
    /// Its name, the last part of its path.
    pub name: String,
    /// The group around it; None is the root. A group comes after the one around it.
    pub parent: Option<TaskGroupId>,
    /// `cpu.shares`: what it gets in relation to its neighbours, 1024 by default, 2 to 262144.
    pub shares: u32,
    /// `cpu.max`, if it is limited.
    pub max: Option<CpuMax>,
    /// `cpu.idle`: it gets what others leave (v5.15 on).
    pub is_idle: bool,
}

/// What a task group may use at most (`cpu.max`, `cpu.max.burst`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuMax {
    /// CPU time per period, on all CPUs together.
    pub quota: Nanos,
    /// Length of a period.
    pub period: Nanos,
    /// Unused time that is kept for later periods (v5.14 on).
    pub burst: Nanos,
}

impl TaskGroup {
    /// Default `cpu.shares`.
    pub const SHARES: u32 = 1024;

    /// A group below the root with the default shares and without a limit.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            parent: None,
            shares: Self::SHARES,
            max: None,
            is_idle: false,
        }
    }

    /// The shares that stand for a `cpu.weight` of 1 to 10000, of which 100 is the default.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/core.c`, `cpu_weight_write_u64()`: rounded to the nearest.
    #[must_use]
    pub const fn shares_of_weight(weight: u32) -> u32 {
        (weight * Self::SHARES + 50) / 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_of_100_is_the_default_of_1024_shares() {
        let shares = [1, 50, 100, 200, 10_000].map(TaskGroup::shares_of_weight);
        assert_eq!(shares, [10, 512, 1024, 2048, 102_400]);
    }
}
