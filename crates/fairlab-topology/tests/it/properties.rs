//! What holds for the domains of any machine.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_topology::domains::{self, BuildError, BuildOptions, DomainFlags, Domains, SchedGroup};
use fairlab_topology::{Arch, Cpu, Machine, MachineBuilder, Node};
use fairlab_units::{CpuId, CpuMask, NodeId};
use proptest::prelude::*;

/// Numbers from which a CPU is described.
type CpuSeed = (u32, u32, u32, u32, u32, u32, u8);

fn cpu_seed() -> impl Strategy<Value = CpuSeed> {
    (
        0u32..24,
        0u32..12,
        0u32..8,
        0u32..4,
        0u32..7,
        0u32..3,
        any::<u8>(),
    )
}

/// Any machine at all, most of them such as nobody would build.
fn wild(seeds: &[CpuSeed], distances: &[u32], symmetric: bool, arch: Arch) -> Option<Machine> {
    let nr_nodes = distances.len().isqrt() as u32;
    let cpus = seeds.iter().zip(0..).map(|(seed, n)| {
        let (core, cluster, llc, package, node, capacity, odd) = *seed;
        let mut cpu = Cpu::new(CpuId(2 * n + u32::from(odd & 1)));
        cpu.core = core;
        cpu.cluster = (odd & 2 == 0).then_some(cluster);
        cpu.llc = (odd & 12 != 0).then_some(llc);
        cpu.package = (odd & 16 == 0).then_some(package);
        cpu.node = NodeId(node % nr_nodes);
        cpu.capacity = [1024, 1024, 512][capacity as usize];
        cpu.online = odd & 0x60 != 0x60;
        cpu.isolated = odd & 0xc0 == 0xc0;
        cpu.priority = (odd & 3 == 3).then_some(i32::from(odd));
        cpu
    });
    let distance = |a: u32, b: u32| {
        let (a, b) = if symmetric && b < a { (b, a) } else { (a, b) };
        if a == b {
            10
        } else {
            distances[(a * nr_nodes + b) as usize]
        }
    };
    let nodes = (0..nr_nodes).map(|a| Node {
        id: NodeId(a),
        memory_kb: None,
        distances: (0..nr_nodes).map(|b| distance(a, b)).collect(),
    });
    let machine = MachineBuilder {
        arch,
        cpus: cpus.collect(),
        nodes: nodes.collect(),
        ..MachineBuilder::default()
    };
    machine.build().ok()
}

/// Threads, clusters, LLCs and nodes that nest, in uneven sizes.
fn nested(seeds: &[CpuSeed], distances: &[u32], symmetric: bool, arch: Arch) -> Option<Machine> {
    let mut parts = wild(seeds, distances, symmetric, arch)?.to_builder();
    let nr_nodes = parts.nodes.len() as u32;
    let (mut core, mut cluster, mut llc, mut node) = (0, 0, 0, 0);
    for (cpu, seed) in parts.cpus.iter_mut().zip(seeds) {
        let wider = seed.0 + 3 * seed.1;
        core += u32::from(wider % 2 == 0);
        cluster += u32::from(wider % 6 == 0);
        llc += u32::from(wider % 12 == 0);
        if wider % 24 == 0 {
            node = (node + 1).min(nr_nodes - 1);
        }
        // Every unit lies inside the next wider one.
        cpu.node = NodeId(node);
        cpu.package = Some(node);
        cpu.llc = Some(llc * 64 + node);
        cpu.cluster = Some((cluster * 64 + llc) * 64 + node);
        cpu.core = ((core * 64 + cluster) * 64 + llc) * 64 + node;
    }
    parts.build().ok()
}

fn arch() -> impl Strategy<Value = Arch> {
    prop_oneof![Just(Arch::X86), Just(Arch::Arm64), Just(Arch::Ppc64)]
}

fn distances() -> impl Strategy<Value = Vec<u32>> {
    (1usize..8).prop_flat_map(|nodes| {
        prop::collection::vec(
            prop::sample::select(vec![11, 20, 20, 30, 40]),
            nodes * nodes,
        )
    })
}

/// What holds for every machine that a kernel accepts, however odd.
fn check_always(machine: &Machine, domains: &Domains, kernel: &Kernel) {
    let nodes = machine.nodes();
    let symmetric = (0..nodes.len())
        .all(|a| (0..nodes.len()).all(|b| nodes[a].distances[b] == nodes[b].distances[a]));
    let attached = machine.mask_of(|c| c.online && !c.isolated);
    for i in 0..domains.nr_cpu_ids() {
        let cpu = CpuId::from_index(i);
        assert!(attached.test(cpu) || domains.base(cpu).is_none());
        let mut narrower: Option<CpuMask> = None;
        let mut level = None;
        for id in domains.chain(cpu) {
            let domain = domains.domain(id);
            let span = domains.span(id);
            assert_eq!(domain.cpu, cpu);
            assert!(span.test(cpu) && span.is_subset(&attached));
            assert_eq!(span.weight(), domain.span_weight as usize);
            assert!(domain.span_weight > 1, "a domain of one CPU is useless");
            if let Some(narrower) = &narrower {
                assert!(narrower.is_subset(span), "spans nest");
            }
            assert!(level < Some(domain.level), "levels ascend");
            level = Some(domain.level);
            narrower = Some(span.clone());

            let groups = domains.groups(id);
            let mut covered = CpuMask::new(domains.nr_cpu_ids());
            for group in groups {
                let (mask, balance) = (domains.mask(group.span), domains.mask(group.balance_mask));
                assert!(!balance.is_empty() && balance.is_subset(mask));
                assert_eq!(mask.weight(), group.weight as usize);
                let capacity = domains.capacity(group.capacity);
                assert!(capacity.min > 0 && capacity.capacity >= capacity.max);
                covered.or_with(mask);
            }
            assert!(
                domains.mask(groups[0].span).test(cpu),
                "the local group comes first"
            );
            if symmetric {
                // With asymmetric distances the chain of a CPU can end below this level; it then
                // contributes no group, in the kernel too.
                assert!(span.is_subset(&covered), "groups cover the span");
            }
        }
        let cached = domains.cached(cpu);
        assert!(cached.llc_size >= 1 && domains.share_cache(cpu, cpu));
        assert!(domains.smt_mask(cpu).test(cpu));
        let links = domains.chain(cpu).zip(domains.chain(cpu).skip(1));
        for (child, parent) in links {
            assert_eq!(domains.domain(parent).child, Some(child));
        }
    }
    assert!(!domains.render(kernel).to_string().is_empty());
}

/// What holds in addition where everything nests.
fn check_nested(domains: &Domains, kernel: &Kernel) {
    for id in (0..domains.domains().len()).map(|n| domains::DomainId(n as u32)) {
        let domain = domains.domain(id);
        if domain.flags.has(DomainFlags::NUMA) {
            let inside = |group: &SchedGroup| domains.mask(group.span).is_subset(domains.span(id));
            let all_inside = domains.groups(id).iter().all(inside);
            assert!(all_inside || !kernel.has(Feature::SD_OVERLAP_DESCEND));
            continue;
        }
        let weights = domains.groups(id).iter().map(|g| g.weight).sum::<u32>();
        assert_eq!(
            weights, domain.span_weight,
            "groups of one node do not overlap"
        );
        if let Some(child) = domain.child {
            let local = domains.mask(domains.groups(id)[0].span);
            assert!(domains.span(child).is_subset(local));
        }
    }
}

fn options(seeds: &[CpuSeed], nr_cpu_ids: usize) -> BuildOptions {
    let first = seeds.first().map_or(0, |s| s.6);
    let mut options = BuildOptions {
        relax_domain_level: i32::from(first % 8) - 4,
        dying: Some(CpuId(u32::from(first))),
        ..BuildOptions::default()
    };
    if first.is_multiple_of(3) {
        let half = |parity: usize| {
            let cpus = (0..nr_cpu_ids)
                .filter(|c| c / 4 % 2 == parity)
                .map(CpuId::from_index);
            CpuMask::from_cpus(nr_cpu_ids, cpus)
        };
        options = options.with_partitions([half(0), half(1)]);
    }
    options
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_machine_builds_or_is_refused(
        seeds in prop::collection::vec(cpu_seed(), 1..80),
        distances in distances(),
        symmetric: bool,
        arch in arch(),
    ) {
        let Some(machine) = wild(&seeds, &distances, symmetric, arch) else { return Ok(()) };
        for release in Release::ALL {
            let kernel = Kernel::of(release);
            match domains::build(&machine, &kernel, &options(&seeds, machine.nr_cpu_ids())) {
                Ok(domains) => check_always(&machine, &domains, &kernel),
                Err(BuildError::OverlappingLevel { .. }) => {
                    prop_assert!(kernel.has(Feature::SD_DISJOINT_CHECK));
                }
                Err(error) => prop_assert!(false, "{error}"),
            }
        }
    }

    #[test]
    fn nested_machines_are_never_refused(
        seeds in prop::collection::vec(cpu_seed(), 1..120),
        distances in distances(),
        symmetric: bool,
        arch in arch(),
    ) {
        let Some(machine) = nested(&seeds, &distances, symmetric, arch) else { return Ok(()) };
        for release in Release::ALL {
            let kernel = Kernel::of(release);
            let built = domains::build(&machine, &kernel, &options(&seeds, machine.nr_cpu_ids()));
            let domains = built.map_err(|e| TestCaseError::fail(e.to_string()))?;
            check_always(&machine, &domains, &kernel);
            check_nested(&domains, &kernel);
        }
    }

    #[test]
    fn building_twice_gives_the_same(
        seeds in prop::collection::vec(cpu_seed(), 1..60),
        distances in distances(),
    ) {
        let Some(machine) = nested(&seeds, &distances, true, Arch::X86) else { return Ok(()) };
        let kernel = Kernel::of(Release::V7_2);
        let text = |domains: &Domains| domains.render(&kernel).every_cpu().to_string();
        let first = domains::build(&machine, &kernel, &BuildOptions::default());
        let first = first.map_err(|e| TestCaseError::fail(e.to_string()))?;
        let second = domains::build(&machine, &kernel, &BuildOptions::default().after(&first));
        prop_assert_eq!(text(&first), second.map(|d| text(&d)).unwrap_or_default());
    }
}
