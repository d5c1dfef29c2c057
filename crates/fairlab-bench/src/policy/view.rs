//! A machine in a state that is written down, as a decision sees it. Compiled into measurements and
//! into the objects whose sizes are compared, so that both hold the same code.

use fairlab_policy::{MachineView, Signals, TaskView};
use fairlab_topology::Domains;
use fairlab_topology::domains::{CapacityId, GroupCapacity, SharedId};
use fairlab_units::{CpuId, CpuMask, TaskId};

/// What a decision reads of one CPU. Loads and utilizations are on the kernel's scale of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CpuState {
    /// Runs the idle task.
    pub is_idle: bool,
    /// Runnable tasks.
    pub nr_running: u32,
    /// `load_avg` of the root queue.
    pub load: u64,
    /// `runnable_avg` of the root queue.
    pub runnable: u64,
    /// `util_avg` of the root queue.
    pub util: u64,
    /// Sum of the estimates.
    pub util_est: u64,
    /// Its node, as a position in the machine's nodes.
    pub(super) node: usize,
}

/// A machine and what its CPUs are doing.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) domains: Domains,
    pub(super) active: CpuMask,
    pub(super) cpus: Vec<CpuState>,
    pub(super) has_idle_cores: bool,
    pub(super) nr_idle_scan: u32,
}

impl State {
    fn cpu(&self, cpu: CpuId) -> &CpuState {
        &self.cpus[cpu.index()]
    }
}

impl MachineView for State {
    fn domains(&self) -> &Domains {
        &self.domains
    }
    fn active(&self) -> &CpuMask {
        &self.active
    }
    fn jiffies(&self) -> u64 {
        1000
    }
    fn is_idle(&self, cpu: CpuId) -> bool {
        self.cpu(cpu).is_idle
    }
    fn is_sched_idle(&self, _cpu: CpuId) -> bool {
        false
    }
    fn is_idle_without(&self, cpu: CpuId, _task: TaskId) -> bool {
        self.cpu(cpu).nr_running <= 1
    }
    fn nr_running(&self, cpu: CpuId) -> u32 {
        self.cpu(cpu).nr_running
    }
    fn h_nr_queued(&self, cpu: CpuId) -> u32 {
        self.cpu(cpu).nr_running
    }
    fn load_avg(&self, cpu: CpuId) -> u64 {
        self.cpu(cpu).load
    }
    fn runnable_avg(&self, cpu: CpuId) -> u64 {
        self.cpu(cpu).runnable
    }
    fn util_avg(&self, cpu: CpuId) -> u64 {
        self.cpu(cpu).util
    }
    fn util_est(&self, cpu: CpuId) -> u64 {
        self.cpu(cpu).util_est
    }
    fn capacity_of(&self, cpu: CpuId) -> u64 {
        u64::from(self.domains.capacity_orig(cpu))
    }
    fn avg_idle(&self, _cpu: CpuId) -> u64 {
        // A second: no release cuts a scan short for want of idle time.
        1_000_000_000
    }
    fn has_idle_cores(&self, _shared: SharedId) -> bool {
        self.has_idle_cores
    }
    fn nr_idle_scan(&self, _shared: SharedId) -> u32 {
        self.nr_idle_scan
    }
    fn group_capacity(&self, id: CapacityId) -> GroupCapacity {
        self.domains.capacity(id)
    }
    fn node_of(&self, cpu: CpuId) -> usize {
        self.cpu(cpu).node
    }
    fn task_h_load(&self, _task: &TaskView<'_>, signals: &Signals) -> u64 {
        signals.load_avg
    }
}
