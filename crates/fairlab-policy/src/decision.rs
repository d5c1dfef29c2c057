//! What a placement answers.

use fairlab_units::CpuId;

/// The answer to "where does this task go", why, and what it cost to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Decision {
    /// The chosen CPU.
    pub cpu: CpuId,
    /// The path that chose it.
    pub reason: Reason,
    /// What the search touched.
    pub cost: Cost,
}

/// Counts of what a search touched. The kernel's own scan is counted, whichever search answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Cost {
    /// CPUs whose idle state was read.
    pub idle_tests: u32,
    /// Operations on a whole CPU mask (and, copy, clear).
    pub mask_ops: u32,
    /// Single bits cleared in a mask.
    pub bit_clears: u32,
    /// Groups whose statistics were gathered.
    pub groups: u32,
    /// CPUs visited while gathering group statistics (calls of `cpu_util_without`).
    pub group_cpus: u32,
}

/// Why a CPU was chosen: one variant per documented path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The target itself was idle.
    TargetIdle,
    /// Nothing was found: the target.
    Target,
}
