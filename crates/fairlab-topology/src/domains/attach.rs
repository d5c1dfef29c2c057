//! Attaching a chain to its CPU: useless domains go, and what they carried is handed down.

use alloc::vec::Vec;

use fairlab_kernel::{Feature, Kernel};

use super::DomainFlags;
use super::degenerate::{Shape, is_degenerate, is_parent_degenerate};

/// A domain of the chain that is being attached.
#[derive(Clone, Debug)]
pub(super) struct Link {
    /// Number of its level.
    pub(super) level: usize,
    pub(super) shape: Shape,
    /// The level whose shared object it has.
    pub(super) shared: Option<usize>,
    /// What the flags of its first group become.
    pub(super) first_group_flags: Option<DomainFlags>,
}

/// Removes the useless domains of `chain` (lowest first).
///
/// # Source
/// Linux v6.12 `kernel/sched/topology.c`, `cpu_attach_domain()`.
#[doc(alias = "cpu_attach_domain")]
pub(super) fn attach(kernel: &Kernel, chain: &mut Vec<Link>, one_node: bool) {
    let mut at = 0;
    while at + 1 < chain.len() {
        if !is_parent_degenerate(kernel, &chain[at].shape, &chain[at + 1].shape, one_node) {
            at += 1;
            continue;
        }
        let parent = chain.remove(at + 1);
        let flags = chain[at].shape.flags;
        if kernel.has(Feature::SD_GROUP_FLAGS_REPAIR)
            && let Some(above) = chain.get_mut(at + 1)
        {
            above.first_group_flags = Some(flags);
        }
        let kept = &mut chain[at];
        kept.shape.flags |= parent.shape.flags & DomainFlags::PREFER_SIBLING;
        if kernel.has(Feature::SD_SHARED_TOP) {
            kept.shared = parent.shared.or(kept.shared);
        }
    }
    if chain
        .first()
        .is_some_and(|base| is_degenerate(kernel, &base.shape))
    {
        chain.remove(0);
        if kernel.has(Feature::SD_GROUP_FLAGS_ZERO)
            && let Some(base) = chain.first_mut()
        {
            base.first_group_flags = Some(DomainFlags::NONE);
        }
    }
}
