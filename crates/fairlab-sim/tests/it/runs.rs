//! Whole runs: time adds up, equal inputs give equal events, tasks run where they should.

use std::collections::BTreeMap;

use fairlab_event::{EventKind, SchedEvent};
use fairlab_kernel::{Kernel, Release};
use fairlab_sim::{Observer, RunResult, Silent, SimError, SimOptions, run};
use fairlab_topology::Machine;
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_units::{CpuId, CpuMask, Nanos, TaskId};
use fairlab_workload::{End, Op, ProgramBuilder, Report, Span, WorkloadBuilder, parse};

use crate::machines::grid;

fn simulate(machine: &Machine, kernel: &str, workload: &str, seed: u64) -> RunResult {
    try_simulate(machine, kernel, workload, seed, &mut Silent).unwrap()
}

fn try_simulate(
    machine: &Machine,
    kernel: &str,
    workload: &str,
    seed: u64,
    observer: &mut dyn Observer,
) -> Result<RunResult, SimError> {
    let kernel: Kernel = kernel.parse().unwrap();
    let domains = build(machine, &kernel, &BuildOptions::default()).unwrap();
    let workload = parse(workload).unwrap();
    run(
        machine,
        &domains,
        &workload,
        &SimOptions::new(kernel, seed),
        observer,
        None,
    )
}

const LOADS: [&str; 3] = [
    "schbench -m 2 -t 8 -r 0.05 -F 16",
    "schbench -m 2 -t 8 -r 0.05 -c 800 -s 500",
    "hackbench -g 1 -f 4 -l 20",
];

#[test]
fn time_adds_up_for_every_cpu_and_task() {
    let machine = grid(2, 1, 4, 2);
    for release in Release::ALL {
        for load in LOADS {
            let result = simulate(&machine, release.name(), load, 1);
            for (cpu, time) in &result.cpu_time {
                assert_eq!(
                    time.busy + time.idle,
                    Nanos(result.end.0),
                    "{release} {load} {cpu}"
                );
            }
            let busy: Nanos = result.cpu_time.iter().map(|(_, t)| t.busy).sum();
            let running: Nanos = result.task_time.iter().map(|(_, t)| t.running).sum();
            assert_eq!(busy, running, "{release} {load}: a busy CPU runs a task");
        }
    }
}

#[test]
fn equal_inputs_give_equal_events_and_another_seed_gives_others() {
    let machine = grid(1, 2, 4, 2);
    for release in Release::ALL {
        for load in LOADS {
            let hash = |seed| simulate(&machine, release.name(), load, seed).event_hash;
            assert_eq!(hash(7), hash(7), "{release} {load}");
            assert_ne!(hash(7), hash(8), "{release} {load}");
        }
    }
}

/// Holds the events against what must be true of any of them.
#[derive(Default)]
struct Auditor {
    running: BTreeMap<CpuId, TaskId>,
    switches: u64,
    exits: u64,
}

impl Observer for Auditor {
    fn event(&mut self, event: &SchedEvent) {
        match event.kind {
            EventKind::Switch { prev, next, .. } => {
                assert_eq!(
                    self.running.remove(&event.cpu),
                    prev,
                    "who ran on {:?}",
                    event.cpu
                );
                if let Some(next) = next {
                    let elsewhere = self.running.iter().find(|(_, t)| **t == next);
                    assert_eq!(elsewhere, None, "{next:?} runs on two CPUs");
                    self.running.insert(event.cpu, next);
                }
                self.switches += 1;
            }
            EventKind::Exit { .. } => self.exits += 1,
            _ => {}
        }
    }
}

#[test]
fn a_task_runs_on_one_cpu_at_a_time() {
    let machine = grid(2, 2, 2, 2);
    for release in Release::ALL {
        for load in LOADS {
            let mut auditor = Auditor::default();
            let result = try_simulate(&machine, release.name(), load, 3, &mut auditor).unwrap();
            assert_eq!(auditor.switches, result.counts.switches);
            assert_eq!(auditor.exits, result.counts.exits);
        }
    }
}

#[test]
fn hackbench_delivers_every_message_and_ends() {
    let machine = grid(1, 1, 2, 1);
    for release in Release::ALL {
        let result = simulate(&machine, release.name(), "hackbench -g 2 -f 3 -l 10", 1);
        // Main, and 2 groups of 3 senders and 3 receivers.
        assert_eq!(result.counts.exits, 1 + 12, "{release}");
    }
}

#[test]
fn a_cpu_bound_pair_on_one_cpu_shares_it_evenly() {
    let machine = grid(1, 1, 1, 1);
    for release in Release::ALL {
        // Two workers that never wait for long, on one CPU.
        let load = "schbench -m 1 -t 2 -r 2 -c 10000 -s 0 -w 0.1";
        let result = simulate(&machine, release.name(), load, 1);
        let mut ran: Vec<u64> = result.task_time.iter().map(|(_, t)| t.running.0).collect();
        ran.sort_unstable();
        let (a, b) = (ran[ran.len() - 2], ran[ran.len() - 1]);
        assert!(b - a < b / 20, "{release}: {a} against {b} ns");
    }
}

#[test]
fn the_balancer_spreads_a_pile_of_hogs() {
    let machine = grid(1, 1, 4, 2);
    for release in Release::ALL {
        let result = simulate(&machine, release.name(), "hogs --stacked -n 32 -r 2", 1);
        let idle: Nanos = result.cpu_time.iter().map(|(_, t)| t.idle).sum();
        // Eight CPUs for two seconds; the first balancing intervals are 8 to 16 ms.
        assert!(idle < Nanos::from_millis(8 * 100), "{release}: {idle} idle");
        // Fair shares, but for SMT: no task has less than half of its quarter of a CPU.
        let least = result
            .task_time
            .iter()
            .map(|(_, t)| t.running)
            .min()
            .unwrap();
        assert!(least > Nanos::from_millis(250), "{release}: {least}");
    }
}

#[test]
fn a_cpu_that_runs_out_of_work_pulls_from_a_crowded_one_before_any_tick() {
    let machine = grid(1, 1, 2, 1);
    let run_for = |ms| Op::Run(Span::Fixed(Nanos::from_millis(ms)));
    for release in Release::ALL {
        // Less than a tick, so nothing but newidle balancing can have moved a task.
        let end = End::After(Nanos::from_millis(3));
        let w = WorkloadBuilder::new("crowd", Report::Plain, end);
        let mut w = w.stacked(true);
        let second = w.mask(CpuMask::from_cpus(2, [CpuId(1)]));
        let short = ProgramBuilder::new("short").allowed(second).op(run_for(1));
        let hog = ProgramBuilder::new("hog").op(run_for(50));
        let (short, hog) = (w.program(short.build()), w.program(hog.build()));
        for program in [short, hog, hog] {
            w.start(program);
        }
        let kernel = Kernel::of(release);
        let domains = build(&machine, &kernel, &BuildOptions::default()).unwrap();
        let options = SimOptions::new(kernel, 1);
        let result = run(&machine, &domains, &w.build(), &options, &mut Silent, None).unwrap();
        assert_eq!(result.counts.balance_moves, 1, "{release}");
    }
}

#[test]
fn realtime_tasks_take_the_cpu_away_from_fair_ones() {
    let machine = grid(1, 1, 1, 1);
    for release in Release::ALL {
        // One FIFO task that runs 5 ms of every 10, two hogs for the rest.
        let load = "hogs --stacked -n 2 -f 1 -r 2";
        let mut auditor = Auditor::default();
        let result = try_simulate(&machine, release.name(), load, 1, &mut auditor).unwrap();
        let running: Vec<u64> = result.task_time.iter().map(|(_, t)| t.running.0).collect();
        let half = 1_000_000_000;
        // Switches and ticks come on top of the 5 ms.
        assert!(
            running[0].abs_diff(half) < half / 50,
            "{release}: {running:?}"
        );
        let waited = result.task_time[0].1.waiting;
        assert!(
            waited < Nanos::from_millis(10),
            "{release}: waited {waited}"
        );
        for hog in &running[1..] {
            assert!(hog.abs_diff(half / 2) < half / 20, "{release}: {running:?}");
        }
        let busy: Nanos = result.cpu_time.iter().map(|(_, t)| t.busy).sum();
        assert_eq!(busy.0, running.iter().sum::<u64>(), "{release}");
    }
}

#[test]
fn the_balancer_keeps_fair_tasks_away_from_realtime_load() {
    let machine = grid(1, 1, 4, 1);
    for release in [Release::V6_1, Release::V6_12, Release::V7_2] {
        let load = "hogs --stacked -n 12 -f 4 -r 2";
        let result = simulate(&machine, release.name(), load, 1);
        let idle: Nanos = result.cpu_time.iter().map(|(_, t)| t.idle).sum();
        assert!(idle < Nanos::from_millis(400), "{release}: {idle} idle");
        for (cpu, time) in &result.cpu_time {
            assert_eq!(
                time.busy + time.idle,
                Nanos(result.end.0),
                "{release} {cpu}"
            );
        }
    }
}
