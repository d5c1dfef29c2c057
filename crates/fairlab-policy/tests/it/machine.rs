//! A machine whose whole state is written down by hand.

use std::cell::RefCell;
use std::collections::BTreeSet;

use fairlab_kernel::{Kernel, Release};
use fairlab_policy::{
    Context, Cost, Event, Explain, MachineView, PerfDomain, Section, Signals, TaskView, WakeFlags,
};
use fairlab_topology::domains::{
    self, BuildOptions, CapacityId, DomainId, Domains, GroupCapacity, SharedId,
};
use fairlab_topology::{Cpu, Machine, MachineBuilder, Node};
use fairlab_units::{CpuId, CpuMask, NodeId, TaskId};

pub fn cpus(nr: usize, list: &[u32]) -> CpuMask {
    CpuMask::from_cpus(nr, list.iter().map(|c| CpuId(*c)))
}

/// A machine of equal parts, numbered so that the threads of a core follow each other.
#[derive(Clone, Copy)]
pub struct Shape {
    pub nodes: u32,
    /// LLCs of a node.
    pub llcs: u32,
    /// Clusters of an LLC; 0 for none.
    pub clusters: u32,
    /// Cores of a cluster (or LLC).
    pub cores: u32,
    /// Threads of a core.
    pub threads: u32,
    /// Numbers the second threads of all cores after all first threads, and so on.
    pub spread: bool,
    /// CPUs outside all domains.
    pub isolated: &'static [u32],
    /// Capacity by CPU; empty for 1024 everywhere.
    pub capacity: &'static [u32],
}

impl Shape {
    pub const fn llc(cores: u32, threads: u32) -> Self {
        Self {
            nodes: 1,
            llcs: 1,
            clusters: 0,
            cores,
            threads,
            spread: false,
            isolated: &[],
            capacity: &[],
        }
    }

    pub const fn nr(&self) -> u32 {
        let clusters = if self.clusters == 0 { 1 } else { self.clusters };
        self.nodes * self.llcs * clusters * self.cores * self.threads
    }

    pub fn machine(&self) -> Machine {
        let mut builder = MachineBuilder {
            name: "test".into(),
            ..MachineBuilder::default()
        };
        let per_cluster = self.cores * self.threads;
        let per_llc = per_cluster * self.clusters.max(1);
        let per_node = per_llc * self.llcs;
        let cores = self.nr() / self.threads;
        for position in 0..self.nr() {
            let id = if self.spread {
                position % self.threads * cores + position / self.threads
            } else {
                position
            };
            let mut cpu = Cpu::new(CpuId(id));
            cpu.core = position / self.threads;
            cpu.cluster = (self.clusters > 0).then_some(position / per_cluster);
            cpu.llc = Some(position / per_llc);
            cpu.package = Some(position / per_node);
            cpu.node = NodeId(position / per_node);
            cpu.isolated = self.isolated.contains(&id);
            if let Some(capacity) = self.capacity.get(id as usize) {
                cpu.capacity = *capacity;
            }
            builder.cpus.push(cpu);
        }
        for id in 0..self.nodes {
            builder.nodes.push(Node {
                id: NodeId(id),
                distances: (0..self.nodes)
                    .map(|other| if other == id { 10 } else { 20 })
                    .collect(),
                memory_kb: None,
            });
        }
        builder.build().unwrap()
    }

    pub fn domains(&self, kernel: &Kernel) -> Domains {
        domains::build(&self.machine(), kernel, &BuildOptions::default()).unwrap()
    }

    /// All CPUs busy with one task each.
    pub fn state(&self, kernel: &Kernel) -> State {
        let mut state = State::new(self.domains(kernel));
        for cpu in self.machine().cpus() {
            state.cpus[cpu.id.index()].node = cpu.node.index();
        }
        state
    }
}

/// What one CPU looks like.
#[derive(Clone, Debug)]
pub struct CpuState {
    pub idle: bool,
    pub sched_idle: bool,
    pub nr_running: u32,
    pub h_nr: u32,
    pub delayed: u32,
    pub load: u64,
    pub runnable_load: u64,
    pub runnable: u64,
    pub util: u64,
    pub util_est: u64,
    pub capacity: u64,
    pub pressure: u64,
    pub idle_stamp: u64,
    pub exit_latency: Option<u32>,
    pub node: usize,
}

pub struct State {
    pub domains: Domains,
    pub active: CpuMask,
    pub cpus: Vec<CpuState>,
    /// By number of the shared object.
    pub hint: Vec<bool>,
    pub nr_idle_scan: u32,
    pub avg_idle: u64,
    pub avg_scan_cost: u64,
    pub h_load_p: u64,
    pub h_load_current: u64,
    pub uclamp_used: bool,
    pub imbalanced: BTreeSet<u32>,
    pub perf: Vec<PerfDomain>,
    pub overutilized: bool,
    /// Are sections kept?
    pub watches_sections: bool,
    pub sections: RefCell<Vec<(Section, bool)>>,
}

impl State {
    pub fn new(domains: Domains) -> Self {
        let nr = domains.nr_cpu_ids();
        let busy = |cpu: usize| CpuState {
            idle: false,
            sched_idle: false,
            nr_running: 1,
            h_nr: 1,
            delayed: 0,
            load: 0,
            runnable_load: 0,
            runnable: 0,
            util: 0,
            util_est: 0,
            capacity: u64::from(domains.capacity_orig(CpuId(cpu as u32))),
            pressure: 0,
            idle_stamp: 0,
            exit_latency: None,
            node: 0,
        };
        Self {
            active: CpuMask::full(nr),
            cpus: (0..nr).map(busy).collect(),
            hint: vec![false; domains.nr_shared()],
            nr_idle_scan: 1000,
            avg_idle: 1_000_000_000,
            avg_scan_cost: 0,
            h_load_p: 0,
            h_load_current: 0,
            uclamp_used: false,
            imbalanced: BTreeSet::new(),
            perf: Vec::new(),
            overutilized: false,
            watches_sections: true,
            sections: RefCell::default(),
            domains,
        }
    }

    /// Lets exactly `idle` be idle and `sched_idle` run only SCHED_IDLE tasks.
    pub fn idle(mut self, idle: &[u32], sched_idle: &[u32]) -> Self {
        for (i, cpu) in self.cpus.iter_mut().enumerate() {
            cpu.idle = idle.contains(&(i as u32));
            cpu.sched_idle = sched_idle.contains(&(i as u32));
            cpu.nr_running = u32::from(!cpu.idle);
            cpu.h_nr = cpu.nr_running;
        }
        self
    }

    /// Out of line, so that a decision without it can be measured.
    #[inline(never)]
    fn note_section(&self, section: Section, begins: bool) {
        self.sections.borrow_mut().push((section, begins));
    }

    /// Sets the hint of every LLC.
    pub fn hint(mut self, set: bool) -> Self {
        self.hint.fill(set);
        self
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
        self.cpus[cpu.index()].idle
    }
    fn is_sched_idle(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].sched_idle
    }
    fn is_idle_without(&self, cpu: CpuId, _task: TaskId) -> bool {
        self.cpus[cpu.index()].nr_running <= 1
    }
    fn nr_running(&self, cpu: CpuId) -> u32 {
        self.cpus[cpu.index()].nr_running
    }
    fn h_nr_queued(&self, cpu: CpuId) -> u32 {
        self.cpus[cpu.index()].h_nr
    }
    fn h_nr_runnable(&self, cpu: CpuId) -> u32 {
        self.cpus[cpu.index()].h_nr - self.cpus[cpu.index()].delayed
    }
    fn load_avg(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu.index()].load
    }
    fn runnable_load_avg(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu.index()].runnable_load
    }
    fn runnable_avg(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu.index()].runnable
    }
    fn util_avg(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu.index()].util
    }
    fn util_est(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu.index()].util_est
    }
    fn capacity_of(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu.index()].capacity
    }
    fn pressure(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu.index()].pressure
    }
    fn avg_idle(&self, _cpu: CpuId) -> u64 {
        self.avg_idle
    }
    fn avg_scan_cost(&self, _domain: DomainId) -> u64 {
        self.avg_scan_cost
    }
    fn idle_stamp(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu.index()].idle_stamp
    }
    fn idle_exit_latency(&self, cpu: CpuId) -> Option<u32> {
        self.cpus[cpu.index()].exit_latency
    }
    fn has_idle_cores(&self, shared: SharedId) -> bool {
        self.hint[shared.0 as usize]
    }
    fn nr_idle_scan(&self, _shared: SharedId) -> u32 {
        self.nr_idle_scan
    }
    fn group_capacity(&self, id: CapacityId) -> GroupCapacity {
        self.domains.capacity(id)
    }
    fn group_imbalance(&self, id: CapacityId) -> bool {
        self.imbalanced.contains(&id.0)
    }
    fn node_of(&self, cpu: CpuId) -> usize {
        self.cpus[cpu.index()].node
    }
    fn task_h_load(&self, task: &TaskView<'_>, _signals: &Signals) -> u64 {
        if task.id == TaskId(1) {
            self.h_load_p
        } else {
            self.h_load_current
        }
    }
    fn uclamp_used(&self) -> bool {
        self.uclamp_used
    }
    fn perf_domains(&self) -> &[PerfDomain] {
        &self.perf
    }
    fn is_overutilized(&self) -> bool {
        self.overutilized
    }
    #[inline]
    fn enter(&self, section: Section, _cost: &Cost) {
        if self.watches_sections {
            self.note_section(section, true);
        }
    }
    #[inline]
    fn leave(&self, section: Section, _cost: &Cost) {
        if self.watches_sections {
            self.note_section(section, false);
        }
    }
}

pub fn task(id: u32, allowed: &CpuMask) -> TaskView<'_> {
    TaskView {
        wakee_flip_decay_ts: 1000,
        ..TaskView::new(TaskId(id), CpuId(0), allowed)
    }
}

pub fn context(this: u32, prev: u32, flags: u32) -> Context {
    Context {
        this_cpu: CpuId(this),
        prev_cpu: CpuId(prev),
        flags: WakeFlags(flags),
        in_task: true,
    }
}

/// Keeps the CPUs that were probed.
#[derive(Default)]
pub struct Probes(pub Vec<u32>);

impl Explain for Probes {
    fn note(&mut self, event: Event<'_>) {
        if let Event::Probe { cpu, .. } = event {
            self.0.push(cpu.0);
        }
    }
}

pub fn kernels() -> impl Iterator<Item = Kernel> {
    Release::ALL.into_iter().map(Kernel::of)
}
