//! Short specs: a machine in one word.
//!
//! ```text
//! 2s:20c:2t                       2 sockets of 20 cores of 2 threads
//! 2s:20c:8t;arch=ppc64            the same with SMT8, numbered as on POWER
//! 2s:4n:2l:8k:4c;arch=arm64       2 sockets of 4 nodes of 2 LLCs of 8 clusters of 4 cores
//! 1s:(6c@P:2t+2k:4c@E)            6 P cores with SMT2, and 2 clusters of 4 E cores
//! 1s:(4c@325E+3c@821M+1c@1024P);arch=arm64
//! 2s:2n:10c:2t;distance=12/21;isolated=2-3
//! ```
//!
//! # Grammar
//!
//! ```text
//! spec     = level { ":" level } [ ":" "(" part { "+" part } ")" ] { ";" modifier }
//! part     = level { ":" level }
//! level    = COUNT LETTER [ "@" [CAPACITY] [KIND] ]
//! LETTER   = s (sockets) | n (NUMA nodes) | d (dies) | l (last-level caches) | k (clusters)
//!          | c (cores) | t (threads)
//! KIND     = P (performance) | M (medium) | E (efficiency)
//! ```
//!
//! Each count is per object of the level before it. `s`, `n`, `d`, `l` and `k` may come in any order
//! (`1n:2s:8c` is one node over two sockets), each once, then `c`, then `t`. What is left out:
//! one socket; one node per socket; one LLC per die, or per socket without dies; no clusters (on
//! x86 the cluster is the sharers of the L2, so it is then the core); one core; one thread.
//! Modifiers may also follow a comma when they begin with a letter, so that most specs need no
//! quotes in a shell: `2s:20c:2t,distance=21`.
//!
//! | modifier | meaning | default |
//! |---|---|---|
//! | `arch=x86\|arm64\|ppc64\|s390\|riscv\|other` | rules for the level masks | `x86`; `ppc64` when a core has 8 threads |
//! | `numbering=cores-first\|threads-adjacent\|nodes-interleaved` | CPU numbers | `cores-first` on x86, else `threads-adjacent` |
//! | `distance=FAR`, `distance=NEAR/FAR` | distance of nodes: all, or on one socket / on different sockets | 20 |
//! | `distances=10/21_21/10` | the whole table, rows separated by `_` | |
//! | `epyc` | AMD EPYC: reclaim distance 32 | off |
//! | `llc=none` | the last-level cache is not described | |
//! | `memory-nodes=N` | N further nodes without CPUs | 0 |
//! | `offline=LIST`, `isolated=LIST` | CPU lists such as `0-3,8` | empty |
//! | `l1d=`, `l1i=`, `l2=`, `l3=` SIZE | caches per core, core, cluster or core, LLC (`32K`, `1M`) | not described |
//! | `line=BYTES` | cache line | 64 |
//! | `capacity-source=stated\|frequency\|core-kind` | where capacities after `@` come from | `stated`; kinds alone: `core-kind`, with 1024, 820, 615 |
//! | `boot-smt=yes\|no` | was SMT usable at boot | as the CPUs say |
//! | `name=TEXT` | name | the spec |

use fairlab_topology::{Arch, CapacitySource, CoreKind, Machine};
use fairlab_units::CpuMask;

use crate::MachineLoadError;
use crate::error::shorten;
use crate::shape::{Branch, Distances, Level, Numbering, Shape};

/// Does `text` look like a short spec (a number, then a level letter)?
pub(crate) fn looks_like(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.as_bytes().get(digits..).unwrap_or_default();
    let letter = rest.first().is_some_and(u8::is_ascii_alphabetic);
    let end = rest.get(1).is_none_or(|c| b":;,@".contains(c));
    digits > 0 && letter && end || text.starts_with('(')
}

/// Reads a short spec.
///
/// # Errors
/// When `text` does not follow the grammar; the message names the item and what is accepted.
pub fn parse(text: &str) -> Result<Machine, MachineLoadError> {
    let error = |problem: String| MachineLoadError::Spec {
        notation: "short spec",
        text: shorten(text),
        problem,
    };
    if text.len() > 64 * 1024 {
        return Err(error("longer than 64 KiB".to_owned()));
    }
    shape(text).and_then(Shape::build).map_err(error)
}

/// The shape that `text` describes.
pub(crate) fn shape(text: &str) -> Result<Shape, String> {
    let (levels, modifiers) = split(text);
    let mut shape = Shape {
        name: text.to_owned(),
        source: "short spec".to_owned(),
        tree: tree(levels)?,
        ..Shape::default()
    };
    let mut arch = None;
    for modifier in modifiers {
        apply(&mut shape, &mut arch, modifier)?;
    }
    shape.arch = arch.unwrap_or(if widest_core(&shape.tree) >= 8 {
        Arch::Ppc64
    } else {
        Arch::X86
    });
    Ok(shape)
}

/// Cuts the levels from the modifiers: at every `;`, and at a `,` that a letter follows.
fn split(text: &str) -> (&str, Vec<&str>) {
    let bytes = text.as_bytes();
    let mut parts = Vec::new();
    let mut start = 0;
    for (i, byte) in bytes.iter().enumerate() {
        let letter_follows = bytes.get(i + 1).is_some_and(u8::is_ascii_alphabetic);
        if *byte == b';' || *byte == b',' && letter_follows {
            parts.push(&text[start..i]);
            start = i + 1;
        }
    }
    parts.push(&text[start..]);
    let levels = parts.remove(0);
    (levels, parts)
}

fn tree(text: &str) -> Result<Vec<Branch>, String> {
    let (shared, parts) = match text.split_once('(') {
        None => (text, Vec::new()),
        Some((shared, rest)) => {
            let inside = rest
                .strip_suffix(')')
                .ok_or("a group in parentheses must be the last item, and be closed")?;
            if inside.contains(['(', ')']) {
                return Err("parentheses cannot be nested".to_owned());
            }
            (shared.trim_end_matches(':'), inside.split('+').collect())
        }
    };
    let shared: Vec<Branch> = levels(shared)?;
    if let Some(below) = shared.iter().find(|b| b.level >= Level::Core)
        && !parts.is_empty()
    {
        return Err(format!(
            "`{}` cannot hold a group in parentheses; put cores and threads inside it",
            item_name(below)
        ));
    }
    let mut inside = Vec::new();
    for part in parts {
        let mut part = levels(part)?;
        if part.is_empty() {
            return Err("an empty part in parentheses; write them as (6c:2t+8c)".to_owned());
        }
        check_order(shared.iter().chain(&part))?;
        ensure_core(&mut part);
        inside.extend(nest(part, Vec::new()));
    }
    let mut shared = shared;
    check_order(shared.iter())?;
    if inside.is_empty() {
        if shared.is_empty() {
            return Err("it names no level".to_owned());
        }
        ensure_core(&mut shared);
    }
    Ok(nest(shared, inside))
}

fn ensure_core(levels: &mut Vec<Branch>) {
    let at = levels.iter().position(|b| b.level >= Level::Core);
    let missing = at.is_none_or(|i| levels[i].level == Level::Thread);
    if missing {
        levels.insert(at.unwrap_or(levels.len()), branch(Level::Core, 1));
    }
    if levels.last().is_some_and(|b| b.level == Level::Core) {
        levels.push(branch(Level::Thread, 1));
    }
}

fn branch(level: Level, count: u32) -> Branch {
    Branch {
        level,
        count,
        capacity: None,
        kind: None,
        inside: Vec::new(),
    }
}

fn nest(levels: Vec<Branch>, inside: Vec<Branch>) -> Vec<Branch> {
    levels.into_iter().rev().fold(inside, |inside, mut level| {
        level.inside = inside;
        vec![level]
    })
}

fn check_order<'a>(levels: impl Iterator<Item = &'a Branch>) -> Result<(), String> {
    let mut seen: Vec<Level> = Vec::new();
    for branch in levels {
        if seen.contains(&branch.level) {
            return Err(format!("level `{}` is given twice", letter(branch.level)));
        }
        let above = |level| seen.contains(&level);
        let late = above(Level::Thread)
            || above(Level::Core) && branch.level < Level::Core
            || branch.level == Level::Socket && above(Level::Die);
        if late {
            return Err(format!(
                "`{}` is in the wrong place; the order is s, n, d, l, k in any order (d within s), \
                 then c, then t",
                item_name(branch)
            ));
        }
        seen.push(branch.level);
    }
    Ok(())
}

fn letter(level: Level) -> char {
    match level {
        Level::Socket => 's',
        Level::Node => 'n',
        Level::Die => 'd',
        Level::Llc => 'l',
        Level::Cluster => 'k',
        Level::Core => 'c',
        Level::Thread => 't',
    }
}

fn item_name(branch: &Branch) -> String {
    format!("{}{}", branch.count, letter(branch.level))
}

fn levels(text: &str) -> Result<Vec<Branch>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    text.split(':').map(|item| level(item.trim())).collect()
}

fn level(item: &str) -> Result<Branch, String> {
    let wrong = |why: &str| {
        format!(
            "`{item}`: {why}; an item is a count and one of s (sockets), n (nodes), d (dies), l \
             (LLCs), k (clusters), c (cores), t (threads)"
        )
    };
    let (head, marks) = match item.split_once('@') {
        Some((head, marks)) => (head, Some(marks)),
        None => (item, None),
    };
    let digits = head.bytes().take_while(u8::is_ascii_digit).count();
    let (count, rest) = head.split_at(digits);
    if count.is_empty() {
        return Err(wrong("the count is missing"));
    }
    let count: u32 = count.parse().map_err(|_| wrong("the count is too large"))?;
    if count == 0 {
        return Err(wrong("the count must be at least 1"));
    }
    let level = match rest {
        "s" => Level::Socket,
        "n" => Level::Node,
        "d" => Level::Die,
        "l" => Level::Llc,
        "k" => Level::Cluster,
        "c" => Level::Core,
        "t" => Level::Thread,
        "" => return Err(wrong("the level letter is missing")),
        _ => return Err(wrong("unknown level letter")),
    };
    let mut result = branch(level, count);
    if let Some(marks) = marks {
        let digits = marks.bytes().take_while(u8::is_ascii_digit).count();
        let (capacity, kind) = marks.split_at(digits);
        if !capacity.is_empty() {
            let value: u32 = capacity.parse().unwrap_or(0);
            if !(1..=1024).contains(&value) {
                return Err(format!("`{item}`: a capacity is 1 to 1024"));
            }
            result.capacity = Some(value);
        }
        result.kind = match kind {
            "P" => Some(CoreKind::Performance),
            "M" => Some(CoreKind::Medium),
            "E" => Some(CoreKind::Efficiency),
            "" if !capacity.is_empty() => None,
            _ => {
                return Err(format!(
                    "`{item}`: after @ comes a capacity, a kind (P, M or E), or both, as in @821M"
                ));
            }
        };
    }
    Ok(result)
}

fn widest_core(tree: &[Branch]) -> u32 {
    tree.iter()
        .map(|b| match b.level {
            Level::Thread => b.count,
            _ => widest_core(&b.inside),
        })
        .max()
        .unwrap_or(1)
}

fn apply(shape: &mut Shape, arch: &mut Option<Arch>, modifier: &str) -> Result<(), String> {
    let (key, value) = match modifier.split_once('=') {
        Some((key, value)) => (key.trim(), value.trim()),
        None => (modifier.trim(), ""),
    };
    let wrong = |accepted: &str| Err(format!("`{key}={value}`: {accepted}"));
    match key {
        "" => {}
        "arch" => {
            *arch = Some(match value {
                "x86" | "x86_64" => Arch::X86,
                "arm64" | "aarch64" => Arch::Arm64,
                "ppc64" | "ppc64le" => Arch::Ppc64,
                "s390" | "s390x" => Arch::S390,
                "riscv" | "riscv64" => Arch::RiscV,
                "other" => Arch::Other,
                _ => return wrong("accepted are x86, arm64, ppc64, s390, riscv, other"),
            });
        }
        "numbering" => {
            shape.numbering = Some(match value {
                "cores-first" => Numbering::CoresFirst,
                "threads-adjacent" => Numbering::ThreadsAdjacent,
                "nodes-interleaved" => Numbering::NodesInterleaved,
                _ => {
                    return wrong("accepted are cores-first, threads-adjacent, nodes-interleaved");
                }
            });
        }
        "distance" => {
            let numbers: Option<Vec<u32>> = value.split('/').map(distance).collect();
            shape.distances = match numbers.as_deref() {
                Some([far]) => Distances::BySocket(*far, *far),
                Some([near, far]) => Distances::BySocket(*near, *far),
                _ => return wrong("a distance is 10 to 255, as in distance=21 or distance=12/21"),
            };
        }
        "distances" => {
            let rows: Option<Vec<Vec<u32>>> = value
                .split('_')
                .map(|row| row.split('/').map(distance).collect())
                .collect();
            match rows {
                Some(rows) => shape.distances = Distances::Table(rows),
                None => return wrong("a table of numbers 10 to 255, as in distances=10/21_21/10"),
            }
        }
        "epyc" => match value {
            "" | "yes" => shape.amd_epyc = true,
            "no" => shape.amd_epyc = false,
            _ => return wrong("accepted are epyc, epyc=yes, epyc=no"),
        },
        "llc" => match value {
            "none" => shape.llc_unknown = true,
            _ => return wrong("only llc=none is accepted; count LLCs with the level l"),
        },
        "memory-nodes" => match value.parse() {
            Ok(count) if count <= 1024 => shape.memory_only_nodes = count,
            _ => return wrong("a number up to 1024 is wanted"),
        },
        "offline" | "isolated" => {
            let mask = CpuMask::parse_list(value, Machine::MAX_CPUS)
                .map_err(|e| format!("`{key}={value}`: {e}"))?;
            if key == "offline" {
                shape.offline = mask;
            } else {
                shape.isolated = mask;
            }
        }
        "l1d" | "l1i" | "l2" | "l3" => {
            let Some(bytes) = size(value) else {
                return wrong("a size is wanted, as 32K or 1M");
            };
            match key {
                "l1d" => shape.sizes.l1d = bytes,
                "l1i" => shape.sizes.l1i = bytes,
                "l2" => shape.sizes.l2 = bytes,
                _ => shape.sizes.l3 = bytes,
            }
        }
        "line" => match value.parse() {
            Ok(bytes) if (1..=65536).contains(&bytes) => shape.sizes.line = bytes,
            _ => return wrong("a number of bytes is wanted"),
        },
        "capacity-source" => {
            shape.capacity_source = match value {
                "stated" => CapacitySource::Stated,
                "frequency" => CapacitySource::Frequency,
                "core-kind" => CapacitySource::CoreKind,
                _ => return wrong("accepted are stated, frequency, core-kind"),
            };
        }
        "boot-smt" => match value {
            "yes" => shape.boot_smt = Some(true),
            "no" => shape.boot_smt = Some(false),
            _ => return wrong("accepted are yes and no"),
        },
        "name" => value.clone_into(&mut shape.name),
        _ => {
            return Err(format!(
                "unknown modifier `{key}`; accepted are arch, numbering, distance, distances, epyc, \
                 llc, memory-nodes, offline, isolated, l1d, l1i, l2, l3, line, capacity-source, boot-smt, name"
            ));
        }
    }
    Ok(())
}

/// A distance that kernels accept.
pub(crate) fn distance(text: &str) -> Option<u32> {
    let value: u32 = text.trim().parse().ok()?;
    (10..=255).contains(&value).then_some(value)
}

/// A size such as `32K`, `1M`, `35.75M` is not accepted: whole numbers only.
pub(crate) fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let unit = unit.trim().trim_end_matches("iB").trim_end_matches('B');
    let scale = match unit {
        "" => 1,
        "K" | "k" => 1 << 10,
        "M" | "m" => 1 << 20,
        "G" | "g" => 1 << 30,
        "T" | "t" => 1 << 40,
        _ => return None,
    };
    number.checked_mul(scale)
}
