//! Does a task fit a CPU? With the clamps that users put on utilization (uclamp).

use fairlab_kernel::{Feature, Kernel};
use fairlab_units::CAPACITY_SCALE;

use crate::fits_capacity;

/// The range to which users clamp the utilization of a task, or of the tasks on a runqueue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clamp {
    /// At least this (`UCLAMP_MIN`).
    pub min: u64,
    /// At most this (`UCLAMP_MAX`).
    pub max: u64,
}

impl Clamp {
    /// No clamp.
    pub const NONE: Self = Self {
        min: 0,
        max: CAPACITY_SCALE,
    };

    /// `util` within the range; where the bounds cross, the maximum wins.
    #[must_use]
    pub const fn apply(&self, util: u64) -> u64 {
        let raised = if util < self.min { self.min } else { util };
        if raised > self.max { self.max } else { raised }
    }
}

impl Default for Clamp {
    fn default() -> Self {
        Self::NONE
    }
}

/// How well a utilization fits a CPU, from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fit {
    /// It does not (0).
    No,
    /// It does, but the CPU cannot give the minimum that was asked for (-1).
    BelowMin,
    /// It does (1).
    Yes,
}

impl Fit {
    /// True when the utilization fits and gets what was asked for.
    #[inline]
    #[must_use]
    pub const fn is_full(self) -> bool {
        matches!(self, Self::Yes)
    }

    /// The kernel's number: 1, -1 or 0.
    #[must_use]
    pub const fn number(self) -> i32 {
        match self {
            Self::No => 0,
            Self::BelowMin => -1,
            Self::Yes => 1,
        }
    }
}

impl From<bool> for Fit {
    fn from(fits: bool) -> Self {
        if fits { Self::Yes } else { Self::No }
    }
}

/// The capacities of a CPU that fitting looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuCapacity {
    /// Left for fair tasks, as the balancer last found it (`capacity_of`).
    pub capacity: u64,
    /// Original capacity.
    pub capacity_orig: u64,
    /// Without present pressure ([`CapacityInput::actual`](crate::CapacityInput::actual)).
    pub actual: u64,
}

/// Does `util`, clamped to `clamp`, fit the CPU? `uclamp_used`: has anyone ever set a clamp?
///
/// Without `UCLAMP_FIT` the clamp does not matter here.
///
/// # Source
/// Linux v6.6, v7.2 `kernel/sched/fair.c`, `util_fits_cpu()`. Differs: none.
#[must_use]
pub fn util_fits_cpu(
    kernel: &Kernel,
    util: u64,
    clamp: Clamp,
    uclamp_used: bool,
    cpu: &CpuCapacity,
) -> Fit {
    let fits = fits_capacity(util, cpu.capacity);
    if !uclamp_used || !kernel.has(Feature::UCLAMP_FIT) {
        return fits.into();
    }
    // A task capped to what this CPU has at most is content with it. On the biggest CPU a cap of
    // 1024 is no cap.
    let is_uncapped = cpu.capacity_orig == CAPACITY_SCALE && clamp.max == CAPACITY_SCALE;
    let fits = fits || (!is_uncapped && clamp.max <= cpu.capacity_orig);
    let min = clamp.min.min(clamp.max);
    if fits && util < min && min > cpu.actual {
        return Fit::BelowMin;
    }
    fits.into()
}

/// Does a task with the expected utilization `task_util_est` fit the CPU?
///
/// # Source
/// Linux v7.2 `kernel/sched/fair.c`, `task_fits_cpu()`; to v5.19 `task_fits_capacity()` with the
/// CPU's capacity. Differs: none.
#[doc(alias = "task_fits_capacity")]
#[must_use]
pub fn task_fits_cpu(
    kernel: &Kernel,
    task_util_est: u64,
    clamp: Clamp,
    uclamp_used: bool,
    cpu: &CpuCapacity,
) -> bool {
    if kernel.has(Feature::UCLAMP_FIT) {
        return util_fits_cpu(kernel, task_util_est, clamp, uclamp_used, cpu).is_full();
    }
    let is_clamped = uclamp_used && kernel.has(Feature::UCLAMP_TASK_UTIL);
    let clamp = if is_clamped { clamp } else { Clamp::NONE };
    // Clamping with `NONE` would cut at 1024, which no task may exceed in these releases either.
    let util = if is_clamped {
        clamp.apply(task_util_est)
    } else {
        task_util_est
    };
    fits_capacity(util, cpu.capacity)
}

/// What decides whether the current task of a CPU is misfit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MisfitInput {
    /// Do CPUs of this machine differ in capacity?
    pub is_asymmetric: bool,
    /// May the task run on this CPU only?
    pub is_bound: bool,
    /// The biggest original capacity among the CPUs that the task may use.
    pub max_allowed_capacity: u64,
    /// The task's expected utilization.
    pub task_util_est: u64,
    /// The task's clamp.
    pub clamp: Clamp,
    /// Has anyone ever set a clamp?
    pub uclamp_used: bool,
    /// Share of the task in the load of its root queue.
    pub task_h_load: u64,
}

/// The load with which the current task of a CPU asks for a bigger one; 0 when it does not. `None`:
/// no fair task runs.
///
/// # Source
/// Linux v7.2 `kernel/sched/fair.c`, `update_misfit_status()`. Differs: none.
#[doc(alias = "update_misfit_status")]
#[must_use]
pub fn misfit_load(kernel: &Kernel, current: Option<&MisfitInput>, cpu: &CpuCapacity) -> u64 {
    let Some(task) = current.filter(|task| task.is_asymmetric && !task.is_bound) else {
        return 0;
    };
    let has_biggest =
        kernel.has(Feature::MISFIT_AFFINITY) && cpu.capacity_orig == task.max_allowed_capacity;
    if has_biggest
        || task_fits_cpu(
            kernel,
            task.task_util_est,
            task.clamp,
            task.uclamp_used,
            cpu,
        )
    {
        return 0;
    }
    // A load of 0 would say "no misfit task".
    task.task_h_load.max(1)
}

/// Does a CPU have more to do than it can? `util` is its [`cpu_util_cfs`](crate::cpu_util_cfs),
/// `clamp` that of its runqueue, `is_energy_aware` whether energy-aware scheduling is on.
///
/// # Source
/// Linux v5.15, v6.1, v7.2 `kernel/sched/fair.c`, `cpu_overutilized()`. Differs: none.
#[doc(alias = "cpu_overutilized")]
#[must_use]
pub fn is_overutilized(
    kernel: &Kernel,
    util: u64,
    clamp: Clamp,
    uclamp_used: bool,
    is_energy_aware: bool,
    cpu: &CpuCapacity,
) -> bool {
    if kernel.has(Feature::OVERUTIL_EAS_ONLY) && !is_energy_aware {
        return false;
    }
    let min = if kernel.has(Feature::OVERUTIL_NO_UMIN) {
        0
    } else {
        clamp.min
    };
    let clamp = Clamp { min, ..clamp };
    util_fits_cpu(kernel, util, clamp, uclamp_used, cpu) == Fit::No
}
