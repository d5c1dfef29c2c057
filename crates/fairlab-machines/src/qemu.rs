//! QEMU options: `-smp 16,sockets=2,dies=1,clusters=1,cores=4,threads=2 -numa node,cpus=0-7,nodeid=0
//! -numa dist,src=0,dst=1,val=20`.
//!
//! What is left out is filled in as QEMU does since 6.2: cores before sockets. Threads are numbered
//! adjacently. Without `-numa node` there is one node; CPUs that no node names go to nodes in turn by
//! socket, as QEMU does. `clusters` are clusters of Arm guests; `maxcpus` above the number of CPUs
//! gives offline CPUs. `-numa cpu,node-id=0,socket-id=0` names CPUs by position. The guest sees one L3
//! per socket (per die where dies are given), as with `host-cache-info=off` and `l3-cache=on`.

use std::collections::BTreeMap;

use fairlab_topology::{Arch, Machine, Node};
use fairlab_units::{CpuId, CpuMask, NodeId};

use crate::MachineLoadError;
use crate::error::shorten;
use crate::shape::{Branch, Level, Numbering, Shape};
use crate::short::{distance, size};

pub(crate) fn looks_like(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("-smp") || text.starts_with("-numa") || text.contains(" -smp ")
}

/// Reads QEMU options; options other than `-smp`, `-numa`, `-m`, `-machine` and `-M` are ignored.
///
/// # Errors
/// When an option is not understood, or the options contradict each other.
pub(crate) fn parse(text: &str) -> Result<Machine, MachineLoadError> {
    let error = |problem: String| MachineLoadError::Spec {
        notation: "QEMU options",
        text: shorten(text),
        problem,
    };
    if text.len() > 64 * 1024 {
        return Err(error("longer than 64 KiB".to_owned()));
    }
    build(text).map_err(error)
}

#[derive(Default)]
struct Smp {
    cpus: Option<u32>,
    max_cpus: Option<u32>,
    counts: BTreeMap<&'static str, u32>,
}

const COUNTS: [&str; 7] = [
    "drawers", "books", "sockets", "dies", "clusters", "cores", "threads",
];

#[derive(Default)]
struct Numa {
    nodes: BTreeMap<u32, NumaNode>,
    /// `-numa cpu`: node, then socket, die, cluster, core, thread where given.
    places: Vec<(u32, BTreeMap<String, u32>)>,
    distances: BTreeMap<(u32, u32), u32>,
}

#[derive(Default)]
struct NumaNode {
    cpus: Vec<CpuMask>,
    memory_kb: Option<u64>,
}

fn build(text: &str) -> Result<Machine, String> {
    let mut smp = Smp::default();
    let mut numa = Numa::default();
    let mut arch = Arch::X86;
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let argument = match word {
            "-smp" | "-numa" | "-machine" | "-M" => words
                .next()
                .ok_or_else(|| format!("`{word}` needs an argument"))?,
            _ => continue,
        };
        match word {
            "-smp" => read_smp(argument, &mut smp)?,
            "-numa" => read_numa(argument, &mut numa)?,
            _ if argument.starts_with("virt") => arch = Arch::Arm64,
            _ if argument.starts_with("pseries") || argument.starts_with("powernv") => {
                arch = Arch::Ppc64;
            }
            _ if argument.starts_with("s390") => arch = Arch::S390,
            _ => {}
        }
    }
    let layout = smp.complete()?;
    let total = layout.total();
    let offline = CpuMask::from_cpus(total as usize, (layout.cpus..total).map(CpuId));
    let shape = Shape {
        name: text.to_owned(),
        source: "QEMU options".to_owned(),
        tree: layout.tree(arch),
        arch,
        numbering: Some(Numbering::ThreadsAdjacent),
        offline,
        ..Shape::default()
    };
    let machine = shape.build()?;
    place(machine, &layout, &numa)
}

fn read_smp(argument: &str, smp: &mut Smp) -> Result<(), String> {
    for (i, part) in argument.split(',').enumerate() {
        let (key, value) = match part.split_once('=') {
            Some(pair) => pair,
            None if i == 0 => ("cpus", part),
            None => return Err(format!("-smp: `{part}` is not of the form key=value")),
        };
        let number = value
            .parse()
            .ok()
            .filter(|n| *n > 0)
            .ok_or_else(|| format!("-smp: `{part}`: a number of 1 or more is wanted"))?;
        match key {
            "cpus" => smp.cpus = Some(number),
            "maxcpus" => smp.max_cpus = Some(number),
            _ => {
                let name = COUNTS.iter().find(|c| **c == key).ok_or_else(|| {
                    format!(
                        "-smp: unknown key `{key}`; known are cpus, maxcpus, {}",
                        COUNTS.join(", ")
                    )
                })?;
                smp.counts.insert(name, number);
            }
        }
    }
    Ok(())
}

/// The counts after QEMU's defaults.
struct Layout {
    cpus: u32,
    counts: BTreeMap<&'static str, u32>,
    /// Levels that the options name.
    named: Vec<&'static str>,
}

impl Smp {
    fn complete(self) -> Result<Layout, String> {
        let named: Vec<&'static str> = self.counts.keys().copied().collect();
        let mut counts = self.counts;
        let given = |c: &BTreeMap<&str, u32>, key: &str| c.get(key).copied();
        for key in ["drawers", "books", "dies", "clusters", "threads"] {
            counts.entry(key).or_insert(1);
        }
        let product = |c: &BTreeMap<&str, u32>| {
            c.values()
                .try_fold(1_u32, |product, n| product.checked_mul(*n))
                .filter(|p| *p as usize <= Machine::MAX_CPUS)
                .ok_or_else(|| format!("-smp: more than {} CPUs, the limit", Machine::MAX_CPUS))
        };
        let wanted = self.max_cpus.or(self.cpus);
        let fixed = product(&counts)?;
        match (given(&counts, "sockets"), given(&counts, "cores"), wanted) {
            (None, None, wanted) => {
                counts.insert("sockets", 1);
                counts.insert("cores", wanted.unwrap_or(fixed).div_ceil(fixed).max(1));
            }
            (None, Some(_), wanted) => {
                counts.insert("sockets", (wanted.unwrap_or(fixed) / fixed).max(1));
            }
            (Some(_), None, wanted) => {
                counts.insert("cores", (wanted.unwrap_or(fixed) / fixed).max(1));
            }
            (Some(_), Some(_), _) => {}
        }
        let total = product(&counts)?;
        let cpus = self.cpus.unwrap_or(total);
        if wanted.is_some_and(|w| w != total) || cpus > total {
            let list: Vec<String> = COUNTS
                .iter()
                .filter_map(|c| Some(format!("{c} ({})", counts.get(c)?)))
                .collect();
            return Err(format!(
                "-smp: the product of {} is {total}, not the {} CPUs wanted (maxcpus)",
                list.join(" * "),
                wanted.unwrap_or(cpus)
            ));
        }
        Ok(Layout {
            cpus,
            counts,
            named,
        })
    }
}

impl Layout {
    fn count(&self, key: &str) -> u32 {
        self.counts.get(key).copied().unwrap_or(1)
    }

    fn total(&self) -> u32 {
        self.counts.values().product()
    }

    fn tree(&self, arch: Arch) -> Vec<Branch> {
        let sockets = self.count("drawers") * self.count("books") * self.count("sockets");
        // One node for the time being: -numa decides later.
        let mut levels = vec![(Level::Node, 1), (Level::Socket, sockets)];
        if self.named.contains(&"dies") {
            levels.push((Level::Die, self.count("dies")));
        }
        // On x86 a module of cores shares nothing that schedulers see.
        let clusters = self.count("clusters");
        if arch != Arch::X86 && self.named.contains(&"clusters") {
            levels.push((Level::Cluster, clusters));
            levels.push((Level::Core, self.count("cores")));
        } else {
            levels.push((Level::Core, clusters * self.count("cores")));
        }
        levels.push((Level::Thread, self.count("threads")));
        levels
            .iter()
            .rev()
            .fold(Vec::new(), |inside, (level, count)| {
                vec![Branch {
                    level: *level,
                    count: *count,
                    capacity: None,
                    kind: None,
                    inside,
                }]
            })
    }

    /// Position of a CPU at each level, as `-numa cpu` names it.
    fn position(&self, cpu: u32) -> BTreeMap<&'static str, u32> {
        let mut rest = cpu;
        let mut position = BTreeMap::new();
        for (key, name) in [
            ("threads", "thread-id"),
            ("cores", "core-id"),
            ("clusters", "cluster-id"),
            ("dies", "die-id"),
            ("sockets", "socket-id"),
            ("books", "book-id"),
            ("drawers", "drawer-id"),
        ] {
            let count = self.count(key);
            position.insert(name, rest % count);
            rest /= count;
        }
        position
    }
}

fn read_numa(argument: &str, numa: &mut Numa) -> Result<(), String> {
    let mut parts = argument.split(',').peekable();
    let what = parts.next().unwrap_or_default();
    let mut fields: Vec<(&str, String)> = Vec::new();
    for part in parts {
        match part.split_once('=') {
            Some((key, value)) => fields.push((key, value.to_owned())),
            // `cpus=0-3,8`: a list goes on.
            None => match fields.last_mut() {
                Some((_, value)) => *value = format!("{value},{part}"),
                None => {
                    return Err(format!(
                        "-numa {what}: `{part}` is not of the form key=value"
                    ));
                }
            },
        }
    }
    let number = |key: &str| -> Result<Option<u32>, String> {
        let Some((_, value)) = fields.iter().find(|(k, _)| *k == key) else {
            return Ok(None);
        };
        value
            .parse()
            .map(Some)
            .map_err(|_| format!("-numa {what}: `{key}={value}`: a number is wanted"))
    };
    let needed =
        |key: &str| number(key)?.ok_or_else(|| format!("-numa {what}: `{key}=` is missing"));
    match what {
        "node" => {
            let next = numa.nodes.keys().last().map_or(0, |n| n + 1);
            let id = number("nodeid")?.unwrap_or(next);
            if id > 1023 {
                return Err(format!("-numa node: nodeid {id} is too high, at most 1023"));
            }
            let node = numa.nodes.entry(id).or_default();
            for (key, value) in &fields {
                match *key {
                    "cpus" => node.cpus.push(
                        CpuMask::parse_list(value, Machine::MAX_CPUS)
                            .map_err(|e| format!("-numa node: cpus={value}: {e}"))?,
                    ),
                    "mem" => {
                        // Without a unit QEMU means MiB.
                        let bytes = match value.parse::<u64>() {
                            Ok(mib) => mib.checked_mul(1 << 20),
                            Err(_) => size(value),
                        };
                        node.memory_kb = bytes.map(|b| b >> 10);
                    }
                    _ => {}
                }
            }
        }
        "dist" => {
            let (src, dst) = (needed("src")?, needed("dst")?);
            let value = needed("val")?;
            distance(&value.to_string())
                .ok_or_else(|| format!("-numa dist: val={value}: 10 to 255 is accepted"))?;
            numa.distances.insert((src, dst), value);
        }
        "cpu" => {
            let node = needed("node-id")?;
            let mut place = BTreeMap::new();
            for (key, value) in &fields {
                if *key != "node-id" {
                    let n = value
                        .parse()
                        .map_err(|_| format!("-numa cpu: `{key}={value}`: a number is wanted"))?;
                    place.insert((*key).to_owned(), n);
                }
            }
            numa.places.push((node, place));
        }
        "hmat-lb" | "hmat-cache" => {}
        _ => {
            return Err(format!(
                "-numa: unknown kind `{what}`; known are node, cpu, dist"
            ));
        }
    }
    Ok(())
}

fn place(machine: Machine, layout: &Layout, numa: &Numa) -> Result<Machine, String> {
    if numa.nodes.is_empty() {
        if !numa.distances.is_empty() || !numa.places.is_empty() {
            return Err("-numa dist or cpu without any -numa node".to_owned());
        }
        return Ok(machine);
    }
    let mut builder = machine.to_builder();
    let ids: Vec<u32> = numa.nodes.keys().copied().collect();
    let known = |id: u32| {
        numa.nodes
            .contains_key(&id)
            .then_some(())
            .ok_or_else(|| format!("-numa: node {id} is used but not given by -numa node"))
    };
    for (src, dst) in numa.distances.keys() {
        known(*src)?;
        known(*dst)?;
    }
    for (id, node) in &numa.nodes {
        for cpus in &node.cpus {
            if let Some(cpu) = cpus.last().filter(|c| c.0 >= layout.total()) {
                return Err(format!(
                    "-numa node {id}: CPU {cpu} does not exist, the CPUs are 0-{}",
                    layout.total() - 1
                ));
            }
        }
    }
    let explicit = numa.nodes.values().any(|n| !n.cpus.is_empty()) || !numa.places.is_empty();
    for cpu in &mut builder.cpus {
        let by_list = numa
            .nodes
            .iter()
            .filter(|(_, n)| n.cpus.iter().any(|m| m.test(cpu.id)))
            .map(|(id, _)| *id);
        let position = layout.position(cpu.id.0);
        let by_place = numa
            .places
            .iter()
            .filter(|(_, place)| {
                place
                    .iter()
                    .all(|(key, n)| position.get(key.as_str()) == Some(n))
            })
            .map(|(id, _)| *id);
        let mut holders: Vec<u32> = by_list.chain(by_place).collect();
        holders.dedup();
        if let [a, b, ..] = holders.as_slice() {
            return Err(format!(
                "-numa: CPU {} is given to nodes {a} and {b}",
                cpu.id
            ));
        }
        let socket = cpu.package.unwrap_or(0) as usize;
        let turn = if explicit {
            ids[0]
        } else {
            ids[socket % ids.len()]
        };
        let node = holders.first().copied().unwrap_or(turn);
        known(node)?;
        cpu.node = NodeId(node);
    }
    let distance = |a: u32, b: u32| {
        let stated = numa.distances.get(&(a, b)).or(numa.distances.get(&(b, a)));
        stated.copied().unwrap_or(if a == b { 10 } else { 20 })
    };
    builder.nodes = numa
        .nodes
        .iter()
        .map(|(id, node)| Node {
            id: NodeId(*id),
            memory_kb: node.memory_kb,
            distances: ids.iter().map(|other| distance(*id, *other)).collect(),
        })
        .collect();
    builder.build().map_err(|e| e.to_string())
}
