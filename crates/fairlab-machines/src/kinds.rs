//! Kinds of core and capacities, where one has to be derived from the other.

use std::collections::BTreeMap;

use fairlab_topology::CoreKind;
use fairlab_units::CpuId;

/// `value` against `best` on the 1024 scale, at least 1.
pub(crate) fn scale(value: u64, best: u64) -> u32 {
    let scaled = value.saturating_mul(1024) / best.max(1);
    u32::try_from(scaled).unwrap_or(1024).clamp(1, 1024)
}

/// Kinds from capacities: sorted values form a new class where a step exceeds 15 %. One class:
/// nothing is known. Otherwise the lowest is Efficiency, the highest Performance, the rest Medium.
pub(crate) fn kinds_of_capacities(capacity: &BTreeMap<CpuId, u32>) -> BTreeMap<CpuId, CoreKind> {
    let mut values: Vec<u32> = capacity.values().copied().collect();
    values.sort_unstable();
    values.dedup();
    let mut bounds: Vec<u32> = Vec::new();
    for pair in values.windows(2) {
        if u64::from(pair[1]) * 100 > u64::from(pair[0]) * 115 {
            bounds.push(pair[1]);
        }
    }
    let Some(&top) = bounds.last() else {
        return BTreeMap::new();
    };
    capacity
        .iter()
        .map(|(&cpu, &value)| {
            let kind = if value >= top {
                CoreKind::Performance
            } else if value < bounds[0] {
                CoreKind::Efficiency
            } else {
                CoreKind::Medium
            };
            (cpu, kind)
        })
        .collect()
}

/// Capacity of a kind when nothing else is known. An efficiency core does about 60 % of a performance
/// core's work (Gracemont against Golden Cove), a medium core about 80 %.
pub(crate) fn typical_capacity(kind: CoreKind) -> u32 {
    match kind {
        CoreKind::Uniform | CoreKind::Performance => 1024,
        CoreKind::Medium => 820,
        CoreKind::Efficiency => 615,
    }
}
