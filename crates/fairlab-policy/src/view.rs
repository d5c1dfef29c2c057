//! What the policy may see. Consumers implement this; the policy defines it.

use fairlab_topology::domains::{CapacityId, DomainId, GroupCapacity, SharedId};
use fairlab_topology::{DomainFlags, Domains};
use fairlab_units::{CpuId, CpuMask, TaskId};

use crate::Cost;

use crate::PerfDomain;

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

    /// The domain flag that asks for balancing at this event (`SD_BALANCE_*`).
    #[must_use]
    pub const fn sd_flag(self) -> DomainFlags {
        if self.has(Self::TTWU) {
            DomainFlags::BALANCE_WAKE
        } else if self.has(Self::FORK) {
            DomainFlags::BALANCE_FORK
        } else {
            DomainFlags::BALANCE_EXEC
        }
    }
}

/// The arguments of one placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// The CPU that executes the wakeup, fork or exec.
    pub this_cpu: CpuId,
    /// The CPU where the task was: at a wakeup where it last ran, at a fork its parent's.
    pub prev_cpu: CpuId,
    /// One of TTWU, FORK, EXEC, and their companions.
    pub flags: WakeFlags,
    /// False when the wakeup comes from an interrupt (`in_task()`).
    pub in_task: bool,
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
///
/// CPU arguments are always possible CPUs of [`domains`](Self::domains).
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
    #[inline]
    fn is_available_idle(&self, cpu: CpuId) -> bool {
        self.is_idle(cpu)
    }

    /// `sched_idle_cpu`: at least one runnable task, and all are SCHED_IDLE.
    fn is_sched_idle(&self, cpu: CpuId) -> bool;

    /// Does the current task of `cpu` leave it idle apart from `task`: its current task is the idle
    /// task or `task`, and no wakeup is pending (`idle_cpu_without`, without its count of tasks)?
    fn is_idle_without(&self, cpu: CpuId, task: TaskId) -> bool;

    /// Runnable tasks of all classes, delayed-dequeued ones included (`rq->nr_running`).
    fn nr_running(&self, cpu: CpuId) -> u32;

    /// Fair tasks in the hierarchy, delayed-dequeued ones included (`h_nr_running` to v6.12.0,
    /// `h_nr_queued`).
    fn h_nr_queued(&self, cpu: CpuId) -> u32;

    /// Fair tasks in the hierarchy without delayed-dequeued ones (`h_nr_runnable`).
    fn h_nr_runnable(&self, cpu: CpuId) -> u32 {
        self.h_nr_queued(cpu)
    }

    /// Root queue `load_avg` (`cpu_load`).
    fn load_avg(&self, cpu: CpuId) -> u64;

    /// Root queue `runnable_load_avg` (v5.4, v5.6; v5.4 reads it as the load of a CPU).
    fn runnable_load_avg(&self, cpu: CpuId) -> u64 {
        self.load_avg(cpu)
    }

    /// Root queue `runnable_avg` (v5.7 on).
    fn runnable_avg(&self, cpu: CpuId) -> u64;

    /// Root queue `util_avg`.
    fn util_avg(&self, cpu: CpuId) -> u64;

    /// Root queue summed estimate (`util_est`, before v6.8 `util_est.enqueued`).
    fn util_est(&self, cpu: CpuId) -> u64;

    /// `capacity_of`: capacity left for fair tasks.
    fn capacity_of(&self, cpu: CpuId) -> u64;

    /// Pressure that takes from the original capacity (thermal, or hardware and cpufreq).
    fn pressure(&self, _cpu: CpuId) -> u64 {
        0
    }

    /// Average idle time in ns (`rq->avg_idle`).
    fn avg_idle(&self, cpu: CpuId) -> u64;

    /// Aged estimate of the idle time of `cpu` (`rq->wake_stamp` in jiffies, `rq->wake_avg_idle` in
    /// ns). Read with SIS_PROP_AGED only.
    fn wake_avg_idle(&self, cpu: CpuId) -> (u64, u64) {
        (self.jiffies(), self.avg_idle(cpu) / 2)
    }

    /// Average duration in ns of a scan by the CPU that owns `domain` (`sd->avg_scan_cost`). Read
    /// with SIS_PROP or SIS_AVG_CPU only.
    fn avg_scan_cost(&self, _domain: DomainId) -> u64 {
        0
    }

    /// When the CPU last went idle, ns (`rq->idle_stamp`). Of idle CPUs in equal idle states the one
    /// with the latest stamp is taken at fork and exec, and one with stamp 0 never is.
    fn idle_stamp(&self, _cpu: CpuId) -> u64 {
        1
    }

    /// Exit latency of the idle state the CPU is in, in us; `None` when unknown.
    fn idle_exit_latency(&self, _cpu: CpuId) -> Option<u32> {
        None
    }

    /// The hint "some core of the LLC is idle" (`sd_llc_shared->has_idle_cores`).
    fn has_idle_cores(&self, shared: SharedId) -> bool;

    /// How many CPUs a wakeup may scan (`nr_idle_scan`). Read with SIS_UTIL only.
    fn nr_idle_scan(&self, shared: SharedId) -> u32;

    /// Capacity of a group.
    fn group_capacity(&self, id: CapacityId) -> GroupCapacity;

    /// The `imbalance` flag of a group (`sgc->imbalance`).
    fn group_imbalance(&self, _id: CapacityId) -> bool {
        false
    }

    /// The node of `cpu` as a position in the machine's nodes (`cpu_to_node`).
    fn node_of(&self, _cpu: CpuId) -> usize {
        0
    }

    /// The signals that `task` would have after ageing it to its queue's last update
    /// (`sync_entity_load_avg`). Asked at most once per decision; a consumer whose task views are
    /// up to date returns `task.signals`.
    fn synced(&self, task: &TaskView<'_>) -> Signals {
        task.signals
    }

    /// Share of `task` in the load of its root queue (`task_h_load`), for the given signals:
    /// `load_avg * h_load(queue) / (queue.load_avg + 1)`.
    fn task_h_load(&self, task: &TaskView<'_>, signals: &Signals) -> u64;

    /// Has anyone used uclamp since boot (`sched_uclamp_used`)?
    fn uclamp_used(&self) -> bool {
        false
    }

    /// Clamps of the queue of `cpu`: the largest of its runnable tasks' (`uclamp_rq_get`).
    fn rq_uclamp(&self, _cpu: CpuId) -> (u64, u64) {
        (0, 1024)
    }

    /// Utilization of `cpu` by others than fair tasks. Read by
    /// energy-aware placement only.
    fn other_util(&self, _cpu: CpuId) -> OtherUtil {
        OtherUtil::default()
    }

    /// The performance domains of the root domain, when energy-aware scheduling is on. None turns
    /// energy-aware placement off.
    fn perf_domains(&self) -> &[PerfDomain] {
        &[]
    }

    /// Is the root domain overutilized (`rd->overutilized`)?
    fn is_overutilized(&self) -> bool {
        false
    }

    /// A measured section begins. `cost` is what the decision has touched so far.
    #[inline]
    fn enter(&self, _section: Section, _cost: &Cost) {}

    /// A measured section ends. `cost` is what the decision has touched so far.
    #[inline]
    fn leave(&self, _section: Section, _cost: &Cost) {}
}

/// Utilization of a CPU by others than fair tasks, on the capacity scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct OtherUtil {
    /// Realtime tasks (`cpu_util_rt`).
    pub rt: u64,
    /// Deadline tasks (`cpu_util_dl`).
    pub dl: u64,
    /// Bandwidth reserved for deadline tasks (`cpu_bw_dl`).
    pub dl_bandwidth: u64,
    /// Interrupts (`cpu_util_irq`).
    pub irq: u64,
}

/// PELT averages and estimate of a task (`se.avg`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Signals {
    /// `load_avg`.
    pub load_avg: u64,
    /// `runnable_avg` (v5.7 on).
    pub runnable_avg: u64,
    /// `util_avg`.
    pub util_avg: u64,
    /// Estimated utilization without the mark (`_task_util_est`).
    pub util_est: u64,
}

/// What a placement reads of a task.
#[derive(Clone, Debug)]
pub struct TaskView<'a> {
    /// The owner's number of the task; equal numbers mean the same task.
    pub id: TaskId,
    /// The CPU it is on or last ran on (`task_cpu`).
    pub cpu: CpuId,
    /// CPUs where it may run (`cpus_ptr`).
    pub allowed: &'a CpuMask,
    /// Is it queued on a runqueue (`task_on_rq_queued`)?
    pub on_rq: bool,
    /// Is it SCHED_IDLE?
    pub is_sched_idle: bool,
    /// Is it exiting (`PF_EXITING`)?
    pub is_exiting: bool,
    /// Is it a kernel thread bound to exactly one CPU (`is_per_cpu_kthread`)?
    pub is_per_cpu_kthread: bool,
    /// PELT averages as of the last update.
    pub signals: Signals,
    /// True when it has no PELT history on a CPU (`last_update_time == 0`).
    pub is_new: bool,
    /// Effective utilization clamps, minimum and maximum (`uclamp_eff_value`).
    pub uclamp: (u64, u64),
    /// NUMA preferred node, as a position in the machine's nodes.
    pub preferred_node: Option<usize>,
    /// `recent_used_cpu`.
    pub recent_used_cpu: CpuId,
    /// `wakee_flips`.
    pub wakee_flips: u32,
    /// `wakee_flip_decay_ts` in jiffies.
    pub wakee_flip_decay_ts: u64,
    /// The last task that it woke (`last_wakee`).
    pub last_wakee: Option<TaskId>,
}

impl<'a> TaskView<'a> {
    /// A sleeping task without a past: no averages, clamps, preferences or wakees.
    #[must_use]
    pub fn new(id: TaskId, cpu: CpuId, allowed: &'a CpuMask) -> Self {
        Self {
            id,
            cpu,
            allowed,
            on_rq: false,
            is_sched_idle: false,
            is_exiting: false,
            is_per_cpu_kthread: false,
            signals: Signals::default(),
            is_new: false,
            uclamp: (0, 1024),
            preferred_node: None,
            recent_used_cpu: cpu,
            wakee_flips: 0,
            wakee_flip_decay_ts: 0,
            last_wakee: None,
        }
    }

    /// The idle task of `cpu`, as a waker: its number is one that no other task has.
    #[must_use]
    pub fn idle_task(cpu: CpuId, allowed: &'a CpuMask) -> Self {
        Self::new(TaskId(u32::MAX - cpu.0), cpu, allowed)
    }
}
