//! The worked examples T1 to T10 and the imbalance table of the domain specification.
//!
//! The specification computes them by the rules of 6.12; what the rules of the other releases make
//! of the same machines follows from its tables.

use fairlab_kernel::Release;
use fairlab_topology::Machine;
use fairlab_topology::domains::{Domains, NumaKind};
use fairlab_units::{CpuId, NodeId};

use crate::machines::*;

const FLAT: &[&[u32]] = &[&[10]];

fn t1() -> Machine {
    machine(8, FLAT, |cpu| {
        cpu.core = cpu.id.0 / 2;
        cpu.cluster = Some(cpu.id.0 / 2);
        cpu.llc = Some(0);
    })
}

#[test]
fn t1_one_llc_of_smt_cores() {
    let domains = build(&t1(), Release::V6_12);
    check(
        &domains,
        0,
        "SMT{0-1} AXNPLS 110/0 2-4 0: 0 | 1
         MC{0-7} AXNPL 117/1 8-16 0: 0-1 | 2-3 | 4-5 | 6-7",
    );
    check(
        &domains,
        3,
        "SMT{2-3} AXNPLS 110/0 2-4 0: 3 | 2
         MC{0-7} AXNPL 117/1 8-16 0: 2-3 | 4-5 | 6-7 | 0-1",
    );
    assert!(!domains.switches().cluster_active && domains.switches().smt_present);
    let cached = domains.cached(CpuId(0));
    assert_eq!(cached.llc, Some(domain(&domains, 0, 1)));
    assert_eq!((cached.llc_size, cached.llc_id, cached.share_id), (8, 0, 0));
    assert_eq!(cached.numa, None);
}

#[test]
fn t1_in_other_releases() {
    for release in [Release::V5_4, Release::V5_6] {
        check(
            &build(&t1(), release),
            0,
            "SMT{0-1} BAXNPLS 110/0 2-4 0: 0 | 1
             MC{0-7} BAXNPL 117/1 8-16 0: 0-1 | 2-3 | 4-5 | 6-7",
        );
    }
    for release in [Release::V5_15, Release::V6_1, Release::V6_6, Release::V7_2] {
        check(
            &build(&t1(), release),
            0,
            "SMT{0-1} AXNPLS 110/0 2-4 0: 0 | 1
             MC{0-7} AXNPL 117/1 8-16 0: 0-1 | 2-3 | 4-5 | 6-7",
        );
    }
    // Before 6.6 the groups of MC keep the flags of the removed CLS level: not a core.
    let flags = |release| {
        let domains = build(&t1(), release);
        group_flags(&domains, domain(&domains, 0, 1))
    };
    assert_eq!(flags(Release::V5_15), ["AXNPLS"; 4]);
    assert_eq!(flags(Release::V6_1), ["AXNPL"; 4]);
    assert_eq!(flags(Release::V6_6), ["AXNPLS"; 4]);
    assert_eq!(flags(Release::V7_2), ["AXNPLS"; 4]);
}

fn t2() -> Machine {
    blocks(16, 2, 8, 8, &[&[10, 21], &[21, 10]])
}

#[test]
fn t2_two_nodes() {
    let domains = build(&t2(), Release::V6_12);
    check(
        &domains,
        0,
        "SMT{0-1} AXNPLS 110/0 2-4 0: 0 | 1
         MC{0-7} AXNPL 117/1 8-16 0: 0-1 | 2-3 | 4-5 | 6-7
         NUMA{0-15} AXNUZ 117/2 16-32 1: 0-7 | 8-15",
    );
    assert_eq!(
        group_flags(&domains, domain(&domains, 0, 2)),
        ["AXNPL", "AXNP"]
    );
    for cpu in 0..16 {
        assert_eq!(domains.cached(CpuId(cpu)).llc_id, cpu / 8 * 8);
        assert_eq!(
            domains.cached(CpuId(cpu)).numa,
            Some(domain(&domains, cpu, 2))
        );
    }
}

#[test]
fn t2_in_other_releases() {
    let numa = |release| {
        let domains = build(&t2(), release);
        let text = chain(&domains, 0);
        let flags = group_flags(&domains, domain(&domains, 0, 2));
        (text.lines().last().unwrap().to_owned(), flags)
    };
    for release in [Release::V5_4, Release::V5_6] {
        let (text, flags) = numa(release);
        assert_eq!(text, "NUMA{0-15} BAXNUZ 125/2 16-32 0: 0-7 | 8-15");
        // The flags of NODE, which was removed, stay.
        assert_eq!(flags, ["BAXNP", "BAXNP"]);
    }
    assert_eq!(
        numa(Release::V5_15).0,
        "NUMA{0-15} AXNUZ 117/2 16-32 0: 0-7 | 8-15"
    );
    assert_eq!(numa(Release::V6_1).1, ["AXNP", "AXNP"]);
    for release in [Release::V6_1, Release::V6_6, Release::V7_2] {
        assert_eq!(
            numa(release).0,
            "NUMA{0-15} AXNUZ 117/2 16-32 1: 0-7 | 8-15"
        );
    }
    assert_eq!(numa(Release::V7_2).1, ["AXNPL", "AXNP"]);
    // Dense numbers in 7.2; the number of a cluster or LLC stays its first CPU.
    let domains = build(&t2(), Release::V7_2);
    let ids = |cpu| {
        (
            domains.cached(CpuId(cpu)).llc_id,
            domains.cached(CpuId(cpu)).share_id,
        )
    };
    assert_eq!((ids(7), ids(8)), ((0, 0), (1, 8)));
}

fn t3() -> Machine {
    machine(16, &[&[10, 20], &[20, 10]], |cpu| {
        cpu.cluster = Some(cpu.id.0 / 4);
        cpu.llc = Some(cpu.id.0 / 8);
        cpu.node = NodeId(cpu.id.0 / 8);
        cpu.package = Some(cpu.id.0 / 8);
    })
}

#[test]
fn t3_clusters() {
    let domains = build(&t3(), Release::V6_12);
    check(
        &domains,
        5,
        "CLS{4-7} AXNPLC 117/1 4-8 0: 5 | 6 | 7 | 4
         MC{0-7} AXNPL 117/1 8-16 0: 4-7 | 0-3
         NUMA{0-15} AXNUZ 117/2 16-32 1: 0-7 | 8-15",
    );
    assert_eq!(
        group_flags(&domains, domain(&domains, 5, 1)),
        ["AXNPLC", "AXNPLC"]
    );
    let cached = domains.cached(CpuId(5));
    assert_eq!((cached.llc_size, cached.llc_id, cached.share_id), (8, 0, 4));
    assert!(domains.share_cache(CpuId(1), CpuId(5)));
    assert!(!domains.share_resources(CpuId(1), CpuId(5)));
    assert!(domains.switches().cluster_active && !domains.switches().smt_present);
}

#[test]
fn t3_before_clusters_were_flagged() {
    for release in [Release::V6_1, Release::V6_6] {
        let domains = build(&t3(), release);
        assert!(chain(&domains, 5).starts_with("CLS{4-7} AXNPL 117/1 4-8 0: 5 | 6 | 7 | 4\n"));
        assert!(domains.share_resources(CpuId(1), CpuId(5)));
        assert!(!domains.switches().cluster_active);
    }
    let domains = build(&t3(), Release::V5_15);
    assert!(chain(&domains, 5).starts_with("MC{0-7} AXNPL 117/1 8-16 0: 5 | 6 | 7 | 0 |"));
}

#[test]
fn t4_four_llcs_in_a_package() {
    let domains = build(&blocks(32, 2, 8, 32, FLAT), Release::V6_12);
    check(
        &domains,
        9,
        "SMT{8-9} AXNPLS 110/0 2-4 0: 9 | 8
         MC{8-15} AXNPL 117/1 8-16 0: 8-9 | 10-11 | 12-13 | 14-15
         PKG{0-31} AXNP 117/1 32-64 4: 8-15 | 16-23 | 24-31 | 0-7",
    );
    for (release, line) in [
        (
            Release::V5_4,
            "DIE{0-31} BAXNP 125/1 32-64 0: 8-15 | 16-23 | 24-31 | 0-7",
        ),
        (
            Release::V5_15,
            "DIE{0-31} AXNP 117/1 32-64 0: 8-15 | 16-23 | 24-31 | 0-7",
        ),
        (
            Release::V6_1,
            "DIE{0-31} AXNP 117/1 32-64 4: 8-15 | 16-23 | 24-31 | 0-7",
        ),
        (
            Release::V7_2,
            "PKG{0-31} AXNP 117/1 32-64 4: 8-15 | 16-23 | 24-31 | 0-7",
        ),
    ] {
        let domains = build(&blocks(32, 2, 8, 32, FLAT), release);
        assert_eq!(chain(&domains, 9).lines().last(), Some(line), "{release}");
    }
}

fn t5() -> Machine {
    let distances: &[&[u32]] = &[
        &[10, 20, 30, 20],
        &[20, 10, 20, 30],
        &[30, 20, 10, 20],
        &[20, 30, 20, 10],
    ];
    blocks(8, 1, 2, 2, distances)
}

fn check_t5(domains: &Domains) {
    check(
        domains,
        0,
        "MC{0-1} AXNPL 117/1 2-4 0: 0 | 1
         NUMA{0-3,6-7} AXNUZ 117/2 6-12 1: 0-1 | 2-3 | 6-7
         NUMA{0-7} AXNUZ 117/2 8-16 1: 0-3,6-7/0-1 | 2-7/4-5",
    );
    check(
        domains,
        2,
        "MC{2-3} AXNPL 117/1 2-4 0: 2 | 3
         NUMA{0-5} AXNUZ 117/2 6-12 1: 2-3 | 4-5 | 0-1
         NUMA{0-7} AXNUZ 117/2 8-16 1: 0-5/2-3 | 0-1,4-7/6-7",
    );
}

#[test]
fn t5_ring_of_nodes() {
    for release in [Release::V6_1, Release::V6_6, Release::V6_12, Release::V7_2] {
        check_t5(&build(&t5(), release));
    }
    let domains = build(&t5(), Release::V6_12);
    assert_eq!(domains.numa().distances, [10, 20, 30]);
    assert_eq!(
        (domains.numa().kind, domains.numa().max_distance),
        (NumaKind::GluelessMesh, 30)
    );
}

#[test]
fn t5_capacity_objects_are_those_of_the_balance_cpu() {
    let domains = build(&t5(), Release::V6_12);
    let capacity = |cpu, idx, n: usize| domains.groups(domain(&domains, cpu, idx))[n].capacity;
    // Group 2-7 of CPU 0 is balanced by 4-5, whose own local group it is.
    assert_eq!(capacity(0, 2, 1), capacity(4, 2, 0));
    assert_eq!(capacity(0, 2, 0), capacity(1, 2, 0));
    assert_ne!(capacity(0, 2, 0), capacity(2, 2, 0));
    assert_eq!(domains.capacity(capacity(0, 2, 1)).capacity, 6 * 1024);
}

#[test]
fn t6_pairs_of_near_nodes() {
    let distances: &[&[u32]] = &[
        &[10, 20, 40, 40],
        &[20, 10, 40, 40],
        &[40, 40, 10, 20],
        &[40, 40, 20, 10],
    ];
    let machine = blocks(8, 1, 2, 2, distances);
    for release in [Release::V6_1, Release::V6_6, Release::V6_12, Release::V7_2] {
        let domains = build(&machine, release);
        check(
            &domains,
            0,
            "MC{0-1} AXNPL 117/1 2-4 0: 0 | 1
             NUMA{0-3} AXNUZ 117/2 4-8 1: 0-1 | 2-3
             NUMA{0-7} NUZ 117/2 8-16 2: 0-3 | 4-7",
        );
        assert_eq!(domains.numa().kind, NumaKind::Backplane);
    }
}

#[test]
fn t7_llc_of_one_core() {
    let machine = blocks(4, 2, 2, 4, FLAT);
    let domains = build(&machine, Release::V6_12);
    check(
        &domains,
        0,
        "SMT{0-1} AXNPLS 110/0 2-4 0: 0 | 1
         PKG{0-3} AXNP 117/1 4-8 2: 0-1 | 2-3",
    );
    let cached = domains.cached(CpuId(0));
    assert_eq!(
        (cached.llc, cached.llc_size),
        (Some(domain(&domains, 0, 0)), 2)
    );
    // The shared object moves down to the domain that stays.
    for release in [Release::V6_12, Release::V7_2] {
        let domains = build(&machine, release);
        let shared = |cpu| domains.cached(CpuId(cpu)).llc_shared;
        assert!(shared(0).is_some() && shared(0) == shared(1) && shared(0) != shared(2));
    }
}

#[test]
fn t8_one_cpu() {
    for release in Release::ALL {
        let domains = build(&blocks(1, 1, 1, 1, FLAT), release);
        check(&domains, 0, "");
        let cached = domains.cached(CpuId(0));
        assert_eq!((cached.llc, cached.llc_size, cached.llc_id), (None, 1, 0));
    }
}

#[test]
fn t9_clusters_that_are_llcs() {
    let machine = machine(8, FLAT, |cpu| {
        cpu.cluster = Some(cpu.id.0 / 4);
        cpu.llc = Some(cpu.id.0 / 4);
    });
    let domains = build(&machine, Release::V6_12);
    check(
        &domains,
        0,
        "CLS{0-3} AXNPLC 117/1 4-8 0: 0 | 1 | 2 | 3
         PKG{0-7} AXNP 117/1 8-16 2: 0-3 | 4-7",
    );
    let cached = domains.cached(CpuId(0));
    assert_eq!(
        (cached.llc, cached.llc_size),
        (Some(domain(&domains, 0, 0)), 4)
    );
    assert_eq!(group_flags(&domains, domain(&domains, 0, 0)), [""; 4]);
    assert!(domains.switches().cluster_active);
    for (release, name) in [
        (Release::V5_15, "MC"),
        (Release::V6_1, "CLS"),
        (Release::V6_6, "CLS"),
    ] {
        let domains = build(&machine, release);
        assert!(chain(&domains, 0).starts_with(&format!("{name}{{0-3}} AXNPL 117/1")));
    }
}

#[test]
fn t10_far_nodes_and_the_reclaim_distance() {
    let mut parts = blocks(128, 2, 16, 64, &[&[10, 32], &[32, 10]]).to_builder();
    let near = "NUMA{0-127} AXNUZ 117/2 128-256 4: 0-63 | 64-127";
    let far = "NUMA{0-127} NUZ 117/2 128-256 4: 0-63 | 64-127";
    for (amd_epyc, numa) in [(false, far), (true, near)] {
        parts.amd_epyc = amd_epyc;
        let machine = parts.clone().build().unwrap();
        for release in [Release::V6_1, Release::V6_6, Release::V6_12, Release::V7_2] {
            let text = chain(&build(&machine, release), 0);
            assert_eq!(text.lines().last(), Some(numa), "{release}");
            assert!(text.contains("{0-63} AXNP 117/1 64-128 4: 0-15 | 16-31 | 32-47 | 48-63"));
        }
    }
    // The tunable goes before the machine, and the option before both.
    parts.amd_epyc = false;
    let machine = parts.build().unwrap();
    let kernel: fairlab_kernel::Kernel = "6.12:reclaim_distance=32".parse().unwrap();
    let mut options = fairlab_topology::domains::BuildOptions::default();
    let numa = |options: &_| {
        let domains = fairlab_topology::domains::build(&machine, &kernel, options).unwrap();
        chain(&domains, 0).lines().last().unwrap().to_owned()
    };
    assert_eq!(numa(&options), near);
    options.reclaim_distance = Some(31);
    assert_eq!(numa(&options), far);
}

#[test]
fn the_imbalance_table() {
    let cases = [
        (16, 16, 2),
        (64, 64, 8),
        (64, 8, 8),
        (128, 16, 8),
        (32, 4, 8),
        (4, 4, 1),
        (8, 8, 1),
        (48, 48, 6),
    ];
    for release in [Release::V6_1, Release::V6_6, Release::V6_12, Release::V7_2] {
        for (parent, llc, imb) in cases {
            let machine = blocks(2 * parent, 1, llc, parent, &[&[10, 20], &[20, 10]]);
            let domains = build(&machine, release);
            let above: Vec<u32> = domains
                .chain(CpuId(0))
                .map(|id| domains.domain(id).imb_numa_nr)
                .filter(|imb| *imb != 0)
                .collect();
            // The package domain goes when it is the LLC; the NUMA domain always stays.
            let expected = vec![imb; if parent == llc { 1 } else { 2 }];
            assert_eq!(above, expected, "{release} {parent} {llc}");
        }
    }
}
