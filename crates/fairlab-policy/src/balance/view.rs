//! What the balancer may see, and what it may do.
//!
//! [`BalanceView`] reads; [`BalanceOps`] moves tasks and starts what runs elsewhere. State that the
//! balancer itself keeps (intervals, failure counts, capacities) is not here but in
//! [`super::BalanceState`].

use fairlab_units::{CpuId, CpuMask, TaskId};

use super::cost::BalanceCost;
use super::env::IdleKind;
use super::pass::Attempt;

/// What takes capacity away from fair tasks on a CPU, on the 1024 scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CapacityLoss {
    /// Utilization by interrupts; zero where the kernel does not account interrupt time.
    pub irq: u64,
    /// Utilization by the real-time class.
    pub rt: u64,
    /// Utilization by the deadline class.
    pub dl: u64,
    /// Thermal pressure (to v6.9), or hardware and cpufreq pressure.
    pub pressure: u64,
}

/// What balancing reads of a task, apart from numbers that cost something to compute.
#[derive(Clone, Copy, Debug)]
pub struct BalanceTask<'a> {
    /// CPUs where it may run.
    pub allowed: &'a CpuMask,
    /// Is it running right now (`on_cpu`)?
    pub is_running: bool,
    /// Is it asleep but still queued (`sched_delayed`)?
    pub is_delayed: bool,
    /// Is it of the fair class?
    pub is_fair: bool,
    /// Is it SCHED_IDLE?
    pub is_sched_idle: bool,
    /// Is it a kernel thread bound to exactly one CPU (`kthread_is_per_cpu`)?
    pub is_per_cpu_kthread: bool,
    /// Is it a blocked donor of proxy execution?
    pub is_blocked_donor: bool,
    /// Is it the next buddy (CFS: or last buddy) of its queue?
    pub is_buddy: bool,
    /// When it last started to run or was last charged, ns of `clock_task` (`se.exec_start`).
    pub exec_start: u64,
    /// The LLC id that its process prefers.
    pub preferred_llc: Option<u32>,
}

/// NUMA fault statistics of a task, for a move between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumaFaults {
    /// The source's node is the task's preferred node.
    pub src_is_preferred: bool,
    /// The destination's node is the task's preferred node.
    pub dst_is_preferred: bool,
    /// Fault weight of the source's node (of the task, or of its group where it has one).
    pub src_weight: u64,
    /// Fault weight of the destination's node.
    pub dst_weight: u64,
}

/// The state of the machine, as balancing reads it.
pub trait BalanceView {
    /// Online and active CPUs (`cpu_active_mask`).
    fn active(&self) -> &CpuMask;

    /// Ticks since boot (`jiffies`).
    fn jiffies(&self) -> u64;

    /// `idle_cpu`: the idle task runs, nothing is queued, no wakeup is pending.
    fn is_idle(&self, cpu: CpuId) -> bool;

    /// A remote wakeup is queued for `cpu` (`ttwu_pending`).
    fn has_pending_wakeup(&self, _cpu: CpuId) -> bool {
        false
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

    /// Root queue `load_avg`.
    fn load_avg(&self, cpu: CpuId) -> u64;

    /// Root queue `runnable_load_avg`, which v5.4 reads as the load of a CPU.
    fn runnable_load_avg(&self, cpu: CpuId) -> u64 {
        self.load_avg(cpu)
    }

    /// Root queue `runnable_avg`.
    fn runnable_avg(&self, cpu: CpuId) -> u64;

    /// Root queue `util_avg`.
    fn util_avg(&self, cpu: CpuId) -> u64;

    /// Root queue summed estimate (`util_est`).
    fn util_est(&self, cpu: CpuId) -> u64;

    /// Utilization clamps of the queue; `None` while nobody uses uclamp.
    fn uclamp(&self, _cpu: CpuId) -> Option<(u64, u64)> {
        None
    }

    /// Load of the task that does not fit the CPU (`misfit_task_load`), or zero.
    fn misfit_load(&self, _cpu: CpuId) -> u64 {
        0
    }

    /// What takes capacity from fair tasks on `cpu`.
    fn capacity_loss(&self, _cpu: CpuId) -> CapacityLoss {
        CapacityLoss::default()
    }

    /// Queued tasks with a preferred node (`nr_numa_running`).
    fn nr_numa_running(&self, _cpu: CpuId) -> u32 {
        0
    }

    /// Queued tasks on their preferred node (`nr_preferred_running`).
    fn nr_preferred_running(&self, _cpu: CpuId) -> u32 {
        0
    }

    /// Is energy-aware scheduling on for the root domain (`sched_energy_enabled`, `rd->pd`)?
    fn is_energy_aware(&self) -> bool {
        false
    }

    /// Priority for asymmetric packing, higher is preferred (`arch_asym_cpu_priority`).
    fn priority(&self, cpu: CpuId) -> i32 {
        -(cpu.0 as i32)
    }

    /// Average idle time in ns (`rq->avg_idle`).
    fn avg_idle(&self, cpu: CpuId) -> u64;

    /// Task clock of the queue in ns (`rq_clock_task`).
    fn clock_task(&self, cpu: CpuId) -> u64;

    /// Is the kernel built preemptible (CONFIG_PREEMPTION)? Then newidle moves one task at a time.
    fn is_preemptible(&self) -> bool {
        true
    }

    /// Queued tasks on `cpu` that prefer the LLC with id `llc` (`nr_pref_llc`).
    fn nr_preferring_llc(&self, _cpu: CpuId, _llc: u32) -> u32 {
        0
    }

    /// Queued tasks on `cpu` that are in the LLC they prefer (`nr_pref_llc_running`).
    fn nr_in_preferred_llc(&self, _cpu: CpuId) -> u32 {
        0
    }

    /// The task that runs on `cpu`, if it is of the fair class (`rq->curr`).
    fn current(&self, _cpu: CpuId) -> Option<TaskId> {
        None
    }

    /// May the task that runs on `src`, of whatever class, run on `cpu`?
    fn current_may_run(&self, src: CpuId, cpu: CpuId) -> bool {
        self.current(src)
            .is_none_or(|task| self.task(task).allowed.test(cpu))
    }

    /// What balancing reads of `task`.
    fn task(&self, task: TaskId) -> BalanceTask<'_>;

    /// Share of `task` in the load of its root queue (`task_h_load`).
    fn task_h_load(&self, task: TaskId) -> u64;

    /// Utilization of `task` (`util_avg`).
    fn task_util(&self, task: TaskId) -> u64;

    /// Utilization of `task` with its estimate (`task_util_est`).
    fn task_util_est(&self, task: TaskId) -> u64;

    /// Utilization clamps of `task`; `None` while nobody uses uclamp.
    fn task_uclamp(&self, _task: TaskId) -> Option<(u64, u64)> {
        None
    }

    /// Is `task` eligible on its own queue (EEVDF)?
    fn is_eligible(&self, _task: TaskId) -> bool {
        true
    }

    /// Has the queue on `cpu` that `task` would join (its group's) no entity?
    fn is_group_queue_empty(&self, _task: TaskId, cpu: CpuId) -> bool {
        self.h_nr_queued(cpu) == 0
    }

    /// Is the group of `task` throttled on `cpu` (cpu.max)?
    fn is_throttled(&self, _task: TaskId, _cpu: CpuId) -> bool {
        false
    }

    /// NUMA fault statistics of `task` for a move from `src` to `dst`; `None` without statistics or
    /// inside one node.
    fn numa_faults(&self, _task: TaskId, _src: CpuId, _dst: CpuId) -> Option<NumaFaults> {
        None
    }

    /// Does the core-scheduling cookie of `task` match the core of `cpu`?
    fn core_cookie_matches(&self, _task: TaskId, _cpu: CpuId) -> bool {
        true
    }

    /// Does `cpu` want to reschedule (`need_resched`)?
    fn need_resched(&self, _cpu: CpuId) -> bool {
        false
    }

    /// Does `cpu` run housekeeping work (not in `nohz_full`)?
    fn is_housekeeping(&self, _cpu: CpuId) -> bool {
        true
    }
}

/// What the balancer may do. The simulator implements it; each call takes effect at once.
pub trait BalanceOps: BalanceView {
    /// The task `nth` from the tail of the source's list (`cfs_tasks`; most recently run first, so
    /// the tail ran longest ago), or nothing when the list is shorter.
    fn task_from_tail(&self, src: CpuId, nth: usize) -> Option<TaskId>;

    /// Puts a task that cannot move to the front of the source's list.
    fn move_to_front(&mut self, src: CpuId, task: TaskId);

    /// Takes `task` off the queue of `src` and makes `dst` its CPU. Calls of
    /// [`BalanceView::nr_running`] see the change.
    fn detach(&mut self, task: TaskId, src: CpuId, dst: CpuId);

    /// Queues a detached task on `dst`, with the test for preemption.
    fn attach(&mut self, task: TaskId, dst: CpuId);

    /// Has the stopper of `src` call [`super::Balancer::active_balance`] soon.
    fn start_active_balance(&mut self, src: CpuId, dst: CpuId);

    /// Refreshes the blocked averages of `cpu` (`update_blocked_averages`); true when blocked load
    /// is left.
    fn update_blocked(&mut self, cpu: CpuId) -> bool;

    /// Clock in ns, seen by the running CPU after `cost` of work since the pass began
    /// (`sched_clock_cpu`). A caller without costs answers a constant.
    fn clock_ns(&self, cost: &BalanceCost) -> u64;

    /// A random number for [`fairlab_kernel::Feature::NI_RANDOM`], one per domain that newidle
    /// looks at.
    fn random(&mut self) -> u32;

    /// Adds to `changed` the CPUs of which anything that [`BalanceView`] reads may have changed since the
    /// last call. False when the caller does not know; then nothing is remembered from search to
    /// search.
    fn take_changed(&mut self, _changed: &mut CpuMask) -> bool {
        false
    }

    /// An attempt to balance one domain has ended; for traces and statistics.
    fn attempt_ended(&mut self, _cpu: CpuId, _idle: IdleKind, _attempt: &Attempt) {}
}
