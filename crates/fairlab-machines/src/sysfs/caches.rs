//! Caches, and the last-level cache and cluster that follow from them.

use std::collections::BTreeMap;

use fairlab_topology::{Arch, Cache, CacheKind};
use fairlab_units::{CpuId, CpuMask};

use super::topology::Sharing;
use super::{CPU, Import};
use crate::archive::numbered;
use crate::groups::{self, Forms};
use crate::short::size;

pub(super) struct Caches {
    pub caches: Vec<Cache>,
    pub llc: BTreeMap<CpuId, u32>,
    l2: BTreeMap<CpuId, u32>,
}

impl Caches {
    /// The cluster as kernels see it: sharers of the L2 on x86, what the firmware says elsewhere.
    pub(super) fn cluster(&self, arch: Arch, cpu: CpuId, sharing: &Sharing) -> Option<u32> {
        let firmware = sharing.cluster.get(&cpu).copied();
        match arch {
            Arch::X86 => self.l2.get(&cpu).copied().or(firmware),
            _ => firmware,
        }
    }
}

/// One `cache/indexN` of one CPU.
#[derive(Clone, Copy)]
struct Leaf {
    level: u8,
    kind: CacheKind,
    size: u64,
    line: u32,
}

/// All caches of one level and kind.
#[derive(Default)]
struct Layer {
    forms: Forms,
    leaves: BTreeMap<CpuId, Leaf>,
}

pub(super) fn read(import: &mut Import<'_>, online: &CpuMask, arch: Arch) -> Caches {
    let mut layers: BTreeMap<(u8, CacheKind), Layer> = BTreeMap::new();
    for cpu in online {
        read_cpu(import, cpu, &mut layers);
    }
    let mut result = Caches {
        caches: Vec::new(),
        llc: BTreeMap::new(),
        l2: BTreeMap::new(),
    };
    for (&(level, kind), layer) in &layers {
        let relation = format!("L{level} {} caches", kind_name(kind));
        let groups = groups::from_forms(&relation, &layer.forms, &mut import.oddities);
        // Of several caches of one level the one that holds data counts (s390, broken CPUID).
        if kind != CacheKind::Instruction {
            if level == 2 {
                result.l2.extend(&groups);
            }
            if level > 1 {
                // Layers come in ascending order, so the highest level of each CPU stays.
                result.llc.extend(&groups);
            }
        }
        result
            .caches
            .extend(physical(layer, &groups, online.room()));
    }
    note_missing(import, online, arch, &result);
    result
}

fn kind_name(kind: CacheKind) -> &'static str {
    match kind {
        CacheKind::Data => "data",
        CacheKind::Instruction => "instruction",
        CacheKind::Unified => "unified",
    }
}

fn note_missing(import: &mut Import<'_>, online: &CpuMask, arch: Arch, found: &Caches) {
    let without = online.iter().filter(|c| !found.llc.contains_key(c)).count();
    if without == 0 {
        return;
    }
    let what = match (found.caches.is_empty(), without == online.weight()) {
        (true, _) => "no cache is described",
        (_, true) => "no cache above L1 is described",
        _ => "some CPUs have no cache above L1",
    };
    let action = match arch {
        Arch::X86 => "x86 kernels then give the MC level a mask of the CPU alone",
        _ => "kernels then use the package or node for the MC level",
    };
    import.odd(
        format!("{what} ({without} of {} CPUs)", online.weight()),
        format!("their last-level cache is unknown; {action}"),
    );
}

fn read_cpu(import: &Import<'_>, cpu: CpuId, layers: &mut BTreeMap<(u8, CacheKind), Layer>) {
    let mut indexes: Vec<String> = import.tree.list(&format!("{CPU}/cpu{cpu}/cache"));
    indexes.retain(|n| numbered(n, "index"));
    indexes.sort_by_key(|n| n[5..].parse::<u32>().unwrap_or(u32::MAX));
    for index in indexes {
        let file = |name: &str| import.cpu_file(cpu, &format!("cache/{index}/{name}"));
        let Some(level) = file("level").and_then(|t| t.trim().parse::<u8>().ok()) else {
            continue;
        };
        let kind = match file("type").as_deref().map(str::trim) {
            Some("Data") => CacheKind::Data,
            Some("Instruction") => CacheKind::Instruction,
            _ => CacheKind::Unified,
        };
        let layer = layers.entry((level, kind)).or_default();
        if layer.leaves.contains_key(&cpu) {
            continue;
        }
        let leaf = Leaf {
            level,
            kind,
            size: file("size").and_then(|t| size(&t)).unwrap_or(0),
            line: file("coherency_line_size")
                .and_then(|t| t.trim().parse().ok())
                .unwrap_or(0),
        };
        layer.leaves.insert(cpu, leaf);
        let list = format!("cache/{index}/shared_cpu_list");
        let mask = format!("cache/{index}/shared_cpu_map");
        import.add_sharers(&mut layer.forms, cpu, &list, &mask);
    }
}

/// Each cache of a layer once, by lowest CPU.
fn physical(layer: &Layer, groups: &BTreeMap<CpuId, u32>, room: usize) -> Vec<Cache> {
    let mut caches: BTreeMap<u32, Cache> = BTreeMap::new();
    for (&cpu, &group) in groups {
        let Some(leaf) = layer.leaves.get(&cpu) else {
            continue;
        };
        let cache = caches.entry(group).or_insert_with(|| Cache {
            level: leaf.level,
            kind: leaf.kind,
            size: leaf.size,
            line: leaf.line,
            cpus: CpuMask::new(room),
        });
        cache.cpus.set(cpu);
    }
    caches.into_values().collect()
}
