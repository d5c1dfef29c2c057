//! NUMA levels from the distance table.

use alloc::vec::Vec;

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

/// What the distance table of the nodes with CPUs says.
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
