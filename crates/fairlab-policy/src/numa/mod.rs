//! Automatic NUMA balancing: where the memory of a task is, and where the task should therefore run.
//!
//! ```text
//!   scan      marks memory, a stretch at a time; how often is adapted   scan
//!     |  the task touches marked memory
//!     v
//!   fault     is counted per node; may bring the page here              faults, page
//!     |  once per scan of all memory
//!     v
//!   placement the node with most faults is preferred                    faults
//!     |  if the task is elsewhere
//!     v
//!   migration to a CPU there, or a swap with a task there               migrate, node_stats
//! ```
//!
//! Pure functions and plain data, as everywhere in this crate: who owns the tasks owns their
//! [`Faults`], and calls these when its memory model says so.
//!
//! Differs from Linux: there are no groups of tasks that share memory (`numa_group`), only tasks;
//! memory tiers and the skipping of memory that a thread never used are not modelled. The sources
//! are read from memory and no recording checks them.

mod faults;
mod migrate;
mod node_stats;
mod page;
mod scan;

use fairlab_units::{CpuMask, TaskId};

use crate::balance::BalanceView;

pub use faults::{Faults, Placement};
pub use migrate::{Choice, choose_cpu};
pub use node_stats::{NodeStats, NodeType};
pub use page::{Toucher, page_moves};
pub use scan::{next_period, scan_max, scan_min};

/// What the choice of a CPU sees beside what balancing sees. Nodes are positions in the machine's
/// list of nodes.
pub trait NumaView: BalanceView {
    /// Number of nodes, those without CPUs included.
    fn nr_nodes(&self) -> usize;

    /// The CPUs of a node.
    fn node_cpus(&self, node: usize) -> &CpuMask;

    /// Distance of two nodes; 10 is local.
    fn distance(&self, a: usize, b: usize) -> u32;

    /// The node that a task prefers (`numa_preferred_nid`).
    fn preferred_node(&self, task: TaskId) -> Option<usize>;

    /// The faults of a task; none before its first.
    fn faults(&self, task: TaskId) -> Option<&Faults>;
}
