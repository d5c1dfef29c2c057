//! The situations S1 to S10.

use alloc::vec::Vec;

use fairlab_kernel::Release;

use super::super::group_type::GroupSums;
use super::*;

/// weight, tasks, utilization, load.
type Group = (u32, u32, u64, u64);

const WITH_TYPES: [Release; 6] = [
    Release::V5_6,
    Release::V5_15,
    Release::V6_1,
    Release::V6_6,
    Release::V6_12,
    Release::V7_2,
];

fn stats(kernel: &Kernel, pct: u64, (weight, nr, util, load): Group) -> GroupStats {
    let capacity = u64::from(weight) * 1024;
    // The situations give a runnable sum where it differs from the load.
    let runnable = match (weight, nr, util) {
        (2, 2, 2000) => 2000,
        (2, 2, 1500) => 1500,
        _ => load,
    };
    let sums = GroupSums {
        nr_running: nr,
        weight,
        capacity,
        util,
        runnable,
        imbalanced: false,
        misfit: false,
    };
    let kind = sums.classify(kernel, pct as u32);
    let has_avg_load = if kernel.has(Feature::FIG_AVG_LOAD_SPARE) {
        kind == GroupType::HasSpare
    } else {
        matches!(kind, GroupType::FullyBusy | GroupType::Overloaded)
    };
    GroupStats {
        kind,
        avg_load: if has_avg_load {
            load * 1024 / capacity
        } else {
            0
        },
        load,
        util,
        runnable,
        nr_running: nr,
        idle_cpus: weight.saturating_sub(nr),
        capacity,
        max_capacity: 1024,
    }
}

/// The position of the chosen group, 0 for the local one, for each release with group types.
fn choose(groups: &[Group], numa: Option<(u32, u32)>) -> Vec<usize> {
    WITH_TYPES
        .into_iter()
        .map(|release| {
            let kernel = Kernel::of(release);
            let pct = if release == Release::V5_6 { 125 } else { 117 };
            let domain = DomainFacts {
                is_numa: numa.is_some(),
                imbalance_pct: pct,
                weight: groups.iter().map(|g| g.0).sum(),
                imb_numa_nr: numa.map_or(0, |n| n.0),
            };
            let all: Vec<_> = groups.iter().map(|g| stats(&kernel, pct, *g)).collect();
            let mut idlest: Option<usize> = None;
            for i in 1..all.len() {
                if is_idler(&kernel, &all[i], idlest.map(|i| &all[i])) {
                    idlest = Some(i);
                }
            }
            match idlest {
                Some(i)
                    if leaves_local(
                        &kernel,
                        domain,
                        &all[0],
                        &all[i],
                        NumaWish::None,
                        groups[0].0,
                    ) =>
                {
                    i
                }
                _ => 0,
            }
        })
        .collect()
}

/// What v5.6, v5.15, and v6.1 and later choose.
fn check(groups: &[Group], numa: Option<(u32, u32)>, want: [usize; 3]) {
    let [first, second, later] = want;
    assert_eq!(
        choose(groups, numa),
        [first, second, later, later, later, later]
    );
}

#[test]
fn s1_more_idle_cpus_win_and_utilization_breaks_ties_from_v5_9_on() {
    check(
        &[
            (2, 1, 500, 1024),
            (2, 0, 10, 10),
            (2, 0, 4, 4),
            (2, 1, 300, 1024),
        ],
        None,
        [1, 2, 2],
    );
}

#[test]
fn s2_equal_groups_keep_the_task_local() {
    check(&[(2, 1, 500, 1024), (2, 1, 500, 1024)], None, [0, 0, 0]);
}

#[test]
fn s3_spare_capacity_beats_a_fully_busy_group() {
    check(&[(2, 2, 2000, 2000), (2, 2, 1500, 1500)], None, [1, 1, 1]);
}

#[test]
fn s4_the_less_overloaded_group_wins_where_its_load_is_computed() {
    check(&[(4, 8, 4096, 8192), (4, 6, 4096, 6144)], None, [0, 1, 1]);
}

#[test]
fn s5_a_small_difference_of_load_is_not_worth_it() {
    check(&[(4, 8, 4096, 8192), (4, 7, 4096, 7168)], None, [0, 0, 0]);
}

#[test]
fn s6_the_first_tasks_stay_on_their_node() {
    check(
        &[(16, 1, 500, 1024), (16, 0, 0, 0)],
        Some((2, 32)),
        [0, 0, 0],
    );
}

#[test]
fn s7_imb_numa_nr_lets_the_fourth_task_leave() {
    check(
        &[(16, 3, 1500, 3072), (16, 0, 0, 0)],
        Some((2, 32)),
        [0, 0, 1],
    );
}

#[test]
fn s8_a_quarter_of_the_domain_is_the_limit_of_v5_15() {
    check(
        &[(16, 9, 4500, 9216), (16, 2, 1000, 2048)],
        Some((2, 32)),
        [0, 1, 1],
    );
}

#[test]
fn s9_a_difference_of_one_task_is_ignored_below_imb_numa_nr() {
    check(
        &[(64, 6, 3000, 6144), (64, 5, 2500, 5120)],
        Some((8, 128)),
        [0, 0, 0],
    );
}

#[test]
fn s10_a_difference_of_six_tasks_is_not() {
    check(
        &[(64, 6, 3000, 6144), (64, 0, 0, 0)],
        Some((8, 128)),
        [0, 0, 1],
    );
}

#[test]
fn adjust_ignores_two_tasks_up_to_the_allowed_number() {
    let cases = [
        ((2, 1, 4), 0),
        ((3, 1, 4), 3),
        ((2, 4, 4), 0),
        ((2, 5, 4), 2),
    ];
    for ((difference, running, allowed), want) in cases {
        assert_eq!(adjust_numa_imbalance(difference, running, allowed), want);
    }
}
