//! Runs that go on otherwise from a point.

use fairlab_kernel::{Kernel, Release};
use fairlab_sim::{RunResult, Silent, SimError, SimOptions, Turn, run, run_and_turn};
use fairlab_topology::domains::{BuildOptions, build};
use fairlab_topology::{Domains, Machine};
use fairlab_units::{Nanos, Timestamp};
use fairlab_workload::{Workload, parse};

use crate::machines::grid;

const LOADS: [&str; 3] = [
    "schbench -m 1 -t 4 -r 0.03 -F 16 + hackbench -g 1 -f 2 -l 30",
    "kernbench -j 6 -n 12 -c 4 + tbench 2",
    "service -w 4 -R 20000 -c 100 -b 3 -r 0.03 + frames -f 500 + hogs -n 9 -N 5",
];

fn domains(machine: &Machine, kernel: &Kernel) -> Domains {
    build(machine, kernel, &BuildOptions::default()).unwrap()
}

fn adds_up(result: &RunResult, what: &str) {
    let span = result.end - result.began;
    for (cpu, time) in &result.cpu_time {
        assert_eq!(time.busy + time.idle, span, "{what}: {cpu:?}");
    }
    let running: u64 = result.task_time.iter().map(|(_, t)| t.running.0).sum();
    let busy: u64 = result.cpu_time.iter().map(|(_, t)| t.busy.0).sum();
    assert_eq!(running, busy, "{what}");
}

/// A run under `from` that goes on under `to` at a time.
fn go_on_under(
    machine: &Machine,
    workload: &Workload,
    (from, to): (Kernel, Kernel),
    seed: u64,
    at: Timestamp,
) -> Result<RunResult, SimError> {
    let after = domains(machine, &to);
    let turn = Turn {
        at,
        event_hash: None,
        kernel: Some((to, &after)),
        seed: None,
    };
    let (before, options) = (domains(machine, &from), SimOptions::new(from, seed));
    let turn = Some(&turn);
    run_and_turn(
        machine,
        &before,
        workload,
        &options,
        turn,
        &mut Silent,
        None,
    )
}

fn middle(workload: &Workload, machine: &Machine, kernel: Kernel) -> (RunResult, Timestamp) {
    let whole = run(
        machine,
        &domains(machine, &kernel),
        workload,
        &SimOptions::new(kernel, 3),
        &mut Silent,
        None,
    )
    .unwrap();
    let half = Timestamp(whole.end.0 / 2);
    (whole, half)
}

#[test]
fn a_run_that_was_saved_and_goes_on_has_the_events_of_one_that_was_not() {
    for machine in [grid(1, 1, 2, 1), grid(1, 2, 2, 2), grid(2, 1, 3, 1)] {
        for (release, load) in Release::ALL.into_iter().zip(LOADS.into_iter().cycle()) {
            let kernel = Kernel::of(release);
            let domains = domains(&machine, &kernel);
            let what = format!("{load}, {release}");
            let workload = parse(load).unwrap();
            let (whole, half) = middle(&workload, &machine, kernel);
            let options = SimOptions::new(kernel, 3);
            let cut = SimOptions {
                until: Some(half),
                ..options.clone()
            };
            let saved = run(&machine, &domains, &workload, &cut, &mut Silent, None).unwrap();
            assert_eq!(saved.end, half, "{what}");
            adds_up(&saved, &what);
            assert!(saved.events < whole.events, "{what}");

            let turn = Turn {
                at: half,
                event_hash: Some(saved.event_hash),
                kernel: None,
                seed: None,
            };
            let go_on = |turn: &Turn<'_>| {
                let turn = Some(turn);
                run_and_turn(
                    &machine,
                    &domains,
                    &workload,
                    &options,
                    turn,
                    &mut Silent,
                    None,
                )
            };
            let rest = go_on(&turn).unwrap();
            assert_eq!(rest.event_hash, whole.event_hash, "{what}");
            assert_eq!(rest.end, whole.end, "{what}");
            // The two parts together are the whole.
            assert_eq!(
                saved.counts.wakeups + rest.counts.wakeups,
                whole.counts.wakeups,
                "{what}"
            );
            adds_up(&rest, &what);

            let other = Turn {
                event_hash: Some(saved.event_hash ^ 1),
                ..turn
            };
            let error = go_on(&other).unwrap_err();
            assert_eq!(error, SimError::OtherPast { at: half });
            let late = Turn {
                at: Timestamp(whole.end.0 + 1),
                ..turn
            };
            assert!(matches!(go_on(&late), Err(SimError::Over { .. })));
        }
    }
}

#[test]
fn every_kernel_can_take_over_from_every_other() {
    for machine in [grid(1, 2, 2, 2), grid(2, 1, 3, 1)] {
        let pairs = Release::ALL.iter().flat_map(|from| {
            let to = Release::ALL.iter();
            to.map(|to| (Kernel::of(*from), Kernel::of(*to)))
        });
        // Every pair of kernels gets one of the loads.
        for ((from, to), load) in pairs.zip(LOADS.into_iter().cycle()) {
            let what = format!("{load}, {from} to {to}");
            let workload = parse(load).unwrap();
            let (_, half) = middle(&workload, &machine, from);
            let rest = go_on_under(&machine, &workload, (from, to), 3, half);
            if from.tunables.tick_ns() != to.tunables.tick_ns() {
                assert_eq!(rest.unwrap_err(), SimError::OtherTick);
                continue;
            }
            let rest = rest.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(rest.events > 0, "{what}");
            adds_up(&rest, &what);
        }
    }
}

#[test]
fn shares_by_weight_go_on_under_the_other_kernel() {
    let machine = grid(1, 1, 1, 1);
    let workload = parse("hogs -n 1 -N 0 -r 8 + hogs -n 1 -N 5 -r 8").unwrap();
    for from in ["5.4", "6.1", "6.12"] {
        for to in ["5.15", "6.6", "7.2"] {
            let (from, to): (Kernel, Kernel) = (from.parse().unwrap(), to.parse().unwrap());
            if from.tunables.tick_ns() != to.tunables.tick_ns() {
                continue;
            }
            let at = Timestamp(Nanos::from_secs(2).0);
            let rest = go_on_under(&machine, &workload, (from, to), 1, at).unwrap();
            let ran: Vec<f64> = rest
                .task_time
                .iter()
                .map(|(_, t)| t.running.0 as f64)
                .filter(|ran| *ran > 0.0)
                .collect();
            assert_eq!(ran.len(), 2, "whoever started the hogs is gone");
            // Weights 1024 and 335; six seconds hold two thousand slices.
            let share = ran[0] / (ran[0] + ran[1]);
            let due = 1024.0 / (1024.0 + 335.0);
            assert!((share - due).abs() < 0.01, "{from} to {to}: {share} {due}");
        }
    }
}

#[test]
fn another_seed_makes_another_future_of_the_same_past() {
    let machine = grid(1, 2, 2, 2);
    let kernel: Kernel = "6.12".parse().unwrap();
    let domains = domains(&machine, &kernel);
    let workload = parse(LOADS[2]).unwrap();
    let (whole, half) = middle(&workload, &machine, kernel);
    let hash = |seed| {
        let turn = Turn {
            at: half,
            event_hash: None,
            kernel: None,
            seed,
        };
        let options = SimOptions::new(kernel, 3);
        let turned = Some(&turn);
        run_and_turn(
            &machine,
            &domains,
            &workload,
            &options,
            turned,
            &mut Silent,
            None,
        )
        .unwrap()
        .event_hash
    };
    assert_eq!(hash(None), whole.event_hash);
    assert_eq!(hash(Some(7)), hash(Some(7)));
    assert_ne!(hash(Some(7)), hash(Some(8)));
    assert_ne!(hash(Some(7)), whole.event_hash);
}
