//! Small machines, made here.

use fairlab_topology::{Arch, Cpu, Machine, MachineBuilder, Node};
use fairlab_units::{CpuId, NodeId};

/// `nodes` nodes of `llcs` LLCs of `cores` cores of `threads` threads, siblings adjacent.
pub fn grid(nodes: u32, llcs: u32, cores: u32, threads: u32) -> Machine {
    let per_node = llcs * cores * threads;
    let cpus = (0..nodes * per_node)
        .map(|n| Cpu {
            core: n / threads,
            cluster: Some(n / threads),
            llc: Some(n / (cores * threads)),
            package: Some(n / per_node),
            node: NodeId(n / per_node),
            ..Cpu::new(CpuId(n))
        })
        .collect();
    let distances = |i| (0..nodes).map(|j| if i == j { 10 } else { 20 }).collect();
    let nodes = (0..nodes)
        .map(|i| Node {
            id: NodeId(i),
            memory_kb: None,
            distances: distances(i),
        })
        .collect();
    let builder = MachineBuilder {
        name: "grid".into(),
        arch: Arch::X86,
        cpus,
        nodes,
        ..MachineBuilder::default()
    };
    builder.build().unwrap()
}
