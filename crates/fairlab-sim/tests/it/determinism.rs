//! The same inputs give the same events, for many seeds; and nothing that must hold depends on the order of
//! what is due at the same time.
//!
//! `FAIRLAB_SEEDS=1000` runs the full number of seeds; without it a few.

use fairlab_kernel::Kernel;
use fairlab_sim::{RunResult, Silent, SimOptions, run};
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_topology::{Domains, Machine};
use fairlab_units::Nanos;
use fairlab_workload::{Workload, parse};

use crate::machines::grid;

/// Of different kinds: wakeups through futexes, pipes and sockets; processes that come and go; random arrivals
/// with locks, timers and hogs beside.
const LOADS: [&str; 3] = [
    "schbench -m 1 -t 4 -r 0.01 -F 16 + hackbench -g 1 -f 2 -l 3",
    "kernbench -j 4 -n 6 -c 2 + tbench 2",
    "service -w 4 -R 20000 -c 100 -b 3 -r 0.01 + frames -f 500 + hogs -n 3 -N 5",
];

const KERNELS: [&str; 3] = ["5.4", "6.12", "7.2"];

fn machines() -> [Machine; 3] {
    [grid(1, 1, 2, 1), grid(1, 2, 2, 2), grid(2, 1, 3, 1)]
}

fn seeds() -> u64 {
    let asked = std::env::var("FAIRLAB_SEEDS").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or_else(|| {
        eprintln!("4 seeds (set FAIRLAB_SEEDS for more)");
        4
    })
}

fn simulate(
    machine: &Machine,
    domains: &Domains,
    workload: &Workload,
    options: &SimOptions,
) -> RunResult {
    run(machine, domains, workload, options, &mut Silent, None).unwrap()
}

/// Calls `check` for each load on each machine, whose kernels differ, and each seed.
fn each_run(check: impl Fn(&str, &Machine, &Domains, &Workload, &SimOptions)) {
    for (machine, kernel) in machines().iter().zip(KERNELS) {
        let kernel: Kernel = kernel.parse().unwrap();
        let domains = build(machine, &kernel, &BuildOptions::default()).unwrap();
        for load in LOADS {
            let workload = parse(load).unwrap();
            for seed in 1..=seeds() {
                let options = SimOptions::new(kernel, seed);
                check(load, machine, &domains, &workload, &options);
            }
        }
    }
}

#[test]
fn equal_seeds_give_equal_events() {
    each_run(|load, machine, domains, workload, options| {
        let first = simulate(machine, domains, workload, options);
        let second = simulate(machine, domains, workload, options);
        let what = format!("{load}, seed {}", options.seed);
        assert_eq!(first.event_hash, second.event_hash, "{what}");
        assert_eq!(first.events, second.events, "{what}");
        assert_eq!(first.end, second.end, "{what}");
    });
}

#[test]
fn the_order_of_what_is_due_at_once_changes_no_invariant() {
    each_run(|load, machine, domains, workload, options| {
        let options = SimOptions {
            shuffle_ties: Some(options.seed),
            ..options.clone()
        };
        let result = simulate(machine, domains, workload, &options);
        let what = format!("{load}, seed {}", options.seed);
        for (cpu, time) in &result.cpu_time {
            assert_eq!(time.busy + time.idle, Nanos(result.end.0), "{what} {cpu}");
        }
        let busy: Nanos = result.cpu_time.iter().map(|(_, t)| t.busy).sum();
        let running: Nanos = result.task_time.iter().map(|(_, t)| t.running).sum();
        assert_eq!(busy, running, "{what}");
        let again = simulate(machine, domains, workload, &options);
        assert_eq!(result.event_hash, again.event_hash, "{what}");
    });
}
