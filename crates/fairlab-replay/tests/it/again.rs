//! What a recorded run takes when it is simulated again.

use fairlab_event::{EventKind, SchedEvent};
use fairlab_kernel::Kernel;
use fairlab_replay::{Edges, Recorded, Recorder, replay_costs};
use fairlab_sim::{Observer, RunResult, SimOptions, run};
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_topology::{Cpu, Machine, MachineBuilder};
use fairlab_units::{CpuId, TaskId, Timestamp};
use fairlab_workload::{Workload, parse};

fn machine(cores: u32, threads: u32) -> Machine {
    let cpus = (0..cores * threads).map(|id| Cpu {
        core: id / threads,
        llc: Some(0),
        package: Some(0),
        ..Cpu::new(CpuId(id))
    });
    MachineBuilder {
        name: "made for a test".into(),
        cpus: cpus.collect(),
        ..MachineBuilder::default()
    }
    .build()
    .unwrap()
}

#[derive(Default)]
struct Events(Vec<SchedEvent>);

impl Observer for Events {
    fn event(&mut self, event: &SchedEvent) {
        self.0.push(*event);
    }

    fn priority(&mut self, time: Timestamp, task: TaskId, prio: i16) {
        self.0.push(SchedEvent {
            time,
            cpu: CpuId(0),
            kind: EventKind::Priority { task, prio },
        });
    }
}

fn simulate(
    machine: &Machine,
    kernel: Kernel,
    workload: &Workload,
) -> (Vec<SchedEvent>, RunResult) {
    let options = SimOptions::new(kernel, 3);
    simulate_with(machine, workload, &options)
}

fn replay(machine: &Machine, kernel: Kernel, recorded: &Recorded) -> RunResult {
    let options = SimOptions {
        costs: Some(replay_costs(machine)),
        ..SimOptions::new(kernel, 3)
    };
    simulate_with(machine, &recorded.workload, &options).1
}

fn simulate_with(
    machine: &Machine,
    workload: &Workload,
    options: &SimOptions,
) -> (Vec<SchedEvent>, RunResult) {
    let kernel = options.kernel;
    let domains = build(machine, &kernel, &BuildOptions::default()).unwrap();
    let mut events = Events::default();
    let result = run(machine, &domains, workload, options, &mut events, None).unwrap();
    (events.0, result)
}

fn record(machine: &Machine, events: &[SchedEvent], end: Timestamp) -> Recorded {
    let mut edges = Edges::new();
    for event in events {
        edges.event(event);
    }
    let costs = replay_costs(machine);
    let mut recorder = Recorder::new("recorded", machine, &costs, &edges);
    for event in events {
        recorder.event(event);
    }
    recorder.finish(end)
}

/// Time that all tasks ran, in ns.
fn running(result: &RunResult) -> u64 {
    result
        .task_time
        .iter()
        .map(|(_, time)| time.running.0)
        .sum()
}

/// How many thousandths `b` is away from `a`.
fn per_mille(a: u64, b: u64) -> u64 {
    a.abs_diff(b) * 1000 / a.max(1)
}

#[test]
fn where_cpus_are_free_the_same_kernel_and_machine_take_the_same_time() {
    let machine = machine(16, 1);
    for kernel in ["5.4", "6.1", "6.12"] {
        let kernel: Kernel = kernel.parse().unwrap();
        for load in ["hogs -n 12 -r 0.2", "kernbench -j 8"] {
            let workload = parse(load).unwrap();
            let (events, first) = simulate(&machine, kernel, &workload);
            let recorded = record(&machine, &events, first.end);
            let again = replay(&machine, kernel, &recorded);
            let elapsed = per_mille(first.end.0, again.end.0);
            let ran = per_mille(running(&first), running(&again));
            assert!(
                elapsed <= 10,
                "{kernel}, {load}: elapsed {elapsed} per mille off"
            );
            assert!(ran <= 10, "{kernel}, {load}: ran {ran} per mille off");
        }
    }
}

#[test]
fn tasks_that_wait_at_the_end_keep_the_work_they_did() {
    let machine = machine(8, 1);
    let kernel: Kernel = "6.12".parse().unwrap();
    let workload = parse("hogs -n 12 -r 0.2").unwrap();
    let (events, first) = simulate(&machine, kernel, &workload);
    let recorded = record(&machine, &events, first.end);
    let again = replay(&machine, kernel, &recorded);
    let ran = per_mille(running(&first), running(&again));
    assert!(ran <= 10, "ran {ran} per mille off");
}

#[test]
fn with_half_as_many_cpus_as_tasks_the_work_takes_twice_as_long() {
    let kernel: Kernel = "6.12".parse().unwrap();
    let workload = parse("hogs -n 12 -r 0.2").unwrap();
    let whole = machine(12, 1);
    let (events, first) = simulate(&whole, kernel, &workload);
    let recorded = record(&whole, &events, first.end);
    let again = replay(&machine(6, 1), kernel, &recorded);
    // Twelve tasks on six CPUs, each of which runs two; no more is lost than the last slices.
    let elapsed = per_mille(2 * first.end.0, again.end.0);
    assert!(
        elapsed <= 50,
        "elapsed {:?}, now {:?}",
        first.end,
        again.end
    );
}

#[test]
fn a_waker_comes_before_its_wakee_on_any_machine() {
    let kernel: Kernel = "6.6".parse().unwrap();
    let workload = parse("hackbench -g 1 -f 4 -l 50").unwrap();
    let recorded_on = machine(8, 1);
    let (events, first) = simulate(&recorded_on, kernel, &workload);
    let recorded = record(&recorded_on, &events, first.end);
    assert!(recorded.edges > recorded.sleeps, "{} edges", recorded.edges);
    for cpus in [1, 2, 32] {
        // It would end in a deadlock if a post were lost.
        let again = replay(&machine(cpus, 1), kernel, &recorded);
        assert!(again.counts.wakeups > 0);
    }
}
