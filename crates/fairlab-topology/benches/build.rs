//! Time and memory of building domains, by number of CPUs.
//!
//! `cargo bench -p fairlab-topology --bench build` prints a table. Machines have 64 nodes (or one
//! per 8 CPUs, if fewer) of SMT2 cores with one LLC per node; `near`: every other node at 20;
//! `mesh`: 12 inside a group of four nodes, 20, 30 and 40 beyond. The time is the median of several
//! builds; the peak is by how much the resident memory of a fresh process grows while it builds once
//! (Linux only).

use std::fs;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use fairlab_kernel::{Kernel, Release};
use fairlab_topology::domains::{self, BuildOptions, Domains};
use fairlab_topology::{Cpu, Machine, MachineBuilder, Node};
use fairlab_units::{CpuId, NodeId};

fn machine(nr_cpus: u32, distance: &Distance) -> Machine {
    let nr_nodes = (nr_cpus / 8).clamp(1, 64);
    let per_node = nr_cpus / nr_nodes;
    let cpus = (0..nr_cpus).map(|id| Cpu {
        core: id / 2,
        llc: Some(id / per_node),
        package: Some(id / per_node),
        node: NodeId(id / per_node),
        ..Cpu::new(CpuId(id))
    });
    let nodes = (0..nr_nodes).map(|a| Node {
        id: NodeId(a),
        memory_kb: None,
        distances: (0..nr_nodes).map(|b| distance(a, b)).collect(),
    });
    let machine = MachineBuilder {
        cpus: cpus.collect(),
        nodes: nodes.collect(),
        ..MachineBuilder::default()
    };
    machine.build().unwrap_or_else(|error| panic!("{error}"))
}

fn near(a: u32, b: u32) -> u32 {
    if a == b { 10 } else { 20 }
}

/// Distance grows with the number of differing digits of the node numbers, base four.
fn mesh(a: u32, b: u32) -> u32 {
    let differing = (0..3).filter(|digit| a >> (2 * digit) & 3 != b >> (2 * digit) & 3);
    match (differing.clone().count(), differing.max()) {
        (0, _) => 10,
        (1, Some(0)) => 12,
        (1, _) => 20,
        (2, _) => 30,
        _ => 40,
    }
}

/// A line `NAME: n kB` of this process's status, in KiB.
fn status(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

type Distance = fn(u32, u32) -> u32;

const KINDS: [(&str, Distance); 2] = [("near", near), ("mesh", mesh)];

fn build(machine: &Machine) -> Domains {
    let built = domains::build(
        machine,
        &Kernel::of(Release::V6_12),
        &BuildOptions::default(),
    );
    built.unwrap_or_else(|error| panic!("{error}"))
}

/// By how much the memory of a fresh process grows at most, in KiB.
fn peak_growth(kind: &str, size: u32) -> Option<u64> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program)
        .args(["--peak", kind, &size.to_string()])
        .output()
        .ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// The part of [`peak_growth`] that runs in the fresh process.
fn print_peak_growth(kind: &str, size: &str) -> Option<()> {
    let (_, distance) = KINDS.iter().find(|(name, _)| *name == kind)?;
    let machine = machine(size.parse().ok()?, distance);
    let before = status("VmRSS:")?;
    black_box(build(&machine));
    println!("{}", status("VmHWM:")?.saturating_sub(before));
    Some(())
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "--peak")
        && let [kind, size, ..] = &args[at + 1..]
    {
        print_peak_growth(kind, size);
        return;
    }
    // As a test (`cargo test --benches`) only the smallest machine.
    let quick = !args.iter().any(|arg| arg == "--bench");
    let sizes: &[u32] = if quick { &[64] } else { &[64, 512, 4096, 8192] };
    println!("| machine | CPUs | build, ms | held, bytes per CPU | held, MiB | peak growth, MiB |");
    println!("|---|---|---|---|---|---|");
    for &size in sizes {
        for (name, distance) in KINDS {
            let machine = machine(size, &distance);
            let rounds = if quick { 1 } else { 7 };
            let mut times: Vec<Duration> = (0..rounds)
                .map(|_| {
                    let start = Instant::now();
                    black_box(build(&machine));
                    start.elapsed()
                })
                .collect();
            times.sort_unstable();
            let bytes = build(&machine).heap_bytes();
            let mib = |kib: u64| format!("{}.{}", kib / 1024, kib % 1024 * 10 / 1024);
            println!(
                "| {name} | {size} | {:.2} | {} | {} | {} |",
                times[times.len() / 2].as_secs_f64() * 1e3,
                bytes / size as usize,
                mib(bytes as u64 / 1024),
                peak_growth(name, size).map_or("unknown".into(), mib),
            );
        }
    }
}
