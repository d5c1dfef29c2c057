//! What the machine's costs do to a run.

use fairlab_sim::{CostTable, ENTRIES, MachineClass, RunResult, Shape, Silent, SimOptions, run};
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_topology::{Arch, CoreKind, Cpu, Machine, MachineBuilder};
use fairlab_units::{CpuId, CpuMask, Nanos};
use fairlab_workload::{Channel, End, Op, PipeSpec, ProgramBuilder, Report, Span, WorkloadBuilder};

use crate::machines::grid;

fn simulate(machine: &Machine, costs: CostTable, w: WorkloadBuilder) -> RunResult {
    let kernel = "6.12".parse().unwrap();
    let domains = build(machine, &kernel, &BuildOptions::default()).unwrap();
    let options = SimOptions {
        costs: Some(costs),
        ..SimOptions::new(kernel, 1)
    };
    let workload = w.build();
    let result = run(machine, &domains, &workload, &options, &mut Silent, None).unwrap();
    for (cpu, time) in &result.cpu_time {
        assert_eq!(time.busy + time.idle, Nanos(result.end.0), "{cpu}");
    }
    let busy: Nanos = result.cpu_time.iter().map(|(_, t)| t.busy).sum();
    let running: Nanos = result.task_time.iter().map(|(_, t)| t.running).sum();
    assert_eq!(busy, running);
    result
}

/// A table in which nothing but computing takes time.
fn free() -> CostTable {
    let mut table = CostTable::default();
    for entry in ENTRIES {
        if entry.unit.range().0 == 0 {
            let zeros = vec![0; entry.get(&table).len()];
            assert!(entry.set(&mut table, &zeros), "{}", entry.name);
        }
    }
    table
}

fn all_exit() -> WorkloadBuilder {
    WorkloadBuilder::new("costs", Report::Plain, End::AllExited)
}

fn compute(us: u64) -> Op {
    Op::Run(Span::Fixed(Nanos::from_micros(us)))
}

#[test]
fn every_entry_has_a_source_and_a_default_that_its_range_allows() {
    for class in MachineClass::ALL {
        let mut table = class.table();
        assert_eq!(table.fault(), None, "{class:?}");
        for entry in ENTRIES {
            let numbers = entry.get(&table);
            assert!(entry.set(&mut table, &numbers), "{class:?} {}", entry.name);
            let source = class.source(entry.name).unwrap();
            assert!(source.len() > 5, "{}", entry.name);
            assert!(!entry.set(&mut table, &[]), "{}", entry.name);
            if entry.shape == Shape::One {
                assert!(!entry.set(&mut table, &[1, 2]), "{}", entry.name);
            }
        }
        assert_eq!(table, class.table());
    }
}

#[test]
fn the_class_follows_from_the_facts() {
    let of = |arch, capacities: [u32; 2], kind| {
        let cpus = (0..2).map(|n| Cpu {
            capacity: capacities[n as usize],
            kind,
            ..Cpu::new(CpuId(n))
        });
        let builder = MachineBuilder {
            arch,
            cpus: cpus.collect(),
            ..MachineBuilder::default()
        };
        MachineClass::of(&builder.build().unwrap())
    };
    let (even, mixed, uniform) = ([1024, 1024], [446, 1024], CoreKind::Uniform);
    assert_eq!(of(Arch::X86, even, uniform), MachineClass::X86Server);
    assert_eq!(
        of(Arch::X86, even, CoreKind::Efficiency),
        MachineClass::X86Hybrid
    );
    assert_eq!(of(Arch::Arm64, even, uniform), MachineClass::Arm64Server);
    assert_eq!(of(Arch::Arm64, mixed, uniform), MachineClass::Arm64Mobile);
    assert_eq!(of(Arch::Ppc64, even, uniform), MachineClass::Power);
    assert_eq!(of(Arch::S390, even, uniform), MachineClass::Generic);
}

#[test]
fn bandwidth_hogs_slow_each_other_and_nobody_else() {
    let machine = grid(1, 1, 4, 1);
    let costs = CostTable {
        llc_bandwidth: 20,
        node_bandwidth: 20,
        boost_speed: vec![1024],
        ..free()
    };
    let mut w = all_exit();
    // Three want 10 each of the 20 that there are: each takes half as long again.
    let hog = ProgramBuilder::new("hog").bandwidth(10).memory_bound(100);
    let hog = w.program(hog.op(compute(10_000)).build());
    let other = w.program(ProgramBuilder::new("other").op(compute(10_000)).build());
    for program in [hog, hog, hog, other] {
        w.start(program);
    }
    let result = simulate(&machine, costs, w);
    let ran: Vec<u64> = result
        .task_time
        .iter()
        .map(|(_, t)| t.running.0 / 1_000)
        .collect();
    assert_eq!(ran[3], 10_000);
    for hog in &ran[..3] {
        assert!(hog.abs_diff(15_000) < 20, "{ran:?}");
    }
}

#[test]
fn arithmetic_takes_what_the_machine_needs_for_it_and_computing_does_not() {
    let machine = grid(1, 1, 1, 1);
    let busy_us = |percent| {
        let costs = CostTable {
            arithmetic: percent,
            ..free()
        };
        let mut w = all_exit();
        let span = Span::Fixed(Nanos::from_micros(600));
        let task = ProgramBuilder::new("task").op(Op::Arithmetic(span));
        let task = w.program(task.op(compute(100)).build());
        w.start(task);
        simulate(&machine, costs, w).task_time[0].1.running.0 / 1_000
    };
    assert_eq!(busy_us(100), 700);
    assert_eq!(busy_us(50), 400);
    assert_eq!(busy_us(250), 1_600);
}

#[test]
fn a_package_with_all_cores_active_is_slower() {
    let machine = grid(1, 1, 4, 1);
    let costs = CostTable {
        boost_speed: vec![1024, 512],
        ..free()
    };
    let run = |tasks: u32| {
        let mut w = all_exit();
        let task = w.program(ProgramBuilder::new("task").op(compute(100_000)).build());
        (0..tasks).for_each(|_| w.start(task));
        let result = simulate(&machine, costs.clone(), w);
        result.task_time[0].1.running.0 / 1_000_000
    };
    assert_eq!(run(1), 100);
    assert!(run(4) >= 190, "{}", run(4));
}

/// Two tasks that hand messages to each other, each bound to its CPU.
fn ping_pong(a: u32, b: u32, set: u32, us: u64) -> WorkloadBuilder {
    let mut w = all_exit();
    let spec = PipeSpec {
        capacity: 1,
        wake_writers_at: 0,
        channel: Channel::Pipe { bytes: 4 },
        sync: true,
    };
    let (to, fro) = (w.pipe(spec), w.pipe(spec));
    let mut only = |cpu| w.mask(CpuMask::from_cpus(64, [CpuId(cpu)]));
    let (a, b) = (only(a), only(b));
    let task = |mask| {
        ProgramBuilder::new("task")
            .working_set_kib(set)
            .allowed(mask)
    };
    let left = task(a).repeat(100, |p| {
        p.op(compute(us)).op(Op::Write(to)).op(Op::Read(fro))
    });
    let right = task(b).repeat(100, |p| {
        p.op(Op::Read(to)).op(compute(us)).op(Op::Write(fro))
    });
    for program in [left, right] {
        let program = w.program(program.build());
        w.start(program);
    }
    w
}

#[test]
fn what_is_written_to_tcp_behind_unread_data_joins_it() {
    let machine = grid(1, 1, 1, 1);
    let costs = CostTable {
        tcp_send: Nanos(100_000),
        tcp_append: Nanos(1_000),
        tcp_receive: Nanos(50_000),
        ..free()
    };
    let busy = |channel, messages: u32| {
        let mut w = all_exit();
        let spec = PipeSpec {
            capacity: 100,
            wake_writers_at: 50,
            channel,
            sync: true,
        };
        let pipe = w.pipe(spec);
        let write = ProgramBuilder::new("writer").repeat(messages, |p| p.op(Op::Write(pipe)));
        let read = ProgramBuilder::new("reader")
            .op(Op::Sleep(Span::Fixed(Nanos::from_millis(10))))
            .repeat(messages, |p| p.op(Op::Read(pipe)));
        for program in [write, read] {
            let program = w.program(program.build());
            w.start(program);
        }
        let result = simulate(&machine, costs.clone(), w);
        result
            .task_time
            .iter()
            .map(|(_, t)| t.running.0)
            .sum::<u64>()
            / 1_000
    };
    // One send and nine additions; one call takes all ten. Costs spread by 15 percent at most.
    let joined = busy(Channel::Tcp { bytes: 100 }, 10);
    assert!((135..=185).contains(&joined), "{joined}");
    // Ten of 32 KiB: two fit in a segment, so they are taken by five calls.
    let segments = busy(Channel::Tcp { bytes: 32 << 10 }, 10);
    assert!((305..=415).contains(&segments), "{segments}");
}

#[test]
fn a_near_interrupt_costs_less_than_a_far_one() {
    let machine = grid(2, 1, 2, 1);
    let end = |b, costs| simulate(&machine, costs, ping_pong(0, b, 1, 10)).end.0;
    let interrupts_only = CostTable {
        shared_object: [Nanos::ZERO; 6],
        ..CostTable::default()
    };
    // Two interrupts per message to and fro, 0.9 us further each.
    let expected = 100 * 2 * 900;
    let more = end(2, interrupts_only.clone()) - end(1, interrupts_only.clone());
    assert!(more > expected / 2 && more < 2 * expected, "{more}");
    // With the lines of pipes and runqueues it is more, and on one CPU they cost nothing.
    let lines_too = end(2, CostTable::default()) - end(1, CostTable::default());
    assert!(lines_too > more, "{lines_too} {more}");
    assert_eq!(end(0, CostTable::default()), end(0, interrupts_only));
}

#[test]
fn deep_idle_states_delay_those_who_wait_long() {
    let machine = grid(1, 1, 2, 1);
    let delay = |sleep_us: u64| {
        let mut w = all_exit();
        let task = ProgramBuilder::new("task").repeat(40, |p| {
            p.op(Op::Sleep(Span::Fixed(Nanos::from_micros(sleep_us))))
                .op(compute(10))
        });
        let task = w.program(task.build());
        w.start(task);
        let result = simulate(&machine, CostTable::default(), w);
        *result.wakeup_delay.last().unwrap()
    };
    // Polling, C1E, C6: each time the exit of the state, and the switch.
    let (short, middle, long) = (delay(10), delay(200), delay(5_000));
    assert!(
        middle - short > 1_500 && middle - short < 2_500,
        "{short} {middle}"
    );
    assert!(
        long - middle > 27_000 && long - middle < 29_000,
        "{middle} {long}"
    );
}

#[test]
fn who_comes_to_a_locked_queue_waits() {
    let machine = grid(1, 1, 8, 1);
    let load = "hackbench -g 2 -f 4 -l 50";
    let kernel = "6.12".parse().unwrap();
    let domains = build(&machine, &kernel, &BuildOptions::default()).unwrap();
    let workload = fairlab_workload::parse(load).unwrap();
    let waited = |hold: u64| {
        let options = SimOptions {
            costs: Some(CostTable {
                lock_hold: Nanos(hold),
                ..CostTable::default()
            }),
            ..SimOptions::new(kernel, 1)
        };
        let result = run(&machine, &domains, &workload, &options, &mut Silent, None).unwrap();
        result.counts.lock_wait.0
    };
    let (short, long) = (waited(500), waited(2_000));
    assert!(short > 0 && long > 3 * short, "{short} {long}");
}

#[test]
fn a_task_that_shares_its_cpu_with_a_big_working_set_refills_its_own() {
    let machine = grid(1, 1, 1, 1);
    let run = |set: u32| {
        let costs = CostTable {
            private_cache: 512,
            refill: [0, 0, 16, 48, 125, 235].map(Nanos),
            ..free()
        };
        let result = simulate(&machine, costs, ping_pong(0, 0, set, 50));
        result.end.0
    };
    // Sets of 100 KiB both stay; of 400 KiB each throws out most of the other's.
    let (small, big) = (run(100), run(400));
    assert!(big > small + 100 * 10_000, "{small} {big}");
    assert!(small < 100 * 101_000, "{small}");
}
