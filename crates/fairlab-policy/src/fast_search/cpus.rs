//! The search for an idle CPU within a budget, in one pass.

use fairlab_topology::domains::{DomainId, MaskId};
use fairlab_units::CpuId;

use super::in_order::LlcWalk;
use super::words::{BITS, Passes, cpu_at, sched_mask, up_to_lowest, wrap_words};
use crate::core_form::word;
use crate::explain::Explain;
use crate::idle_masks::IdleMasks;
use crate::idle_sibling::{Budget, ScanEnd};
use crate::search::Search;
use crate::word_range::WordRange;
use crate::{MachineView, Reason};

/// How a counted walk ended.
pub(super) enum Walk {
    /// At this CPU.
    Hit(CpuId),
    /// It would have visited more CPUs than it may.
    Spent,
    /// It came to its end.
    End,
}

/// Walks `base` until a member of `hits`, within `limit` members of `base`. Adds to `visited` the
/// members that were visited.
#[inline]
pub(super) fn walk(
    range: WordRange,
    start: CpuId,
    limit: u64,
    visited: &mut u64,
    base: impl Fn(usize) -> u64,
    hits: impl Fn(usize) -> u64,
) -> Walk {
    let end = wrap_words(range, start, |i, bits| {
        let base = base(i) & bits;
        let hit = base & hits(i);
        let passed = base & up_to_lowest(hit);
        let count = if passed == u64::MAX {
            BITS as u64
        } else {
            u64::from(passed.count_ones())
        };
        if *visited + count > limit {
            *visited = limit;
            return Some(Walk::Spent);
        }
        *visited += count;
        (hit != 0).then(|| Walk::Hit(cpu_at(i, hit)))
    });
    end.unwrap_or(Walk::End)
}

/// How many CPUs a budget lets a walk test. One that is not positive never comes down to zero.
pub(super) const fn tests_of(nr: Budget) -> u64 {
    if nr > 0 { nr as u64 - 1 } else { u64::MAX }
}

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// The one-pass scan for an idle CPU around `target`, cluster first.
    #[inline(always)]
    pub(crate) fn fast_walk_cpus(
        &mut self,
        masks: &IdleMasks,
        llc: DomainId,
        cluster: Option<MaskId>,
        target: CpuId,
        nr: Budget,
    ) -> ScanEnd {
        let limit = tests_of(nr);
        if cluster.is_none() {
            let id = self.domains.domain(llc).span;
            let walk = LlcWalk {
                masks,
                id,
                span: self.domains.mask(id),
                allowed: self.p.allowed,
                target,
                is_after: true,
                takes_sched_idle: self.takes_sched_idle,
            };
            if let Some((found, visited)) = walk.find_cpu::<false>() {
                return self.settle_cpu(found, visited, limit);
            }
        }
        self.fast_walk_all_cpus(masks, llc, cluster, CpuId(target.0 + 1), limit)
    }

    /// Counts and answers a walk that visited so many CPUs, or would have.
    #[inline(always)]
    pub(super) fn settle_cpu(&mut self, found: Option<CpuId>, visited: u32, limit: u64) -> ScanEnd {
        if u64::from(visited) > limit {
            self.cost.idle_tests += limit as u32;
            return ScanEnd::OUT_OF_BUDGET;
        }
        self.cost.idle_tests += visited;
        match found {
            Some(cpu) => ScanEnd::found(cpu, Reason::IdleCpu),
            None => ScanEnd::NOTHING,
        }
    }

    /// [`fast_walk_cpus`](Self::fast_walk_cpus) where places do not say what was visited.
    #[inline(never)]
    fn fast_walk_all_cpus(
        &mut self,
        masks: &IdleMasks,
        llc: DomainId,
        cluster: Option<MaskId>,
        start: CpuId,
        limit: u64,
    ) -> ScanEnd {
        let (span, allowed) = (self.domains.span(llc), self.p.allowed);
        let sched = sched_mask(self.takes_sched_idle);
        let near = cluster.map(|id| self.domains.mask(id));
        let passes = Passes {
            start,
            near: cluster.map(|id| masks.range(id)),
            range: masks.range(self.domains.domain(llc).span),
        };
        let mut tally = CpuTally::default();
        let end = find_cpu(
            passes,
            limit,
            &mut tally,
            |pass, i| {
                let cluster = near.map_or(0, |near| word(near, i));
                passes.part(pass, word(span, i) & word(allowed, i), cluster)
            },
            |i| masks.row(i).usable(sched),
        );
        self.cost.idle_tests += tally.visited as u32;
        self.cost.mask_ops += tally.clusters;
        end
    }
}

/// What [`find_cpu`] counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuTally {
    /// CPUs visited.
    pub visited: u64,
    /// Clusters that were visited to their end.
    pub clusters: u32,
}

/// The first usable CPU to which `passes` come within `limit` visits. `base` gives the CPUs of a pass,
/// by pass and word, and `usable` those of a word that end the search.
#[inline(always)]
pub fn find_cpu(
    passes: Passes,
    limit: u64,
    tally: &mut CpuTally,
    base: impl Fn(u8, usize) -> u64,
    usable: impl Fn(usize) -> u64,
) -> ScanEnd {
    if let Some(near) = passes.near {
        let visited = &mut tally.visited;
        match walk(near, passes.start, limit, visited, |i| base(0, i), &usable) {
            Walk::Hit(cpu) => return ScanEnd::found(cpu, Reason::ClusterIdleCpu),
            Walk::Spent => return ScanEnd::OUT_OF_BUDGET,
            Walk::End => tally.clusters += 1,
        }
    }
    let (range, visited) = (passes.range, &mut tally.visited);
    match walk(range, passes.start, limit, visited, |i| base(1, i), usable) {
        Walk::Hit(cpu) => ScanEnd::found(cpu, Reason::IdleCpu),
        Walk::Spent => ScanEnd::OUT_OF_BUDGET,
        Walk::End => ScanEnd::NOTHING,
    }
}
