//! The worked examples of formulas.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_policy::balance::classify::{GroupType, classify};
use fairlab_policy::balance::idle_scan::nr_idle_scan;
use fairlab_policy::balance::imbalance::sibling_imbalance_by_cores;
use fairlab_policy::balance::interval::{backed_off, balance_interval, decay_newidle_cost};
use fairlab_policy::balance::newidle::{record, weight_of_success};
use fairlab_policy::balance::{BalanceState, DomainState, GroupStats};
use fairlab_topology::domains::SchedDomain;

use super::world::{World, machine};

#[test]
fn groups_are_classified_as_in_the_examples() {
    use GroupType::{FullyBusy, HasSpare, Overloaded};
    let examples = [
        ((3, 4, 4096, 4000, 4096), HasSpare),
        ((4, 4, 4096, 3500, 3500), HasSpare),
        ((4, 4, 4096, 3501, 3501), FullyBusy),
        ((5, 4, 4096, 3500, 3500), HasSpare),
        ((5, 4, 4096, 3501, 3501), Overloaded),
        ((5, 4, 4096, 3000, 4793), Overloaded),
        ((5, 4, 4096, 3000, 4792), HasSpare),
        ((4, 4, 4096, 3000, 4793), FullyBusy),
        ((4, 4, 4096, 3000, 4792), HasSpare),
    ];
    for release in Release::ALL {
        let kernel = Kernel::of(release);
        if !kernel.has(Feature::LB_RUNNABLE) {
            continue;
        }
        for ((nr, weight, capacity, util, runnable), class) in examples {
            let stats = GroupStats {
                sum_nr_running: nr,
                group_weight: weight,
                group_capacity: capacity,
                group_util: util,
                group_runnable: runnable,
                ..GroupStats::NOTHING
            };
            let found = classify(&kernel, 117, &stats, false);
            assert_eq!(found, class, "{release}: {nr} {weight} {util} {runnable}");
        }
    }
}

#[test]
fn sibling_imbalance_is_weighed_by_cores() {
    let examples = [
        (4, 1, 4, 4, 3),
        (2, 1, 1, 1, 1),
        (4, 0, 2, 1, 3),
        (2, 0, 1, 2, 3),
        (5, 1, 4, 2, 3),
        (3, 1, 2, 1, 1),
        (2, 0, 3, 1, 2),
        (2, 0, 5, 1, 2),
        (10, 2, 8, 2, 1),
    ];
    for (nb, nl, cb, cl, imbalance) in examples {
        let found = sibling_imbalance_by_cores(nb, nl, cb, cl);
        assert_eq!(found, imbalance, "({nb}, {nl}, {cb}, {cl})");
    }
}

#[test]
fn the_scan_budget_follows_the_table() {
    let table = [
        (0, [4, 8, 16, 32, 64]),
        (100, [3, 7, 15, 31, 63]),
        (200, [3, 7, 15, 30, 60]),
        (300, [3, 7, 14, 28, 56]),
        (400, [3, 6, 12, 25, 50]),
        (500, [2, 5, 10, 21, 43]),
        (600, [2, 4, 8, 16, 33]),
        (700, [1, 2, 5, 11, 23]),
        (800, [0, 1, 2, 5, 10]),
        (850, [0, 0, 0, 1, 3]),
        (870, [0, 0, 0, 0, 0]),
        (1024, [0, 0, 0, 0, 0]),
    ];
    for (average, row) in table {
        let found = [4, 8, 16, 32, 64].map(|w| nr_idle_scan(average * u64::from(w), w, 117));
        assert_eq!(found, row, "average {average}");
    }
    let smt = [500, 800, 900].map(|x| nr_idle_scan(x * 8, 8, 110));
    assert_eq!(smt, [5, 2, 0]);
}

fn any_domain(kernel: &Kernel) -> (SchedDomain, DomainState) {
    let world = World::new(&machine(1, 4, 2), kernel);
    let state = BalanceState::new(&world.domains, kernel, 0, 8);
    let id = fairlab_topology::domains::DomainId(0);
    (world.domains.domain(id).clone(), *state.domain(id))
}

#[test]
fn intervals_follow_the_examples() {
    // ms: idle, busy now, busy in v5.4.
    let rows = [
        (250, 64, 2, [1, 7, 16]),
        (250, 64, 8, [2, 31, 64]),
        (250, 64, 16, [4, 63, 128]),
        (250, 64, 64, [16, 255, 512]),
        (250, 64, 128, [32, 511, 1024]),
        (1000, 64, 2, [2, 31, 64]),
        (1000, 64, 8, [8, 127, 256]),
        (1000, 64, 64, [64, 1023, 2048]),
        (100, 64, 2, [1, 3, 7]),
        (100, 64, 8, [1, 12, 26]),
        (100, 64, 64, [7, 102, 205]),
        (250, 8, 64, [16, 200, 200]),
        (1000, 8, 64, [64, 800, 800]),
    ];
    for (hz, cpus, ms, [idle, busy, busy_old]) in rows {
        let interval = |release, busy| {
            let mut kernel = Kernel::of(release);
            kernel.tunables.hz = hz;
            let (sd, mut state) = any_domain(&kernel);
            state.balance_interval = ms;
            balance_interval(&kernel, &sd, &state, busy, hz * cpus / 10)
        };
        for release in Release::ALL {
            assert_eq!(interval(release, false), idle, "{release} {hz} {ms}");
        }
        for release in [
            Release::V5_15,
            Release::V6_1,
            Release::V6_6,
            Release::V6_12,
            Release::V7_2,
        ] {
            assert_eq!(interval(release, true), busy, "{release} {hz} {ms}");
        }
        for release in [Release::V5_4, Release::V5_6] {
            assert_eq!(interval(release, true), busy_old, "{release} {hz} {ms}");
        }
    }
}

#[test]
fn intervals_back_off() {
    let steps = |pinned, n| {
        let mut interval = 8;
        (0..n)
            .map(|_| {
                interval = backed_off(interval, 16, pinned);
                interval
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(steps(false, 2), [16, 16]);
    assert_eq!(steps(true, 7), [16, 32, 64, 128, 256, 512, 512]);
}

#[test]
fn newidle_successes_are_weighed_by_their_ratio() {
    let rows = [
        (0, 1, 1024),
        (1, 2, 512),
        (16, 17, 60),
        (128, 129, 8),
        (256, 257, 4),
        (512, 513, 2),
        (1000, 1001, 1),
        (1023, 1024, 1),
    ];
    for (ratio, k, multiplier) in rows {
        assert_eq!(weight_of_success(ratio, k.min(1023)), Some(multiplier));
        let beyond = (k + 1 < 1024).then_some(k + 1);
        assert!(beyond.is_none_or(|r| weight_of_success(ratio, r).is_none()));
        let tried = (0..1024)
            .filter(|r| weight_of_success(ratio, *r).is_some())
            .count() as u32;
        assert_eq!(tried, (k + 1).min(1024), "ratio {ratio}");
    }
}

#[test]
fn the_newidle_record_halves_at_1024_calls() {
    let kernel = Kernel::of(Release::V6_12);
    let (_, mut state) = any_domain(&kernel);
    for _ in 0..511 {
        record(&kernel, &mut state, 2, 0);
    }
    assert_eq!(state.newidle_ratio, 512);
    record(&kernel, &mut state, 0, 0);
    assert_eq!(state.newidle_ratio, 256 + 1022);
    assert_eq!((state.newidle_call, state.newidle_success), (512, 639));

    let rated = Kernel::of(Release::V7_2);
    let (_, mut state) = any_domain(&rated);
    state.newidle_call = 1023;
    record(&rated, &mut state, 0, 100 << 22);
    assert_eq!(state.newidle_ratio, 356);
    assert_eq!(state.newidle_stamp, 100 << 22);
    // Without NI_RANDOM nothing is counted.
    let none = Kernel::of(Release::V6_6);
    let (_, mut state) = any_domain(&none);
    record(&none, &mut state, 1, 0);
    assert_eq!(state.newidle_call, 512);
}

#[test]
fn the_newidle_cost_decays_once_a_second() {
    for release in Release::ALL {
        let kernel = Kernel::of(release);
        let (_, mut state) = any_domain(&kernel);
        state.max_newidle_lb_cost = 500_000;
        let mut now = state.last_decay;
        let mut costs = Vec::new();
        for _ in 0..5 {
            now += 250;
            assert!(!decay_newidle_cost(&kernel, &mut state, now));
            now += 1;
            assert!(decay_newidle_cost(&kernel, &mut state, now));
            now = state.last_decay;
            costs.push(state.max_newidle_lb_cost);
        }
        assert_eq!(
            costs,
            [494_140, 488_349, 482_626, 476_970, 471_380],
            "{release}"
        );
    }
}
