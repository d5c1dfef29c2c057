//! What is odd about a machine: what its reader repaired, and what else deserves a look.

use std::collections::BTreeMap;

use fairlab_topology::{Arch, Machine};
use fairlab_units::{CpuMask, NodeId};
use serde::Serialize;

use crate::draw::cpu_list;
use crate::draw::levels::{Kind, Level};

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The description contradicts itself or firmware rules; something had to be decided.
    Problem,
    /// Unusual, and good to know.
    Note,
}

/// One thing about a machine that deserves a look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How serious it is.
    pub severity: Severity,
    /// What was found: where, and the values.
    pub what: String,
    /// What fairlab did, or what kernels make of it.
    pub meaning: String,
}

/// Everything about `machine` that deserves a look: first its oddities, then further checks.
#[must_use]
pub fn check(machine: &Machine) -> Vec<Finding> {
    let mut found: Vec<Finding> = machine
        .oddities()
        .iter()
        .map(|odd| Finding {
            severity: Severity::Problem,
            what: odd.what.clone(),
            meaning: odd.action.clone(),
        })
        .collect();
    nesting(machine, &mut found);
    distances(machine, &mut found);
    numbering(machine, &mut found);
    sizes(machine, &mut found);
    found
}

fn add(found: &mut Vec<Finding>, severity: Severity, what: String, meaning: &str) {
    found.push(Finding {
        severity,
        what,
        meaning: meaning.to_owned(),
    });
}

/// Relations that usually nest.
fn nesting(machine: &Machine, found: &mut Vec<Finding>) {
    let level = |kind| Level::of(machine, kind);
    for (inner, outer, severity, meaning) in [
        (
            Kind::Core,
            Kind::Llc,
            Severity::Problem,
            "kernels build MC domains that cut through cores, or refuse the domains",
        ),
        (
            Kind::Core,
            Kind::Package,
            Severity::Problem,
            "a core belongs to one package; the description is wrong",
        ),
        (
            Kind::Core,
            Kind::Node,
            Severity::Problem,
            "x86 kernels cut the SMT mask at the node, others build SMT domains across nodes",
        ),
        (
            Kind::Core,
            Kind::Cluster,
            Severity::Problem,
            "kernels enlarge the cluster to whole cores",
        ),
        (
            Kind::Cluster,
            Kind::Llc,
            Severity::Problem,
            "kernels enlarge the MC mask to whole clusters",
        ),
        (
            Kind::Llc,
            Kind::Package,
            Severity::Problem,
            "a cache outside the package is unusual; kernels take it as it is",
        ),
        (
            Kind::Llc,
            Kind::Node,
            Severity::Note,
            "kernels cut the last-level cache at the node (sub-NUMA clustering)",
        ),
    ] {
        let (small, wide) = (level(inner), level(outer));
        if small.masks.is_empty() || wide.masks.is_empty() || small.refines(&wide) {
            continue;
        }
        let example = small.masks.iter().find_map(|m| {
            let cut = |o: &&CpuMask| o.intersects(m) && !m.is_subset(o);
            wide.masks.iter().find(cut).map(|o| (m, o))
        });
        if let Some((small_mask, wide_mask)) = example {
            add(
                found,
                severity,
                format!(
                    "the {} of CPUs {} reaches beyond the {} of CPUs {}",
                    inner.name(),
                    cpu_list(small_mask),
                    outer.name(),
                    cpu_list(wide_mask)
                ),
                meaning,
            );
        }
    }
    if machine.arch() == Arch::X86 && !level(Kind::Node).masks.is_empty() {
        let (nodes, packages) = (level(Kind::Node), level(Kind::Package));
        let several = packages
            .masks
            .iter()
            .any(|p| nodes.masks.iter().filter(|n| n.intersects(p)).count() > 1);
        if several {
            add(
                found,
                Severity::Note,
                "a package holds CPUs of several nodes".to_owned(),
                "x86 kernels leave out the DIE/PKG level",
            );
        }
    }
}

fn distances(machine: &Machine, found: &mut Vec<Finding>) {
    let nodes = machine.nodes();
    let mut local = Vec::new();
    let mut outside = Vec::new();
    let mut not_farther = Vec::new();
    let mut asymmetric = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        for (j, &distance) in node.distances.iter().enumerate() {
            let other = nodes[j].id;
            if !(10..=255).contains(&distance) {
                outside.push((node.id, other, distance));
            }
            if i == j {
                if distance != 10 {
                    local.push((node.id, distance));
                }
            } else {
                if distance <= node.distances[i] {
                    not_farther.push((node.id, other, distance));
                }
                if i < j && nodes[j].distances[i] != distance {
                    asymmetric.push((node.id, other, distance, nodes[j].distances[i]));
                }
            }
        }
    }
    if let Some((node, distance)) = local.first() {
        add(
            found,
            Severity::Problem,
            format!(
                "the distance of node {node} to itself is {distance}, not 10 ({} nodes)",
                local.len()
            ),
            "kernels take the smallest distance as the node itself",
        );
    }
    if let Some((a, b, distance)) = outside.first() {
        add(
            found,
            Severity::Problem,
            format!("the distance from node {a} to {b} is {distance}, outside 10 to 255"),
            "kernels then build no NUMA domains at all",
        );
    }
    if let Some((a, b, distance)) = not_farther.first() {
        add(
            found,
            Severity::Problem,
            format!(
                "node {b} is no farther from node {a} than {a} itself ({distance}; {} pairs)",
                not_farther.len()
            ),
            "the two are one node to the NODE level",
        );
    }
    if let Some((a, b, there, back)) = asymmetric.first() {
        add(
            found,
            Severity::Problem,
            format!(
                "distances are not symmetric: {a} to {b} is {there}, {b} to {a} is {back} ({} pairs)",
                asymmetric.len()
            ),
            "kept: kernels build each CPU's NUMA domains from its own row",
        );
    }
    let far = machine.reclaim_distance();
    // Nodes without CPUs have no domains.
    let has_cpus: Vec<bool> = nodes
        .iter()
        .map(|n| machine.cpus().iter().any(|c| c.online && c.node == n.id))
        .collect();
    let of_cpus: std::collections::BTreeSet<u32> = nodes
        .iter()
        .zip(&has_cpus)
        .filter(|(_, has)| **has)
        .flat_map(|(n, _)| n.distances.iter().zip(&has_cpus))
        .filter(|(_, has)| **has)
        .map(|(distance, _)| *distance)
        .collect();
    let is_far = of_cpus.last().is_some_and(|d| *d > far);
    if is_far {
        add(
            found,
            Severity::Note,
            format!("some nodes are farther apart than the reclaim distance of {far}"),
            "their NUMA domains have no WAKE_AFFINE and no balancing at fork and exec",
        );
    }
    if of_cpus.len() > 2 {
        add(
            found,
            Severity::Note,
            format!(
                "{} distinct distances between nodes with CPUs",
                of_cpus.len()
            ),
            "each but the smallest gives a NUMA level; their groups overlap",
        );
    }
}

fn numbering(machine: &Machine, found: &mut Vec<Finding>) {
    let online = machine.online();
    let holes = machine.nr_cpu_ids() - machine.cpus().len();
    if holes > 0 {
        add(
            found,
            Severity::Note,
            format!(
                "{holes} CPU numbers below {} are unused",
                machine.nr_cpu_ids()
            ),
            "per-CPU containers have room for them",
        );
    }
    if !online.test(fairlab_units::CpuId(0)) {
        add(
            found,
            Severity::Note,
            "CPU 0 is offline or does not exist".to_owned(),
            "nothing in fairlab relies on it",
        );
    }
    let sparse = machine
        .nodes()
        .iter()
        .enumerate()
        .find(|(i, n)| n.id.index() != *i);
    if let Some((_, node)) = sparse {
        add(
            found,
            Severity::Note,
            format!("node numbers have holes (before node {})", node.id),
            "distances are by position",
        );
    }
}

fn sizes(machine: &Machine, found: &mut Vec<Finding>) {
    for (kind, what) in [
        (Kind::Core, "cores have different numbers of online threads"),
        (
            Kind::Llc,
            "last-level caches are shared by different numbers of CPUs",
        ),
        (Kind::Cluster, "clusters have different numbers of CPUs"),
        (Kind::Node, "nodes have different numbers of CPUs"),
    ] {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for mask in &Level::of(machine, kind).masks {
            *counts.entry(mask.weight()).or_default() += 1;
        }
        if counts.len() > 1 {
            let list: Vec<String> = counts
                .iter()
                .map(|(size, count)| format!("{count} of {size}"))
                .collect();
            add(
                found,
                Severity::Note,
                format!("{what}: {}", list.join(", ")),
                "groups of one domain have different weights",
            );
        }
    }
    let empty: Vec<NodeId> = machine
        .nodes()
        .iter()
        .map(|n| n.id)
        .filter(|id| machine.cpus().iter().all(|c| c.node != *id))
        .collect();
    if let Some(node) = empty.first() {
        add(
            found,
            Severity::Note,
            format!("{} nodes have no CPUs (first: node {node})", empty.len()),
            "they give no NUMA levels from v5.17 on, and did before",
        );
    }
    let bare: Vec<NodeId> = machine
        .nodes()
        .iter()
        .filter(|n| n.memory_kb == Some(0))
        .map(|n| n.id)
        .collect();
    if let Some(node) = bare.first() {
        add(
            found,
            Severity::Note,
            format!("{} nodes have no memory (first: node {node})", bare.len()),
            "their tasks' memory is remote",
        );
    }
}
