//! Machines for the tests, and domains written down in the notation of the specification.

use std::fmt::Write;

use fairlab_kernel::{Kernel, Release};
use fairlab_topology::domains::{self, BuildOptions, DomainFlags, DomainId, Domains, SchedGroup};
use fairlab_topology::{Cpu, Machine, MachineBuilder, Node};
use fairlab_units::{CpuId, CpuMask, NodeId};

/// `n` CPUs of an x86 machine, described by `describe`, on nodes with these distances.
pub fn machine(n: u32, distances: &[&[u32]], describe: impl Fn(&mut Cpu)) -> Machine {
    let cpus = (0..n).map(|id| {
        let mut cpu = Cpu::new(CpuId(id));
        describe(&mut cpu);
        cpu
    });
    let nodes = distances.iter().zip(0..).map(|(row, id)| Node {
        id: NodeId(id),
        memory_kb: None,
        distances: row.to_vec(),
    });
    let machine = MachineBuilder {
        cpus: cpus.collect(),
        nodes: nodes.collect(),
        ..MachineBuilder::default()
    };
    machine.build().unwrap()
}

/// Blocks of consecutive CPUs: threads per core, CPUs per LLC, CPUs per node (one package each).
pub fn blocks(n: u32, core: u32, llc: u32, node: u32, distances: &[&[u32]]) -> Machine {
    machine(n, distances, |cpu| {
        cpu.core = cpu.id.0 / core;
        cpu.llc = Some(cpu.id.0 / llc);
        cpu.node = NodeId(cpu.id.0 / node);
        cpu.package = Some(cpu.id.0 / node);
    })
}

pub fn kernel(release: Release) -> Kernel {
    Kernel::of(release)
}

pub fn build(machine: &Machine, release: Release) -> Domains {
    domains::build(machine, &kernel(release), &BuildOptions::default()).unwrap()
}

pub fn list(text: &str) -> CpuMask {
    CpuMask::parse_list(text, Machine::MAX_CPUS).unwrap()
}

/// Flags as letters: B LOAD_BALANCE, A WAKE_AFFINE, X EXEC and FORK, N NEWIDLE, W BALANCE_WAKE,
/// P PREFER_SIBLING, L SHARE_LLC, S SHARE_CPUCAPACITY, C CLUSTER, Y ASYM_CPUCAPACITY, F the full
/// one, K ASYM_PACKING, U NUMA, Z SERIALIZE. OVERLAP goes with NUMA.
pub fn letters(flags: DomainFlags) -> String {
    use DomainFlags as D;
    [
        (D::LOAD_BALANCE, 'B'),
        (D::WAKE_AFFINE, 'A'),
        (D::BALANCE_EXEC | D::BALANCE_FORK, 'X'),
        (D::BALANCE_NEWIDLE, 'N'),
        (D::BALANCE_WAKE, 'W'),
        (D::PREFER_SIBLING, 'P'),
        (D::SHARE_LLC, 'L'),
        (D::SHARE_CPUCAPACITY, 'S'),
        (D::CLUSTER, 'C'),
        (D::ASYM_CPUCAPACITY, 'Y'),
        (D::ASYM_CPUCAPACITY_FULL, 'F'),
        (D::ASYM_PACKING, 'K'),
        (D::NUMA, 'U'),
        (D::SERIALIZE, 'Z'),
    ]
    .into_iter()
    .filter(|(flag, _)| flags.has(*flag))
    .map(|(_, letter)| letter)
    .collect()
}

/// The groups in ring order: span, `/` and the balance mask where it differs.
pub fn ring(domains: &Domains, groups: &[SchedGroup]) -> String {
    let mut text = String::new();
    for (i, group) in groups.iter().enumerate() {
        let (span, balance) = (domains.mask(group.span), domains.mask(group.balance_mask));
        let _ = write!(text, "{}{span}", if i == 0 { "" } else { " | " });
        if span != balance {
            let _ = write!(text, "/{balance}");
        }
    }
    text
}

/// The flags of the groups in ring order.
pub fn group_flags(domains: &Domains, id: DomainId) -> Vec<String> {
    domains
        .groups(id)
        .iter()
        .map(|g| letters(g.flags))
        .collect()
}

/// The chain of a CPU, one domain a line:
/// `NAME{span} flags pct/tries min-max imb: groups`.
pub fn chain(domains: &Domains, cpu: u32) -> String {
    let mut text = String::new();
    for id in domains.chain(CpuId(cpu)) {
        let d = domains.domain(id);
        let _ = writeln!(
            text,
            "{}{{{}}} {} {}/{} {}-{} {}: {}",
            d.name,
            domains.span(id),
            letters(d.flags),
            d.imbalance_pct,
            d.cache_nice_tries,
            d.min_interval,
            d.max_interval,
            d.imb_numa_nr,
            ring(domains, domains.groups(id)),
        );
    }
    text
}

/// Compares the chain of `cpu` with lines whose indentation does not count.
#[track_caller]
pub fn check(domains: &Domains, cpu: u32, expected: &str) {
    let lines = expected
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let expected: String = lines.map(|line| format!("{line}\n")).collect();
    assert_eq!(chain(domains, cpu), expected, "cpu {cpu}");
}

/// The domain of `cpu` at position `idx` of its chain.
pub fn domain(domains: &Domains, cpu: u32, idx: usize) -> DomainId {
    domains.chain(CpuId(cpu)).nth(idx).unwrap()
}
