//! Which domains contribute nothing.

use fairlab_kernel::{Feature, Kernel};

use super::{DomainFlags, MaskId};

/// What the tests look at in a domain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) span: MaskId,
    pub(super) span_weight: u32,
    pub(super) flags: DomainFlags,
    pub(super) nr_groups: u32,
}

/// The flags that mean nothing in a domain with one group.
fn needs_groups(kernel: &Kernel) -> DomainFlags {
    use DomainFlags as F;
    if kernel.has(Feature::SD_FLAG_METADATA) {
        return !F::WAKE_AFFINE;
    }
    F::LOAD_BALANCE
        | F::BALANCE_NEWIDLE
        | F::BALANCE_FORK
        | F::BALANCE_EXEC
        | F::SHARE_CPUCAPACITY
        | F::ASYM_CPUCAPACITY
        | F::SHARE_LLC
}

/// Does `domain` contribute nothing?
///
/// # Source
/// Linux v6.12 `kernel/sched/topology.c`, `sd_degenerate()`.
#[doc(alias = "sd_degenerate")]
pub(super) fn is_degenerate(kernel: &Kernel, domain: &Shape) -> bool {
    if domain.span_weight <= 1 {
        return true;
    }
    let useful = domain.flags.any(needs_groups(kernel)) && domain.nr_groups > 1;
    !useful && !domain.flags.has(DomainFlags::WAKE_AFFINE)
}

/// Does `parent` contribute nothing beyond `child`? `one_node`: the machine has a single node.
///
/// # Source
/// Linux v6.12 `kernel/sched/topology.c`, `sd_parent_degenerate()`.
#[doc(alias = "sd_parent_degenerate")]
pub(super) fn is_parent_degenerate(
    kernel: &Kernel,
    child: &Shape,
    parent: &Shape,
    one_node: bool,
) -> bool {
    if is_degenerate(kernel, parent) {
        return true;
    }
    if child.span != parent.span {
        return false;
    }
    let mut flags = parent.flags;
    if parent.nr_groups == 1 {
        flags = flags.without(needs_groups(kernel));
        if !kernel.has(Feature::SD_FLAG_METADATA) {
            flags = flags.without(DomainFlags::PREFER_SIBLING);
            if one_node {
                flags = flags.without(DomainFlags::SERIALIZE);
            }
        }
    }
    flags.without(child.flags).is_empty()
}
