//! Tasks run where they may, whatever masks do; and a change of the nice value is felt.

use std::collections::BTreeMap;

use fairlab_event::{EventKind, SchedEvent, SwitchState};
use fairlab_kernel::{Kernel, Release};
use fairlab_rng::Rng;
use fairlab_sim::{Observer, RunResult, Silent, SimOptions, run};
use fairlab_topology::Machine;
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_units::{CpuId, CpuMask, Nanos, TaskId, Timestamp};
use fairlab_workload::{
    Class, End, MaskId, Op, ProgramBuilder, ProgramId, Report, Span, Who, Workload, WorkloadBuilder,
};

use crate::machines::grid;

fn simulate(
    machine: &Machine,
    release: Release,
    workload: &Workload,
    seed: u64,
    observer: &mut dyn Observer,
) -> RunResult {
    let kernel = Kernel::of(release);
    let domains = build(machine, &kernel, &BuildOptions::default()).unwrap();
    let options = SimOptions::new(kernel, seed);
    run(machine, &domains, workload, &options, observer, None).unwrap()
}

/// Holds every event against the masks of that moment.
#[derive(Default)]
struct Warden {
    allowed: BTreeMap<TaskId, CpuMask>,
    at: BTreeMap<TaskId, CpuId>,
    running: BTreeMap<CpuId, TaskId>,
    changes: u32,
    forced_moves: u32,
}

impl Warden {
    fn check(&self, event: &SchedEvent, task: TaskId, cpu: CpuId) {
        if let Some(mask) = self.allowed.get(&task) {
            assert!(
                mask.test(cpu),
                "{task:?} may run on {mask} and is on {cpu}: {event:?}"
            );
        }
    }
}

impl Observer for Warden {
    fn affinity(&mut self, _: Timestamp, task: TaskId, allowed: &CpuMask) {
        self.changes += 1;
        self.allowed.insert(task, allowed.clone());
        let cpu = self.at.get(&task);
        self.forced_moves += u32::from(cpu.is_some_and(|cpu| !allowed.test(*cpu)));
    }

    fn event(&mut self, event: &SchedEvent) {
        match event.kind {
            EventKind::Switch { prev, next, .. } => {
                assert_eq!(self.running.remove(&event.cpu), prev, "{event:?}");
                if let Some(next) = next {
                    assert!(!self.running.values().any(|t| *t == next), "{event:?}");
                    self.check(event, next, event.cpu);
                    self.running.insert(event.cpu, next);
                }
            }
            EventKind::Wakeup { task, target } | EventKind::WakeupNew { task, target } => {
                self.at.insert(task, target);
                self.check(event, task, target);
            }
            EventKind::Migrate { task, to, .. } => {
                self.at.insert(task, to);
                self.check(event, task, to);
            }
            _ => {}
        }
    }
}

fn micros(us: u64) -> Nanos {
    Nanos(us * 1_000)
}

fn random_mask(rng: &mut Rng, cpus: u64) -> CpuMask {
    // Often one CPU; sometimes CPUs that the machine does not have.
    let count = [1, 1, 2, 3, cpus][rng.below(5) as usize];
    let ids = (0..count).map(|_| CpuId(rng.below(cpus + 2) as u32));
    CpuMask::from_cpus(cpus as usize + 2, ids)
}

/// Tasks that compute, sleep, wake each other, fork, and change masks and nice values, their own and
/// those of others.
fn random_workload(rng: &mut Rng, cpus: u64) -> Workload {
    let end = End::After(Nanos::from_millis(40));
    let mut w = WorkloadBuilder::new("random", Report::Plain, end).stacked(rng.below(2) == 0);
    let masks: Vec<MaskId> = (0..6).map(|_| w.mask(random_mask(rng, cpus))).collect();
    let programs = 2 + rng.below(5) as u32;
    for number in 0..programs {
        let mut p = ProgramBuilder::new("random").nice(rng.below(40) as i8 - 20);
        if rng.below(2) == 0 {
            p = p.allowed(masks[rng.below(6) as usize]);
        }
        if rng.below(4) == 0 {
            p = p.kthread();
        }
        if rng.below(6) == 0 {
            p = p.class(Class::Fifo(1 + rng.below(99) as u8));
        }
        let forks = number + 1 < programs;
        p = p.repeat(0, |mut p| {
            for _ in 0..2 + rng.below(6) {
                let who = match rng.below(3) {
                    0 => Who::Program(ProgramId(rng.below(u64::from(programs)) as u32)),
                    _ => Who::Myself,
                };
                let span = Span::Uniform {
                    low: micros(1),
                    high: micros(1 + rng.below(3_000)),
                };
                p = p.op(match rng.below(8) {
                    0 | 1 => Op::SetAffinity {
                        who,
                        cpus: masks[rng.below(6) as usize],
                    },
                    2 => Op::SetNice {
                        who,
                        nice: rng.below(40) as i8 - 20,
                    },
                    3 => Op::Yield,
                    4 | 5 => Op::Sleep(span),
                    _ => Op::Run(span),
                });
            }
            p.op(Op::Run(Span::Fixed(micros(50))))
        });
        if forks {
            // A task that ends, and whose child inherits its mask.
            let child = ProgramId(number + 1);
            let body = p.build();
            let mut ops = body.ops.clone();
            ops.insert(0, Op::Fork(child));
            ops.push(Op::Exit);
            if let Some(Op::Repeat { to, times }) = ops.iter_mut().rev().nth(1) {
                (*to, *times) = (1, 1 + rng.below(20) as u32);
            }
            w.program(fairlab_workload::Program { ops, ..body });
        } else {
            w.program(p.build());
        }
    }
    for _ in 0..1 + rng.below(3 * cpus) {
        w.start(ProgramId(rng.below(u64::from(programs)) as u32));
    }
    w.build()
}

#[test]
fn no_task_is_ever_queued_or_run_where_it_may_not() {
    let fixed = 20_261_130;
    let rounds = if cfg!(debug_assertions) { 60 } else { 1_000 };
    let mut changes = 0;
    let mut forced = 0;
    for round in 0..rounds {
        let mut rng = Rng::new(fixed + round);
        let below = |rng: &mut Rng, n| 1 + rng.below(n) as u32;
        let machine = grid(
            below(&mut rng, 2),
            below(&mut rng, 2),
            below(&mut rng, 3),
            below(&mut rng, 2),
        );
        let cpus = machine.online().weight();
        let workload = random_workload(&mut rng, cpus as u64);
        for release in Release::ALL {
            let mut warden = Warden::default();
            let result = simulate(&machine, release, &workload, round, &mut warden);
            changes += warden.changes;
            forced += warden.forced_moves;
            let what = format!("{release}, round {round}");
            for (cpu, time) in &result.cpu_time {
                let elapsed = Nanos(result.end.0);
                assert_eq!(time.busy + time.idle, elapsed, "{what} {cpu}");
            }
            let busy: Nanos = result.cpu_time.iter().map(|(_, t)| t.busy).sum();
            let running: Nanos = result.task_time.iter().map(|(_, t)| t.running).sum();
            assert_eq!(busy, running, "{what}: a busy CPU runs a task");
        }
    }
    assert!(changes > 1_000, "{changes} changes of affinity");
    assert!(forced > 100, "{forced} tasks were where they might not be");
}

/// A hog that runs for `span`, then does `then`, then runs on.
fn after(span: Nanos, then: Op) -> ProgramBuilder {
    ProgramBuilder::new("after")
        .op(Op::Run(Span::Fixed(span)))
        .op(then)
        .repeat(0, |p| p.op(Op::Run(Span::Fixed(Nanos::from_millis(1)))))
}

/// Notes each move.
#[derive(Default)]
struct Moves(Vec<(Timestamp, TaskId, CpuId, CpuId)>, Vec<SwitchState>);

impl Observer for Moves {
    fn event(&mut self, event: &SchedEvent) {
        match event.kind {
            EventKind::Migrate { task, from, to } => self.0.push((event.time, task, from, to)),
            EventKind::Switch { prev_state, .. } => self.1.push(prev_state),
            _ => {}
        }
    }
}

#[test]
fn the_stopper_moves_a_running_task_out_of_the_way_at_once() {
    let machine = grid(1, 1, 4, 1);
    for release in Release::ALL {
        let end = End::After(Nanos::from_millis(5));
        let mut w = WorkloadBuilder::new("one", Report::Plain, end).stacked(true);
        let only = w.mask(CpuMask::from_cpus(4, [CpuId(2)]));
        let who = Who::Myself;
        let hog = after(Nanos::from_millis(1), Op::SetAffinity { who, cpus: only });
        let hog = w.program(hog.build());
        w.start(hog);
        let mut moves = Moves::default();
        let result = simulate(&machine, release, &w.build(), 1, &mut moves);
        let [(time, task, from, to)] = moves.0[..] else {
            panic!("{release}: {:?}", moves.0)
        };
        assert_eq!(
            (task, from, to),
            (TaskId(0), CpuId(0), CpuId(2)),
            "{release}"
        );
        assert!(
            time.0 > 1_000_000 && time.0 < 1_100_000,
            "{release}: {time:?}"
        );
        assert_eq!(result.task_time[0].1.sleeping, Nanos::ZERO, "{release}");
    }
}

#[test]
fn tasks_driven_away_together_spread_over_the_new_cpus_from_5_15_on() {
    let machine = grid(1, 1, 8, 1);
    for release in Release::ALL {
        // Six hogs on CPU 0; the seventh task, a real-time one on CPU 7, sends them to CPUs 4 to 6.
        let end = End::After(Nanos::from_millis(2));
        let mut w = WorkloadBuilder::new("drive", Report::Plain, end).stacked(true);
        let first = w.mask(CpuMask::from_cpus(8, [CpuId(0)]));
        let other = w.mask(CpuMask::from_cpus(8, (4..7).map(CpuId)));
        let last = w.mask(CpuMask::from_cpus(8, [CpuId(7)]));
        let run = Op::Run(Span::Fixed(Nanos::from_millis(1)));
        let hog = ProgramBuilder::new("hog").allowed(first);
        let hog = w.program(hog.repeat(0, |p| p.op(run)).build());
        (0..6).for_each(|_| w.start(hog));
        let who = Who::Program(hog);
        let driver = ProgramBuilder::new("driver").allowed(last);
        let driver = driver
            .op(Op::Run(Span::Fixed(micros(100))))
            .op(Op::SetAffinity { who, cpus: other });
        let driver = w.program(driver.build());
        w.start(driver);
        let mut moves = Moves::default();
        simulate(&machine, release, &w.build(), 1, &mut moves);
        let to: Vec<u32> = moves.0.iter().take(6).map(|m| m.3.0).collect();
        let expected = if release >= Release::V5_15 {
            [4, 5, 6, 4, 5, 6]
        } else {
            [4; 6]
        };
        assert_eq!(to, expected, "{release}");
    }
}

#[test]
fn a_nice_value_that_changes_halfway_changes_the_shares() {
    let machine = grid(1, 1, 1, 1);
    for release in Release::ALL {
        let end = End::After(Nanos::from_secs(2));
        let mut w = WorkloadBuilder::new("pair", Report::Plain, end).stacked(true);
        let hog = ProgramBuilder::new("hog")
            .repeat(0, |p| p.op(Op::Run(Span::Fixed(Nanos::from_secs(1)))));
        let hog = w.program(hog.build());
        let who = Who::Myself;
        // Half of the CPU for half a second of its time; then a third (nice 3 weighs 526).
        let slower = after(Nanos::from_millis(500), Op::SetNice { who, nice: 3 });
        let slower = w.program(slower.build());
        w.start(hog);
        w.start(slower);
        let result = simulate(&machine, release, &w.build(), 1, &mut Silent);
        let ran: Vec<u64> = result.task_time.iter().map(|(_, t)| t.running.0).collect();
        let expected = 500_000_000 + 1_000_000_000 * 526 / (526 + 1024);
        assert!(ran[1].abs_diff(expected) < 20_000_000, "{release}: {ran:?}");
    }
}

#[test]
fn a_forked_realtime_task_is_announced_as_new() {
    struct News(u32);
    impl Observer for News {
        fn event(&mut self, event: &SchedEvent) {
            self.0 += u32::from(matches!(event.kind, EventKind::WakeupNew { .. }));
        }
    }
    let machine = grid(1, 1, 2, 1);
    for release in Release::ALL {
        let end = End::After(Nanos::from_millis(2));
        let mut w = WorkloadBuilder::new("fork", Report::Plain, end);
        let child = ProgramBuilder::new("child").class(Class::Fifo(1));
        let child = w.program(child.op(Op::Run(Span::Fixed(micros(10)))).build());
        let main = w.program(ProgramBuilder::new("main").op(Op::Fork(child)).build());
        w.start(main);
        let mut news = News(0);
        simulate(&machine, release, &w.build(), 1, &mut news);
        assert_eq!(news.0, 1, "{release}");
    }
}
