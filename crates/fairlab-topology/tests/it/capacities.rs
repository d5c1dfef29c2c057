//! What groups say about capacity, and how many cores they count.

use fairlab_kernel::Release;
use fairlab_topology::domains::GroupCapacity;

use crate::machines::*;

#[test]
fn groups_start_with_the_sum_of_their_cpus() {
    let machine = machine(4, &[&[10]], |cpu| {
        cpu.core = cpu.id.0 / 2;
        cpu.llc = Some(0);
        cpu.capacity = 500 + 100 * (cpu.id.0 / 2);
    });
    for release in Release::ALL {
        let domains = build(&machine, release);
        let groups = domains.groups(domain(&domains, 2, 1));
        let second = domains.capacity(groups[0].capacity);
        assert_eq!(
            second,
            GroupCapacity {
                capacity: 1200,
                min: 600,
                max: 600
            }
        );
        let first = domains.capacity(groups[1].capacity);
        assert_eq!(
            first,
            GroupCapacity {
                capacity: 1000,
                min: 500,
                max: 500
            }
        );
    }
}

#[test]
fn groups_of_nodes_take_extremes_of_the_running_sum_in_5_4() {
    let distances: &[&[u32]] = &[&[10, 20, 30], &[20, 10, 20], &[30, 20, 10]];
    let machine = blocks(3, 1, 1, 1, distances);
    let local = |release| {
        let domains = build(&machine, release);
        domains.capacity(domains.groups(domain(&domains, 0, 1))[0].capacity)
    };
    assert_eq!(
        local(Release::V5_4),
        GroupCapacity {
            capacity: 2048,
            min: 1024,
            max: 2048
        }
    );
    assert_eq!(
        local(Release::V5_6),
        GroupCapacity {
            capacity: 2048,
            min: 1024,
            max: 1024
        }
    );
}

#[test]
fn groups_count_cores_from_6_6_on() {
    let mut parts = blocks(16, 2, 4, 16, &[&[10]]).to_builder();
    parts.cpus[1].online = false;
    let machine = parts.build().unwrap();
    let cores = |release| {
        let domains = build(&machine, release);
        let groups = domains.groups(domain(&domains, 4, 2)).iter();
        groups.map(|g| (g.weight, g.cores)).collect::<Vec<_>>()
    };
    assert_eq!(cores(Release::V6_1), [(4, 0), (4, 0), (4, 0), (3, 0)]);
    for release in [Release::V6_6, Release::V6_12, Release::V7_2] {
        assert_eq!(cores(release), [(4, 2), (4, 2), (4, 2), (3, 2)]);
    }
}

#[test]
fn groups_of_one_level_share_capacity_objects() {
    let domains = build(&blocks(8, 2, 8, 8, &[&[10]]), Release::V6_12);
    let of = |cpu, idx, n: usize| domains.groups(domain(&domains, cpu, idx))[n].capacity;
    assert_eq!(of(0, 1, 0), of(7, 1, 1));
    assert_eq!(of(0, 0, 1), of(1, 0, 0));
    assert_eq!(domains.nr_capacities(), 8 + 4);
}
