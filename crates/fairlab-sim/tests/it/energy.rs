//! Energy-aware placement: light tasks stay on little CPUs, and a busy machine forgets about energy.

use fairlab_kernel::{Kernel, Release};
use fairlab_sim::{CostTable, RunResult, Silent, SimOptions, run};
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_topology::{
    Arch, CapacitySource, CoreKind, Cpu, EnergyDomain, EnergyState, Machine, MachineBuilder,
};
use fairlab_units::{CpuId, CpuMask, Nanos};
use fairlab_workload::{End, Op, ProgramBuilder, Report, Span, Workload, WorkloadBuilder};

/// Four little CPUs of a third of the capacity, two big ones, one LLC. A big CPU needs three times the
/// energy for the same work.
fn big_little(with_model: bool) -> Machine {
    let cpus = (0..6)
        .map(|n| Cpu {
            llc: Some(0),
            package: Some(0),
            capacity: if n < 4 { 340 } else { 1024 },
            kind: if n < 4 {
                CoreKind::Efficiency
            } else {
                CoreKind::Performance
            },
            ..Cpu::new(CpuId(n))
        })
        .collect();
    let domain = |cpus: core::ops::Range<u32>, states: [(u32, u64); 2]| EnergyDomain {
        cpus: CpuMask::from_cpus(6, cpus.map(CpuId)),
        states: states
            .iter()
            .map(|(capacity, power_uw)| EnergyState {
                capacity: *capacity,
                power_uw: *power_uw,
            })
            .collect(),
    };
    let energy = vec![
        domain(0..4, [(170, 40_000), (340, 160_000)]),
        domain(4..6, [(512, 360_000), (1024, 1_440_000)]),
    ];
    MachineBuilder {
        name: "big.LITTLE".into(),
        arch: Arch::Arm64,
        capacity_source: CapacitySource::Stated,
        cpus,
        energy: if with_model { energy } else { Vec::new() },
        ..MachineBuilder::default()
    }
    .build()
    .unwrap()
}

/// Tasks that run for `run_us` of a big CPU's time, then sleep for 10 ms.
fn periodic(tasks: u32, run_us: u64, hogs: u32) -> Workload {
    let end = End::After(Nanos::from_secs(3));
    let mut w = WorkloadBuilder::new("periodic", Report::Plain, end);
    let task = ProgramBuilder::new("task").repeat(0, |p| {
        p.op(Op::Run(Span::around(Nanos(run_us * 1_000), 10)))
            .op(Op::Sleep(Span::around(Nanos::from_millis(10), 10)))
    });
    let task = w.program(task.build());
    (0..tasks).for_each(|_| w.start(task));
    let hog =
        ProgramBuilder::new("hog").repeat(0, |p| p.op(Op::Run(Span::Fixed(Nanos::from_secs(1)))));
    let hog = w.program(hog.build());
    (0..hogs).for_each(|_| w.start(hog));
    w.build()
}

fn simulate(machine: &Machine, kernel: &str, workload: &Workload) -> RunResult {
    simulate_with(None, machine, kernel, workload)
}

fn simulate_with(
    costs: Option<CostTable>,
    machine: &Machine,
    kernel: &str,
    workload: &Workload,
) -> RunResult {
    let kernel: Kernel = kernel.parse().unwrap();
    let domains = build(machine, &kernel, &BuildOptions::default()).unwrap();
    let options = SimOptions {
        costs,
        ..SimOptions::new(kernel, 1)
    };
    run(machine, &domains, workload, &options, &mut Silent, None).unwrap()
}

/// Busy time of the big CPUs in percent of all busy time.
fn on_big(result: &RunResult) -> u64 {
    let busy = |from| -> u64 {
        let times = result.cpu_time.iter().filter(|(c, _)| c.0 >= from);
        times.map(|(_, t)| t.busy.0).sum()
    };
    100 * busy(4) / busy(0)
}

fn energy_placements(result: &RunResult) -> u64 {
    let reasons = result
        .reasons
        .iter()
        .filter(|(name, _)| name.starts_with("energy"));
    reasons.map(|(_, count)| count).sum()
}

#[test]
fn light_tasks_are_packed_on_little_cpus() {
    for release in Release::ALL {
        // Six tasks of about 5 percent of a big CPU each.
        let load = periodic(6, 500, 0);
        let with = simulate(&big_little(true), release.name(), &load);
        assert!(
            on_big(&with) <= 5,
            "{release}: {} percent on big CPUs",
            on_big(&with)
        );
        let placed = energy_placements(&with);
        assert!(
            10 * placed > 9 * with.counts.placements,
            "{release}: {:?}",
            with.reasons
        );
    }
}

#[test]
fn without_a_model_or_the_switch_energy_decides_nothing() {
    let load = periodic(6, 500, 0);
    for release in Release::ALL {
        let off = format!("{release}:NO_ENERGY_AWARE");
        let without = simulate(&big_little(false), release.name(), &load);
        let off = simulate(&big_little(true), &off, &load);
        assert_eq!(energy_placements(&without), 0, "{release}");
        assert_eq!(without.event_hash, off.event_hash, "{release}");
    }
}

#[test]
fn an_overutilized_machine_places_as_if_there_were_no_model() {
    for release in Release::ALL {
        // Hogs on every CPU: none has room to spare.
        let load = periodic(4, 500, 8);
        let machine = big_little(true);
        // At full speed: utilization that grows with the frequency takes its time to get there.
        let costs = CostTable {
            lowest_speed: 1024,
            ..CostTable::of(&machine)
        };
        let result = simulate_with(Some(costs), &machine, release.name(), &load);
        let placed = energy_placements(&result);
        assert!(
            10 * placed < result.counts.placements,
            "{release}: {placed} of {} placements by energy",
            result.counts.placements
        );
        let busy: u64 = result.cpu_time.iter().map(|(_, t)| t.busy.0).sum();
        assert!(busy > 6 * 2_800_000_000, "{release}: every CPU is used");
    }
}
