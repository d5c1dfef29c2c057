//! The worked examples of the scan on asymmetric machines.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_policy::{
    NoExplain, Outcome, Reason, Scratch, WakeFlags, select_idle_sibling, select_task_rq_fair,
};
use fairlab_units::CpuId;

use crate::machine::{Shape, State, context, cpus, kernels, task};

/// CPUs 0-3 of capacity 400, 4-7 of 1024, no SMT, one LLC.
const BIG_LITTLE: Shape = Shape {
    capacity: &[400, 400, 400, 400, 1024, 1024, 1024, 1024],
    ..Shape::llc(8, 1)
};

struct Wakee {
    util: u64,
    uclamp: Option<(u64, u64)>,
}

fn scan(kernel: &Kernel, wakee: &Wakee, idle: &[u32], change: impl Fn(&mut State)) -> Outcome {
    let mut state = BIG_LITTLE.state(kernel).idle(idle, &[]);
    change(&mut state);
    state.uclamp_used = wakee.uclamp.is_some();
    let allowed = cpus(8, &[0, 1, 2, 3, 4, 5, 6, 7]);
    let mut p = task(1, &allowed);
    p.signals.util_est = wakee.util;
    p.uclamp = wakee.uclamp.unwrap_or((0, 1024));
    p.recent_used_cpu = CpuId(1);
    select_idle_sibling(
        &state,
        kernel,
        &context(1, 1, WakeFlags::TTWU),
        &p,
        &task(2, &allowed),
        CpuId(1),
        &mut Scratch::new(8),
        &mut NoExplain,
    )
}

fn answer(kernel: &Kernel, wakee: &Wakee, idle: &[u32]) -> (u32, Reason) {
    let decision = scan(kernel, wakee, idle, |_| {}).decision;
    (decision.cpu.0, decision.reason)
}

fn with_scan() -> impl Iterator<Item = Kernel> {
    kernels().filter(|k| k.has(Feature::SIS_ASYM_SCAN))
}

const MEDIUM: Wakee = Wakee {
    util: 350,
    uclamp: None,
};

#[test]
fn a_task_that_fits_only_big_cpus_goes_to_one() {
    for kernel in with_scan() {
        assert_eq!(
            answer(&kernel, &MEDIUM, &[2, 5]),
            (5, Reason::CapacityFits),
            "{kernel}"
        );
    }
}

#[test]
fn of_cpus_that_do_not_fit_the_largest_is_taken() {
    for kernel in with_scan() {
        let outcome = scan(&kernel, &MEDIUM, &[2, 3], |state| {
            state.cpus[3].capacity = 380
        });
        let decision = outcome.decision;
        assert_eq!(
            (decision.cpu.0, decision.reason),
            (2, Reason::CapacityBest),
            "{kernel}"
        );
        assert!(outcome.effects.synced, "{kernel}");
    }
}

#[test]
fn nothing_idle_leaves_the_target() {
    for kernel in with_scan() {
        assert_eq!(
            answer(&kernel, &MEDIUM, &[]),
            (1, Reason::CapacityTarget),
            "{kernel}"
        );
    }
}

#[test]
fn a_missed_minimum_is_better_than_no_fit_and_worse_than_a_fit() {
    let wakee = Wakee {
        util: 100,
        uclamp: Some((600, 1024)),
    };
    for kernel in with_scan().filter(|k| k.has(Feature::UCLAMP_FIT)) {
        assert_eq!(
            answer(&kernel, &wakee, &[2]),
            (2, Reason::CapacityBest),
            "{kernel}"
        );
        assert_eq!(
            answer(&kernel, &wakee, &[2, 6]),
            (6, Reason::CapacityFits),
            "{kernel}"
        );
    }
}

#[test]
fn a_capped_task_fits_every_cpu_that_has_the_cap() {
    let wakee = Wakee {
        util: 900,
        uclamp: Some((0, 300)),
    };
    for kernel in with_scan().filter(|k| k.has(Feature::UCLAMP_FIT)) {
        assert_eq!(
            answer(&kernel, &wakee, &[3, 6]),
            (3, Reason::CapacityFits),
            "{kernel}"
        );
        assert_eq!(
            answer(&kernel, &wakee, &[6]),
            (6, Reason::CapacityFits),
            "{kernel}"
        );
    }
}

#[test]
fn v7_2_prefers_idle_cores_and_clears_the_hint_when_there_is_none() {
    // Two threads per core; the walk starts at the target, CPU 1.
    let shape = Shape {
        capacity: &[1024; 8],
        ..Shape::llc(4, 2)
    };
    // Equal capacities make no asymmetric machine, so one core is small.
    let shape = Shape {
        capacity: &[400, 400, 1024, 1024, 1024, 1024, 1024, 1024],
        ..shape
    };
    let kernel = Kernel::of(Release::V7_2);
    let ask = |idle: &[u32]| {
        let state = shape.state(&kernel).idle(idle, &[]).hint(true);
        let allowed = cpus(8, &[0, 1, 2, 3, 4, 5, 6, 7]);
        let mut p = task(1, &allowed);
        p.signals.util_est = 350;
        p.recent_used_cpu = CpuId(1);
        select_idle_sibling(
            &state,
            &kernel,
            &context(1, 1, WakeFlags::TTWU),
            &p,
            &task(2, &allowed),
            CpuId(1),
            &mut Scratch::new(8),
            &mut NoExplain,
        )
    };
    // CPU 2 would fit but shares its core; CPUs 4 and 5 are an idle core.
    let outcome = ask(&[2, 4, 5]);
    assert_eq!(outcome.decision.cpu, CpuId(4));
    assert_eq!(outcome.decision.reason, Reason::CapacityFits);
    // No idle core: the thread that fits, and the hint goes.
    let outcome = ask(&[2, 5]);
    assert_eq!(outcome.decision.cpu, CpuId(2));
    assert_eq!(outcome.decision.reason, Reason::CapacityBest);
    assert!(outcome.effects.clear_idle_cores.is_some());
    // An idle core that does not fit is better than a thread that does; its hint stays.
    let outcome = ask(&[0, 1, 2]);
    assert_eq!(outcome.decision.cpu, CpuId(1));
    assert!(outcome.effects.clear_idle_cores.is_none());
}

#[test]
fn wake_cap_keeps_a_big_task_away_from_a_small_waking_cpu() {
    for kernel in kernels().filter(|k| k.has(Feature::WAKE_CAP)) {
        // The waking CPU is small and idle: without the rule it would be the target.
        let state = BIG_LITTLE.state(&kernel).idle(&[0], &[]);
        let allowed = cpus(8, &[0, 1, 2, 3, 4, 5, 6, 7]);
        let target_of = |util: u64| {
            let mut p = task(1, &allowed);
            p.signals.util_est = util;
            p.recent_used_cpu = CpuId(5);
            let context = context(0, 5, WakeFlags::TTWU);
            let current = task(2, &allowed);
            let mut scratch = Scratch::new(8);
            let outcome =
                select_task_rq_fair(&state, &kernel, &context, &p, &current, &mut scratch);
            (
                outcome.decision.cpu.0,
                outcome.affine.map(|a| a.takes_waking_cpu()),
            )
        };
        assert_eq!(target_of(100), (0, Some(true)), "{kernel}");
        assert_eq!(target_of(350).1, Some(false), "{kernel}");
    }
}

#[test]
fn an_idle_target_comes_before_the_search_by_capacity_from_v5_10_on() {
    let kernel = Kernel::of(Release::V5_15);
    let mut before = kernel;
    before.features = before.features.with(Feature::SIS_ASYM_PREV, false);
    let small = Wakee {
        util: 10,
        uclamp: None,
    };
    // CPU 1 is target and previous CPU; the search starts there too, so the answer tells the path.
    assert_eq!(answer(&kernel, &small, &[1, 2]), (1, Reason::TargetIdle));
    assert_eq!(answer(&before, &small, &[1, 2]), (1, Reason::CapacityFits));
}
