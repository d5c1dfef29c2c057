//! What the policy may see. Consumers implement this; the policy defines it.

use fairlab_topology::Domains;
use fairlab_topology::domains::{CapacityId, SharedId};
use fairlab_units::{CpuId, CpuMask};

/// How a placement was asked for (`WF_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct WakeFlags(pub u32);

#[allow(missing_docs, reason = "the kernel's names say it")]
impl WakeFlags {
    pub const EXEC: u32 = 0x2;
    pub const FORK: u32 = 0x4;
    pub const TTWU: u32 = 0x8;
    pub const SYNC: u32 = 0x10;
    pub const MIGRATED: u32 = 0x20;
    pub const CURRENT_CPU: u32 = 0x40;

    /// Is any of `flags` set?
    #[inline]
    #[must_use]
    pub const fn has(self, flags: u32) -> bool {
        self.0 & flags != 0
    }
}

/// A part of a decision whose duration an observer may want to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Section {
    /// The search for an idle core (`select_idle_core`, or its part of the one-pass scan).
    IdleCore,
    /// The whole LLC scan.
    IdleScan,
    /// The group statistics of the slow path.
    GroupStats,
}

/// The state of the machine at the moment of a decision.
///
/// Readers only. What a decision changes (recent CPU, hint cleared) comes back in its outcome, so
/// that the same state can be asked twice.
pub trait MachineView {
    /// The domains.
    fn domains(&self) -> &Domains;

    /// Online and active CPUs (`cpu_active_mask`).
    fn active(&self) -> &CpuMask;

    /// Ticks since boot (`jiffies`).
    fn jiffies(&self) -> u64;

    /// `idle_cpu`: the idle task runs, nothing is queued, no wakeup is pending.
    fn is_idle(&self, cpu: CpuId) -> bool;

    /// `available_idle_cpu`: idle, and the virtual CPU is not preempted.
    fn is_available_idle(&self, cpu: CpuId) -> bool {
        self.is_idle(cpu)
    }

    /// `sched_idle_cpu`: at least one runnable task, and all are SCHED_IDLE.
    fn is_sched_idle(&self, cpu: CpuId) -> bool;

    /// Runnable tasks of all classes, delayed-dequeued ones included (`rq->nr_running`).
    fn nr_running(&self, cpu: CpuId) -> u32;

    /// Fair tasks in the hierarchy, delayed-dequeued ones included (`h_nr_running`, `h_nr_queued`).
    fn h_nr_queued(&self, cpu: CpuId) -> u32;

    /// Fair tasks in the hierarchy without delayed-dequeued ones (`h_nr_runnable`).
    fn h_nr_runnable(&self, cpu: CpuId) -> u32 {
        self.h_nr_queued(cpu)
    }

    /// Root queue `load_avg`, or `runnable_load_avg` where the kernel reads that as load.
    fn load_avg(&self, cpu: CpuId) -> u64;

    /// Root queue `runnable_avg`.
    fn runnable_avg(&self, cpu: CpuId) -> u64;

    /// Root queue `util_avg`.
    fn util_avg(&self, cpu: CpuId) -> u64;

    /// Root queue summed estimate (`util_est`).
    fn util_est(&self, cpu: CpuId) -> u64;

    /// `capacity_of`: capacity left for fair tasks.
    fn capacity_of(&self, cpu: CpuId) -> u64;

    /// Pressure that takes from the original capacity (thermal, or hardware and cpufreq).
    fn pressure(&self, _cpu: CpuId) -> u64 {
        0
    }

    /// Average idle time in ns (`rq->avg_idle`).
    fn avg_idle(&self, cpu: CpuId) -> u64;

    /// When the CPU last went idle, ns (`rq->idle_stamp`).
    fn idle_stamp(&self, _cpu: CpuId) -> u64 {
        0
    }

    /// Exit latency of the idle state the CPU is in, in us; `None` when unknown.
    fn idle_exit_latency(&self, _cpu: CpuId) -> Option<u32> {
        None
    }

    /// The hint "some core of the LLC is idle".
    fn has_idle_cores(&self, shared: SharedId) -> bool;

    /// How many CPUs a wakeup may scan (`nr_idle_scan`).
    fn nr_idle_scan(&self, shared: SharedId) -> u32;

    /// Capacity, smallest and largest CPU capacity of a group.
    fn group_capacity(&self, id: CapacityId) -> (u64, u64, u64);

    /// The `imbalance` flag of a group.
    fn group_imbalance(&self, _id: CapacityId) -> bool {
        false
    }

    /// A measured section begins.
    #[inline]
    fn enter(&self, _section: Section) {}

    /// A measured section ends.
    #[inline]
    fn leave(&self, _section: Section) {}
}

/// What a placement reads of a task.
#[derive(Clone, Debug)]
pub struct TaskView<'a> {
    /// The CPU it is on or last ran on (`task_cpu`).
    pub cpu: CpuId,
    /// CPUs where it may run.
    pub allowed: &'a CpuMask,
    /// Is it on a runqueue?
    pub on_rq: bool,
    /// Is it SCHED_IDLE?
    pub is_sched_idle: bool,
    /// Is it exiting?
    pub is_exiting: bool,
    /// Is it a kernel thread bound to exactly one CPU?
    pub is_per_cpu_kthread: bool,
    /// PELT `util_avg`.
    pub util_avg: u64,
    /// PELT `runnable_avg`.
    pub runnable_avg: u64,
    /// Estimated utilization without the mark (`_task_util_est`).
    pub util_est: u64,
    /// Share of the task in the load of its root queue (`task_h_load`).
    pub h_load: u64,
    /// True when it has no PELT history on a CPU (`last_update_time == 0`).
    pub is_new: bool,
    /// Utilization clamps.
    pub uclamp: (u64, u64),
    /// NUMA preferred node, as a position in the machine's nodes.
    pub preferred_node: Option<usize>,
    /// `recent_used_cpu`.
    pub recent_used_cpu: CpuId,
    /// `wakee_flips`.
    pub wakee_flips: u32,
    /// `wakee_flip_decay_ts` in jiffies.
    pub wakee_flip_decay_ts: u64,
    /// True when the last task it woke is the wakee.
    pub last_wakee_is_wakee: bool,
}
