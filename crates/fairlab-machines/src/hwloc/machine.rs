//! hwloc objects to a machine.

use std::collections::{BTreeMap, BTreeSet};

use fairlab_topology::{
    Arch, Cache, CacheKind, CapacitySource, CoreKind, Cpu, Machine, MachineBuilder, Node, Oddity,
};
use fairlab_units::{CpuId, CpuMask, NodeId};

use super::document::{CpuKind, Document, Object, Table};
use crate::MachineLoadError;
use crate::kinds::{scale, typical_capacity};

pub(super) fn build(
    document: Document,
    place: &str,
    name: &str,
) -> Result<Machine, MachineLoadError> {
    let mut import = Import {
        objects: &document.objects,
        oddities: Vec::new(),
    };
    let online = import.online();
    if online.is_empty() {
        return Err(MachineLoadError::Missing {
            place: place.to_owned(),
            problem: "the export holds no PU object, so no CPU is described".to_owned(),
        });
    }
    let arch = arch(&document, &mut import);
    let cores = import.groups("Core", &online);
    let packages = import.packages(&online);
    let dies = import.groups("Die", &online);
    let caches = import.caches(&online, arch);
    let nodes = import.nodes(&online, document.distances.as_ref());
    let capacity = capacities(&document.kinds, &online);

    let possible = import.possible(&online);
    let without_core = online.iter().filter(|c| !cores.contains_key(c)).count();
    if without_core > 0 {
        import.odd(
            format!("{without_core} CPUs are inside no Core object"),
            "each is a core of its own".to_owned(),
        );
    }
    // CPUs without a core object get numbers above those that have one.
    let first_own = document.objects.len() as u32;
    let cpus = possible.iter().map(|id| Cpu {
        online: online.test(id),
        core: cores.get(&id).copied().unwrap_or(first_own + id.0),
        cluster: caches.cluster.get(&id).copied(),
        llc: caches.llc.get(&id).copied(),
        die: dies.get(&id).copied(),
        package: packages.get(&id).copied(),
        node: nodes.of(id),
        capacity: capacity.value.get(&id).copied().unwrap_or(1024),
        kind: capacity.kind.get(&id).copied().unwrap_or_default(),
        max_freq_khz: capacity.max_freq_khz.get(&id).copied(),
        ..Cpu::new(id)
    });
    let cpus: Vec<Cpu> = cpus.collect();
    let builder = MachineBuilder {
        name: name.to_owned(),
        model: model(&document),
        arch,
        amd_epyc: is_zen(&document),
        capacity_source: capacity.source,
        cpus,
        nodes: nodes.nodes,
        caches: caches.caches,
        // Such a description does not say what CPUs consume.
        energy: Vec::new(),
        boot_smt: None,
        oddities: import.oddities,
        source: place.to_owned(),
    };
    builder
        .build()
        .map_err(|problem| MachineLoadError::Contradiction {
            place: place.to_owned(),
            problem,
        })
}

struct Import<'a> {
    objects: &'a [Object],
    oddities: Vec<Oddity>,
}

struct Caches {
    caches: Vec<Cache>,
    llc: BTreeMap<CpuId, u32>,
    cluster: BTreeMap<CpuId, u32>,
}

struct Nodes {
    nodes: Vec<Node>,
    of_cpu: BTreeMap<CpuId, NodeId>,
}

impl Nodes {
    fn of(&self, cpu: CpuId) -> NodeId {
        let first = self.nodes.first().map_or(NodeId(0), |n| n.id);
        self.of_cpu.get(&cpu).copied().unwrap_or(first)
    }
}

impl Import<'_> {
    fn odd(&mut self, what: String, action: String) {
        self.oddities.push(Oddity { what, action });
    }

    fn of_kind<'b>(&'b self, kind: &'b str) -> impl Iterator<Item = (u32, &'b Object)> {
        let numbered = self.objects.iter().enumerate();
        numbered
            .filter(move |(_, o)| o.kind == kind)
            .map(|(i, o)| (i as u32, o))
    }

    /// The CPUs of the PU objects; 1.x also says which of them are online.
    fn online(&mut self) -> CpuMask {
        let all: BTreeSet<u32> = self.of_kind("PU").filter_map(|(_, o)| o.os_index).collect();
        let room = all.last().map_or(0, |c| *c as usize + 1);
        let mut mask = CpuMask::from_cpus(room, all.iter().copied().map(CpuId));
        let online = self
            .of_kind("Machine")
            .find_map(|(_, o)| o.attributes.get("online_cpuset"))
            .and_then(|s| CpuMask::parse_hex(s, Machine::MAX_CPUS).ok())
            .filter(|m| !m.is_empty());
        if let Some(online) = online {
            mask.and_with(&online);
        }
        mask
    }

    /// Online CPUs, and those of the `complete_cpuset` that are not.
    fn possible(&self, online: &CpuMask) -> CpuMask {
        let mut all = online.clone();
        let complete = self
            .of_kind("Machine")
            .find_map(|(_, o)| o.attributes.get("complete_cpuset"))
            .and_then(|s| CpuMask::parse_hex(s, Machine::MAX_CPUS).ok());
        if let Some(complete) = complete {
            all.or_with(&complete);
        }
        for (_, pu) in self.of_kind("PU") {
            if let Some(number) = pu.os_index {
                let id = CpuId(number);
                all.or_with(&CpuMask::from_cpus(id.index() + 1, [id]));
            }
        }
        all
    }

    /// The number of the object of this kind around each CPU.
    fn groups(&self, kind: &str, online: &CpuMask) -> BTreeMap<CpuId, u32> {
        let mut groups = BTreeMap::new();
        for (number, object) in self.of_kind(kind) {
            for cpu in object.pus.iter().copied().map(CpuId) {
                if online.test(cpu) {
                    groups.entry(cpu).or_insert(number);
                }
            }
        }
        groups
    }

    /// Packages (sockets, in the words of the oldest exports), by the firmware's number where all have
    /// one and it is used once.
    fn packages(&self, online: &CpuMask) -> BTreeMap<CpuId, u32> {
        let kind = if self.of_kind("Package").next().is_some() {
            "Package"
        } else {
            "Socket"
        };
        let by_object = self.groups(kind, online);
        let numbers: Option<BTreeMap<u32, u32>> = self
            .of_kind(kind)
            .map(|(i, o)| Some((i, o.os_index?)))
            .collect();
        let distinct =
            |n: &BTreeMap<u32, u32>| n.values().collect::<BTreeSet<_>>().len() == n.len();
        match numbers.filter(distinct) {
            Some(numbers) => by_object
                .into_iter()
                .map(|(cpu, object)| (cpu, numbers.get(&object).copied().unwrap_or(object)))
                .collect(),
            None => by_object,
        }
    }

    fn caches(&mut self, online: &CpuMask, arch: Arch) -> Caches {
        let mut layers: BTreeMap<(u8, CacheKind), Vec<(u32, &Object)>> = BTreeMap::new();
        let mut memory_side = 0;
        for (number, object) in self.objects.iter().enumerate() {
            let Some(layer) = cache_layer(object) else {
                continue;
            };
            if object
                .attributes
                .get("subtype")
                .is_some_and(|s| s == "MemorySideCache")
            {
                memory_side += 1;
                continue;
            }
            layers
                .entry(layer)
                .or_default()
                .push((number as u32, object));
        }
        if memory_side > 0 {
            self.odd(
                format!("{memory_side} caches are memory-side caches"),
                "they are no last-level caches of CPUs, and were left out".to_owned(),
            );
        }
        let mut result = Caches {
            caches: Vec::new(),
            llc: BTreeMap::new(),
            cluster: BTreeMap::new(),
        };
        for (&(level, kind), objects) in &layers {
            for (number, object) in objects {
                let cpus = object.pus.iter().copied().map(CpuId);
                let cpus = CpuMask::from_cpus(Machine::MAX_CPUS, cpus).and(online);
                let Some(last) = cpus.last() else {
                    continue;
                };
                for cpu in &cpus {
                    if kind == CacheKind::Instruction {
                        continue;
                    }
                    if level == 2 && arch == Arch::X86 {
                        result.cluster.insert(cpu, *number);
                    }
                    if level > 1 {
                        // Layers ascend: the highest level of each CPU stays.
                        result.llc.insert(cpu, *number);
                    }
                }
                let number = |key: &str| object.attributes.get(key)?.parse::<u64>().ok();
                result.caches.push(Cache {
                    level,
                    kind,
                    size: number("cache_size").unwrap_or(0),
                    line: number("cache_linesize")
                        .and_then(|n| u32::try_from(n).ok())
                        .unwrap_or(0),
                    cpus: CpuMask::from_cpus(last.index() + 1, &cpus),
                });
            }
        }
        result
            .caches
            .sort_by_key(|c| (c.level, c.kind, c.cpus.first()));
        if arch != Arch::X86 {
            result.cluster = self.firmware_clusters(online);
        }
        let without = online
            .iter()
            .filter(|c| !result.llc.contains_key(c))
            .count();
        if without > 0 {
            self.odd(
                format!(
                    "{without} of {} CPUs have no cache above L1",
                    online.weight()
                ),
                "their last-level cache is unknown".to_owned(),
            );
        }
        result
    }

    /// Groups that hwloc 2.8 and later makes from `topology/cluster_cpus`.
    fn firmware_clusters(&self, online: &CpuMask) -> BTreeMap<CpuId, u32> {
        let mut clusters = BTreeMap::new();
        for (number, object) in self.of_kind("Group") {
            if object
                .attributes
                .get("subtype")
                .is_some_and(|s| s == "Cluster")
            {
                let cpus = object.pus.iter().copied().map(CpuId);
                clusters.extend(cpus.filter(|c| online.test(*c)).map(|c| (c, number)));
            }
        }
        clusters
    }

    fn nodes(&mut self, online: &CpuMask, table: Option<&Table>) -> Nodes {
        let mut described: BTreeMap<u32, (CpuMask, Option<u64>)> = BTreeMap::new();
        let mut order = Vec::new();
        let mut twice = Vec::new();
        for (_, object) in self.of_kind("NUMANode") {
            let number = object.os_index.unwrap_or(order.len() as u32);
            let inside = || {
                let cpus = object.pus.iter().copied().map(CpuId);
                CpuMask::from_cpus(Machine::MAX_CPUS, cpus)
            };
            let cpus = object.cpuset.clone().unwrap_or_else(inside);
            let memory = object
                .attributes
                .get("local_memory")
                .and_then(|m| m.parse::<u64>().ok());
            if described.contains_key(&number) {
                twice.push(NodeId(number));
                continue;
            }
            order.push(number);
            described.insert(number, (cpus, memory.map(|m| m >> 10)));
        }
        if !twice.is_empty() {
            self.odd(
                format!("nodes {twice:?} occur twice"),
                "the first of each was taken".to_owned(),
            );
        }
        let of_cpu = self.place_cpus(online, &described);
        let rows = self.rows(&order, table);
        Nodes {
            nodes: described
                .iter()
                .map(|(number, (_, memory_kb))| Node {
                    id: NodeId(*number),
                    memory_kb: *memory_kb,
                    distances: described
                        .keys()
                        .map(|other| rows.get(&(*number, *other)).copied().unwrap_or(20))
                        .collect(),
                })
                .collect(),
            of_cpu,
        }
    }

    /// A CPU is on the lowest node that lists it: memory of other kinds beside it has nodes of its
    /// own, with higher numbers, that kernels show without CPUs.
    fn place_cpus(
        &mut self,
        online: &CpuMask,
        described: &BTreeMap<u32, (CpuMask, Option<u64>)>,
    ) -> BTreeMap<CpuId, NodeId> {
        let mut of_cpu = BTreeMap::new();
        let mut none = CpuMask::new(online.room());
        for cpu in online {
            match described.iter().find(|(_, (cpus, _))| cpus.test(cpu)) {
                Some((number, _)) => {
                    of_cpu.insert(cpu, NodeId(*number));
                }
                None => none.set(cpu),
            }
        }
        if !none.is_empty() && !described.is_empty() {
            let first = described.keys().next().copied().unwrap_or(0);
            self.odd(
                format!("CPUs {none} are on no node that is described"),
                format!("they were put on node {first}"),
            );
        }
        of_cpu
    }

    /// Distances by pairs of node numbers, 10 and 20 where there is no table.
    fn rows(&mut self, order: &[u32], table: Option<&Table>) -> BTreeMap<(u32, u32), u32> {
        let own = order.iter().map(|n| ((*n, *n), 10));
        let mut rows: BTreeMap<(u32, u32), u32> = own.collect();
        let Some(table) = table else {
            if order.len() > 1 {
                self.odd(
                    "the export has no table of node distances".to_owned(),
                    "10 to itself and 20 to the others was assumed".to_owned(),
                );
            }
            return rows;
        };
        let nodes = table.nodes.as_deref().unwrap_or(order);
        if nodes.len() * nodes.len() != table.values.len() {
            self.odd(
                format!(
                    "the table of node distances has {} values for {} nodes",
                    table.values.len(),
                    nodes.len()
                ),
                "10 to itself and 20 to the others was assumed".to_owned(),
            );
            return rows;
        }
        for (row, from) in table.values.chunks(nodes.len().max(1)).zip(nodes) {
            for (value, to) in row.iter().zip(nodes) {
                let value = u32::try_from(*value).unwrap_or(255);
                rows.insert((*from, *to), value);
            }
        }
        rows
    }
}

/// Level and content of a cache object: `Cache` with a depth in 1.x, `L2Cache`, `L1iCache` since.
fn cache_layer(object: &Object) -> Option<(u8, CacheKind)> {
    let level: u8 = match object.kind.as_str() {
        "Cache" => object.attributes.get("depth")?.parse().ok()?,
        kind => {
            let rest = kind.strip_prefix('L')?.strip_suffix("Cache")?;
            rest.trim_end_matches('i').parse().ok()?
        }
    };
    let kind = match object.attributes.get("cache_type").map(String::as_str) {
        Some("1") => CacheKind::Data,
        Some("2") => CacheKind::Instruction,
        _ if object.kind.ends_with("iCache") => CacheKind::Instruction,
        _ => CacheKind::Unified,
    };
    Some((level, kind))
}

/// A fact about the machine or about its first package that has it.
fn info<'a>(document: &'a Document, key: &str) -> Option<&'a str> {
    let of_objects = || {
        let mut values = document.objects.iter().filter_map(|o| o.infos.get(key));
        values.find(|v| !v.trim().is_empty())
    };
    document
        .infos
        .get(key)
        .filter(|v| !v.trim().is_empty())
        .or_else(of_objects)
        .map(String::as_str)
}

fn model(document: &Document) -> Option<String> {
    let found = info(document, "CPUModel")
        .or_else(|| info(document, "DMIProductName"))
        .or_else(|| info(document, "PlatformModel"))?;
    Some(found.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn is_zen(document: &Document) -> bool {
    let family = info(document, "CPUFamilyNumber").and_then(|f| f.parse::<u32>().ok());
    match (info(document, "CPUVendor"), family) {
        (Some("AuthenticAMD" | "HygonGenuine"), Some(family)) => family >= 0x17,
        (_, None) => info(document, "CPUModel").is_some_and(|m| m.contains("EPYC")),
        _ => false,
    }
}

fn arch(document: &Document, import: &mut Import<'_>) -> Arch {
    match info(document, "Architecture") {
        Some("x86_64" | "i686" | "i386" | "amd64") => return Arch::X86,
        Some("aarch64" | "arm64") => return Arch::Arm64,
        Some(name) if name.starts_with("ppc64") => return Arch::Ppc64,
        Some("s390x" | "s390") => return Arch::S390,
        Some(name) if name.starts_with("riscv") => return Arch::RiscV,
        Some(_) => return Arch::Other,
        None => {}
    }
    let x86_family = info(document, "CPUFamilyNumber").is_some();
    let by_cpuid = info(document, "Backend").is_some_and(|b| b == "x86");
    if x86_family || by_cpuid {
        return Arch::X86;
    }
    if info(document, "CPUModel").is_some_and(|m| m.starts_with("POWER")) {
        return Arch::Ppc64;
    }
    import.odd(
        "the export does not tell the instruction set".to_owned(),
        "the rules of x86 are used".to_owned(),
    );
    Arch::X86
}

struct Capacity {
    source: CapacitySource,
    value: BTreeMap<CpuId, u32>,
    kind: BTreeMap<CpuId, CoreKind>,
    max_freq_khz: BTreeMap<CpuId, u64>,
}

/// Capacities and kinds from the `cpukind` elements: frequencies where all kinds have one.
fn capacities(kinds: &[CpuKind], online: &CpuMask) -> Capacity {
    let mut result = Capacity {
        source: CapacitySource::Default,
        value: BTreeMap::new(),
        kind: BTreeMap::new(),
        max_freq_khz: BTreeMap::new(),
    };
    let mut sorted: Vec<(&CpuKind, CpuMask)> = kinds
        .iter()
        .filter_map(|k| Some((k, k.cpuset.as_ref()?.and(online))))
        .filter(|(_, cpus)| !cpus.is_empty())
        .collect();
    sorted.sort_by_key(|(k, _)| k.efficiency.unwrap_or(i32::MAX));
    let freq = |k: &CpuKind| k.infos.get("FrequencyMaxMHz")?.parse::<u64>().ok();
    for (kind, cpus) in &sorted {
        if let Some(mhz) = freq(kind) {
            let khz = mhz.saturating_mul(1000);
            result.max_freq_khz.extend(cpus.iter().map(|c| (c, khz)));
        }
    }
    let last = sorted.len().saturating_sub(1);
    if last == 0 {
        return result;
    }
    let best = sorted.iter().filter_map(|(k, _)| freq(k)).max();
    let all_have_frequencies = sorted.iter().all(|(k, _)| freq(k).is_some());
    for (rank, (kind, cpus)) in sorted.iter().enumerate() {
        let core_kind = match kind.infos.get("CoreType").map(String::as_str) {
            Some("IntelAtom" | "AMDEfficiency") => CoreKind::Efficiency,
            Some("IntelCore" | "AMDPerformance") => CoreKind::Performance,
            _ if rank == 0 => CoreKind::Efficiency,
            _ if rank == last => CoreKind::Performance,
            _ => CoreKind::Medium,
        };
        let value = match (freq(kind), best) {
            (Some(own), Some(best)) if all_have_frequencies => scale(own, best),
            _ => typical_capacity(core_kind),
        };
        result.kind.extend(cpus.iter().map(|c| (c, core_kind)));
        result.value.extend(cpus.iter().map(|c| (c, value)));
    }
    result.source = if all_have_frequencies {
        CapacitySource::Frequency
    } else {
        CapacitySource::CoreKind
    };
    result
}
