//! Capacities and kinds of core.

use std::collections::BTreeMap;

use fairlab_topology::{Arch, CapacitySource, CoreKind};
use fairlab_units::{CpuId, CpuMask};

use super::Import;
use super::cpuinfo::CpuInfo;
use super::topology::Sharing;
use crate::kinds::{kinds_of_capacities, scale, typical_capacity};

pub(super) struct Capacity {
    pub source: CapacitySource,
    pub max_freq_khz: BTreeMap<CpuId, u64>,
    capacity: BTreeMap<CpuId, u32>,
    kinds: BTreeMap<CpuId, CoreKind>,
}

impl Capacity {
    pub(super) fn of(&self, cpu: CpuId) -> u32 {
        self.capacity.get(&cpu).copied().unwrap_or(1024)
    }

    pub(super) fn kind(&self, cpu: CpuId) -> CoreKind {
        self.kinds.get(&cpu).copied().unwrap_or_default()
    }
}

pub(super) fn read(
    import: &mut Import<'_>,
    online: &CpuMask,
    arch: Arch,
    info: &CpuInfo,
    sharing: &Sharing,
) -> Capacity {
    let max_freq_khz: BTreeMap<CpuId, u64> = online
        .iter()
        .filter_map(|cpu| {
            let freq = import.number(cpu, "cpufreq/cpuinfo_max_freq")?;
            Some((cpu, u64::try_from(freq).ok().filter(|f| *f > 0)?))
        })
        .collect();
    let stated = stated(import, online);
    let mut kinds = stated_kinds(import, online);
    if kinds.is_empty() && arch == Arch::X86 && info.intel {
        kinds = inferred_kinds(import, online, &max_freq_khz, sharing);
    }
    if kinds.is_empty() && arch != Arch::X86 {
        kinds = kinds_of_capacities(&stated);
    }
    if !stated.is_empty() {
        return Capacity {
            source: CapacitySource::Stated,
            max_freq_khz,
            capacity: stated,
            kinds,
        };
    }
    // Without stated capacities only kinds of core make a difference on x86: favoured cores of one
    // kind differ in frequency too, and kernels ignore that.
    let derived = if kinds.is_empty() && arch == Arch::X86 {
        BTreeMap::new()
    } else {
        from_frequencies(&max_freq_khz, &kinds, online)
    };
    let (source, capacity) = if !derived.is_empty() {
        (CapacitySource::Frequency, derived)
    } else if !kinds.is_empty() {
        (CapacitySource::CoreKind, from_kinds(&kinds))
    } else {
        (CapacitySource::Default, BTreeMap::new())
    };
    if kinds.is_empty() {
        kinds = kinds_of_capacities(&capacity);
    }
    Capacity {
        source,
        max_freq_khz,
        capacity,
        kinds,
    }
}

/// `cpu_capacity`, for all CPUs or none.
fn stated(import: &mut Import<'_>, online: &CpuMask) -> BTreeMap<CpuId, u32> {
    let mut found = BTreeMap::new();
    let mut outside = Vec::new();
    for cpu in online {
        let Some(value) = import.number(cpu, "cpu_capacity") else {
            return BTreeMap::new();
        };
        if !(1..=1024).contains(&value) {
            outside.push((cpu, value));
        }
        found.insert(cpu, value.clamp(1, 1024) as u32);
    }
    if let Some((cpu, value)) = outside.first() {
        import.odd(
            format!(
                "cpu_capacity of {} CPUs is outside 1 to 1024 (CPU {cpu}: {value})",
                outside.len()
            ),
            "the nearest accepted value was taken".to_owned(),
        );
    }
    found
}

/// The CPUs of the performance counters of hybrid Intel parts.
fn stated_kinds(import: &mut Import<'_>, online: &CpuMask) -> BTreeMap<CpuId, CoreKind> {
    let mut kinds = BTreeMap::new();
    for (folder, kind) in [
        ("sys/devices/cpu_core/cpus", CoreKind::Performance),
        ("sys/devices/cpu_atom/cpus", CoreKind::Efficiency),
        ("sys/devices/cpu_lowpower/cpus", CoreKind::Efficiency),
        (
            "sys/devices/system/cpu/types/intel_core/cpus",
            CoreKind::Performance,
        ),
        (
            "sys/devices/system/cpu/types/intel_atom/cpus",
            CoreKind::Efficiency,
        ),
    ] {
        if let Some(cpus) = import.list(folder) {
            kinds.extend(cpus.and(online).iter().map(|cpu| (cpu, kind)));
        }
    }
    kinds
}

/// Intel dumps without the counters: a core counts as an efficiency core when its highest ACPI
/// performance is below 85 % of the best, or, without those, when it has no SMT on a machine with SMT
/// and its frequency is below 90 % of the best.
fn inferred_kinds(
    import: &mut Import<'_>,
    online: &CpuMask,
    max_freq_khz: &BTreeMap<CpuId, u64>,
    sharing: &Sharing,
) -> BTreeMap<CpuId, CoreKind> {
    let perf: BTreeMap<CpuId, u64> = online
        .iter()
        .filter_map(|cpu| {
            let value = import.number(cpu, "acpi_cppc/highest_perf")?;
            Some((cpu, u64::try_from(value).ok()?))
        })
        .collect();
    let threads = |cpu: CpuId| {
        let core = sharing.core.get(&cpu);
        sharing.core.values().filter(|c| Some(*c) == core).count()
    };
    let has_smt = online.iter().any(|c| threads(c) > 1);
    let best_perf = perf.values().max().copied().unwrap_or(0);
    let best_freq = max_freq_khz.values().max().copied().unwrap_or(0);
    let complete = perf.len() == online.weight();
    let is_small = |cpu: CpuId| {
        if complete {
            perf.get(&cpu).is_some_and(|p| p * 100 < best_perf * 85)
        } else {
            let slow = max_freq_khz
                .get(&cpu)
                .is_some_and(|f| f * 100 < best_freq * 90);
            has_smt && threads(cpu) == 1 && slow
        }
    };
    let small: Vec<CpuId> = online.iter().filter(|c| is_small(*c)).collect();
    if small.is_empty() {
        return BTreeMap::new();
    }
    let mask = CpuMask::from_cpus(online.room(), small);
    import.odd(
        format!("the kinds of core are not stated, but CPUs {mask} are much slower"),
        "they were taken as efficiency cores, the others as performance cores".to_owned(),
    );
    online
        .iter()
        .map(|cpu| {
            let kind = if mask.test(cpu) {
                CoreKind::Efficiency
            } else {
                CoreKind::Performance
            };
            (cpu, kind)
        })
        .collect()
}

/// The best frequency of each kind (of each CPU without kinds) against the best of all.
fn from_frequencies(
    max_freq_khz: &BTreeMap<CpuId, u64>,
    kinds: &BTreeMap<CpuId, CoreKind>,
    online: &CpuMask,
) -> BTreeMap<CpuId, u32> {
    let best = max_freq_khz.values().max().copied().unwrap_or(0);
    let worst = max_freq_khz.values().min().copied().unwrap_or(0);
    // Below 5 % it is noise between bins of one part.
    if max_freq_khz.len() < online.weight() || worst * 100 >= best * 95 {
        return BTreeMap::new();
    }
    let kind_of = |cpu: &CpuId| kinds.get(cpu).copied();
    max_freq_khz
        .iter()
        .map(|(&cpu, &own)| {
            let kind = kind_of(&cpu);
            let same_kind = max_freq_khz.iter().filter(|(c, _)| kind_of(c) == kind);
            let freq = match kind {
                Some(_) => same_kind.map(|(_, f)| *f).max().unwrap_or(own),
                None => own,
            };
            (cpu, scale(freq, best))
        })
        .collect()
}

/// Nothing but kinds is known.
fn from_kinds(kinds: &BTreeMap<CpuId, CoreKind>) -> BTreeMap<CpuId, u32> {
    kinds
        .iter()
        .map(|(&cpu, kind)| (cpu, typical_capacity(*kind)))
        .collect()
}
