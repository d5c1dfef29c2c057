//! The passes of v5.4 and v5.6.

use fairlab_kernel::Feature;
use fairlab_topology::domains::DomainId;
use fairlab_units::CpuId;

use super::core_walk::CoreWalk;
use super::cpus::{Walk, tests_of, walk};
use super::in_order::LlcWalk;
use super::words::{BITS, cpu_at, sched_mask, wrap_words};
use crate::core_form::word;
use crate::explain::Explain;
use crate::idle_masks::IdleMasks;
use crate::idle_sibling::{Budget, ScanEnd};
use crate::search::Search;
use crate::{MachineView, Reason};

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// The core pass of v5.4 and v5.6. The caller clears the hint when there is no idle core.
    pub(crate) fn fast_idle_core<const EARLY_EXIT: bool, const CLEAR_ONCE: bool>(
        &mut self,
        masks: &IdleMasks,
        llc: DomainId,
        target: CpuId,
    ) -> Option<CpuId> {
        let id = self.domains.domain(llc).span;
        let span = self.domains.mask(id);
        let range = masks.range(id);
        let walk = CoreWalk {
            span,
            range,
            allowed: self.p.allowed,
            cluster: None,
            near: range,
            start: target,
        };
        let mut tally = None;
        if masks.counts_cores {
            let in_order = LlcWalk {
                masks,
                id,
                span,
                allowed: self.p.allowed,
                target,
                is_after: false,
                takes_sched_idle: false,
            };
            tally = if EARLY_EXIT {
                in_order.tally::<true, false>()
            } else {
                in_order.tally::<false, false>()
            };
            if tally.is_none()
                && let Some(rows) = walk.rows(masks, id, None)
            {
                tally = Some(if EARLY_EXIT {
                    walk.tally::<true, false>(masks, &rows, false)
                } else {
                    walk.tally::<false, false>(masks, &rows, false)
                });
            }
        }
        if let Some(tally) = tally {
            let found = tally.found.map(|(_, cpu)| cpu);
            let of_found = found.map_or(0, |cpu| masks.threads(cpu).len() as u32);
            self.cost.idle_tests += tally.before + tally.after + of_found;
            if CLEAR_ONCE {
                self.cost.mask_ops += tally.busy;
            } else {
                self.cost.bit_clears += tally.threads + of_found;
            }
            return found;
        }
        let found = walk.first(|i| masks.row(i).idle_core, |_, cpu| Some(cpu));
        if !masks.counts_cores {
            if let Some(cpu) = found {
                self.cost.idle_tests += masks.threads(cpu).len() as u32;
            }
            return found;
        }
        let cost = &mut self.cost;
        let _ = walk.first(
            |_| u64::MAX,
            |_, cpu| {
                if !walk.leads(masks, cpu) {
                    return None;
                }
                let threads = masks.threads(cpu);
                let all = threads.len() as u32;
                if !CLEAR_ONCE {
                    cost.bit_clears += all;
                }
                if Some(cpu) == found {
                    cost.idle_tests += all;
                    return Some(());
                }
                let idle_first = threads.iter().take_while(|t| masks.is_idle(**t)).count();
                cost.idle_tests += if EARLY_EXIT {
                    idle_first as u32 + 1
                } else {
                    all
                };
                cost.mask_ops += u32::from(CLEAR_ONCE);
                None
            },
        );
        found
    }

    /// The CPU pass of v5.4 and v5.6: over allowed CPUs, or over the whole span with the forbidden
    /// ones using up budget.
    pub(crate) fn fast_walk_old(
        &mut self,
        masks: &IdleMasks,
        llc: DomainId,
        target: CpuId,
        nr: Budget,
        allowed_only: bool,
    ) -> ScanEnd {
        let (span, allowed) = (self.domains.span(llc), self.p.allowed);
        let range = masks.range(self.domains.domain(llc).span);
        let as_idle = self.has(Feature::SIS_SCHED_IDLE) && self.takes_sched_idle;
        let as_second = !self.has(Feature::SIS_SCHED_IDLE) && self.takes_sched_idle;
        let id = self.domains.domain(llc).span;
        let in_order = LlcWalk {
            masks,
            id,
            span,
            allowed,
            target,
            is_after: false,
            takes_sched_idle: as_idle,
        };
        let found = if as_second {
            in_order.find_cpu::<true>()
        } else {
            in_order.find_cpu::<false>()
        };
        if let Some((found, visited)) = found {
            return self.settle_cpu(found, visited, tests_of(nr));
        }
        let hits = |i: usize| masks.row(i).usable(sched_mask(as_idle)) & word(allowed, i);
        let base = |i: usize| {
            let all = word(span, i);
            if allowed_only {
                all & word(allowed, i)
            } else {
                all
            }
        };
        let mut visited = 0;
        let end = walk(range, target, tests_of(nr), &mut visited, base, hits);
        // Which of the visited CPUs are allowed, and which of them is second choice.
        let (mut left, mut tests, mut second) = (visited, 0, None);
        if allowed_only && !as_second {
            tests = visited as u32;
        } else {
            let _ = wrap_words(range, target, |i, bits| {
                let mut seen = base(i) & bits;
                while u64::from(seen.count_ones()) > left {
                    // Drops the highest.
                    seen &= !(1 << (BITS - 1 - seen.leading_zeros() as usize));
                }
                left -= u64::from(seen.count_ones());
                let tested = seen & word(allowed, i);
                tests += tested.count_ones();
                let row = masks.row(i);
                let sched = tested & row.sched_idle & !row.idle;
                if as_second && second.is_none() && sched != 0 {
                    second = Some(cpu_at(i, sched));
                }
                (left == 0).then_some(())
            });
        }
        self.cost.idle_tests += tests;
        match (end, second) {
            (Walk::Hit(cpu), _) => ScanEnd::found(cpu, Reason::IdleCpu),
            (Walk::Spent, Some(cpu)) => ScanEnd::found(cpu, Reason::ScanSchedIdle),
            (Walk::Spent, None) => ScanEnd::OUT_OF_BUDGET,
            (Walk::End, _) => ScanEnd::NOTHING,
        }
    }
}
