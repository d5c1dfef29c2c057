//! States to decide in: no queues, no time, only what a decision reads.

use fairlab_kernel::Kernel;
use fairlab_rng::Rng;
use fairlab_topology::domains::{BuildError, BuildOptions, build};
use fairlab_topology::{Cpu, Domains, Machine, MachineBuilder, MachineError, Node};
use fairlab_units::{CpuId, CpuMask, NodeId};

use super::view::{CpuState, State};

impl State {
    /// `machine` under `kernel`, each CPU busy with one task, and with budget to scan any LLC.
    ///
    /// # Errors
    /// When the kernel refuses the machine.
    pub fn new(machine: &Machine, kernel: &Kernel) -> Result<Self, BuildError> {
        let domains = build(machine, kernel, &BuildOptions::default())?;
        let busy = CpuState {
            nr_running: 1,
            ..CpuState::default()
        };
        let mut cpus = vec![busy; domains.nr_cpu_ids()];
        for cpu in machine.cpus() {
            if let Some(state) = cpus.get_mut(cpu.id.index()) {
                state.node = machine.node_index(cpu.node).unwrap_or(0);
            }
        }
        Ok(Self {
            active: machine.online(),
            cpus,
            has_idle_cores: false,
            nr_idle_scan: u32::MAX,
            domains,
        })
    }

    /// The domains.
    #[must_use]
    pub const fn domains(&self) -> &Domains {
        &self.domains
    }

    /// Online CPUs.
    #[must_use]
    pub const fn active(&self) -> &CpuMask {
        &self.active
    }

    /// Every CPU half busy with one task and all alike, so that a fork stays local at each level and
    /// visits every level.
    #[must_use]
    pub fn level(mut self) -> Self {
        for cpu in &mut self.cpus {
            *cpu = CpuState {
                is_idle: false,
                nr_running: 1,
                load: 1024,
                runnable: 310,
                util: 300,
                util_est: 280,
                node: cpu.node,
            };
        }
        self
    }

    /// Every CPU with zero to three tasks and signals drawn from `rng`.
    #[must_use]
    pub fn mixed(mut self, rng: &mut Rng) -> Self {
        for cpu in &mut self.cpus {
            let nr_running = rng.below(4) as u32;
            let util = rng.below(1025);
            *cpu = CpuState {
                is_idle: nr_running == 0,
                nr_running,
                load: rng.below(3 * 1024),
                runnable: util + rng.below(1024),
                util,
                util_est: rng.below(1025),
                node: cpu.node,
            };
        }
        self
    }

    /// Exactly `idle` are idle; the others run one task each.
    #[must_use]
    pub fn with_idle(mut self, idle: &[CpuId]) -> Self {
        for cpu in &mut self.cpus {
            (cpu.is_idle, cpu.nr_running) = (false, 1);
        }
        for cpu in idle {
            if let Some(cpu) = self.cpus.get_mut(cpu.index()) {
                (cpu.is_idle, cpu.nr_running) = (true, 0);
            }
        }
        self
    }

    /// Sets or clears the hint "some core of the LLC is idle" of every LLC.
    #[must_use]
    pub const fn with_hint(mut self, is_set: bool) -> Self {
        self.has_idle_cores = is_set;
        self
    }
}

/// One socket with one LLC of `cpus` CPUs, in cores of `threads` threads that follow each other.
///
/// # Errors
/// When the machine is empty or too large.
pub fn one_llc(cpus: u32, threads: u32) -> Result<Machine, MachineError> {
    let mut builder = MachineBuilder {
        name: format!("one LLC of {cpus} CPUs, {threads} threads per core"),
        ..MachineBuilder::default()
    };
    for id in 0..cpus {
        let mut cpu = Cpu::new(CpuId(id));
        cpu.core = id / threads.max(1);
        cpu.llc = Some(0);
        cpu.package = Some(0);
        cpu.node = NodeId(0);
        builder.cpus.push(cpu);
    }
    builder.nodes.push(Node {
        id: NodeId(0),
        distances: vec![10],
        memory_kb: None,
    });
    builder.build()
}
