//! Partitions, isolated and offline CPUs, rebuilds, and the machines that kernels refuse.

use fairlab_kernel::Release;
use fairlab_topology::domains::{self, BuildError, BuildOptions, CpuCached, Domains, Partition};
use fairlab_topology::{Arch, Machine};
use fairlab_units::CpuId;

use crate::machines::*;

const FLAT: &[&[u32]] = &[&[10]];

fn with(machine: &Machine, release: Release, options: &BuildOptions) -> Domains {
    domains::build(machine, &kernel(release), options).unwrap()
}

fn partitions(lists: &[&str]) -> BuildOptions {
    BuildOptions::default().with_partitions(lists.iter().map(|text| list(text)))
}

#[test]
fn partitions_are_cut_out_of_every_level() {
    let machine = blocks(16, 2, 8, 8, &[&[10, 20], &[20, 10]]);
    let options = partitions(&["0-3", "4-15"]);
    let domains = with(&machine, Release::V6_12, &options);
    // Intervals start from the raw masks up to 7.1, from the spans in 7.2.
    check(
        &domains,
        0,
        "SMT{0-1} AXNPLS 110/0 2-4 0: 0 | 1
         MC{0-3} AXNPL 117/1 8-16 0: 0-1 | 2-3",
    );
    check(
        &domains,
        4,
        "SMT{4-5} AXNPLS 110/0 2-4 0: 4 | 5
         MC{4-7} AXNPL 117/1 8-16 0: 4-5 | 6-7
         NUMA{4-15} AXNUZ 117/2 16-32 1: 4-7 | 8-15",
    );
    assert!(!domains.share_cache(CpuId(0), CpuId(4)));
    let domains = with(&machine, Release::V7_2, &options);
    assert!(chain(&domains, 4).contains("NUMA{4-15} AXNUZ 117/2 12-24 1"));
    assert!(
        domains.share_cache(CpuId(0), CpuId(4)),
        "one physical LLC, one number"
    );
    let busy = |cpu| {
        domains
            .shared(domains.cached(CpuId(cpu)).llc_shared.unwrap())
            .nr_busy_cpus
    };
    assert_eq!((busy(0), busy(4), busy(8)), (4, 4, 8));
}

#[test]
fn cpus_in_two_partitions_are_refused() {
    let error = domains::build(
        &blocks(4, 1, 4, 4, FLAT),
        &kernel(Release::V6_12),
        &partitions(&["0-2", "2-3"]),
    );
    assert_eq!(error.unwrap_err(), BuildError::PartitionsOverlap(CpuId(2)));
}

#[test]
fn isolated_cpus_have_no_domains_but_count_as_busy() {
    let machine = blocks(8, 2, 8, 8, FLAT);
    let options = BuildOptions {
        isolated: list("2-3"),
        ..BuildOptions::default()
    };
    for (release, busy, interval) in [(Release::V6_12, 8, "8-16"), (Release::V7_2, 6, "6-12")] {
        let domains = with(&machine, release, &options);
        check(&domains, 2, "");
        assert!(chain(&domains, 0).contains(&format!("MC{{0-1,4-7}} AXNPL 117/1 {interval}")));
        let shared = domains.cached(CpuId(0)).llc_shared.unwrap();
        assert_eq!(domains.shared(shared).nr_busy_cpus, busy);
    }
    // 7.2 has no number for a CPU that never was part of a build.
    let domains = with(&machine, Release::V7_2, &options);
    assert_eq!(domains.cached(CpuId(2)).llc_id, CpuCached::NO_LLC_ID);
    assert_eq!(
        with(&machine, Release::V6_12, &options)
            .cached(CpuId(2))
            .llc_id,
        2
    );
}

#[test]
fn the_scan_budget_starts_at_zero_or_as_a_flag() {
    let machine = blocks(8, 2, 8, 8, FLAT);
    let budget = |release| {
        let domains = build(&machine, release);
        domains
            .shared(domains.cached(CpuId(0)).llc_shared.unwrap())
            .nr_idle_scan
    };
    assert_eq!(budget(Release::V6_12), 0);
    assert_eq!(budget(Release::V7_2), 0x200);
}

#[test]
fn a_rebuild_in_6_12_still_counts_the_cpu_that_goes() {
    let machine = blocks(8, 1, 4, 4, &[&[10, 20], &[20, 10]]);
    let after = machine.with_online(&list("0-6")).unwrap();
    let options = BuildOptions {
        dying: Some(CpuId(7)),
        ..BuildOptions::default()
    };
    for (release, interval) in [
        (Release::V6_1, "3-6"),
        (Release::V6_12, "4-8"),
        (Release::V7_2, "3-6"),
    ] {
        let domains = with(&after, release, &options);
        assert!(chain(&domains, 4).contains(&format!("MC{{4-6}} AXNPL 117/1 {interval}")));
        check(&domains, 7, "");
    }
    // The next rebuild does not.
    assert!(chain(&build(&after, Release::V6_12), 4).contains("MC{4-6} AXNPL 117/1 3-6"));
}

#[test]
fn llc_numbers_stay_with_their_cpus_and_are_reused() {
    let machine = blocks(6, 1, 2, 6, FLAT);
    let ids = |d: &Domains| {
        (0..6)
            .map(|c| d.cached(CpuId(c)).llc_id as i32)
            .collect::<Vec<_>>()
    };
    let first = build(&machine, Release::V7_2);
    assert_eq!(ids(&first), [0, 0, 1, 1, 2, 2]);
    let rest = machine.with_online(&list("2,4-5")).unwrap();
    let second = with(&rest, Release::V7_2, &BuildOptions::default().after(&first));
    assert_eq!(ids(&second), [-1, -1, 1, -1, 2, 2]);
    let third = with(
        &machine,
        Release::V7_2,
        &BuildOptions::default().after(&second),
    );
    assert_eq!(ids(&third), [0, 0, 1, 1, 2, 2]);
    let fresh = build(&rest, Release::V7_2);
    assert_eq!(ids(&fresh), [-1, -1, 0, -1, 1, 1]);
}

#[test]
fn smt_off_leaves_the_level_out_in_7_2_only() {
    let machine = blocks(4, 1, 4, 4, FLAT);
    let level = |release| {
        let domains = build(&machine, release);
        domains.domain(domain(&domains, 0, 0)).level
    };
    assert_eq!((level(Release::V5_4), level(Release::V5_15)), (1, 1));
    assert_eq!(
        (
            level(Release::V6_1),
            level(Release::V6_12),
            level(Release::V7_2)
        ),
        (2, 2, 1)
    );
    // Taking threads offline later does not remove it.
    let machine = blocks(8, 2, 8, 8, FLAT)
        .with_online(&list("0,2,4,6"))
        .unwrap();
    let domains = build(&machine, Release::V7_2);
    assert_eq!(domains.domain(domain(&domains, 0, 0)).level, 2);
    assert!(!domains.switches().smt_present);
}

#[test]
fn relaxing_clears_and_once_set_idle_balancing() {
    let machine = blocks(16, 2, 8, 16, FLAT);
    let flags = |release, request| {
        let mut options = BuildOptions {
            relax_domain_level: request,
            ..BuildOptions::default()
        };
        let boot = with(&machine, release, &options);
        options.relax_domain_level = -1;
        let all = list("0-15");
        options.partitions = vec![Partition {
            cpus: all,
            relax_domain_level: request,
        }];
        let cpuset = with(&machine, release, &options);
        assert_eq!(chain(&boot, 0), chain(&cpuset, 0));
        boot.chain(CpuId(0))
            .map(|id| letters(boot.domain(id).flags))
            .collect::<Vec<_>>()
    };
    // Levels of 5.x: SMT 0, MC 1, DIE 2; from 6.1 on: SMT 0, CLS 1, MC 2, DIE 3.
    assert_eq!(flags(Release::V5_4, 1), ["BAXNWPLS", "BAXNWPL", "BAXP"]);
    assert_eq!(flags(Release::V5_15, 1), ["AXNPLS", "AXNPL", "AXP"]);
    assert_eq!(flags(Release::V6_1, 2), ["AXNPLS", "AXPL", "AXP"]);
    assert_eq!(flags(Release::V6_6, 2), ["AXNPLS", "AXNPL", "AXP"]);
    assert_eq!(flags(Release::V6_12, 3), ["AXNPLS", "AXNPL", "AXP"]);
    assert_eq!(flags(Release::V7_2, 0), ["AXPLS", "AXPL", "AXP"]);
    assert_eq!(flags(Release::V6_12, -1), ["AXNPLS", "AXNPL", "AXNP"]);
}

#[test]
fn interleaved_groups_keep_the_ring_of_the_highest_cpu() {
    // Cores {0,3} {1} {2,4}: the walk of CPU 3 alone would give 0,3 | 2,4 | 1.
    let machine = machine(5, FLAT, |cpu| {
        cpu.core = [0, 1, 2, 0, 2][cpu.id.index()];
        cpu.llc = Some(0);
    });
    for release in Release::ALL {
        let domains = build(&machine, release);
        let ring = |cpu| chain(&domains, cpu).lines().last().unwrap().to_owned();
        assert!(ring(3).ends_with(": 0,3 | 1 | 2,4"), "{}", ring(3));
        assert!(ring(4).ends_with(": 2,4 | 0,3 | 1"), "{}", ring(4));
        assert!(ring(1).ends_with(": 1 | 2,4 | 0,3"), "{}", ring(1));
    }
}

fn clashing() -> Machine {
    // The LLC of CPUs 0-1 lies in a cluster that cuts the LLC of CPUs 2-5: the one cluster adds
    // nothing to its LLC, so its level is that of the threads, and the other does.
    let machine = machine(6, FLAT, |cpu| {
        cpu.llc = Some(u32::from(cpu.id.0 > 1));
        cpu.cluster = Some(u32::from(cpu.id.0 > 3));
    });
    let mut parts = machine.to_builder();
    parts.arch = Arch::Arm64;
    parts.build().unwrap()
}

#[test]
fn levels_that_overlap_in_part_fail_the_build() {
    let error = domains::build(
        &clashing(),
        &kernel(Release::V6_12),
        &BuildOptions::default(),
    );
    assert_eq!(
        error.unwrap_err(),
        BuildError::OverlappingLevel {
            level: "CLS",
            cpu: CpuId(2),
            other: CpuId(0)
        }
    );
    let mut kernel = kernel(Release::V6_12);
    kernel = kernel.with(fairlab_kernel::Feature::SD_DISJOINT_CHECK, false);
    let domains = domains::build(&clashing(), &kernel, &BuildOptions::default()).unwrap();
    assert!(domains.base(CpuId(2)).is_some());
}

#[test]
fn generic_rules_widen_the_core_group_to_its_cluster() {
    // An LLC per core pair inside clusters of four: the core group is the cluster, and the cluster
    // level, which would add nothing, is that of the threads.
    let x86 = machine(8, FLAT, |cpu| {
        cpu.package = Some(0);
        cpu.llc = Some(cpu.id.0 / 2);
        cpu.cluster = Some(cpu.id.0 / 4);
    });
    let mut parts = x86.to_builder();
    parts.arch = Arch::Arm64;
    let arm = parts.clone().build().unwrap();
    check(
        &build(&arm, Release::V6_12),
        0,
        "MC{0-3} AXNPL 117/1 4-8 0: 0 | 1 | 2 | 3
         PKG{0-7} AXNP 117/1 8-16 2: 0-3 | 4-7",
    );
    check(
        &build(&arm, Release::V5_15),
        0,
        "MC{0-1} AXNPL 117/1 2-4 0: 0 | 1
         DIE{0-7} AXNP 117/1 8-16 0: 0-1 | 2-3 | 4-5 | 6-7",
    );
    // Clusters inside one LLC (Kunpeng): a level of their own.
    for cpu in &mut parts.cpus {
        cpu.llc = Some(0);
    }
    check(
        &build(&parts.build().unwrap(), Release::V6_12),
        0,
        "CLS{0-3} AXNPLC 117/1 4-8 0: 0 | 1 | 2 | 3
         MC{0-7} AXNPL 117/1 8-16 0: 0-3 | 4-7",
    );
}
