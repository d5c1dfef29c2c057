//! Domains handed over piece by piece are those that were built.

use fairlab_kernel::Release;
use fairlab_topology::domains::{BuildError, DomainSpec, Domains, DomainsBuilder, GroupSpec};
use fairlab_units::CpuId;

use crate::machines::*;

fn specs(domains: &Domains, cpu: CpuId) -> Vec<DomainSpec<'static>> {
    let spec = |id| {
        let d = domains.domain(id);
        let group = |g: &fairlab_topology::domains::SchedGroup| GroupSpec {
            span: domains.mask(g.span).clone(),
            balance_mask: domains.mask(g.balance_mask).clone(),
            cores: g.cores,
            flags: g.flags,
            asym_prefer_cpu: g.asym_prefer_cpu,
            capacity: domains.capacity(g.capacity),
        };
        DomainSpec {
            name: d.name,
            level: d.level,
            span: domains.span(id).clone(),
            flags: d.flags,
            imbalance_pct: d.imbalance_pct,
            cache_nice_tries: d.cache_nice_tries,
            busy_factor: d.busy_factor,
            min_interval: d.min_interval,
            max_interval: d.max_interval,
            imb_numa_nr: d.imb_numa_nr,
            has_shared: d.shared.is_some(),
            groups: domains.groups(id).iter().map(group).collect(),
        }
    };
    domains.chain(cpu).map(spec).collect()
}

#[test]
fn a_built_machine_survives_being_recorded() {
    let ring: &[&[u32]] = &[
        &[10, 20, 30, 20],
        &[20, 10, 20, 30],
        &[30, 20, 10, 20],
        &[20, 30, 20, 10],
    ];
    let machine = blocks(32, 2, 8, 8, ring);
    for release in Release::ALL {
        let built = build(&machine, release);
        let mut builder = DomainsBuilder::new(32);
        for cpu in (0..32).map(CpuId) {
            builder.chain(cpu, specs(&built, cpu)).unwrap();
            let cached = built.cached(cpu);
            builder.llc(cpu, cached.llc_id, cached.llc_size).unwrap();
        }
        let recorded = builder.build(&kernel(release));
        let text = |d: &Domains| d.render(&kernel(release)).every_cpu().to_string();
        assert_eq!(text(&recorded), text(&built), "{release}");
        assert_eq!(recorded.switches(), built.switches());
        assert_eq!(recorded.nr_capacities(), built.nr_capacities());
        for cpu in (0..32).map(CpuId) {
            assert_eq!(recorded.smt_mask(cpu), built.smt_mask(cpu));
            let shared = |d: &Domains| d.cached(cpu).llc_shared.is_some();
            assert_eq!(shared(&recorded), shared(&built));
        }
    }
}

#[test]
fn recordings_that_make_no_sense_are_refused() {
    let built = build(&blocks(4, 1, 4, 4, &[&[10]]), Release::V6_12);
    let good = specs(&built, CpuId(0));
    let refused = |cpu, spec: DomainSpec<'_>| {
        let mut builder = DomainsBuilder::new(4);
        builder.chain(CpuId(cpu), vec![spec]).unwrap_err()
    };
    assert_eq!(
        refused(4, good[0].clone()),
        BuildError::UnknownCpu(CpuId(4))
    );
    let mut bad = good[0].clone();
    bad.name = "CORE";
    assert_eq!(refused(0, bad), BuildError::UnknownLevel(CpuId(0)));
    let mut bad = good[0].clone();
    bad.groups.clear();
    assert_eq!(refused(0, bad), BuildError::EmptyGroup(CpuId(0)));
}
