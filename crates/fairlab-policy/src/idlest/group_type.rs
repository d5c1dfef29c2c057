//! Classes of groups by how busy they are.

use fairlab_kernel::{Feature, Kernel};

/// How busy a group is; later ones are busier (`enum group_type`).
///
/// The order is that of v7.2. Releases that lack a class never produce it, and order the others alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupType {
    /// It has capacity for more tasks.
    HasSpare,
    /// No capacity is left, but tasks do not compete.
    FullyBusy,
    /// A task is too big for its CPU.
    MisfitTask,
    /// A core runs more than one task while another could (v6.6 on).
    SmtBalance,
    /// A better CPU than the group's is free.
    AsymPacking,
    /// Pinned tasks kept the balancer from its aim.
    Imbalanced,
    /// Tasks sit outside their preferred LLC (v7.2).
    LlcBalance,
    /// Tasks compete.
    Overloaded,
}

/// The sums that decide the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupSums {
    pub nr_running: u32,
    pub weight: u32,
    pub capacity: u64,
    pub util: u64,
    pub runnable: u64,
    pub imbalanced: bool,
    pub misfit: bool,
}

impl GroupSums {
    /// `group_classify` as fork and exec use it: no packing, SMT or LLC classes.
    pub fn classify(&self, kernel: &Kernel, imbalance_pct: u32) -> GroupType {
        let pct = u64::from(imbalance_pct);
        let runnable = kernel.has(Feature::FIG_RUNNABLE);
        let starved = runnable && self.capacity * pct < self.runnable * 100;
        if self.nr_running > self.weight && (self.capacity * 100 < self.util * pct || starved) {
            GroupType::Overloaded
        } else if self.imbalanced {
            GroupType::Imbalanced
        } else if self.misfit {
            GroupType::MisfitTask
        } else if self.nr_running < self.weight
            || (!starved && self.capacity * 100 > self.util * pct)
        {
            GroupType::HasSpare
        } else {
            GroupType::FullyBusy
        }
    }
}
