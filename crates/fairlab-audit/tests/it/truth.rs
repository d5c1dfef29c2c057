//! The auditor against the simulator's own books. They share nothing but the events.

use fairlab_audit::{Audit, AuditOptions, Auditor, Certainty, Found, Missed};
use fairlab_event::{EventKind, SchedEvent};
use fairlab_kernel::Kernel;
use fairlab_sim::{self as sim, Observer, RunResult, SimOptions, run};
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_topology::{Cpu, Machine, MachineBuilder, Node};
use fairlab_units::{CpuId, CpuMask, NodeId, TaskId, Timestamp};
use fairlab_workload::parse;

/// A machine of `nodes` nodes, `llcs` LLCs per node, `cores` cores per LLC in clusters of `cluster`,
/// `threads` threads per core.
fn machine(nodes: u32, llcs: u32, cores: u32, cluster: u32, threads: u32) -> Machine {
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

fn machines() -> [Machine; 5] {
    [
        machine(1, 1, 4, 1, 1),
        machine(1, 1, 4, 1, 2),
        machine(2, 2, 4, 1, 2),
        machine(2, 1, 16, 4, 1),
        machine(1, 2, 8, 1, 8),
    ]
}

const LOADS: [&str; 4] = [
    "schbench -m 2 -t 8 -r 0.1",
    "schbench -m 1 -t 40 -r 0.1",
    "hackbench -g 2 -f 4 -l 30",
    "hogs -n 12 -r 0.1",
];

/// All events of a run, and what the simulator counted.
#[derive(Default)]
struct Events {
    events: Vec<SchedEvent>,
    allowed: Vec<(TaskId, CpuMask)>,
}

impl Observer for Events {
    fn event(&mut self, event: &SchedEvent) {
        self.events.push(*event);
    }

    fn affinity(&mut self, _: Timestamp, task: TaskId, allowed: &CpuMask) {
        self.allowed.push((task, allowed.clone()));
    }
}

fn simulate(machine: &Machine, kernel: &str, load: &str) -> (Events, RunResult) {
    let kernel: Kernel = kernel.parse().unwrap();
    let domains = build(machine, &kernel, &BuildOptions::default()).unwrap();
    let mut events = Events::default();
    let result = run(
        machine,
        &domains,
        &parse(load).unwrap(),
        &SimOptions::new(kernel, 5),
        &mut events,
        None,
    )
    .unwrap();
    (events, result)
}

/// The state of a simulated machine at its start, which no event tells: all idle.
fn all_idle(machine: &Machine) -> impl Iterator<Item = SchedEvent> + '_ {
    machine.cpus().iter().map(|cpu| SchedEvent {
        time: Timestamp(0),
        cpu: cpu.id,
        kind: EventKind::Running { task: None },
    })
}

fn audit(machine: &Machine, events: &Events, end: Timestamp, options: AuditOptions) -> Audit {
    let mut auditor = Auditor::new(machine, options);
    for (task, allowed) in &events.allowed {
        auditor.allow(*task, allowed);
    }
    for event in all_idle(machine).chain(events.events.iter().copied()) {
        auditor.event(&event);
    }
    auditor.finish_at(end)
}

const FOUND: [(Found, sim::Found); 3] = [
    (Found::IdleCore, sim::Found::IdleCore),
    (Found::IdleCpu, sim::Found::IdleCpu),
    (Found::Busy, sim::Found::Busy),
];
const MISSED: [(Missed, sim::Missed); 4] = [
    (Missed::Nothing, sim::Missed::Nothing),
    (Missed::IdleCore, sim::Missed::IdleCore),
    (Missed::IdleCpu, sim::Missed::IdleCpu),
    (Missed::Elsewhere, sim::Missed::Elsewhere),
];

#[test]
fn the_auditor_finds_exactly_what_the_simulator_counted() {
    let mut placements = 0;
    for machine in machines() {
        for kernel in ["5.4", "6.1", "6.12", "7.2"] {
            for load in LOADS {
                let what = format!("{} CPUs, {kernel}, {load}", machine.cpus().len());
                let (events, result) = simulate(&machine, kernel, load);
                let audit = audit(&machine, &events, result.end, AuditOptions::default());
                assert_eq!(audit.contradictions, 0, "{what}");
                let unsure = |_, _, _, certainty| certainty == Certainty::Unsure;
                assert_eq!(audit.placements.count(unsure), 0, "{what}");
                for (found, counted_found) in FOUND {
                    for (missed, counted_missed) in MISSED {
                        let counted =
                            result.counts.found[counted_found as usize][counted_missed as usize];
                        let judged = audit
                            .placements
                            .count(|_, f, m, _| (f, m) == (found, missed));
                        assert_eq!(judged, counted, "{what}: {found:?}, missed {missed:?}");
                        placements += counted;
                    }
                }
                for (totals, (task, time)) in audit.tasks.iter().zip(&result.task_time) {
                    assert_eq!(totals.task, *task);
                    assert_eq!(totals.waiting, time.waiting, "{what}: {task:?} waited");
                    assert_eq!(totals.running, time.running, "{what}: {task:?} ran");
                }
                for ((cpu, totals), (same, time)) in audit.cpus.iter().zip(&result.cpu_time) {
                    assert_eq!(cpu, same);
                    assert_eq!(totals.busy, time.busy, "{what}: {cpu:?}");
                    assert_eq!(totals.idle, time.idle, "{what}: {cpu:?}");
                }
                assert_eq!(
                    audit.migrations.total(),
                    result.counts.migrations.iter().sum::<u64>(),
                    "{what}"
                );
            }
        }
    }
    assert!(placements > 30_000, "{placements} placements were compared");
}

/// Drops events of single CPUs, `percent` of them, in bursts, and puts the marks where recorders put
/// them: before the next event of the CPU.
fn lose(events: &[SchedEvent], percent: u64, seed: u64) -> Vec<SchedEvent> {
    let mut rng = fairlab_rng::Rng::stream(seed, "losses");
    let mut kept = Vec::new();
    let mut lost = vec![(0u64, 0u64); 1024];
    for event in events {
        let (left, count) = &mut lost[event.cpu.index()];
        if *left == 0 && rng.below(400) < percent {
            // Bursts of 1 to 7, four on average.
            *left = 1 + rng.below(7);
        }
        if *left > 0 {
            *left -= 1;
            *count += 1;
            continue;
        }
        if *count > 0 {
            kept.push(SchedEvent {
                kind: EventKind::Lost {
                    count: Some(*count),
                },
                ..*event
            });
            *count = 0;
        }
        kept.push(*event);
    }
    // Recorders tell at the end how many events did not find room.
    let end = events.last().map_or(Timestamp(0), |event| event.time);
    for (cpu, &(_, count)) in (0..).zip(&lost) {
        if count > 0 {
            kept.push(SchedEvent {
                time: end,
                cpu: CpuId(cpu),
                kind: EventKind::Lost { count: Some(count) },
            });
        }
    }
    kept
}

#[test]
fn with_events_lost_nothing_is_claimed_to_be_sure_that_is_not_true() {
    let (mut sure, mut all) = (0, 0);
    for machine in machines() {
        for (seed, load) in (0..).zip(LOADS) {
            let (mut events, result) = simulate(&machine, "6.12", load);
            let every = AuditOptions {
                every_placement: true,
                ..AuditOptions::default()
            };
            let truth = audit(&machine, &events, result.end, every.clone());
            let truth: std::collections::BTreeSet<_> = truth
                .placements
                .every
                .iter()
                .map(|p| (p.time, p.task, p.cpu, p.found, p.missed))
                .collect();
            let complete = events.events.clone();
            for percent in [1, 10] {
                events.events = lose(&complete, percent, seed);
                let first = audit(&machine, &events, result.end, every.clone());
                let again = AuditOptions {
                    losses: first.losses,
                    ..every.clone()
                };
                let audit = audit(&machine, &events, result.end, again);
                for p in &audit.placements.every {
                    all += 1;
                    if p.certainty == Certainty::Sure {
                        sure += 1;
                        let claim = (p.time, p.task, p.cpu, p.found, p.missed);
                        let what = format!("{} CPUs, {load}", machine.cpus().len());
                        assert!(truth.contains(&claim), "{what}, {percent} %: {p:?}");
                    }
                }
            }
        }
    }
    // To be unsure of everything would be no feat.
    assert!(sure * 20 > all, "{sure} of {all} verdicts are sure");
}

#[test]
fn the_history_adds_up_to_the_books() {
    for machine in machines() {
        for load in LOADS {
            let (events, result) = simulate(&machine, "6.12", load);
            let options = AuditOptions {
                history: usize::MAX,
                ..AuditOptions::default()
            };
            let audit = audit(&machine, &events, result.end, options);
            for (cpu, totals) in &audit.cpus {
                let busy: u64 = audit
                    .history
                    .stretches
                    .iter()
                    .filter(|stretch| stretch.cpu == *cpu && stretch.task.is_some())
                    .map(|stretch| stretch.to.0 - stretch.from.0)
                    .sum();
                assert_eq!(busy, totals.busy.0, "{load}");
            }
            let woken = audit.history.waits.iter().filter(|wait| wait.is_woken);
            assert_eq!(woken.count() as u64, audit.delays.all.delay.count());
            assert_eq!(audit.history.cut, None);
        }
    }
}

#[test]
fn a_history_stops_at_its_limit_and_says_when() {
    let machine = &machines()[0];
    let (events, result) = simulate(machine, "6.12", LOADS[0]);
    let with = |history| {
        let options = AuditOptions {
            history,
            ..AuditOptions::default()
        };
        audit(machine, &events, result.end, options).history
    };
    let (whole, part) = (with(usize::MAX), with(100));
    let cut = part.cut.unwrap();
    let kept = part.stretches.len() + part.waits.len() + part.moves.len();
    // What runs at the cut is kept up to it, and one event may end a stretch and a wait.
    assert!(kept <= 101 + machine.cpus().len(), "{kept}");
    assert!(part.stretches.iter().all(|stretch| stretch.to <= cut));
    assert_eq!(part.waits, whole.waits[..part.waits.len()]);
    assert!(with(0).stretches.is_empty());
}
