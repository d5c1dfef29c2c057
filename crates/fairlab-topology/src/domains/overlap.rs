//! Groups of NUMA levels: private to the owner, possibly overlapping.
//!
//! A group of nodes is determined by the level at which it is made, its span and its flags. Such
//! [`NodeGroup`]s are kept once; the ring of an owner is a list of their numbers.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use fairlab_kernel::{Feature, Kernel};
use fairlab_units::{CpuId, CpuMask};

use super::groups::Uncovered;
use super::intern::MaskTable;
use super::tree::Tree;
use super::{DomainFlags, MaskId};

/// A group of a NUMA level.
#[derive(Clone, Debug)]
pub(super) struct NodeGroup {
    pub(super) span: MaskId,
    pub(super) balance_mask: MaskId,
    pub(super) flags: DomainFlags,
    /// The level to which the capacity object belongs.
    pub(super) level: u32,
}

/// The groups of nodes of a partition.
#[derive(Default)]
pub(super) struct NodeGroups {
    pub(super) groups: Vec<NodeGroup>,
    /// By level, span and flags (as their bits).
    numbers: BTreeMap<(u32, u32, DomainFlags), u32>,
    /// By level and span.
    balance_masks: BTreeMap<(u32, u32), MaskId>,
    /// The last ring made at each level, with its owner and span: neighbours often have the same.
    last: Vec<Option<(CpuId, MaskId, Vec<u32>)>>,
}

impl NodeGroups {
    /// The ring of `owner` at level `number`, the local group first.
    ///
    /// # Source
    /// Linux v6.12 `kernel/sched/topology.c`, `build_overlap_sched_groups()`,
    /// `find_descended_sibling()`, `build_balance_mask()`.
    #[doc(alias = "build_overlap_sched_groups")]
    pub(super) fn ring(
        &mut self,
        kernel: &Kernel,
        number: usize,
        tree: &Tree,
        owner: CpuId,
        masks: &mut MaskTable,
    ) -> Vec<u32> {
        let Some(span) = tree.at(owner, number).map(|d| d.span) else {
            return Vec::new();
        };
        if self.last.len() <= number {
            self.last.resize(number + 1, None);
        }
        if let Some((before, of_span, ring)) = self.last[number].take()
            && of_span == span
            && before.0 + 1 == owner.0
            && let Some(local) = self.group_of(kernel, number, tree, owner, span, masks)
            && ring.first() == Some(&local)
            && masks.get(self.groups[local as usize].span).test(before)
        {
            // The walk of the CPU just below differs only in where that CPU comes; the local
            // group, with which both begin, covers it in both.
            self.last[number] = Some((owner, span, ring.clone()));
            return ring;
        }
        let ring = self.walk(kernel, number, tree, owner, span, masks);
        self.last[number] = Some((owner, span, ring.clone()));
        ring
    }

    fn walk(
        &mut self,
        kernel: &Kernel,
        number: usize,
        tree: &Tree,
        owner: CpuId,
        span: MaskId,
        masks: &mut MaskTable,
    ) -> Vec<u32> {
        let mut uncovered = Uncovered::of(masks.get(span), owner);
        let mut ring = Vec::new();
        while let Some(cpu) = uncovered.next() {
            match self.group_of(kernel, number, tree, cpu, span, masks) {
                Some(group) => {
                    uncovered.cover(cpu, masks.get(self.groups[group as usize].span));
                    ring.push(group);
                }
                None => uncovered.skip(cpu),
            }
        }
        ring
    }

    /// The group that `cpu` contributes to a domain with `span`, or none when its chain does not
    /// reach the level.
    fn group_of(
        &mut self,
        kernel: &Kernel,
        number: usize,
        tree: &Tree,
        cpu: CpuId,
        span: MaskId,
        masks: &mut MaskTable,
    ) -> Option<u32> {
        let chain = tree.chain(cpu);
        if !masks.get(chain.get(number)?.span).test(cpu) {
            return None;
        }
        let mut level = number;
        if kernel.has(Feature::SD_OVERLAP_DESCEND) {
            while level > 0 && !masks.is_subset(chain[level - 1].span, span) {
                level -= 1;
            }
            // Only a descent can end at a domain that spans the same CPUs as its child.
            while level < number && level > 0 && chain[level - 1].span == chain[level].span {
                level -= 1;
            }
        }
        let (group, flags) = match level.checked_sub(1) {
            Some(child) => (chain[child].span, chain[child].flags),
            None => (chain[level].span, DomainFlags::NONE),
        };
        let key = (level as u32, group.0, flags);
        if let Some(known) = self.numbers.get(&key) {
            return Some(*known);
        }
        let balance_mask = self.balance_mask(level, tree, group, masks);
        self.groups.push(NodeGroup {
            span: group,
            balance_mask,
            flags,
            level: level as u32,
        });
        let id = self.groups.len() as u32 - 1;
        self.numbers.insert(key, id);
        Some(id)
    }

    /// The CPUs of `group` that would themselves make this group at `level`.
    fn balance_mask(
        &mut self,
        level: usize,
        tree: &Tree,
        group: MaskId,
        masks: &mut MaskTable,
    ) -> MaskId {
        if let Some(known) = self.balance_masks.get(&(level as u32, group.0)) {
            return *known;
        }
        let makes = |cpu: &CpuId| {
            tree.at(*cpu, level).is_some()
                && tree.below(*cpu, level).is_some_and(|c| c.span == group)
        };
        let cpus = masks.get(group);
        let mask = CpuMask::from_cpus(cpus.room(), cpus.iter().filter(makes));
        // Differs from Linux: an empty mask, about which the kernel only warns, is the whole group.
        let id = if mask.is_empty() {
            group
        } else {
            masks.intern(&mask)
        };
        self.balance_masks.insert((level as u32, group.0), id);
        id
    }

    /// The number of the group like `like` with other flags.
    pub(super) fn with_flags(&mut self, like: u32, flags: DomainFlags) -> u32 {
        let group = NodeGroup {
            flags,
            ..self.groups[like as usize].clone()
        };
        let key = (group.level, group.span.0, flags);
        let next = self.groups.len() as u32;
        let id = *self.numbers.entry(key).or_insert(next);
        if id == next {
            self.groups.push(group);
        }
        id
    }
}
