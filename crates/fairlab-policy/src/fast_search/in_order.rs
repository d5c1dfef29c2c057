//! Walks of a whole LLC, whose counts follow from where they end.
//!
//! A task that may run on all CPUs of the walk passes them in the order of their numbers, and cores in
//! a cyclic order; how many it passed is the distance of two places. Words are only looked at for
//! where it ends.

use fairlab_topology::domains::MaskId;
use fairlab_units::{CpuId, CpuMask};

use super::core_walk::Tally;
use super::words::{Look, below_lowest, cpu_at, ones, sched_mask, up_to_lowest, wrap_looks};
use crate::core_form::word;
use crate::idle_masks::{IdleMasks, Row};
use crate::word_range::WordRange;

/// A walk over the LLC with mask `id`.
#[derive(Clone, Copy)]
pub(super) struct LlcWalk<'a> {
    pub masks: &'a IdleMasks,
    pub id: MaskId,
    pub span: &'a CpuMask,
    pub allowed: &'a CpuMask,
    /// The CPU searched around, where the walk starts; with `is_after` at the CPU that follows it.
    pub target: CpuId,
    pub is_after: bool,
    pub takes_sched_idle: bool,
}

/// The words of a mask up to the end of a walk.
#[inline(always)]
fn cut(mask: &CpuMask, range: WordRange) -> Option<&[u64]> {
    mask.words().get(..range.end)
}

impl LlcWalk<'_> {
    #[inline]
    pub fn start(&self) -> CpuId {
        CpuId(self.target.0 + u32::from(self.is_after))
    }

    /// The first usable CPU and how many CPUs the walk has visited; none when that does not follow
    /// from places. With `SECOND` sched-idle CPUs are second choice, and there must be none.
    #[inline(always)]
    pub fn find_cpu<const SECOND: bool>(&self) -> Option<(Option<CpuId>, u32)> {
        let masks = self.masks;
        let (range, order) = masks.order(self.id)?;
        let mut words = CpuWords::<SECOND> {
            span: cut(self.span, range)?,
            allowed: cut(self.allowed, range)?,
            rows: masks.rows(range.end)?,
            sched: sched_mask(self.takes_sched_idle),
            hit: 0,
            unclear: 0,
        };
        let end = wrap_looks(range, self.start(), &mut words);
        if words.unclear != 0 {
            return None;
        }
        let Some(i) = end else {
            return Some((None, order.cpus));
        };
        let cpu = cpu_at(i, words.hit);
        let visited = if self.is_after {
            masks.places.visited_after(order, self.target, cpu)
        } else {
            masks.places.visited_from(order, self.target, cpu)
        };
        Some((Some(cpu), visited))
    }

    /// What a walk over cores counts on its way, as [`CoreWalk::tally`](super::core_walk::CoreWalk::tally)
    /// does; none when that does not follow from places.
    #[inline(always)]
    pub fn tally<const KNOWS: bool, const LEARNS: bool>(&self) -> Option<Tally> {
        let masks = self.masks;
        let (range, order) = masks.order(self.id)?;
        let cores = order.cores?;
        let mut words = CoreWords::<KNOWS, LEARNS> {
            masks,
            id: self.id,
            start: self.start(),
            span: cut(self.span, range)?,
            allowed: cut(self.allowed, range)?,
            rows: masks.rows(range.end)?,
            sched: sched_mask(LEARNS && self.takes_sched_idle),
            forbidden: 0,
            idle: 0,
            known: None,
            leading: 0,
        };
        let end = wrap_looks(range, self.start(), &mut words);
        let is_whole = |cpu| {
            let threads = masks.threads(cpu).iter();
            threads.fold(true, |all, thread| all & self.allowed.test(*thread))
        };
        if words.forbidden != 0 || words.known.is_some_and(|cpu| !is_whole(cpu)) {
            return None;
        }
        let found = end.map(|i| cpu_at(i, words.idle));
        let first = masks.places.first_core(self.target, self.is_after);
        let passed = |cpu| masks.places.passed(&cores, first, cpu);
        let busy = match found {
            Some(cpu) => passed(cpu),
            None => cores.cores,
        };
        let (before, after) = match words.known {
            _ if KNOWS => (0, busy + words.leading),
            None => (busy, 0),
            Some(cpu) => {
                let before = passed(cpu);
                (before, busy - before - 1 + words.leading)
            }
        };
        Some(Tally {
            found: found.map(|cpu| (1, cpu)),
            known: words.known,
            busy,
            threads: busy * cores.threads,
            before: before * cores.threads,
            after,
        })
    }
}

/// How many threads are idle before the first busy one of their cores, of the cores to which a walk
/// from `start` comes at `bits` of word `i`.
#[inline(never)]
fn leading_idle(masks: &IdleMasks, id: MaskId, start: CpuId, i: usize, bits: u64) -> u32 {
    let Some(form) = masks.form(id) else {
        return 0;
    };
    let leads = bits & form.leads(i, start, word(&masks.lowest, i), 0);
    let leading = masks.row(i).leading_idle;
    let words = leading.iter().enumerate();
    words.fold(0, |sum, (bit, word)| sum + (ones(leads & word) << bit))
}

/// Looks for a usable CPU.
struct CpuWords<'a, const SECOND: bool> {
    span: &'a [u64],
    allowed: &'a [u64],
    rows: &'a [Row],
    /// All bits when sched-idle CPUs are usable.
    sched: u64,
    /// Usable CPUs of the last word.
    hit: u64,
    /// CPUs of the last word because of which places do not say what was visited.
    unclear: u64,
}

impl<const SECOND: bool> Look for CpuWords<'_, SECOND> {
    #[inline(always)]
    fn look(&mut self, i: usize, bits: u64) -> bool {
        let members = self.span[i] & bits;
        let row = &self.rows[i];
        self.unclear = members & !self.allowed[i];
        if SECOND {
            self.unclear |= members & row.sched_idle;
        }
        self.hit = members & row.usable(self.sched);
        self.hit | self.unclear != 0
    }
}

/// Looks for an idle core.
struct CoreWords<'a, const KNOWS: bool, const LEARNS: bool> {
    masks: &'a IdleMasks,
    id: MaskId,
    start: CpuId,
    span: &'a [u64],
    allowed: &'a [u64],
    rows: &'a [Row],
    /// All bits when sched-idle CPUs are usable.
    sched: u64,
    /// CPUs of the last word where the task may not run.
    forbidden: u64,
    /// Idle cores of the last word.
    idle: u64,
    /// The first core with a usable thread.
    known: Option<CpuId>,
    /// Threads idle before the first busy one, of the cores that are given up there.
    leading: u32,
}

impl<const KNOWS: bool, const LEARNS: bool> Look for CoreWords<'_, KNOWS, LEARNS> {
    #[inline(always)]
    fn look(&mut self, i: usize, bits: u64) -> bool {
        let members = self.span[i] & bits;
        let row = &self.rows[i];
        let usable = members & row.some_usable(self.sched);
        self.forbidden = members & !self.allowed[i];
        if usable | self.forbidden == 0 {
            return false;
        }
        self.idle = members & row.idle_core;
        // All threads of a core have the same bits, so that the first with a bit is the one through
        // which the walk comes to the first such core.
        let mut partly = usable & below_lowest(self.idle);
        if LEARNS && self.known.is_none() && partly != 0 {
            self.known = Some(cpu_at(i, partly));
            partly &= !up_to_lowest(partly);
        }
        if (KNOWS || LEARNS) && partly & row.some_idle != 0 {
            self.leading += leading_idle(self.masks, self.id, self.start, i, partly);
        }
        self.idle | self.forbidden != 0
    }
}
