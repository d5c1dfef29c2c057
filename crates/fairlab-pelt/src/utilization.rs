//! Utilization of a CPU, as placement, balancing and frequency selection read it.

use fairlab_kernel::{Feature, Kernel};
use fairlab_units::CpuId;

use crate::{QueueAvg, SchedAvg};

/// What the utilization of a CPU is computed from: the signals of its root fair queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuUtil {
    /// The CPU.
    pub cpu: CpuId,
    /// `util_avg` of the root queue.
    pub util_avg: u64,
    /// `runnable_avg` of the root queue.
    pub runnable_avg: u64,
    /// Sum of the estimates of the tasks on the CPU.
    pub util_est: u64,
    /// Original capacity of the CPU (`arch_scale_cpu_capacity`).
    pub capacity_orig: u64,
}

impl CpuUtil {
    /// Reads the root queue of `cpu`.
    #[must_use]
    pub const fn of(cpu: CpuId, root: &QueueAvg, capacity_orig: u64) -> Self {
        Self {
            cpu,
            util_avg: root.avg.util_avg,
            runnable_avg: root.avg.runnable_avg,
            util_est: root.avg.util_est.enqueued as u64,
            capacity_orig,
        }
    }
}

/// What of a task matters for the utilization of a CPU with or without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskUtil {
    /// The CPU it is on, or was last (`task_cpu`).
    pub cpu: CpuId,
    /// Its `util_avg`.
    pub util_avg: u64,
    /// Its `runnable_avg`.
    pub runnable_avg: u64,
    /// Its estimate without mark ([`UtilEst::of_task`](crate::UtilEst::of_task)).
    pub util_est: u64,
    /// Does its queue's sum contain its estimate? It does while the task is on a runqueue, and when
    /// the task is the one that asks (exec).
    pub is_counted: bool,
    /// Has it never been attached to a queue, or been migrated since (`last_update_time` 0)?
    pub is_new: bool,
}

impl TaskUtil {
    /// Reads the signals of a task on `cpu`.
    #[must_use]
    pub const fn of(kernel: &Kernel, cpu: CpuId, task: &SchedAvg, is_counted: bool) -> Self {
        Self {
            cpu,
            util_avg: task.util_avg,
            runnable_avg: task.runnable_avg,
            util_est: task.util_est.of_task(kernel),
            is_counted,
            is_new: task.last_update_time.is_never(),
        }
    }
}

/// The one body of `cpu_util` and its other names. `subtracts_counted` says whether the estimate of
/// a counted task is taken out when the task is not going to this CPU.
#[inline(always)]
fn cpu_util_body(
    kernel: &Kernel,
    cpu: &CpuUtil,
    task: Option<&TaskUtil>,
    dst_cpu: Option<CpuId>,
    boost: bool,
    subtracts_counted: bool,
) -> u64 {
    let is_dst = dst_cpu == Some(cpu.cpu);
    let moved = |signal: u64, of_task: fn(&TaskUtil) -> u64| match task {
        Some(task) if task.cpu == cpu.cpu && !is_dst => signal.saturating_sub(of_task(task)),
        Some(task) if task.cpu != cpu.cpu && is_dst => signal + of_task(task),
        _ => signal,
    };
    let mut util = moved(cpu.util_avg, |task| task.util_avg);
    if boost && kernel.has(Feature::CPU_UTIL_BOOST) {
        util = util.max(moved(cpu.runnable_avg, |task| task.runnable_avg));
    }
    if kernel.has(Feature::UTIL_EST) {
        let mut estimate = cpu.util_est;
        if let Some(task) = task {
            // Differs from the averages on purpose: a sleeping task has left the sum of estimates,
            // although it is still part of the averages.
            if is_dst {
                estimate += task.util_est;
            } else if task.is_counted && subtracts_counted {
                estimate = estimate.saturating_sub(task.util_est);
            }
        }
        util = util.max(estimate);
    }
    util.min(cpu.capacity_orig)
}

#[inline(always)]
fn cpu_util_at_dst(
    kernel: &Kernel,
    cpu: &CpuUtil,
    task: Option<&TaskUtil>,
    dst_cpu: Option<CpuId>,
    boost: bool,
) -> u64 {
    let subtracts_counted = kernel.has(Feature::CPU_UTIL_QUEUED);
    cpu_util_body(kernel, cpu, task, dst_cpu, boost, subtracts_counted)
}

#[inline(always)]
fn cpu_util_without_body(
    kernel: &Kernel,
    cpu: &CpuUtil,
    task: &TaskUtil,
    cpu_util: impl Fn(&Kernel, &CpuUtil, Option<&TaskUtil>) -> u64,
) -> u64 {
    let is_here = task.cpu == cpu.cpu && !task.is_new;
    cpu_util(kernel, cpu, is_here.then_some(task))
}

/// The utilization of a CPU as if `task` went to `dst_cpu`; `None`: as if it left for nowhere. With
/// `boost`, contention counts like utilization (`CPU_UTIL_BOOST`).
///
/// Forced inline. [`cpu_util_call`] is the same as an ordinary call: the pair measures what the
/// call costs on the path that asks every CPU.
///
/// # Units
/// 1024 = one CPU of the biggest kind; at most the CPU's original capacity.
///
/// # Source
/// Linux v7.2 `kernel/sched/fair.c`, `cpu_util()`; v6.1 `cpu_util_next()`. Differs: the caller gives
/// the signals.
#[doc(alias = "cpu_util_next")]
#[inline(always)]
#[must_use]
pub fn cpu_util(
    kernel: &Kernel,
    cpu: &CpuUtil,
    task: Option<&TaskUtil>,
    dst_cpu: Option<CpuId>,
    boost: bool,
) -> u64 {
    cpu_util_at_dst(kernel, cpu, task, dst_cpu, boost)
}

/// [`cpu_util`] as an ordinary call.
#[inline(never)]
#[must_use]
pub fn cpu_util_call(
    kernel: &Kernel,
    cpu: &CpuUtil,
    task: Option<&TaskUtil>,
    dst_cpu: Option<CpuId>,
    boost: bool,
) -> u64 {
    cpu_util_at_dst(kernel, cpu, task, dst_cpu, boost)
}

/// The utilization of a CPU without `task`. Its full utilization when the task has no part in it:
/// it is elsewhere, or new.
///
/// Forced inline, with [`cpu_util`] inside. [`cpu_util_without_call`] is the same as an ordinary
/// call of an ordinary call.
///
/// # Source
/// Linux v5.4 to v7.2 `kernel/sched/fair.c`, `cpu_util_without()`. Differs: none.
#[inline(always)]
#[must_use]
pub fn cpu_util_without(kernel: &Kernel, cpu: &CpuUtil, task: &TaskUtil) -> u64 {
    // All releases take a counted estimate out here, those without `CPU_UTIL_QUEUED` too.
    cpu_util_without_body(kernel, cpu, task, |kernel, cpu, task| {
        cpu_util_body(kernel, cpu, task, None, false, true)
    })
}

/// [`cpu_util_without`] as an ordinary call, with the utilization inside as another.
///
/// There is a copy for each `CALLER`, in the object of that caller, as the kernel has its own in the
/// object of placement. So objects of the two forms can be compared.
#[inline(never)]
#[must_use]
pub fn cpu_util_without_call<const CALLER: u8>(
    kernel: &Kernel,
    cpu: &CpuUtil,
    task: &TaskUtil,
) -> u64 {
    cpu_util_without_body(kernel, cpu, task, cpu_util_leaving_call::<CALLER>)
}

#[inline(never)]
fn cpu_util_leaving_call<const CALLER: u8>(
    kernel: &Kernel,
    cpu: &CpuUtil,
    task: Option<&TaskUtil>,
) -> u64 {
    cpu_util_body(kernel, cpu, task, None, false, true)
}

/// The utilization of a CPU by fair tasks.
///
/// # Source
/// Linux v7.2 `kernel/sched/fair.c`, `cpu_util_cfs()`; v5.4 `cpu_util()`. Differs: none.
#[inline]
#[must_use]
pub fn cpu_util_cfs(kernel: &Kernel, cpu: &CpuUtil) -> u64 {
    cpu_util(kernel, cpu, None, None, false)
}

/// The utilization of a CPU by fair tasks, or their contention if that is more.
///
/// # Source
/// Linux v7.2 `kernel/sched/fair.c`, `cpu_util_cfs_boost()`. Differs: none.
#[inline]
#[must_use]
pub fn cpu_util_cfs_boost(kernel: &Kernel, cpu: &CpuUtil) -> u64 {
    cpu_util(kernel, cpu, None, None, true)
}
