//! The memory that tasks use: regions, who shares them, and how fast they are walked.
//!
//! A program without memory is never slowed down by it, and NUMA balancing leaves its tasks alone.

use crate::program::RegionId;

/// Where the memory of a region is at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// On the node of the CPU that touches it first.
    FirstTouch,
    /// On this node, a position in the machine's list of nodes; on the last one if there are fewer.
    Node(u32),
}

/// A stretch of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Size in MiB. It is kept in pages of 2 MiB.
    pub mb: u32,
    /// Where it is at the start.
    pub home: Home,
    /// One region for all tasks that use it; else each task has one of its own.
    pub is_shared: bool,
}

/// How a program uses a region: it walks through it, from the start to the end and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionUse {
    /// The region.
    pub region: RegionId,
    /// MiB walked per millisecond of running (1 is about 1 GB/s).
    pub mb_per_ms: u32,
}
