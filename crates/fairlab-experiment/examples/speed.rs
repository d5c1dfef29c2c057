//! How fast the simulator is: state changes per second of CPU time, and memory per CPU and task.
//!
//! ```text
//! cargo run --release -p fairlab-experiment --example speed -- [CPUS[,CPUS...] [WORKLOAD [KERNEL]]]
//! ```
//!
//! One run after the other on one thread. A state change is a switch, a wakeup, a migration, a fork or an
//! exit; `sched_waking`, which comes with each wakeup, is not counted. Time is the CPU time of this
//! process, so a busy host matters less. Memory is the most that was allocated at once during the run, the
//! workload, the machine and its domains not included. What a CPU takes is that of a run with one task;
//! what a task takes is the rest of the other run.

#![allow(clippy::unwrap_used, reason = "an example that cannot be set up fails")]

use std::fs::read_to_string;

use allocation_counter::measure;
use fairlab_kernel::Kernel;
use fairlab_machines::{LoadOptions, load};
use fairlab_sim::{RunResult, Silent, SimOptions, run};
use fairlab_topology::Machine;
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_workload::parse;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let sizes = args.first().map_or("4,64,1024,4096", String::as_str);
    let kernel: Kernel = args.get(2).map_or("6.12", |k| k).parse().unwrap();
    println!(
        "    CPUs     tasks  state changes  CPU s   M/s  peak MiB  B per CPU  B per task  hash"
    );
    for size in sizes.split(',') {
        let cpus: u32 = size.parse().unwrap();
        let machine = machine(cpus);
        let domains = build(&machine, &kernel, &BuildOptions::default()).unwrap();
        let simulate = |text: &str| {
            let workload = parse(text).unwrap();
            let options = SimOptions::new(kernel, 1);
            let mut result = None;
            let start = cpu_seconds();
            let memory = measure(|| {
                result =
                    Some(run(&machine, &domains, &workload, &options, &mut Silent, None).unwrap());
            });
            let spent = cpu_seconds() - start;
            (result.unwrap(), spent, memory.bytes_max)
        };
        // About as many requests in flight as CPUs, a thousand simulated events per task or so.
        let usual = format!(
            "schbench -m {} -t 16 -F 32 -r {}",
            cpus.div_ceil(8),
            seconds(cpus)
        );
        let (_, _, idle) = simulate("hogs -n 1 -r 0.001");
        let (result, spent, peak) = simulate(args.get(1).unwrap_or(&usual));
        let (tasks, changes) = (result.task_time.len(), state_changes(&result));
        println!(
            "{cpus:>8} {tasks:>9} {changes:>14} {spent:>6.2} {:>5.2} {:>9.1} {:>10} {:>11} {:016x}",
            changes as f64 / spent.max(1e-9) / 1e6,
            peak as f64 / f64::from(1 << 20),
            idle / u64::from(cpus),
            peak.saturating_sub(idle) / tasks.max(1) as u64,
            result.event_hash,
        );
    }
}

fn state_changes(result: &RunResult) -> u64 {
    let counts = &result.counts;
    counts.switches
        + counts.wakeups
        + counts.migrations.iter().sum::<u64>()
        + counts.forks
        + counts.exits
}

/// Simulated time, so that runs of all sizes take a few seconds.
fn seconds(cpus: u32) -> &'static str {
    match cpus {
        0..=16 => "20",
        17..=256 => "2",
        257..=2048 => "0.2",
        _ => "0.05",
    }
}

/// Sockets of 64 CPUs, LLCs of 16, cores of two threads; one LLC where there are fewer CPUs.
fn machine(cpus: u32) -> Machine {
    let spec = if cpus < 64 {
        format!("1s:{}c:2t", cpus.div_ceil(2))
    } else {
        format!("{}s:4l:8c:2t", cpus / 64)
    };
    load(&spec, &LoadOptions::default()).unwrap()
}

/// CPU time of this process.
fn cpu_seconds() -> f64 {
    let text = read_to_string("/proc/self/schedstat").unwrap_or_default();
    let ns: Option<f64> = text
        .split_whitespace()
        .next()
        .and_then(|ns| ns.parse().ok());
    ns.unwrap_or_default() / 1e9
}
