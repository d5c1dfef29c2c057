//! What differs between two machines.

use std::collections::BTreeMap;

use fairlab_topology::{Cpu, Machine};
use fairlab_units::{CpuId, CpuMask};
use serde::Serialize;

use crate::draw::cpu_list;
use crate::draw::levels::Kind;
use crate::summary::{kind_name, source_name, summary};

/// One thing that differs between two machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What differs: a fact, and the CPUs or nodes that it is about.
    pub what: String,
    /// The value in the first machine.
    pub a: String,
    /// The value in the second machine.
    pub b: String,
}

/// What differs between the machines `a` and `b`; names, sources and oddities do not count.
///
/// Sharing is compared by which CPUs are together, not by the numbers of the groups.
#[must_use]
pub fn diff(a: &Machine, b: &Machine) -> Vec<Difference> {
    let mut found = Differences::default();
    counts(a, b, &mut found);
    facts(a, b, &mut found);
    for kind in Kind::ALL {
        sharing(a, b, kind, &mut found);
    }
    distances(a, b, &mut found);
    found.0
}

#[derive(Default)]
struct Differences(Vec<Difference>);

impl Differences {
    fn add(&mut self, what: impl Into<String>, a: impl Into<String>, b: impl Into<String>) {
        let difference = Difference {
            what: what.into(),
            a: a.into(),
            b: b.into(),
        };
        if difference.a != difference.b {
            self.0.push(difference);
        }
    }
}

fn counts(a: &Machine, b: &Machine, found: &mut Differences) {
    let (x, y) = (summary(a), summary(b));
    let none = || "not stated".to_owned();
    found.add(
        "model",
        x.model.unwrap_or_else(none),
        y.model.unwrap_or_else(none),
    );
    found.add("arch", x.arch, y.arch);
    for (what, x, y) in [
        ("online CPUs", x.cpus, y.cpus),
        ("offline CPUs", x.offline_cpus, y.offline_cpus),
        ("cores", x.cores, y.cores),
        ("threads per core", x.threads_per_core, y.threads_per_core),
        ("clusters", x.clusters, y.clusters),
        ("LLCs", x.llcs, y.llcs),
        ("dies", x.dies, y.dies),
        ("nodes", x.nodes, y.nodes),
        ("packages", x.packages, y.packages),
    ] {
        found.add(what, x.to_string(), y.to_string());
    }
    found.add(
        "source of capacities",
        source_name(a.capacity_source()),
        source_name(b.capacity_source()),
    );
    found.add(
        "reclaim distance",
        a.reclaim_distance().to_string(),
        b.reclaim_distance().to_string(),
    );
    found.add(
        "SMT at boot",
        a.boot_smt().to_string(),
        b.boot_smt().to_string(),
    );
    found.add("caches", caches(a), caches(b));
}

/// `L1 data 32K x 8, L3 unified 16384K x 1`
fn caches(machine: &Machine) -> String {
    let mut counts: BTreeMap<(u8, String, u64), usize> = BTreeMap::new();
    for cache in machine.caches() {
        let kind = format!("{:?}", cache.kind).to_lowercase();
        *counts.entry((cache.level, kind, cache.size)).or_default() += 1;
    }
    let list: Vec<String> = counts
        .iter()
        .map(|((level, kind, size), n)| format!("L{level} {kind} {}K x {n}", size >> 10))
        .collect();
    if list.is_empty() {
        "not described".to_owned()
    } else {
        list.join(", ")
    }
}

/// Facts of single CPUs, one line per pair of values.
fn facts(a: &Machine, b: &Machine, found: &mut Differences) {
    type Fact = (&'static str, fn(&Cpu) -> String);
    let list: [Fact; 7] = [
        ("online", |c| c.online.to_string()),
        ("isolated", |c| c.isolated.to_string()),
        ("node", |c| c.node.to_string()),
        ("capacity", |c| c.capacity.to_string()),
        ("kind", |c| kind_name(c.kind).to_owned()),
        ("priority", |c| {
            c.priority.map_or("none".to_owned(), |p| p.to_string())
        }),
        ("highest frequency (kHz)", |c| {
            c.max_freq_khz
                .map_or("not stated".to_owned(), |f| f.to_string())
        }),
    ];
    let room = a.nr_cpu_ids().max(b.nr_cpu_ids());
    for (name, fact) in list {
        let mut pairs: BTreeMap<(String, String), CpuMask> = BTreeMap::new();
        for cpu in a.cpus() {
            let Some(other) = b.cpu(cpu.id) else {
                continue;
            };
            pairs
                .entry((fact(cpu), fact(other)))
                .or_insert_with(|| CpuMask::new(room))
                .set(cpu.id);
        }
        for ((x, y), cpus) in pairs {
            found.add(format!("{name} of CPUs {}", cpu_list(&cpus)), x, y);
        }
    }
    let only = |x: &Machine, y: &Machine| {
        let ids = x.cpus().iter().map(|c| c.id);
        let ids = ids.filter(|id| y.cpu(*id).is_none());
        cpu_list(&CpuMask::from_cpus(room, ids))
    };
    found.add("CPUs that only one has", only(a, b), only(b, a));
}

/// CPUs that both have, with other sharers.
fn sharing(a: &Machine, b: &Machine, kind: Kind, found: &mut Differences) {
    let common = a.online().and(&b.online());
    let sharers = |machine: &Machine, cpu: CpuId| -> Option<CpuMask> {
        let own = machine.cpu(cpu).and_then(|c| kind.number(c))?;
        Some(
            machine
                .mask_of(|c| c.online && kind.number(c) == Some(own))
                .and(&common),
        )
    };
    let mut differing = CpuMask::new(common.room());
    let mut example = None;
    // Groups are compared through their lowest CPU: as many steps as there are groups.
    let mut left = common.clone();
    while let Some(cpu) = left.first() {
        let (x, y) = (sharers(a, cpu), sharers(b, cpu));
        let mut group = CpuMask::from_cpus(cpu.index() + 1, [cpu]);
        for set in [&x, &y].into_iter().flatten() {
            group.or_with(set);
        }
        if x != y {
            differing.or_with(&group);
            example.get_or_insert((cpu, x, y));
            left.and_not_with(&group);
        } else {
            left.and_not_with(&group);
        }
    }
    if let Some((cpu, x, y)) = example {
        let text = |set: Option<CpuMask>| set.map_or("not described".to_owned(), |s| cpu_list(&s));
        let name = kind.name();
        let differing = cpu_list(&differing.and(&common));
        found.add(
            format!("who shares a {name} (CPUs {differing}); for example with CPU {cpu}"),
            text(x),
            text(y),
        );
    }
}

fn distances(a: &Machine, b: &Machine, found: &mut Differences) {
    let ids = |m: &Machine| {
        let list: Vec<String> = m.nodes().iter().map(|n| n.id.to_string()).collect();
        list.join(",")
    };
    if ids(a) != ids(b) {
        found.add("node numbers", ids(a), ids(b));
        return;
    }
    for (x, y) in a.nodes().iter().zip(b.nodes()) {
        let row = |distances: &[u32]| {
            let list: Vec<String> = distances.iter().map(ToString::to_string).collect();
            list.join(" ")
        };
        found.add(
            format!("distances from node {}", x.id),
            row(&x.distances),
            row(&y.distances),
        );
        let memory = |kb: Option<u64>| kb.map_or("not stated".to_owned(), |k| format!("{k} KiB"));
        found.add(
            format!("memory of node {}", x.id),
            memory(x.memory_kb),
            memory(y.memory_kb),
        );
    }
}
