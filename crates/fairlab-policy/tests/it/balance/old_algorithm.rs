//! The algorithm of v5.4.

use fairlab_policy::balance::v5_4::{
    OldDomainStats, OldGroupStats, OldGroupType, calculate, small_imbalance,
};

fn group(nr: u32, load: u64, capacity: u64) -> OldGroupStats {
    OldGroupStats {
        sum_nr_running: nr,
        group_load: load,
        group_capacity: capacity,
        avg_load: load * 1024 / capacity,
        load_per_task: load.checked_div(u64::from(nr)).unwrap_or(0),
        ..OldGroupStats::NOTHING
    }
}

fn stats(local: OldGroupStats, busiest: OldGroupStats) -> OldDomainStats {
    let load = local.group_load + busiest.group_load;
    OldDomainStats {
        local,
        busiest: Some(1),
        busiest_stats: busiest,
        avg_load: load * 1024 / (local.group_capacity + busiest.group_capacity),
    }
}

#[test]
fn load_is_brought_to_the_average() {
    let (local, busiest) = (group(5, 5120, 4096), group(10, 10240, 4096));
    assert_eq!(calculate(&stats(local, busiest), (0, 0)), 2560);
}

#[test]
fn overloaded_groups_give_no_more_than_they_have_too_much() {
    let mut local = group(5, 5120, 4096);
    let mut busiest = group(6, 10240, 4096);
    local.group_type = OldGroupType::Overloaded;
    busiest.group_type = OldGroupType::Overloaded;
    // (6 * 1024 - 4096) * 1024 / 4096 = 512 per 1024 of capacity.
    assert_eq!(calculate(&stats(local, busiest), (0, 0)), 2048);
}

#[test]
fn a_whole_task_moves_when_the_source_stays_busier() {
    // One CPU with two tasks, one idle: the amount is one task.
    let (local, busiest) = (group(0, 0, 1024), group(2, 2048, 1024));
    assert_eq!(calculate(&stats(local, busiest), (0, 0)), 1024);
    // Two against three equal tasks: 3072 + 1024 is not below 2048 + 2 * 1024.
    let (local, busiest) = (group(2, 2048, 1024), group(3, 3072, 1024));
    assert_eq!(small_imbalance(&local, &busiest, (2048, 2)), Some(1024));
}

#[test]
fn throughput_decides_about_a_small_imbalance() {
    // Both CPUs run one equal task: nothing would be gained.
    let (local, busiest) = (group(1, 1000, 1024), group(1, 1000, 1024));
    assert_eq!(small_imbalance(&local, &busiest, (1000, 1)), None);
    // An idle CPU takes the single task: 1000 + 1000 is not below 0 + 2 * 1000.
    let (local, busiest) = (group(0, 0, 1024), group(1, 1000, 1024));
    assert_eq!(small_imbalance(&local, &busiest, (0, 0)), Some(1000));
}

#[test]
fn a_misfit_moves_at_least_its_load() {
    let (local, mut busiest) = (group(0, 0, 1024), group(1, 300, 446));
    busiest.group_type = OldGroupType::Misfit;
    busiest.misfit_load = 900;
    assert!(calculate(&stats(local, busiest), (0, 0)) >= 300);
}
