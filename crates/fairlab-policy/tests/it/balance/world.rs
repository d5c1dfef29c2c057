//! A small world of CPUs and tasks that balancing can be let loose on.

use std::collections::VecDeque;

use fairlab_kernel::Kernel;
use fairlab_policy::balance::{
    Attempt, BalanceCost, BalanceOps, BalanceScratch, BalanceState, BalanceTask, BalanceView,
    Balancer, CapacityLoss, IdleKind,
};
use fairlab_topology::domains::{self, BuildOptions, DomainId, Domains};
use fairlab_topology::{Cpu as MachineCpu, Machine, MachineBuilder, Node};
use fairlab_units::{CpuId, CpuMask, NodeId, TaskId};

/// `nodes` nodes of `cores` cores of `threads` threads, one LLC per node; threads are numbered next
/// to each other.
pub fn machine(nodes: u32, cores: u32, threads: u32) -> Machine {
    with_distances(nodes, cores, threads, |a, b| if a == b { 10 } else { 20 })
}

/// The same with nodes in a ring, so that nodes are one or two hops apart and NUMA groups overlap.
pub fn ring(nodes: u32, cores: u32, threads: u32) -> Machine {
    with_distances(nodes, cores, threads, |a, b| {
        let hops = a.abs_diff(b);
        10 + 10 * hops.min(nodes - hops)
    })
}

fn with_distances(
    nodes: u32,
    cores: u32,
    threads: u32,
    distance: impl Fn(u32, u32) -> u32,
) -> Machine {
    let per_node = cores * threads;
    let cpus = (0..nodes * per_node).map(|n| MachineCpu {
        core: n / threads,
        llc: Some(n / per_node),
        package: Some(n / per_node),
        node: NodeId(n / per_node),
        ..MachineCpu::new(CpuId(n))
    });
    let nodes = (0..nodes).map(|id| Node {
        id: NodeId(id),
        memory_kb: None,
        distances: (0..nodes).map(|o| distance(id, o)).collect(),
    });
    MachineBuilder {
        cpus: cpus.collect(),
        nodes: nodes.collect(),
        ..MachineBuilder::default()
    }
    .build()
    .unwrap()
}

#[derive(Clone, Debug)]
pub struct Task {
    pub allowed: CpuMask,
    pub load: u64,
    pub util: u64,
    pub exec_start: u64,
    pub is_sched_idle: bool,
    pub is_delayed: bool,
    pub is_eligible: bool,
    pub preferred_llc: Option<u32>,
    pub cpu: CpuId,
}

/// Numbers of a CPU that are stated instead of summed over its tasks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    pub nr: u32,
    pub load: u64,
    pub runnable: u64,
    pub util: u64,
    pub misfit: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Cpu {
    /// The queue's list, most recently run first; the first one runs.
    pub list: VecDeque<TaskId>,
    pub row: Option<Row>,
    pub loss: CapacityLoss,
    /// Tasks of higher classes.
    pub higher: u32,
    pub avg_idle: u64,
}

#[derive(Clone, Debug)]
pub struct World {
    pub domains: Domains,
    pub active: CpuMask,
    pub cpus: Vec<Cpu>,
    pub tasks: Vec<Task>,
    pub jiffies: u64,
    pub clock: u64,
    pub random: u32,
    pub energy: bool,
    pub preemptible: bool,
    /// Is the first task of every list running?
    pub running: bool,
    /// Priorities for asymmetric packing, by CPU; empty: the lower the number the higher.
    pub priorities: Vec<i32>,
    pub started: Vec<(CpuId, CpuId)>,
    pub moves: Vec<(TaskId, CpuId, CpuId)>,
    pub attempts: Vec<(CpuId, Attempt)>,
}

impl World {
    pub fn of(domains: Domains) -> Self {
        let nr = domains.nr_cpu_ids();
        Self {
            active: CpuMask::full(nr),
            cpus: vec![
                Cpu {
                    avg_idle: 1_000_000,
                    ..Cpu::default()
                };
                nr
            ],
            domains,
            tasks: Vec::new(),
            jiffies: 100_000,
            clock: 1_000_000_000,
            random: 0,
            energy: false,
            preemptible: true,
            running: true,
            priorities: Vec::new(),
            started: Vec::new(),
            moves: Vec::new(),
            attempts: Vec::new(),
        }
    }

    pub fn new(machine: &Machine, kernel: &Kernel) -> Self {
        Self::of(domains::build(machine, kernel, &BuildOptions::default()).unwrap())
    }

    pub fn nr(&self) -> usize {
        self.cpus.len()
    }

    pub fn add(&mut self, cpu: u32, task: Task) -> TaskId {
        let id = TaskId::from_index(self.tasks.len());
        self.tasks.push(Task {
            cpu: CpuId(cpu),
            ..task
        });
        self.cpus[cpu as usize].list.push_back(id);
        id
    }

    /// An ordinary task: load 1024, utilization 512, cold, allowed everywhere.
    pub fn task(&self) -> Task {
        Task {
            allowed: CpuMask::full(self.nr()),
            load: 1024,
            util: 512,
            exec_start: 0,
            is_sched_idle: false,
            is_delayed: false,
            is_eligible: true,
            preferred_llc: None,
            cpu: CpuId(0),
        }
    }

    pub fn counts(&self) -> Vec<usize> {
        self.cpus.iter().map(|c| c.list.len()).collect()
    }

    fn sum(&self, cpu: CpuId, f: impl Fn(&Task) -> u64) -> u64 {
        let list = &self.cpus[cpu.index()].list;
        list.iter().map(|t| f(&self.tasks[t.index()])).sum()
    }

    fn row(&self, cpu: CpuId) -> Option<Row> {
        self.cpus[cpu.index()].row
    }
}

impl BalanceView for World {
    fn active(&self) -> &CpuMask {
        &self.active
    }
    fn jiffies(&self) -> u64 {
        self.jiffies
    }
    fn is_idle(&self, cpu: CpuId) -> bool {
        self.nr_running(cpu) == 0
    }
    fn is_sched_idle(&self, cpu: CpuId) -> bool {
        let list = &self.cpus[cpu.index()].list;
        !list.is_empty() && list.iter().all(|t| self.tasks[t.index()].is_sched_idle)
    }
    fn nr_running(&self, cpu: CpuId) -> u32 {
        self.h_nr_queued(cpu) + self.cpus[cpu.index()].higher
    }
    fn h_nr_queued(&self, cpu: CpuId) -> u32 {
        self.row(cpu)
            .map_or(self.cpus[cpu.index()].list.len() as u32, |r| r.nr)
    }
    fn load_avg(&self, cpu: CpuId) -> u64 {
        self.row(cpu)
            .map_or_else(|| self.sum(cpu, |t| t.load), |r| r.load)
    }
    fn runnable_avg(&self, cpu: CpuId) -> u64 {
        self.row(cpu)
            .map_or_else(|| self.sum(cpu, |t| t.load), |r| r.runnable)
    }
    fn util_avg(&self, cpu: CpuId) -> u64 {
        self.row(cpu)
            .map_or_else(|| self.sum(cpu, |t| t.util), |r| r.util)
    }
    fn util_est(&self, _cpu: CpuId) -> u64 {
        0
    }
    fn misfit_load(&self, cpu: CpuId) -> u64 {
        self.row(cpu).map_or(0, |r| r.misfit)
    }
    fn capacity_loss(&self, cpu: CpuId) -> CapacityLoss {
        self.cpus[cpu.index()].loss
    }
    fn is_energy_aware(&self) -> bool {
        self.energy
    }
    fn avg_idle(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu.index()].avg_idle
    }
    fn clock_task(&self, _cpu: CpuId) -> u64 {
        self.clock
    }
    fn is_preemptible(&self) -> bool {
        self.preemptible
    }
    fn current(&self, cpu: CpuId) -> Option<TaskId> {
        self.cpus[cpu.index()].list.front().copied()
    }
    fn task(&self, task: TaskId) -> BalanceTask<'_> {
        let t = &self.tasks[task.index()];
        BalanceTask {
            allowed: &t.allowed,
            is_running: self.running && self.current(t.cpu) == Some(task),
            is_delayed: t.is_delayed,
            is_fair: true,
            is_sched_idle: t.is_sched_idle,
            is_per_cpu_kthread: false,
            is_blocked_donor: false,
            is_buddy: false,
            exec_start: t.exec_start,
            preferred_llc: t.preferred_llc,
        }
    }
    fn priority(&self, cpu: CpuId) -> i32 {
        let stated = self.priorities.get(cpu.index()).copied();
        stated.unwrap_or(-(cpu.0 as i32))
    }
    fn nr_preferring_llc(&self, cpu: CpuId, llc: u32) -> u32 {
        self.sum(cpu, |t| u64::from(t.preferred_llc == Some(llc))) as u32
    }
    fn nr_in_preferred_llc(&self, cpu: CpuId) -> u32 {
        self.nr_preferring_llc(cpu, self.domains.cached(cpu).llc_id)
    }
    fn is_eligible(&self, task: TaskId) -> bool {
        self.tasks[task.index()].is_eligible
    }
    fn task_h_load(&self, task: TaskId) -> u64 {
        self.tasks[task.index()].load
    }
    fn task_util(&self, task: TaskId) -> u64 {
        self.tasks[task.index()].util
    }
    fn task_util_est(&self, task: TaskId) -> u64 {
        self.tasks[task.index()].util
    }
}

impl BalanceOps for World {
    fn task_from_tail(&self, src: CpuId, nth: usize) -> Option<TaskId> {
        let list = &self.cpus[src.index()].list;
        list.len().checked_sub(nth + 1).map(|i| list[i])
    }
    fn move_to_front(&mut self, src: CpuId, task: TaskId) {
        // The running task stays in front, so that it is still known as such.
        let list = &mut self.cpus[src.index()].list;
        list.retain(|t| *t != task);
        let at = usize::from(!list.is_empty() && self.running);
        list.insert(at.min(list.len()), task);
    }
    fn detach(&mut self, task: TaskId, src: CpuId, dst: CpuId) {
        self.cpus[src.index()].list.retain(|t| *t != task);
        self.tasks[task.index()].cpu = dst;
        self.moves.push((task, src, dst));
    }
    fn attach(&mut self, task: TaskId, dst: CpuId) {
        assert_eq!(
            self.tasks[task.index()].cpu,
            dst,
            "attached where it was sent"
        );
        self.cpus[dst.index()].list.push_back(task);
    }
    fn start_active_balance(&mut self, src: CpuId, dst: CpuId) {
        self.started.push((src, dst));
    }
    fn update_blocked(&mut self, _cpu: CpuId) -> bool {
        false
    }
    fn clock_ns(&self, cost: &BalanceCost) -> u64 {
        self.clock + 1000 * u64::from(cost.group_cpus)
    }
    fn random(&mut self) -> u32 {
        self.random
    }
    fn attempt_ended(&mut self, cpu: CpuId, _idle: IdleKind, attempt: &Attempt) {
        self.attempts.push((cpu, *attempt));
    }
}

/// A world with the state that balancing keeps of it.
pub struct Lab {
    pub kernel: Kernel,
    pub world: World,
    pub state: BalanceState,
    pub scratch: BalanceScratch,
}

impl Lab {
    pub fn new(kernel: Kernel, world: World) -> Self {
        let nr = world.nr();
        let state = BalanceState::new(&world.domains, &kernel, world.jiffies, nr);
        Self {
            kernel,
            state,
            scratch: BalanceScratch::new(nr),
            world,
        }
    }

    /// Runs `f` with a balancer over the world's domains.
    pub fn run<T>(&mut self, f: impl FnOnce(&mut Balancer<'_>, &mut World) -> T) -> T {
        let domains = self.world.domains.clone();
        let mut balancer = Balancer {
            kernel: &self.kernel,
            domains: &domains,
            state: &mut self.state,
            scratch: &mut self.scratch,
        };
        f(&mut balancer, &mut self.world)
    }

    /// The domain of `cpu` with the given name.
    pub fn domain(&self, cpu: u32, name: &str) -> DomainId {
        let domains = &self.world.domains;
        domains
            .chain(CpuId(cpu))
            .find(|id| domains.domain(*id).name == name)
            .unwrap()
    }

    pub fn balance(&mut self, cpu: u32, idle: IdleKind, name: &str) -> Attempt {
        let id = self.domain(cpu, name);
        self.run(|b, w| b.load_balance(w, CpuId(cpu), idle, id))
    }
}
