//! Groups of the levels below NUMA: shared by all CPUs of a domain.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use fairlab_units::{CpuId, CpuMask};

use super::intern::MaskTable;
use super::levels::Level;
use super::tree::Tree;
use super::{DomainFlags, MaskId};

const NONE: u32 = u32::MAX;

/// A group object, one per distinct child span at a level.
#[derive(Clone, Debug)]
pub(super) struct GroupObject {
    pub(super) span: MaskId,
    /// Flags of the child; removing levels changes them.
    pub(super) flags: DomainFlags,
    /// Position in its ring.
    place: u32,
}

/// The groups of one level.
#[derive(Default)]
pub(super) struct LevelGroups {
    pub(super) objects: Vec<GroupObject>,
    /// The object of each span, by number of the mask. (The kernel keeps it under the number of the
    /// span's first CPU, which is the same wherever the spans of a level are disjoint.)
    object_of: Vec<u32>,
    /// The ring of each span, as objects.
    rings: BTreeMap<u32, Vec<u32>>,
}

/// The ring of a domain: which objects, and with which it begins.
pub(super) enum Ring<'a> {
    /// The ring that all CPUs of the span share, and the place of the local group in it.
    Shared(&'a [u32], u32),
    /// The CPU's own walk. Only on machines whose masks no real kernel accepts.
    Own(Vec<u32>),
}

impl LevelGroups {
    /// Makes the groups at level `number` of a partition.
    ///
    /// Every CPU of a span walks it and links the same objects anew, in ascending order of the
    /// walkers, so the walk of the highest CPU stays.
    ///
    /// # Source
    /// Linux v6.12 `kernel/sched/topology.c`, `build_sched_groups()`, `get_group()`.
    pub(super) fn build(
        number: usize,
        level: &Level,
        tree: &Tree,
        cpus: &[CpuId],
        masks: &mut MaskTable,
    ) -> Self {
        let mut groups = Self::default();
        if level.overlaps() {
            return groups;
        }
        for &cpu in cpus.iter().rev() {
            let Some(domain) = tree.at(cpu, number) else {
                continue;
            };
            if !groups.rings.contains_key(&domain.span.0) {
                let ring = groups.walk(number, tree, cpu, domain.span, masks);
                for (place, object) in ring.iter().enumerate() {
                    groups.objects[*object as usize].place = place as u32;
                }
                groups.rings.insert(domain.span.0, ring);
            }
        }
        groups
    }

    /// The ring of the domain of `cpu` with `span`.
    pub(super) fn ring(
        &mut self,
        number: usize,
        tree: &Tree,
        cpu: CpuId,
        span: MaskId,
        masks: &mut MaskTable,
    ) -> Ring<'_> {
        let local = self.object(number, tree, cpu, masks);
        let place = self.objects[local as usize].place;
        let in_ring = |ring: &Vec<u32>| ring.get(place as usize) == Some(&local);
        if self.rings.get(&span.0).is_some_and(in_ring) {
            Ring::Shared(&self.rings[&span.0], place)
        } else {
            Ring::Own(self.walk(number, tree, cpu, span, masks))
        }
    }

    /// The objects of the ring that all CPUs of `span` share.
    pub(super) fn shared_ring(&self, span: MaskId) -> &[u32] {
        self.rings.get(&span.0).map_or(&[], Vec::as_slice)
    }

    /// The object that stands for `cpu`.
    pub(super) fn object(
        &mut self,
        number: usize,
        tree: &Tree,
        cpu: CpuId,
        masks: &mut MaskTable,
    ) -> u32 {
        let child = tree.below(cpu, number);
        let span = child.map_or_else(|| masks.single(cpu), |c| c.span);
        let key = span.0 as usize;
        if self.object_of.len() <= key {
            self.object_of.resize(key + 1, NONE);
        }
        if self.object_of[key] != NONE {
            return self.object_of[key];
        }
        let object = self.objects.len() as u32;
        self.object_of[key] = object;
        self.objects.push(GroupObject {
            span,
            flags: child.map_or(DomainFlags::NONE, |c| c.flags),
            place: NONE,
        });
        object
    }

    fn walk(
        &mut self,
        number: usize,
        tree: &Tree,
        owner: CpuId,
        span: MaskId,
        masks: &mut MaskTable,
    ) -> Vec<u32> {
        let mut uncovered = Uncovered::of(masks.get(span), owner);
        let mut ring = Vec::new();
        while let Some(cpu) = uncovered.next() {
            let object = self.object(number, tree, cpu, masks);
            // The walker's own number goes too, so that the walk ends whatever the masks are.
            uncovered.cover(cpu, masks.get(self.objects[object as usize].span));
            if !ring.contains(&object) {
                ring.push(object);
            }
        }
        ring
    }
}

/// A walk over a span in wrap order that skips what groups cover already.
pub(super) struct Uncovered {
    left: CpuMask,
    /// Where to look on. Wraps once.
    at: CpuId,
    owner: CpuId,
    wrapped: bool,
}

impl Uncovered {
    pub(super) fn of(span: &CpuMask, owner: CpuId) -> Self {
        Self {
            left: span.clone(),
            at: owner,
            owner,
            wrapped: false,
        }
    }

    pub(super) fn next(&mut self) -> Option<CpuId> {
        if !self.wrapped {
            if let Some(cpu) = self.left.next_from(self.at) {
                self.at = cpu;
                return Some(cpu);
            }
            self.wrapped = true;
            self.at = CpuId(0);
        }
        let cpu = self.left.next_from(self.at).filter(|c| *c < self.owner)?;
        self.at = cpu;
        Some(cpu)
    }

    pub(super) fn cover(&mut self, cpu: CpuId, group: &CpuMask) {
        self.left.clear(cpu);
        self.left.and_not_with(group);
    }

    /// Leaves `cpu` without covering it.
    pub(super) fn skip(&mut self, cpu: CpuId) {
        self.left.clear(cpu);
    }
}

/// How many cores a span touches; keeps one row of scratch memory.
pub(super) struct CoreCounter {
    seen: Vec<u32>,
    round: u32,
}

impl CoreCounter {
    pub(super) fn new(nr_cpu_ids: usize) -> Self {
        Self {
            seen: vec![0; nr_cpu_ids],
            round: 0,
        }
    }

    /// Number of distinct cores in `span`; `core` gives a number per core.
    pub(super) fn count(&mut self, span: &CpuMask, core: impl Fn(CpuId) -> CpuId) -> u32 {
        self.round += 1;
        let mut cores = 0;
        for cpu in span {
            let seen = &mut self.seen[core(cpu).index()];
            cores += u32::from(*seen != self.round);
            *seen = self.round;
        }
        cores
    }
}
