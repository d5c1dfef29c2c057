//! NUMA nodes: which CPUs they hold, and how far apart they are.

use std::collections::BTreeMap;

use fairlab_topology::{Machine, Node};
use fairlab_units::{CpuId, CpuMask, NodeId};

use super::{CPU, CpuSets, Import};
use crate::archive::numbered;

const NODE: &str = "sys/devices/system/node";

pub(super) struct Nodes {
    pub nodes: Vec<Node>,
    of_cpu: BTreeMap<CpuId, NodeId>,
}

impl Nodes {
    pub(super) fn of(&self, cpu: CpuId) -> NodeId {
        let first = self.nodes.first().map_or(NodeId(0), |n| n.id);
        self.of_cpu.get(&cpu).copied().unwrap_or(first)
    }
}

struct Described {
    id: NodeId,
    cpus: CpuMask,
    row: Vec<u32>,
    memory_kb: Option<u64>,
}

pub(super) fn read(import: &mut Import<'_>, sets: &CpuSets) -> Nodes {
    let mut described = described(import);
    if described.is_empty() {
        // A kernel without NUMA support has no such folder; nothing is odd about that.
        return Nodes {
            nodes: Vec::new(),
            of_cpu: BTreeMap::new(),
        };
    }
    let ids: Vec<NodeId> = described.iter().map(|n| n.id).collect();
    merge_copies(import, &mut described);
    let of_cpu = place_cpus(import, sets, &described);
    Nodes {
        nodes: distances(import, &ids, described),
        of_cpu,
    }
}

fn described(import: &mut Import<'_>) -> Vec<Described> {
    let mut ids: Vec<u32> = import
        .tree
        .list(NODE)
        .iter()
        .filter(|n| numbered(n, "node"))
        .filter_map(|n| n[4..].parse().ok())
        .collect();
    ids.sort_unstable();
    if let Some(online) = import.list(&format!("{NODE}/online"))
        && !online.is_empty()
    {
        ids.retain(|id| online.test(CpuId(*id)));
    }
    ids.into_iter()
        .map(|id| {
            let file = |name: &str| import.tree.read(&format!("{NODE}/node{id}/{name}"));
            let list =
                file("cpulist").and_then(|t| CpuMask::parse_list(&t, Machine::MAX_CPUS).ok());
            let mask =
                || file("cpumap").and_then(|t| CpuMask::parse_hex(&t, Machine::MAX_CPUS).ok());
            Described {
                id: NodeId(id),
                cpus: list.or_else(mask).unwrap_or_default(),
                row: file("distance")
                    .map(|t| t.split_whitespace().map_while(|n| n.parse().ok()).collect())
                    .unwrap_or_default(),
                memory_kb: file("meminfo").as_deref().and_then(memory_kb),
            }
        })
        .collect()
}

/// `Node 0 MemTotal:       1048576 kB`
fn memory_kb(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|l| l.contains("MemTotal:"))?;
    let (_, value) = line.split_once("MemTotal:")?;
    value.split_whitespace().next()?.parse().ok()
}

/// Broken tables list the same CPUs in several nodes; only the first of them is kept.
fn merge_copies(import: &mut Import<'_>, described: &mut Vec<Described>) {
    let mut kept: Vec<Described> = Vec::new();
    let mut dropped: Vec<NodeId> = Vec::new();
    for node in described.drain(..) {
        if !node.cpus.is_empty() && kept.iter().any(|k| k.cpus == node.cpus) {
            dropped.push(node.id);
        } else {
            kept.push(node);
        }
    }
    *described = kept;
    if !dropped.is_empty() {
        import.odd(
            format!("nodes {dropped:?} list the same CPUs as a node before them"),
            "they were left out".to_owned(),
        );
    }
}

fn place_cpus(
    import: &mut Import<'_>,
    sets: &CpuSets,
    described: &[Described],
) -> BTreeMap<CpuId, NodeId> {
    let mut of_cpu = BTreeMap::new();
    let (mut several, mut none) = (CpuMask::new(1), CpuMask::new(1));
    for cpu in &sets.possible {
        let mut holders = described.iter().filter(|n| n.cpus.test(cpu));
        let first = holders.next().map(|n| n.id);
        let one = CpuMask::from_cpus(cpu.index() + 1, [cpu]);
        let chosen = if holders.next().is_some() {
            several.or_with(&one);
            linked(import, cpu, described).or(first)
        } else {
            first.or_else(|| linked(import, cpu, described))
        };
        match chosen {
            Some(node) => {
                of_cpu.insert(cpu, node);
            }
            None if sets.online.test(cpu) => none.or_with(&one),
            None => {}
        }
    }
    if !several.is_empty() {
        import.odd(
            format!("CPUs {several} are listed by several nodes"),
            "each was put on the node that its own folder names, else on the lowest".to_owned(),
        );
    }
    if !none.is_empty() {
        let first = described.first().map_or(NodeId(0), |n| n.id);
        import.odd(
            format!("CPUs {none} are online and on no node that is described"),
            format!("they were put on node {first}"),
        );
    }
    of_cpu
}

/// The node that the CPU's own folder names (`cpuN/nodeM`).
fn linked(import: &Import<'_>, cpu: CpuId, described: &[Described]) -> Option<NodeId> {
    described
        .iter()
        .map(|n| n.id)
        .find(|id| import.tree.exists(&format!("{CPU}/cpu{cpu}/node{id}")))
}

/// Rows with one distance per node that is kept. `ids` are the nodes before any was left out, in
/// the order of the columns.
fn distances(import: &mut Import<'_>, ids: &[NodeId], described: Vec<Described>) -> Vec<Node> {
    let kept: Vec<NodeId> = described.iter().map(|n| n.id).collect();
    let absent = described.iter().all(|n| n.row.is_empty());
    let mut broken: Vec<NodeId> = Vec::new();
    let nodes: Vec<Node> = described
        .into_iter()
        .map(|node| {
            let column = |id: &NodeId| ids.iter().position(|i| i == id);
            let row: Option<Vec<u32>> = if node.row.len() == ids.len() {
                kept.iter()
                    .map(|id| node.row.get(column(id)?).copied())
                    .collect()
            } else if kept.iter().all(|id| id.index() < node.row.len()) {
                // Nodes are missing from the dump: their columns are still there.
                kept.iter()
                    .map(|id| node.row.get(id.index()).copied())
                    .collect()
            } else {
                None
            };
            if row.is_none() || node.row.len() != ids.len() {
                broken.push(node.id);
            }
            let default = || kept.iter().map(|id| if *id == node.id { 10 } else { 20 });
            Node {
                id: node.id,
                memory_kb: node.memory_kb,
                distances: row.unwrap_or_else(|| default().collect()),
            }
        })
        .collect();
    if absent && nodes.len() > 1 {
        import.odd(
            "no node has a distance file".to_owned(),
            "10 to itself and 20 to the others was assumed, as kernels do without a table"
                .to_owned(),
        );
    } else if !absent && !broken.is_empty() {
        import.odd(
            format!(
                "the distances of nodes {broken:?} are not one number per node ({} nodes)",
                ids.len()
            ),
            "columns were taken by node number where there are enough, else 10 and 20 assumed"
                .to_owned(),
        );
    }
    nodes
}
