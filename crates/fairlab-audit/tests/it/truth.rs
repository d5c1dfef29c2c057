//! The auditor against the simulator's own books. They share nothing but the events.

use std::collections::BTreeSet;

use fairlab_audit::{
    Audit, AuditOptions, Auditor, Certainty, Conflict, Contradiction, Found, Missed, Placed,
};
use fairlab_event::{EventKind, SchedEvent, SwitchState};
use fairlab_sim as sim;
use fairlab_topology::Machine;
use fairlab_units::{CpuId, TaskId, Timestamp};

use crate::runs::{Events, LOADS, all_idle, machines, simulate};

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
    assert!(placements > 25_000, "{placements} placements were compared");
}

/// Drops events of single CPUs, `percent` of them, in bursts, and puts the marks where recorders put
/// them: before the next event of the CPU.
pub fn lose(events: &[SchedEvent], percent: u64, seed: u64) -> Vec<SchedEvent> {
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

/// What an audit that kept every placement says of each.
fn claims(audit: &Audit) -> BTreeSet<Claim> {
    audit.placements.every.iter().map(claim).collect()
}

type Claim = (Timestamp, TaskId, CpuId, Found, Missed);

fn claim(p: &Placed) -> Claim {
    (p.time, p.task, p.cpu, p.found, p.missed)
}

/// As `perf sched record` has it: `sched_waking` in place of `sched_wakeup`.
fn without_wakeups(events: &[SchedEvent]) -> Vec<SchedEvent> {
    let is_kept = |event: &&SchedEvent| !matches!(event.kind, EventKind::Wakeup { .. });
    events.iter().filter(is_kept).copied().collect()
}

/// Where a wakeup went is told by the next switch and by the moves, too.
#[test]
fn verdicts_need_no_sched_wakeup_where_moves_are_recorded() {
    let (mut unsure, mut all) = (0_u64, 0_u64);
    for machine in machines() {
        for load in LOADS {
            let what = format!("{} CPUs, {load}", machine.cpus().len());
            let (mut events, result) = simulate(&machine, "6.12", load);
            let every = AuditOptions {
                every_placement: true,
                ..AuditOptions::default()
            };
            let truth = claims(&audit(&machine, &events, result.end, every.clone()));
            events.events = without_wakeups(&events.events);
            let first_move = events.events.iter().find_map(|event| match event.kind {
                EventKind::Migrate { .. } => Some(event.time),
                _ => None,
            });
            let audit = audit(&machine, &events, result.end, every);
            assert_eq!(audit.contradictions, 0, "{what}");
            for p in &audit.placements.every {
                let is_sure = p.certainty == Certainty::Sure;
                assert!(!is_sure || truth.contains(&claim(p)), "{what}: {p:?}");
                // Forks are told by `sched_wakeup_new` as ever.
                let may_be_unsure = first_move.is_none_or(|first| p.time <= first);
                unsure += u64::from(!is_sure && !may_be_unsure);
                all += 1;
            }
        }
    }
    // Those that a CPU takes to itself: by the wakeup, or by a pull right after it.
    assert!(unsure * 10 < all, "{unsure} of {all} verdicts are not sure");
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
            let truth = claims(&audit(&machine, &events, result.end, every.clone()));
            let complete = events.events.clone();
            let without = without_wakeups(&complete);
            for (complete, percent) in [
                (&complete, 1),
                (&complete, 10),
                (&without, 1),
                (&without, 10),
            ] {
                events.events = lose(complete, percent, seed);
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
                        let what = format!("{} CPUs, {load}", machine.cpus().len());
                        assert!(truth.contains(&claim(p)), "{what}, {percent} %: {p:?}");
                    }
                }
            }
        }
    }
    // To be unsure of everything would be no feat.
    assert!(sure * 20 > all, "{sure} of {all} verdicts are sure");
}

#[test]
fn a_wait_in_which_events_were_lost_is_no_delay() {
    let machine = &machines()[0];
    let task = TaskId(7);
    let at = |ns, cpu, kind| SchedEvent {
        time: Timestamp(ns),
        cpu: CpuId(cpu),
        kind,
    };
    let target = CpuId(0);
    let wakes = |ns| at(ns, 1, EventKind::Wakeup { task, target });
    let switch = |ns, prev, next| {
        let prev_state = SwitchState::Sleeping;
        at(
            ns,
            0,
            EventKind::Switch {
                prev,
                prev_state,
                next,
            },
        )
    };
    let events = Events {
        events: vec![
            wakes(10),
            switch(20, None, Some(task)),
            switch(30, Some(task), None),
            wakes(40),
            // It may have run and slept again here.
            at(50, 1, EventKind::Lost { count: Some(3) }),
            switch(1_000_040, None, Some(task)),
            switch(1_000_050, Some(task), None),
            wakes(2_000_000),
            switch(2_000_010, None, Some(task)),
        ],
        allowed: Vec::new(),
    };
    let delays = audit(
        machine,
        &events,
        Timestamp(2_000_020),
        AuditOptions::default(),
    )
    .delays;
    assert_eq!(delays.across_losses, 1);
    assert_eq!((delays.all.count(), delays.all.longest()), (2, 10));
}

#[test]
fn a_task_that_runs_without_a_switch_to_it_is_a_contradiction() {
    let at = |ns, kind| SchedEvent {
        time: Timestamp(ns),
        cpu: CpuId(0),
        kind,
    };
    let (first, second) = (TaskId(7), TaskId(8));
    let runs = |task| EventKind::Running { task: Some(task) };
    let events = Events {
        events: vec![
            at(
                10,
                EventKind::Switch {
                    prev: None,
                    prev_state: SwitchState::Runnable,
                    next: Some(first),
                },
            ),
            // What the switch has told is nothing new.
            at(20, runs(first)),
            at(1_000, runs(second)),
        ],
        allowed: Vec::new(),
    };
    let end = Timestamp(5_000);
    let audit = audit(&machines()[0], &events, end, AuditOptions::default());
    assert_eq!(audit.contradictions, 1);
    let running = |task| {
        let of_task = audit.tasks.iter().find(|totals| totals.task == task);
        of_task.map(|totals| totals.running.0)
    };
    // When the first one left is not known, so what it ran is not either.
    assert_eq!((running(first), running(second)), (Some(0), Some(4_000)));
}

/// `perf record` stops its CPUs one after the other. A task that turns up on a later one was moved meanwhile.
#[test]
fn a_task_that_goes_on_elsewhere_is_a_contradiction_only_if_its_cpu_does_too() {
    let switch = |ns, cpu, prev, next| SchedEvent {
        time: Timestamp(ns),
        cpu: CpuId(cpu),
        kind: EventKind::Switch {
            prev,
            prev_state: SwitchState::Sleeping,
            next,
        },
    };
    let (first, second) = (Some(TaskId(7)), Some(TaskId(8)));
    let mut events = vec![
        switch(10, 0, None, first),
        switch(20, 1, None, second),
        switch(90, 1, second, first),
    ];
    let judge = |events: &[SchedEvent]| {
        let events = Events {
            events: events.to_vec(),
            allowed: Vec::new(),
        };
        audit(
            &machines()[0],
            &events,
            Timestamp(200),
            AuditOptions::default(),
        )
    };
    let ended = judge(&events);
    assert_eq!((ended.contradictions, ended.first_contradiction), (0, None));
    // Nobody knows what the first CPU does after the task has left it.
    assert_eq!(ended.cpus[0].1.unknown.0, 110);
    events.push(switch(95, 0, None, second));
    let missed = judge(&events);
    assert_eq!(missed.contradictions, 1);
    let expected = Contradiction {
        time: Timestamp(90),
        cpu: CpuId(1),
        conflict: Conflict::Elsewhere {
            task: TaskId(7),
            on: CpuId(0),
        },
    };
    assert_eq!(missed.first_contradiction, Some(expected));
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
            assert_eq!(woken.count() as u64, audit.delays.all.delay().count());
            assert_eq!(audit.history.episodes.len() as u64, audit.idleness.episodes);
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
    let kept = part.stretches.len() + part.waits.len() + part.moves.len() + part.episodes.len();
    // What runs at the cut is kept up to it, and one event may end a stretch and a wait.
    assert!(kept <= 101 + machine.cpus().len(), "{kept}");
    assert!(part.stretches.iter().all(|stretch| stretch.to <= cut));
    assert_eq!(part.waits, whole.waits[..part.waits.len()]);
    assert!(with(0).stretches.is_empty());
}
