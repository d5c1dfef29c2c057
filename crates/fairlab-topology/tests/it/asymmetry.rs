//! Different capacities and packing priorities.

use fairlab_kernel::Release;
use fairlab_topology::{Arch, CapacitySource, CoreKind, Machine};
use fairlab_units::CpuId;

use crate::machines::*;

const FLAT: &[&[u32]] = &[&[10]];

/// Four little cores, then four big ones, each kind with its own LLC.
fn big_little() -> Machine {
    let machine = machine(8, FLAT, |cpu| {
        cpu.package = Some(0);
        cpu.llc = Some(cpu.id.0 / 4);
        cpu.capacity = if cpu.id.0 < 4 { 400 } else { 1024 };
    });
    let mut parts = machine.to_builder();
    parts.arch = Arch::Arm64;
    parts.build().unwrap()
}

#[test]
fn a_domain_of_two_kinds_is_asymmetric_and_its_child_does_not_spread() {
    for release in [
        Release::V5_15,
        Release::V6_1,
        Release::V6_6,
        Release::V6_12,
        Release::V7_2,
    ] {
        let domains = build(&big_little(), release);
        let text = chain(&domains, 0);
        let lines: Vec<&str> = text.lines().collect();
        // The parent is removed from no one, so the child stays without PREFER_SIBLING.
        assert!(lines[0].starts_with("MC{0-3} AXNL 117/1"), "{text}");
        assert!(lines[1].contains("{0-7} AXNPYF 117/1"), "{text}");
        let asym = domains.cached(CpuId(0)).asym_cpucapacity;
        assert_eq!(asym, Some(domain(&domains, 0, 1)));
        assert!(domains.switches().asym_cpucapacity);
    }
    let domains = build(&big_little(), Release::V5_4);
    assert!(chain(&domains, 0).contains("DIE{0-7} BAXNPY 125/1"));
    assert_eq!(
        domains.cached(CpuId(0)).asym_cpucapacity,
        Some(domain(&domains, 0, 1))
    );
}

#[test]
fn x86_kernels_see_only_the_capacities_that_are_stated_and_only_since_v6_12() {
    let mut parts = big_little().to_builder();
    parts.arch = Arch::X86;
    for (source, since) in [
        (CapacitySource::Frequency, None),
        (CapacitySource::CoreKind, None),
        (CapacitySource::Stated, Some(Release::V6_12)),
    ] {
        parts.capacity_source = source;
        let machine = parts.clone().build().unwrap();
        for release in Release::ALL {
            let domains = build(&machine, release);
            let knows = since.is_some_and(|since| release >= since);
            assert_eq!(
                domains.switches().asym_cpucapacity,
                knows,
                "{release} {source:?}"
            );
            let little = if knows { 400 } else { 1024 };
            assert_eq!(
                domains.capacity_orig(CpuId(0)),
                little,
                "{release} {source:?}"
            );
        }
    }
}

#[test]
fn full_means_that_no_capacity_of_the_partition_is_missing() {
    // LLC 0 holds capacities 400 and 700, LLC 1 700 and 1024.
    let mut parts = big_little().to_builder();
    for (cpu, capacity) in parts
        .cpus
        .iter_mut()
        .zip([400, 400, 700, 700, 700, 700, 1024, 1024])
    {
        cpu.capacity = capacity;
    }
    let machine = parts.build().unwrap();
    for release in [
        Release::V5_15,
        Release::V6_1,
        Release::V6_6,
        Release::V6_12,
        Release::V7_2,
    ] {
        let text = chain(&build(&machine, release), 0);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("MC{0-3} AXNLY 117/1"), "{text}");
        assert!(lines[1].contains("{0-7} AXNPYF 117/1"), "{text}");
    }
    // Before, only the lowest level at which everybody sees the largest capacity.
    for release in [Release::V5_4, Release::V5_6] {
        let text = chain(&build(&machine, release), 0);
        assert!(text.starts_with("MC{0-3} BAXNL 117/1"), "{text}");
        assert!(text.contains("DIE{0-7} BAXNPY 125/1"), "{text}");
    }
}

#[test]
fn the_asymmetric_domain_has_the_balance_object_of_7_2() {
    let domains = build(&big_little(), Release::V7_2);
    let cached = domains.cached(CpuId(0));
    assert!(cached.llc_shared.is_some() && cached.balance_shared.is_some());
    assert_ne!(cached.llc_shared, cached.balance_shared);
    let shared = |cpu| domains.cached(CpuId(cpu)).balance_shared;
    assert_eq!(shared(0), shared(7));
    // Its scan budget starts as the number of ASYM_CPUCAPACITY.
    assert_eq!(
        domains.shared(cached.balance_shared.unwrap()).nr_idle_scan,
        0x20
    );
    let domains = build(&big_little(), Release::V6_12);
    let cached = domains.cached(CpuId(0));
    assert_eq!(cached.llc_shared, cached.balance_shared);
}

/// An x86 hybrid: two performance cores of two threads, four efficiency cores in one cluster.
fn hybrid() -> Machine {
    machine(8, FLAT, |cpu| {
        let performance = cpu.id.0 < 4;
        cpu.core = if performance { cpu.id.0 / 2 } else { cpu.id.0 };
        cpu.cluster = Some(if performance { cpu.id.0 / 2 } else { 9 });
        cpu.llc = Some(0);
        cpu.package = Some(0);
        cpu.kind = if performance {
            CoreKind::Performance
        } else {
            CoreKind::Efficiency
        };
        cpu.priority = Some(if performance { 50 } else { 30 });
    })
}

#[test]
fn packing_priorities_mark_levels_by_release() {
    let flags = |release, cpu| {
        let domains = build(&hybrid(), release);
        let text = domains.chain(CpuId(cpu)).map(|id| {
            let domain = domains.domain(id);
            format!("{} {}", domain.name, letters(domain.flags))
        });
        text.collect::<Vec<_>>()
    };
    assert_eq!(flags(Release::V5_15, 0), ["SMT AXNPLSK", "MC AXNPLK"]);
    // 6.1 has no cluster level on hybrids.
    assert_eq!(flags(Release::V6_1, 4), ["MC AXNPLK"]);
    assert_eq!(flags(Release::V6_12, 0), ["SMT AXNPLS", "MC AXNPLK"]);
    assert_eq!(flags(Release::V6_12, 4), ["CLS AXNPLCK", "MC AXNPLK"]);
}

#[test]
fn groups_name_their_preferred_cpu_where_packing_is_on() {
    let mut parts = hybrid().to_builder();
    parts.cpus[1].priority = Some(60);
    let domains = build(&parts.build().unwrap(), Release::V6_12);
    let preferred = |cpu, idx| {
        let groups = domains.groups(domain(&domains, cpu, idx)).iter();
        groups.map(|g| g.asym_prefer_cpu.0).collect::<Vec<_>>()
    };
    assert_eq!(preferred(0, 1), [1, 2, 4]);
    assert_eq!(preferred(0, 0), [0, 0]);
}

#[test]
fn the_topmost_packing_domain_is_found_past_others_from_6_6_on() {
    // SMT has no packing flag in 6.12, so a walk that stops at the first domain without it finds
    // nothing from a thread of a core.
    let domains = build(&hybrid(), Release::V6_12);
    assert_eq!(
        domains.cached(CpuId(0)).asym_packing,
        Some(domain(&domains, 0, 1))
    );
    let kernel = kernel(Release::V6_12).with(fairlab_kernel::Feature::SD_HIGHEST_SKIPS, false);
    let options = fairlab_topology::domains::BuildOptions::default();
    let domains = fairlab_topology::domains::build(&hybrid(), &kernel, &options).unwrap();
    assert_eq!(domains.cached(CpuId(0)).asym_packing, None);
}
