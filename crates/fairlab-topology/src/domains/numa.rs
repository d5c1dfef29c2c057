//! NUMA levels from the distance table.

use alloc::vec::Vec;

use fairlab_kernel::{Feature, Kernel};
use fairlab_units::CpuMask;

use super::intern::MaskTable;
use super::{BuildError, BuildOptions, MaskId};
use crate::Machine;

/// How the nodes of a machine are wired, as NUMA balancing sees it (`sched_numa_topology_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum NumaKind {
    /// All nodes are one hop apart.
    #[default]
    Direct,
    /// Some nodes reach each other through a node in between.
    GluelessMesh,
    /// Groups of nodes reach each other through a controller that is no node.
    Backplane,
}

/// What the distance table of the nodes says.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NumaTopology {
    /// The distinct distances, ascending; the first gives the NODE level, each further one a NUMA
    /// level. Empty when a distance outside 10..=255 made the kernel give up.
    pub distances: Vec<u32>,
    /// How the nodes are wired.
    pub kind: NumaKind,
    /// The largest distance (`sched_max_numa_distance`).
    pub max_distance: u32,
}

/// The masks of the NODE and NUMA levels.
pub(super) struct NumaLevels {
    pub(super) topology: NumaTopology,
    /// By number of the level, then by position of the node.
    pub(super) masks: Vec<Vec<MaskId>>,
}

/// Reads the distance table as `kernel` does; `present` are the CPUs that the level masks hold.
///
/// # Source
/// Linux v6.12 `kernel/sched/topology.c`, `sched_init_numa()`.
pub(super) fn levels(
    machine: &Machine,
    kernel: &Kernel,
    options: &BuildOptions,
    present: &CpuMask,
    masks: &mut MaskTable,
) -> Result<NumaLevels, BuildError> {
    let nodes = machine.nodes();
    let raw: Vec<&[u32]> = nodes.iter().map(|n| n.distances.as_slice()).collect();
    let mut table = raw.clone();
    if let Some(rows) = &options.domain_distances
        && kernel.has(Feature::SD_DOMAIN_DISTANCE)
    {
        if rows.len() != nodes.len() || rows.iter().any(|row| row.len() != nodes.len()) {
            return Err(BuildError::DistanceTable);
        }
        table = rows.iter().map(Vec::as_slice).collect();
    }
    let mut node_cpus: Vec<CpuMask> = Vec::with_capacity(nodes.len());
    node_cpus.resize_with(nodes.len(), || CpuMask::new(machine.nr_cpu_ids()));
    for cpu in machine.cpus().iter().filter(|c| present.test(c.id)) {
        if let Some(node) = machine.node_index(cpu.node) {
            node_cpus[node].set(cpu.id);
        }
    }
    let counted: Vec<usize> = (0..nodes.len())
        .filter(|n| !kernel.has(Feature::SD_LEVELS_OF_CPU_NODES) || !node_cpus[*n].is_empty())
        .collect();

    let (Some(distances), Some(raw_distances)) =
        (distinct(&table, &counted), distinct(&raw, &counted))
    else {
        return Ok(NumaLevels {
            topology: NumaTopology::default(),
            masks: Vec::new(),
        });
    };
    let level_masks = distances.iter().map(|limit| {
        let of_node = table.iter().map(|row| {
            let mut mask = CpuMask::new(machine.nr_cpu_ids());
            for (cpus, _) in node_cpus.iter().zip(*row).filter(|(_, d)| *d <= limit) {
                mask.or_with(cpus);
            }
            masks.intern(&mask)
        });
        of_node.collect()
    });
    Ok(NumaLevels {
        masks: level_masks.collect(),
        topology: NumaTopology {
            kind: kind(&raw, &counted, &raw_distances),
            max_distance: raw_distances.last().copied().unwrap_or(0),
            distances,
        },
    })
}

/// The distinct distances between the `counted` nodes, or nothing when one makes no sense.
fn distinct(table: &[&[u32]], counted: &[usize]) -> Option<Vec<u32>> {
    let mut distances: Vec<u32> = Vec::new();
    for &a in counted {
        for &b in counted {
            let distance = table[a][b];
            if !(10..=255).contains(&distance) {
                return None;
            }
            if let Err(place) = distances.binary_search(&distance) {
                distances.insert(place, distance);
            }
        }
    }
    Some(distances)
}

/// The wiring, judged by the first pair of nodes at the largest distance.
///
/// # Source
/// Linux v6.12 `kernel/sched/topology.c`, `init_numa_topology_type()`.
fn kind(table: &[&[u32]], counted: &[usize], distances: &[u32]) -> NumaKind {
    let (Some(&max), true) = (distances.last(), distances.len() > 2) else {
        return NumaKind::Direct;
    };
    for &a in counted {
        for &b in counted {
            if table[a][b] < max {
                continue;
            }
            let between = |c: &usize| table[a][*c] < max && table[b][*c] < max;
            return if counted.iter().any(between) {
                NumaKind::GluelessMesh
            } else {
                NumaKind::Backplane
            };
        }
    }
    NumaKind::Direct
}
