//! Simulated runs whose events the tests look at.

use fairlab_event::{EventKind, SchedEvent};
use fairlab_kernel::Kernel;
use fairlab_sim::{Observer, RunResult, SimOptions, run};
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_topology::{Cpu, Machine, MachineBuilder, Node};
use fairlab_units::{CpuId, CpuMask, NodeId, TaskId, Timestamp};
use fairlab_workload::parse;

/// A machine of `nodes` nodes, `llcs` LLCs per node, `cores` cores per LLC in clusters of `cluster`,
/// `threads` threads per core.
pub fn machine(nodes: u32, llcs: u32, cores: u32, cluster: u32, threads: u32) -> Machine {
    let mut cpus = Vec::new();
    for core in 0..nodes * llcs * cores {
        for thread in 0..threads {
            let mut cpu = Cpu::new(CpuId(core * threads + thread));
            cpu.core = core;
            cpu.cluster = Some(core / cluster);
            cpu.llc = Some(core / cores);
            cpu.package = Some(core / (cores * llcs));
            cpu.node = NodeId(core / (cores * llcs));
            cpus.push(cpu);
        }
    }
    let distances = |from: u32| {
        (0..nodes)
            .map(|to| if from == to { 10 } else { 20 })
            .collect()
    };
    MachineBuilder {
        name: "made for a test".into(),
        cpus,
        nodes: (0..nodes)
            .map(|node| Node {
                id: NodeId(node),
                memory_kb: None,
                distances: distances(node),
            })
            .collect(),
        ..MachineBuilder::default()
    }
    .build()
    .unwrap()
}

pub fn machines() -> [Machine; 5] {
    [
        machine(1, 1, 4, 1, 1),
        machine(1, 1, 4, 1, 2),
        machine(2, 2, 4, 1, 2),
        machine(2, 1, 16, 4, 1),
        machine(1, 2, 8, 1, 8),
    ]
}

pub const LOADS: [&str; 4] = [
    "schbench -m 2 -t 8 -r 0.1",
    "schbench -m 1 -t 40 -r 0.1",
    "hackbench -g 2 -f 4 -l 30",
    "hogs -n 12 -r 0.1",
];

/// All events of a run, and what the simulator counted.
#[derive(Default)]
pub struct Events {
    pub events: Vec<SchedEvent>,
    pub allowed: Vec<(TaskId, CpuMask)>,
}

impl Observer for Events {
    fn event(&mut self, event: &SchedEvent) {
        self.events.push(*event);
    }

    fn priority(&mut self, time: Timestamp, task: TaskId, prio: i16) {
        self.events.push(SchedEvent {
            time,
            cpu: CpuId(0),
            kind: EventKind::Priority { task, prio },
        });
    }

    fn affinity(&mut self, _: Timestamp, task: TaskId, allowed: &CpuMask) {
        self.allowed.push((task, allowed.clone()));
    }
}

pub fn simulate(machine: &Machine, kernel: &str, load: &str) -> (Events, RunResult) {
    simulate_seeded(machine, kernel, load, 5)
}

pub fn simulate_seeded(
    machine: &Machine,
    kernel: &str,
    load: &str,
    seed: u64,
) -> (Events, RunResult) {
    let kernel: Kernel = kernel.parse().unwrap();
    let domains = build(machine, &kernel, &BuildOptions::default()).unwrap();
    let mut events = Events::default();
    let result = run(
        machine,
        &domains,
        &parse(load).unwrap(),
        &SimOptions::new(kernel, seed),
        &mut events,
        None,
    )
    .unwrap();
    (events, result)
}

/// The state of a simulated machine at its start, which no event tells: all idle.
pub fn all_idle(machine: &Machine) -> impl Iterator<Item = SchedEvent> + '_ {
    machine.cpus().iter().map(|cpu| SchedEvent {
        time: Timestamp(0),
        cpu: cpu.id,
        kind: EventKind::Running { task: None },
    })
}
