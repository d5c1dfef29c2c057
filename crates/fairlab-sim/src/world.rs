//! The state of the machine, and the policy's view of it.

use fairlab_kernel::Kernel;
use fairlab_policy::balance::BalanceState;
use fairlab_policy::{
    Context, Cost, MachineView, OtherUtil, PerfDomain, Section, Signals, TaskView, WakerUpdate,
};
use fairlab_runqueue::{Entities, EntityId, Policy};
use fairlab_topology::Domains;
use fairlab_topology::domains::{CapacityId, DomainId, GroupCapacity, SharedId};
use fairlab_units::{CpuId, CpuMask, PerCpu, TaskId, Timestamp};
use fairlab_workload::MaskId;

use crate::costs::CostTable;
use crate::cpus::Cpus;
use crate::observer::SectionTimer;
use crate::task::Task;

/// What the CPUs of an LLC share (`sched_domain_shared`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shared {
    pub(crate) has_idle_cores: bool,
}

/// What the idle task of a CPU keeps as a waker: interrupts wake tasks on its behalf.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdleTask {
    pub(crate) wakee_flips: u32,
    pub(crate) wakee_flip_decay_ts: u64,
    pub(crate) last_wakee: Option<TaskId>,
}

impl IdleTask {
    pub(crate) fn apply(&mut self, update: &WakerUpdate, wakee: TaskId) {
        self.wakee_flips = update.wakee_flips;
        self.wakee_flip_decay_ts = update.wakee_flip_decay_ts;
        if update.is_new_wakee {
            self.last_wakee = Some(wakee);
        }
    }
}

/// Number of a set of CPUs where tasks may run, see [`World::masks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct AllowedId(u32);

impl AllowedId {
    /// Every online CPU.
    pub(crate) const ALL: Self = Self(0);

    /// The online CPUs of a mask of the workload.
    pub(crate) const fn of(mask: MaskId) -> Self {
        Self(mask.0 + 1)
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Everything that the policy may look at.
pub(crate) struct World<'a> {
    pub(crate) domains: &'a Domains,
    pub(crate) kernel: Kernel,
    pub(crate) cpus: Cpus,
    pub(crate) idle_tasks: PerCpu<IdleTask>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) ents: Entities,
    /// Number of the first task's entity; those of groups come before.
    pub(crate) first_task: u32,
    pub(crate) shared: Vec<Shared>,
    /// `avg_scan_cost` of each domain (SIS_PROP).
    pub(crate) scan_cost: Vec<u64>,
    pub(crate) active: CpuMask,
    pub(crate) all: CpuMask,
    /// Where tasks may run: all online CPUs, and the online CPUs of each mask of the workload.
    pub(crate) masks: Vec<CpuMask>,
    pub(crate) jiffies: u64,
    pub(crate) nodes: PerCpu<usize>,
    /// The online CPUs of each node.
    pub(crate) node_cpus: Vec<CpuMask>,
    /// The performance domains, when energy-aware scheduling is on.
    pub(crate) perf: Vec<PerfDomain>,
    /// Distances of the nodes.
    pub(crate) node_distances: Vec<Vec<u32>>,
}

impl World<'_> {
    pub(crate) fn nr_nodes(&self) -> usize {
        self.node_cpus.len()
    }

    /// The CPUs that `id` stands for.
    pub(crate) fn mask(&self, id: AllowedId) -> &CpuMask {
        &self.masks[id.index()]
    }

    /// May the task run on one CPU only, and is it a thread of the kernel (`kthread_is_per_cpu`)?
    pub(crate) fn is_per_cpu_kthread(&self, task: &Task) -> bool {
        task.is_kthread && self.mask(task.allowed).weight() == 1
    }

    /// The task that `entity` stands for: entities are made in the order of tasks and never reused.
    #[inline]
    pub(crate) fn task_of(&self, entity: EntityId) -> TaskId {
        TaskId(entity.0 - self.first_task)
    }

    /// The task as a placement sees it.
    pub(crate) fn task_view(&self, id: TaskId) -> TaskView<'_> {
        let task = &self.tasks[id.index()];
        let entity = &self.ents[task.entity];
        TaskView {
            id,
            cpu: task.cpu,
            allowed: self.mask(task.allowed),
            on_rq: entity.is_on_rq(),
            is_sched_idle: entity.policy() == Policy::Idle,
            is_exiting: false,
            is_per_cpu_kthread: self.is_per_cpu_kthread(task),
            signals: self.signals(task),
            is_new: task.avg.last_update_time.is_never(),
            uclamp: (u64::from(task.clamp.0), u64::from(task.clamp.1)),
            preferred_node: task.wish.node,
            recent_used_cpu: task.recent_used_cpu,
            wakee_flips: task.wakee_flips,
            wakee_flip_decay_ts: task.wakee_flip_decay_ts,
            last_wakee: task.last_wakee,
        }
    }

    fn signals(&self, task: &Task) -> Signals {
        Signals {
            load_avg: task.avg.load_avg,
            runnable_avg: task.avg.runnable_avg,
            util_avg: task.avg.util_avg,
            util_est: task.avg.util_est.of_task(&self.kernel),
        }
    }

    /// What runs on `cpu` as a placement sees it: a task, or the idle task.
    pub(crate) fn current_view(&self, cpu: CpuId) -> TaskView<'_> {
        if let Some(id) = self.cpus[cpu].curr {
            return self.task_view(id);
        }
        let idle = &self.idle_tasks[cpu];
        TaskView {
            wakee_flips: idle.wakee_flips,
            wakee_flip_decay_ts: idle.wakee_flip_decay_ts,
            last_wakee: idle.last_wakee,
            ..TaskView::idle_task(cpu, &self.all)
        }
    }
}

/// The policy's view of the world at one moment.
pub(crate) struct View<'a> {
    pub(crate) world: &'a World<'a>,
    pub(crate) balance: &'a BalanceState,
    pub(crate) costs: &'a CostTable,
    pub(crate) timer: Option<&'a dyn SectionTimer>,
}

impl MachineView for View<'_> {
    fn domains(&self) -> &Domains {
        self.world.domains
    }

    fn active(&self) -> &CpuMask {
        &self.world.active
    }

    fn jiffies(&self) -> u64 {
        self.world.jiffies
    }

    #[inline]
    fn is_idle(&self, cpu: CpuId) -> bool {
        self.world.cpus[cpu].is_idle()
    }

    #[inline]
    fn is_sched_idle(&self, cpu: CpuId) -> bool {
        self.world.cpus[cpu].is_sched_idle()
    }

    fn is_idle_without(&self, cpu: CpuId, task: TaskId) -> bool {
        let cpu = &self.world.cpus[cpu];
        cpu.curr.is_none_or(|curr| curr == task) && cpu.wake_list.is_empty()
    }

    fn nr_running(&self, cpu: CpuId) -> u32 {
        self.world.cpus[cpu].nr_running()
    }

    fn h_nr_queued(&self, cpu: CpuId) -> u32 {
        self.world.cpus[cpu].queue.rq.h_nr_queued()
    }

    fn h_nr_runnable(&self, cpu: CpuId) -> u32 {
        self.world.cpus[cpu].queue.rq.h_nr_runnable()
    }

    fn load_avg(&self, cpu: CpuId) -> u64 {
        self.world.cpus[cpu].queue.avg.avg.load_avg
    }

    fn runnable_load_avg(&self, cpu: CpuId) -> u64 {
        self.world.cpus[cpu].queue.avg.avg.runnable_avg
    }

    fn runnable_avg(&self, cpu: CpuId) -> u64 {
        self.world.cpus[cpu].queue.avg.avg.runnable_avg
    }

    fn util_avg(&self, cpu: CpuId) -> u64 {
        self.world.cpus[cpu].queue.avg.avg.util_avg
    }

    fn util_est(&self, cpu: CpuId) -> u64 {
        u64::from(self.world.cpus[cpu].queue.avg.avg.util_est.enqueued)
    }

    fn capacity_of(&self, cpu: CpuId) -> u64 {
        self.balance.capacity_of(cpu)
    }

    fn avg_idle(&self, cpu: CpuId) -> u64 {
        self.world.cpus[cpu].avg_idle
    }

    fn wake_avg_idle(&self, cpu: CpuId) -> (u64, u64) {
        self.world.cpus[cpu].wake_avg_idle
    }

    fn avg_scan_cost(&self, domain: DomainId) -> u64 {
        self.world.scan_cost[domain.0 as usize]
    }

    fn idle_stamp(&self, cpu: CpuId) -> u64 {
        self.world.cpus[cpu].idle_stamp
    }

    fn idle_exit_latency(&self, cpu: CpuId) -> Option<u32> {
        self.world.cpus[cpu].idle.exit_us(self.costs)
    }

    fn has_idle_cores(&self, shared: SharedId) -> bool {
        self.world.shared[shared.0 as usize].has_idle_cores
    }

    fn nr_idle_scan(&self, shared: SharedId) -> u32 {
        self.balance.shared(shared).nr_idle_scan
    }

    fn group_capacity(&self, id: CapacityId) -> GroupCapacity {
        let group = self.balance.group(id);
        GroupCapacity {
            capacity: group.capacity,
            min: group.min_capacity,
            max: group.max_capacity,
        }
    }

    fn group_imbalance(&self, id: CapacityId) -> bool {
        self.balance.group(id).imbalance
    }

    fn perf_domains(&self) -> &[PerfDomain] {
        &self.world.perf
    }

    fn is_overutilized(&self) -> bool {
        self.balance.overutilized
    }

    fn other_util(&self, cpu: CpuId) -> OtherUtil {
        OtherUtil {
            rt: self.world.cpus[cpu].queue.higher.util_avg,
            ..OtherUtil::default()
        }
    }

    fn node_of(&self, cpu: CpuId) -> usize {
        self.world.nodes[cpu]
    }

    fn task_h_load(&self, task: &TaskView<'_>, signals: &Signals) -> u64 {
        let queue = &self.world.cpus[task.cpu].queue;
        queue.task_h_load(self.world.group_of(task.id), signals.load_avg)
    }

    #[inline]
    fn enter(&self, section: Section, cost: &Cost) {
        if let Some(timer) = self.timer {
            timer.enter(section, cost);
        }
    }

    #[inline]
    fn leave(&self, section: Section, cost: &Cost) {
        if let Some(timer) = self.timer {
            timer.leave(section, cost);
        }
    }
}

/// The arguments of a placement.
pub(crate) fn context(this: CpuId, prev: CpuId, flags: u32, in_task: bool) -> Context {
    Context {
        this_cpu: this,
        prev_cpu: prev,
        flags: fairlab_policy::WakeFlags(flags),
        in_task,
    }
}

/// Ticks that had passed when the run starts: more than the longest balancing interval of any
/// machine, so that the times of the past are not negative.
pub(crate) const JIFFIES_AT_START: u64 = 3_600_000;

/// Ticks since the machine came up at `now`.
pub(crate) fn jiffies_at(now: Timestamp, tick: u64) -> u64 {
    JIFFIES_AT_START + now.0 / tick
}
