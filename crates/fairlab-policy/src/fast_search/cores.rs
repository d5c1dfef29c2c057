//! The search for an idle core, in one pass.

use fairlab_kernel::Feature;
use fairlab_topology::domains::{DomainId, MaskId};
use fairlab_units::CpuId;

use super::core_walk::{CoreWalk, Tally};
use super::in_order::LlcWalk;
use super::words::sched_mask;
use crate::explain::Explain;
use crate::idle_masks::IdleMasks;
use crate::idle_sibling::ScanEnd;
use crate::search::Search;
use crate::{MachineView, Reason};

/// The answer of a search that came to an idle core in `pass`.
#[inline(always)]
#[must_use]
pub const fn found_core(pass: u8, cpu: CpuId) -> ScanEnd {
    ScanEnd::found(
        cpu,
        match pass {
            0 => Reason::ClusterIdleCore,
            _ => Reason::IdleCore,
        },
    )
}

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// The one-pass scan for an idle core around `target`, cluster first. The caller clears the hint
    /// unless a core is found.
    #[inline(always)]
    pub(crate) fn fast_walk_cores(
        &mut self,
        masks: &IdleMasks,
        llc: DomainId,
        cluster: Option<MaskId>,
        target: CpuId,
    ) -> ScanEnd {
        if cluster.is_none() && masks.counts_cores {
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
            if let Some(tally) = walk.tally::<false, true>() {
                return self.settle(masks, &tally, false);
            }
        }
        self.fast_walk_parts(masks, llc, cluster, CpuId(target.0 + 1))
    }

    /// [`fast_walk_cores`](Self::fast_walk_cores) where places do not say what was visited.
    #[inline(never)]
    fn fast_walk_parts(
        &mut self,
        masks: &IdleMasks,
        llc: DomainId,
        cluster: Option<MaskId>,
        start: CpuId,
    ) -> ScanEnd {
        let span = self.domains.domain(llc).span;
        let range = masks.range(span);
        let walk = CoreWalk {
            span: self.domains.mask(span),
            range,
            allowed: self.p.allowed,
            cluster: cluster.map(|id| self.domains.mask(id)),
            near: cluster.map_or(range, |id| masks.range(id)),
            start,
        };
        if masks.counts_cores
            && let Some(rows) = walk.rows(masks, span, cluster)
        {
            let tally = walk.tally::<false, true>(masks, &rows, self.takes_sched_idle);
            return self.settle(masks, &tally, cluster.is_some());
        }
        let core = walk
            .passes()
            .first(|pass, i| walk.base(pass, i) & masks.row(i).idle_core);
        let in_scan = self.has(Feature::SIS_CORE_DOMAIN);
        let sched_idle = self.takes_sched_idle;
        let is_usable = |t: CpuId| masks.is_idle(t) || (sched_idle && masks.is_sched_idle(t));
        let is_candidate = |pass: u8, t: CpuId| {
            if in_scan {
                // The cluster has left the mask before the second pass.
                walk.holds(t) && (pass == 0 || walk.pass_of(t) == 1)
            } else {
                walk.allowed.test(t)
            }
        };
        if masks.counts_cores {
            self.count_cores(masks, &walk, core.map(|(_, cpu)| cpu), &is_candidate);
        } else if let Some((_, cpu)) = core {
            self.cost.idle_tests += masks.threads(cpu).len() as u32;
        }
        if cluster.is_some() && core.is_none_or(|(pass, _)| pass == 1) {
            self.cost.mask_ops += 1;
        }
        if let Some((pass, cpu)) = core {
            return found_core(pass, cpu);
        }
        // The first core of the walk that has a usable thread gives its lowest such thread.
        let thread = walk.first(
            |i| masks.row(i).some_usable(sched_mask(sched_idle)),
            |pass, cpu| {
                if !walk.leads(masks, cpu) {
                    return None;
                }
                let mut threads = masks.threads(cpu).iter().copied();
                threads.find(|t| is_usable(*t) && is_candidate(pass, *t))
            },
        );
        match thread {
            Some(cpu) => ScanEnd::found(cpu, Reason::IdleThread),
            None => ScanEnd::NOTHING,
        }
    }

    /// Counts and answers what a walk over whole cores came to.
    #[inline(always)]
    fn settle(&mut self, masks: &IdleMasks, tally: &Tally, has_cluster: bool) -> ScanEnd {
        let sched_idle = self.takes_sched_idle;
        let mut tests = tally.before + tally.after;
        let mut thread = None;
        if let Some(cpu) = tally.known {
            // All threads that count are in the scan: a core is allowed as a whole.
            for t in masks.threads(cpu) {
                tests += 1;
                if masks.is_idle(*t) {
                    thread = thread.or(Some(*t));
                } else if thread.is_some() {
                    break;
                } else if sched_idle && masks.is_sched_idle(*t) {
                    thread = Some(*t);
                    break;
                }
            }
        }
        if let Some((_, cpu)) = tally.found {
            tests += masks.threads(cpu).len() as u32;
        }
        self.cost.idle_tests += tests;
        self.cost.mask_ops += tally.busy;
        if has_cluster && tally.found.is_none_or(|(pass, _)| pass == 1) {
            self.cost.mask_ops += 1;
        }
        match (tally.found, thread) {
            (Some((pass, cpu)), _) => found_core(pass, cpu),
            (None, Some(cpu)) => ScanEnd::found(cpu, Reason::IdleThread),
            (None, None) => ScanEnd::NOTHING,
        }
    }

    /// Counts what the kernel's core tests look at on the way to `found`, or to the end.
    fn count_cores(
        &mut self,
        masks: &IdleMasks,
        walk: &CoreWalk<'_>,
        found: Option<CpuId>,
        is_candidate: &impl Fn(u8, CpuId) -> bool,
    ) {
        let (mut tests, mut busy_cores) = (0u32, 0u32);
        let mut knows_thread = false;
        let sched_idle = self.takes_sched_idle;
        let _ = walk.first(
            |_| u64::MAX,
            |pass, cpu| {
                if !walk.leads(masks, cpu) {
                    return None;
                }
                let threads = masks.threads(cpu);
                if Some(cpu) == found {
                    tests += threads.len() as u32;
                    return Some(());
                }
                busy_cores += 1;
                for thread in threads {
                    tests += 1;
                    if masks.is_idle(*thread) {
                        knows_thread |= is_candidate(pass, *thread);
                        continue;
                    }
                    if knows_thread {
                        break;
                    }
                    let is_second = sched_idle && masks.is_sched_idle(*thread);
                    if is_second && is_candidate(pass, *thread) {
                        knows_thread = true;
                        break;
                    }
                }
                None
            },
        );
        self.cost.idle_tests += tests;
        self.cost.mask_ops += busy_cores;
    }
}
