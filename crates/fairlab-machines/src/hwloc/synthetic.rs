//! hwloc synthetic strings: `package:2 l3:1 core:4 pu:2`, `[numa] pack:2 core:8 pu:1`, `2 4 2`.
//!
//! | type | level |
//! |---|---|
//! | `package`, `pack`, `socket` | socket |
//! | `numa`, `numanode`, `node` | node; also in brackets, attached to the level before it |
//! | `die` | die |
//! | `l3`, `l3cache`, and the highest other cache level from `l2` up when there is no `l3` | last-level cache |
//! | `l2`, `l2cache` below an L3 | cluster, on x86 |
//! | `group` | cluster when it is below a last-level cache, else nothing |
//! | `core`, `pu` | core, thread |
//! | other caches (`l1`, `l1i`, `l1d`, `l2` elsewhere) | nothing but their size |
//!
//! Attributes in parentheses: `size`, `memory` are read, `indexes=` renumbers PUs or nodes when it is
//! a plain list of numbers; other attributes are ignored, as by hwloc itself. Untyped strings such as
//! `2 4 2` are what hwloc makes of them: PU, core, package, then groups from the right.

use fairlab_topology::{Arch, Machine, Oddity};
use fairlab_units::CpuId;

use crate::MachineLoadError;
use crate::error::shorten;
use crate::shape::{Branch, Level, Numbering, Shape};
use crate::short::size;

/// One item of the string.
#[derive(Debug)]
struct Item {
    kind: Kind,
    count: u32,
    size: u64,
    indexes: Option<Vec<u32>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Package,
    Node,
    Die,
    Cache(u8, Content),
    Group,
    Core,
    Pu,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Data,
    Instruction,
}

/// Does `text` look like a synthetic string: words of the form `type:count`, or several counts?
pub(crate) fn looks_like(text: &str) -> bool {
    let text = text.trim();
    if text.starts_with('[') {
        return true;
    }
    let first = text.split_whitespace().next().unwrap_or_default();
    let first = first.split('(').next().unwrap_or_default();
    match first.split_once(':') {
        Some((word, count)) => {
            kind(word).is_some() && count.starts_with(|c: char| c.is_ascii_digit())
        }
        None => {
            let mut words = text.split_whitespace();
            words.clone().count() > 1 && words.all(|w| w.bytes().all(|b| b.is_ascii_digit()))
        }
    }
}

/// Reads a synthetic string.
///
/// # Errors
/// When an item is not understood, or the items do not make a machine.
pub(crate) fn parse(text: &str) -> Result<Machine, MachineLoadError> {
    let error = |problem: String| MachineLoadError::Spec {
        notation: "hwloc synthetic string",
        text: shorten(text),
        problem,
    };
    if text.len() > 64 * 1024 {
        return Err(error("longer than 64 KiB".to_owned()));
    }
    build(text).map_err(error)
}

fn kind(word: &str) -> Option<Kind> {
    let word = word.to_ascii_lowercase();
    Some(match word.as_str() {
        "package" | "pack" | "socket" => Kind::Package,
        "numa" | "numanode" | "node" => Kind::Node,
        "die" => Kind::Die,
        "group" => Kind::Group,
        "core" => Kind::Core,
        "pu" => Kind::Pu,
        _ => {
            let rest = word.strip_prefix('l')?;
            let rest = rest.strip_suffix("cache").unwrap_or(rest);
            let (level, content) = match rest.split_at_checked(1)? {
                (level, "" | "d" | "u") => (level, Content::Data),
                (level, "i") => (level, Content::Instruction),
                _ => return None,
            };
            Kind::Cache(level.parse().ok().filter(|l| (1..=5).contains(l))?, content)
        }
    })
}

/// Cuts at spaces outside parentheses and brackets.
fn words(text: &str) -> Result<Vec<&str>, String> {
    let mut words = Vec::new();
    let mut depth = 0_i32;
    let mut start = None;
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return Err(format!(
                "a closing bracket without an opening one at character {}",
                i + 1
            ));
        }
        if c.is_whitespace() && depth == 0 {
            if let Some(s) = start.take() {
                words.push(&text[s..i]);
            }
        } else if start.is_none() {
            start = Some(i);
        }
    }
    if depth != 0 {
        return Err("a bracket is not closed".to_owned());
    }
    if let Some(s) = start {
        words.push(&text[s..]);
    }
    Ok(words)
}

fn item(word: &str) -> Result<Item, String> {
    let (bracketed, word) = match word.strip_prefix('[').and_then(|w| w.strip_suffix(']')) {
        Some(inner) => (true, inner),
        None => (false, word),
    };
    let (head, attributes) = match word.split_once('(') {
        Some((head, rest)) => (head, rest.strip_suffix(')').unwrap_or(rest)),
        None => (word, ""),
    };
    let (name, count) = match head.split_once(':') {
        Some((name, count)) => (name, count),
        None if bracketed => (head, "1"),
        None => {
            return Err(format!(
                "`{word}` is not of the form type:count, such as core:4"
            ));
        }
    };
    let kind = kind(name).ok_or_else(|| {
        format!(
            "`{name}` is no known type; known are package, numanode, die, l1 to l5, l1i, group, core, pu"
        )
    })?;
    let count: u32 = count
        .parse()
        .ok()
        .filter(|c| *c > 0)
        .ok_or_else(|| format!("`{head}`: `{count}` is no count of 1 or more"))?;
    let mut item = Item {
        kind,
        count,
        size: 0,
        indexes: None,
    };
    for attribute in attributes.split_whitespace() {
        let (key, value) = attribute.split_once('=').unwrap_or((attribute, ""));
        match key {
            "size" | "memory" => {
                item.size = size(value)
                    .ok_or_else(|| format!("`{attribute}`: a size is wanted, as 32K or 16MB"))?;
            }
            "indexes" => {
                let numbers: Option<Vec<u32>> = value.split(',').map(|n| n.parse().ok()).collect();
                item.indexes = Some(numbers.ok_or_else(|| {
                    format!(
                        "`{attribute}`: only a plain list of numbers is read here, not hwloc's \
                         interleaving notation"
                    )
                })?);
            }
            _ => {}
        }
    }
    Ok(item)
}

/// `2 4 2`: from the right PU, core, package, groups.
fn untyped(counts: &[&str]) -> Result<Vec<Item>, String> {
    let kinds = [Kind::Pu, Kind::Core, Kind::Package];
    counts
        .iter()
        .rev()
        .enumerate()
        .map(|(i, count)| {
            let count = count
                .parse()
                .ok()
                .filter(|c| *c > 0)
                .ok_or_else(|| format!("`{count}` is no count of 1 or more"))?;
            Ok(Item {
                kind: kinds.get(i).copied().unwrap_or(Kind::Group),
                count,
                size: 0,
                indexes: None,
            })
        })
        .rev()
        .collect()
}

fn build(text: &str) -> Result<Machine, String> {
    let words = words(text.trim())?;
    let items = if words.iter().all(|w| w.bytes().all(|b| b.is_ascii_digit())) {
        untyped(&words)?
    } else {
        words.iter().map(|w| item(w)).collect::<Result<_, _>>()?
    };
    if items.last().is_none_or(|i| i.kind != Kind::Pu) {
        return Err("the last item must be pu, as in core:4 pu:2".to_owned());
    }
    let llc_level = items
        .iter()
        .filter_map(|i| match i.kind {
            Kind::Cache(level, Content::Data) if level > 1 => Some(level),
            _ => None,
        })
        .max();
    let mut shape = Shape {
        name: text.to_owned(),
        source: "hwloc synthetic string".to_owned(),
        numbering: Some(Numbering::ThreadsAdjacent),
        ..Shape::default()
    };
    let mut levels: Vec<(Level, u32)> = Vec::new();
    let (mut pu_indexes, mut node_indexes) = (None, None);
    let mut llc_seen = false;
    // Counts of items that are no level of ours multiply the next one.
    let mut pending = 1_u32;
    for item in &items {
        let level = match item.kind {
            Kind::Package => Some(Level::Socket),
            Kind::Node => {
                node_indexes = item.indexes.clone();
                Some(Level::Node)
            }
            Kind::Die => Some(Level::Die),
            Kind::Cache(level, Content::Data) if Some(level) == llc_level => {
                shape.sizes.l3 = item.size;
                llc_seen = true;
                Some(Level::Llc)
            }
            Kind::Cache(2, Content::Data) => {
                shape.sizes.l2 = item.size;
                Some(Level::Cluster)
            }
            Kind::Cache(1, Content::Data) => {
                shape.sizes.l1d = item.size;
                None
            }
            Kind::Cache(1, Content::Instruction) => {
                shape.sizes.l1i = item.size;
                None
            }
            Kind::Cache(..) => None,
            Kind::Group if llc_seen => Some(Level::Cluster),
            Kind::Group => None,
            Kind::Core => Some(Level::Core),
            Kind::Pu => {
                pu_indexes = item.indexes.clone();
                Some(Level::Thread)
            }
        };
        let count = item
            .count
            .checked_mul(pending)
            .ok_or("the counts are too large")?;
        pending = 1;
        match level {
            Some(level) if levels.iter().any(|(l, _)| *l == level) => {
                if level != Level::Cluster {
                    return Err(format!("two items for the same level ({:?})", item.kind));
                }
                pending = count;
            }
            Some(level) => levels.push((level, count)),
            None => pending = count,
        }
    }
    if !levels.iter().any(|(l, _)| *l == Level::Core) {
        // Without cores every PU is one.
        if let Some(last) = levels.last_mut() {
            *last = (Level::Core, last.1);
        }
    }
    // Without a node item hwloc attaches one node to the whole machine.
    if !levels.iter().any(|(l, _)| *l == Level::Node) {
        levels.insert(0, (Level::Node, 1));
    }
    shape.arch = Arch::X86;
    shape.tree = levels
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
        });
    let mut machine = shape.build()?;
    if llc_level.is_none() {
        let mut builder = machine.to_builder();
        builder.oddities.push(Oddity {
            what: "the string has no cache above L1".to_owned(),
            action: "one last-level cache per package (per die where there are dies) was assumed"
                .to_owned(),
        });
        machine = builder.build().map_err(|e| e.to_string())?;
    }
    renumber(machine, pu_indexes, node_indexes)
}

/// Applies `indexes=` of PUs and nodes: the n-th object gets the n-th number.
fn renumber(
    machine: Machine,
    pus: Option<Vec<u32>>,
    nodes: Option<Vec<u32>>,
) -> Result<Machine, String> {
    if pus.is_none() && nodes.is_none() {
        return Ok(machine);
    }
    let mut builder = machine.to_builder();
    let check = |found: usize, wanted: usize, what: &str| {
        if found == wanted {
            Ok(())
        } else {
            Err(format!(
                "indexes of {what}: {found} numbers for {wanted} objects"
            ))
        }
    };
    if let Some(nodes) = nodes {
        check(nodes.len(), builder.nodes.len(), "nodes")?;
        for node in &mut builder.nodes {
            node.id.0 = nodes[node.id.index()];
        }
        for cpu in &mut builder.cpus {
            cpu.node.0 = nodes[cpu.node.index()];
        }
    }
    if let Some(pus) = pus {
        check(pus.len(), builder.cpus.len(), "PUs")?;
        if let Some(high) = pus.iter().find(|p| **p as usize >= Machine::MAX_CPUS) {
            return Err(format!(
                "PU {high}: numbers below {} are accepted",
                Machine::MAX_CPUS
            ));
        }
        for cpu in &mut builder.cpus {
            cpu.id.0 = pus[cpu.id.index()];
        }
        let room = pus.iter().max().map_or(1, |m| *m as usize + 1);
        for cache in &mut builder.caches {
            let cpus = cache.cpus.iter().map(|c| CpuId(pus[c.index()]));
            cache.cpus = fairlab_units::CpuMask::from_cpus(room, cpus);
        }
    }
    builder.build().map_err(|e| e.to_string())
}
