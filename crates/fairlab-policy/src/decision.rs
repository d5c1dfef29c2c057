//! What a placement answers.

use fairlab_units::CpuId;

use crate::Reason;

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
    /// CPUs whose idle state was read; a CPU that is read twice counts twice.
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

/// How a wakeup chose the CPU around which it searches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Affine {
    /// The waker and wakee are each one of many (`wake_wide`), or the waking CPU is not allowed, or
    /// it is too small for the wakee (`wake_cap`): the previous CPU.
    Unwanted,
    /// No domain with WAKE_AFFINE holds both CPUs: the previous CPU.
    NoDomain,
    /// The waking CPU is the previous CPU.
    SameCpu,
    /// The waking CPU is idle and shares its cache with a busy previous CPU: the waking CPU.
    ThisIdle,
    /// Both are idle and share a cache, or only the previous one is idle: the previous CPU.
    PrevIdle,
    /// A sync wakeup by the only task of the waking CPU: the waking CPU.
    Sync,
    /// A sync wakeup whose waker carries more load than its CPU's average: the waking CPU.
    SyncLoad,
    /// The waking CPU would be less loaded: the waking CPU.
    Weight,
    /// The LLC of the waking CPU is more idle (WA_LLC_IDLER): the waking CPU.
    LlcIdler,
    /// The LLC of the previous CPU is more idle (WA_LLC_IDLER): the previous CPU.
    PrevLlcIdler,
    /// No test spoke for the waking CPU: the previous CPU.
    Declined,
}

impl Affine {
    /// Is the search made around the waking CPU?
    #[must_use]
    pub const fn takes_waking_cpu(self) -> bool {
        matches!(
            self,
            Self::ThisIdle | Self::Sync | Self::SyncLoad | Self::Weight | Self::LlcIdler
        )
    }
}
