//! Memory on several nodes: what it costs to be far from it, and that NUMA balancing mends it.

use fairlab_event::{EventKind, SchedEvent};
use fairlab_kernel::{Kernel, Release};
use fairlab_sim::{Observer, RunResult, SimOptions, run};
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_units::{CpuId, CpuMask, Nanos, TaskId, Timestamp};
use fairlab_workload::{
    End, Home, Op, ProgramBuilder, Region, Report, Span, Workload, WorkloadBuilder,
};

use crate::machines::grid;

/// Where each task is queued or runs, and its moves between nodes.
struct Nodes {
    /// CPUs of a node.
    size: u32,
    of: Vec<u32>,
    crossings: Vec<(Timestamp, TaskId)>,
}

impl Nodes {
    fn put(&mut self, task: TaskId, cpu: CpuId) {
        if self.of.len() <= task.index() {
            self.of.resize(task.index() + 1, 0);
        }
        self.of[task.index()] = cpu.0 / self.size;
    }
}

impl Observer for Nodes {
    fn event(&mut self, event: &SchedEvent) {
        match event.kind {
            EventKind::Wakeup { task, target } | EventKind::WakeupNew { task, target } => {
                self.put(task, target);
            }
            EventKind::Migrate { task, from, to } => {
                if from.0 / self.size != to.0 / self.size {
                    self.crossings.push((event.time, task));
                }
                self.put(task, to);
            }
            _ => {}
        }
    }
}

/// On two nodes of four CPUs.
fn simulate(kernel: &str, workload: &Workload) -> (RunResult, Nodes) {
    simulate_on(4, kernel, workload)
}

/// On two nodes of `size` CPUs.
fn simulate_on(size: u32, kernel: &str, workload: &Workload) -> (RunResult, Nodes) {
    let machine = grid(2, 1, size, 1);
    let kernel: Kernel = kernel.parse().unwrap();
    let domains = build(&machine, &kernel, &BuildOptions::default()).unwrap();
    let mut nodes = Nodes {
        size,
        of: Vec::new(),
        crossings: Vec::new(),
    };
    let options = SimOptions::new(kernel, 1);
    let result = run(&machine, &domains, workload, &options, &mut nodes, None).unwrap();
    (result, nodes)
}

fn second() -> Span {
    Span::Fixed(Nanos::from_secs(1))
}

/// A task for ever, half of whose time is waiting for `mb` MiB of memory on `home`.
fn walker(w: &mut WorkloadBuilder, mb: u32, home: Home) -> ProgramBuilder {
    let region = Region {
        mb,
        home,
        is_shared: false,
    };
    let region = w.region(region);
    ProgramBuilder::new("walker")
        .memory_bound(50)
        .uses(region, 8)
        .repeat(0, |p| p.op(Op::Run(second())))
}

fn workload(seconds: u64) -> WorkloadBuilder {
    let end = End::After(Nanos::from_secs(seconds));
    WorkloadBuilder::new("memory", Report::Plain, end).stacked(true)
}

#[test]
fn far_memory_slows_a_task_down_by_the_distance() {
    // Half of the time is memory, which takes 1.6 times as long at distance 20.
    for (node, expected_us) in [(0, 100_000), (1, 130_000)] {
        let mut w = workload(1);
        let home = Home::Node(node);
        let region = w.region(Region {
            mb: 64,
            home,
            is_shared: false,
        });
        let job = ProgramBuilder::new("job").memory_bound(50).uses(region, 8);
        let job = job.op(Op::Run(Span::Fixed(Nanos::from_millis(100))));
        let job = w.program(job.build());
        w.start(job);
        let (result, _) = simulate("6.12", &w.build());
        let ran = result.task_time[0].1.running.0 / 1_000;
        assert!(ran.abs_diff(expected_us) < 500, "{ran} us on node {node}");
    }
}

#[test]
fn memory_is_where_its_task_first_touches_it() {
    let mut w = workload(1);
    let task = walker(&mut w, 64, Home::FirstTouch);
    let task = w.program(task.build());
    w.start(task);
    let (result, _) = simulate("6.12", &w.build());
    assert_eq!(result.task_memory[0].1, [1_000, 0]);
}

#[test]
fn a_task_goes_to_its_memory_and_stays_there() {
    for release in Release::ALL {
        let run = |kernel: &str| {
            let mut w = workload(30);
            // More than a scan marks at a time, so that the memory does not simply come to the task:
            // what it has touched twice does, but the task is faster.
            let task = walker(&mut w, 2_048, Home::Node(1));
            let task = w.program(task.build());
            w.start(task);
            simulate(kernel, &w.build())
        };
        let (without, nodes) = run(release.name());
        assert_eq!(nodes.of, [0], "{release}: nothing takes it away");
        assert_eq!(without.task_memory[0].1, [0, 1_000], "{release}");
        assert_eq!(without.counts.numa_faults, 0);

        let (with, nodes) = run(&format!("{release}:NUMA_BALANCING"));
        let memory = &with.task_memory[0].1;
        let node = nodes.of[0] as usize;
        assert!(
            memory[node] > 950,
            "{release}: on node {node}, memory {memory:?}"
        );
        assert!(
            nodes.crossings.len() <= 1,
            "{release}: {:?}",
            nodes.crossings
        );
    }
}

#[test]
fn a_task_whose_memory_others_hold_in_place_goes_there_and_stays() {
    // Memory that a task bound to node 1 walks through thrice as fast does not come to the one on
    // node 0. A hog keeps that one company: no release moves a task from a node that then runs
    // nothing, as far as loads are compared.
    for release in Release::ALL {
        let run = |kernel: &str| {
            let mut w = workload(30);
            let home = Home::Node(1);
            let region = w.region(Region {
                mb: 512,
                home,
                is_shared: true,
            });
            let user = |rate| {
                ProgramBuilder::new("user")
                    .memory_bound(50)
                    .uses(region, rate)
                    .repeat(0, |p| p.op(Op::Run(second())))
            };
            let free = w.program(user(8).build());
            w.start(free);
            let there = w.mask(CpuMask::from_cpus(32, (16..32).map(CpuId)));
            let bound = w.program(user(24).allowed(there).build());
            w.start(bound);
            let here = w.mask(CpuMask::from_cpus(32, (0..16).map(CpuId)));
            let hog = ProgramBuilder::new("hog").allowed(here).process(1);
            let hog = w.program(hog.repeat(0, |p| p.op(Op::Run(second()))).build());
            w.start(hog);
            simulate_on(16, kernel, &w.build())
        };
        // The two users are one process, which cache-aware scheduling would bring together.
        let (_, nodes) = run(&format!("{release}:NO_SCHED_CACHE"));
        assert_eq!(nodes.of[0], 0, "{release}: nothing takes it away");
        let (with, nodes) = run(&format!("{release}:NUMA_BALANCING,NO_SCHED_CACHE"));
        let memory = &with.task_memory[0].1;
        let counts = &with.counts;
        assert_eq!(nodes.of[0], 1, "{release}: memory {memory:?} {counts:?}");
        assert_eq!(counts.numa_moves, 1, "{release}: it stays, {counts:?}");
        assert!(memory[1] > 990, "{release}: memory {memory:?}");
    }
}

#[test]
fn tasks_on_full_nodes_swap_places() {
    // Four tasks per node, one per CPU; task 0 has its memory on node 1, task 4 on node 0, and both
    // memories are held in place by the others there.
    for release in Release::ALL {
        let run = |kernel: &str| {
            let mut w = workload(40);
            let regions: Vec<_> = (0..2)
                .map(|node| {
                    w.region(Region {
                        mb: 512,
                        home: Home::Node(node),
                        is_shared: true,
                    })
                })
                .collect();
            let mut start = Vec::new();
            for node in 0..2u32 {
                let cpus = |node: u32| (4 * node..4 * node + 4).map(CpuId);
                for n in 0..4 {
                    let stray = n == 0;
                    let memory = if stray { 1 - node } else { node };
                    let own = w.mask(CpuMask::from_cpus(8, cpus(node)));
                    let p = ProgramBuilder::new("user")
                        .process(memory)
                        .memory_bound(50)
                        .uses(regions[memory as usize], 8);
                    let everywhere = w.mask(CpuMask::full(8));
                    let who = fairlab_workload::Who::Myself;
                    // Held on its node until all are there.
                    let p = p
                        .allowed(own)
                        .op(Op::Run(Span::Fixed(Nanos::from_millis(200))));
                    let p = if stray {
                        p.op(Op::SetAffinity {
                            who,
                            cpus: everywhere,
                        })
                    } else {
                        p
                    };
                    start.push(w.program(p.repeat(0, |p| p.op(Op::Run(second()))).build()));
                }
            }
            start.into_iter().for_each(|program| w.start(program));
            simulate(kernel, &w.build())
        };
        let (without, nodes) = run(release.name());
        assert_eq!([nodes.of[0], nodes.of[4]], [0, 1], "{release}");
        let (with, nodes) = run(&format!("{release}:NUMA_BALANCING"));
        assert_eq!(
            [nodes.of[0], nodes.of[4]],
            [1, 0],
            "{release}: {:?}",
            with.counts
        );
        assert!(with.counts.numa_swaps >= 1, "{release}");
        let work = |result: &RunResult| result.counts.numa_moves;
        assert_eq!(work(&without), 0, "{release}");
    }
}
