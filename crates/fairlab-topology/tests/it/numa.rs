//! NUMA levels, overlapping groups, odd distance tables.

use fairlab_kernel::{Feature, Release};
use fairlab_topology::domains::{self, BuildError, BuildOptions, NumaKind};
use fairlab_units::CpuId;

use crate::machines::*;

const LINE: &[&[u32]] = &[
    &[10, 20, 30, 40],
    &[20, 10, 20, 30],
    &[30, 20, 10, 20],
    &[40, 30, 20, 10],
];

#[test]
fn groups_stay_inside_the_domain_from_5_15_on() {
    // Four nodes in a line. Seen from node 0 at distance 30 (nodes 0 to 2), node 2's own group of
    // the level below is nodes 1 to 3, and node 3 is outside.
    let machine = blocks(4, 1, 1, 1, LINE);
    let third = |release| {
        chain(&build(&machine, release), 0)
            .lines()
            .nth(1)
            .unwrap()
            .to_owned()
    };
    for release in [Release::V5_4, Release::V5_6] {
        assert!(
            third(release).ends_with(": 0-1/0 | 1-3/2"),
            "{}",
            third(release)
        );
    }
    for release in [
        Release::V5_15,
        Release::V6_1,
        Release::V6_6,
        Release::V6_12,
        Release::V7_2,
    ] {
        assert!(
            third(release).ends_with(": 0-1/0 | 2"),
            "{}",
            third(release)
        );
    }
}

#[test]
fn a_distance_out_of_range_leaves_no_numa_levels() {
    for bad in [9, 256, 0] {
        let machine = blocks(4, 1, 2, 2, &[&[10, bad], &[bad, 10]]);
        let domains = build(&machine, Release::V6_12);
        assert_eq!(chain(&domains, 0), "MC{0-1} AXNPL 117/1 2-4 0: 0 | 1\n");
        assert!(domains.numa().distances.is_empty());
    }
}

#[test]
fn asymmetric_distances_give_chains_of_different_height() {
    let machine = blocks(4, 1, 2, 2, &[&[10, 20], &[30, 10]]);
    let domains = build(&machine, Release::V6_12);
    check(
        &domains,
        0,
        "MC{0-1} AXNPL 117/1 2-4 0: 0 | 1
         NUMA{0-3} AXNUZ 117/2 4-8 1: 0-1 | 2-3",
    );
    // Node 1 reaches node 0 only at 30: its first NUMA domain is itself and goes.
    check(
        &domains,
        2,
        "MC{2-3} AXNPL 117/1 2-4 0: 2 | 3
         NUMA{0-3} AXNUZ 117/2 4-8 2: 2-3",
    );
}

#[test]
fn nodes_without_cpus_give_levels_only_before_6_1() {
    let machine = blocks(4, 1, 2, 2, &[&[10, 20, 30], &[20, 10, 30], &[30, 30, 10]]);
    for release in Release::ALL {
        let distances = build(&machine, release).numa().distances.clone();
        let of_cpu_nodes = kernel(release).has(Feature::SD_LEVELS_OF_CPU_NODES);
        assert_eq!(
            distances.len(),
            if of_cpu_nodes { 2 } else { 3 },
            "{release}"
        );
    }
}

#[test]
fn kinds_of_wiring() {
    let kind = |distances: &[&[u32]]| {
        let n = distances.len() as u32;
        build(&blocks(n, 1, 1, 1, distances), Release::V6_12)
            .numa()
            .kind
    };
    assert_eq!(kind(&[&[10]]), NumaKind::Direct);
    assert_eq!(kind(&[&[10, 40], &[40, 10]]), NumaKind::Direct);
    assert_eq!(kind(LINE), NumaKind::GluelessMesh);
}

#[test]
fn an_architecture_may_supply_distances_for_building_in_7_2() {
    let machine = blocks(4, 1, 2, 2, &[&[10, 40], &[40, 10]]);
    let mut options = BuildOptions {
        domain_distances: Some(vec![vec![10, 20], vec![20, 10]]),
        ..BuildOptions::default()
    };
    let numa = |release, options: &_| {
        let domains = domains::build(&machine, &kernel(release), options).unwrap();
        let line = chain(&domains, 0).lines().last().unwrap().to_owned();
        (line, domains.numa().max_distance)
    };
    let far = "NUMA{0-3} NUZ 117/2 4-8 1: 0-1 | 2-3";
    let near = "NUMA{0-3} AXNUZ 117/2 4-8 1: 0-1 | 2-3";
    assert_eq!(numa(Release::V6_12, &options), (far.into(), 40));
    assert_eq!(numa(Release::V7_2, &options), (near.into(), 40));
    options.domain_distances = Some(vec![vec![10]]);
    let error = domains::build(&machine, &kernel(Release::V7_2), &options).unwrap_err();
    assert_eq!(error, BuildError::DistanceTable);
}

#[test]
fn a_package_of_several_nodes_has_no_package_level() {
    let mut parts = blocks(8, 1, 4, 4, &[&[10, 12], &[12, 10]]).to_builder();
    for cpu in &mut parts.cpus {
        cpu.package = Some(0);
    }
    let snc = parts.build().unwrap();
    let numa_level = |machine, release| {
        let domains = build(machine, release);
        domains.domain(domain(&domains, 0, 1)).level
    };
    let plain = blocks(8, 1, 4, 4, &[&[10, 12], &[12, 10]]);
    for (release, without, with) in [
        (Release::V5_4, 3, 4),
        (Release::V6_12, 4, 5),
        (Release::V7_2, 3, 4),
    ] {
        assert_eq!(numa_level(&snc, release), without, "{release}");
        assert_eq!(numa_level(&plain, release), with, "{release}");
    }
    // One LLC over both nodes: nobody's LLC crosses a node.
    let mut parts = snc.to_builder();
    for cpu in &mut parts.cpus {
        cpu.llc = Some(0);
    }
    let domains = build(&parts.build().unwrap(), Release::V6_12);
    assert_eq!(domains.cached(CpuId(0)).llc_size, 4);
    assert!(!domains.share_cache(CpuId(0), CpuId(4)));
}
