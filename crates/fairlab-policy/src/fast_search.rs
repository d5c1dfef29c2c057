//! The scans of an LLC over idle masks, 64 CPUs at once.
//!
//! Answer, reason and counted cost are those of the kernel's walks in `idle_sibling`; a differential
//! test holds them together. What is counted is what the kernel's walk would have looked at.

use fairlab_kernel::Feature;
use fairlab_topology::domains::{DomainId, MaskId};
use fairlab_units::{CpuId, CpuMask};

use crate::core_form::{CoreForm, word};
use crate::explain::Explain;
use crate::idle_masks::{IdleMasks, WordRange};
use crate::idle_sibling::{Budget, ScanEnd};
use crate::search::Search;
use crate::{MachineView, Reason};

const BITS: usize = 64;

/// The words of a range in wrap order from `start`, each with the bits that count; the word of
/// `start` comes twice. Ends when `each` answers something.
#[inline]
fn wrap_words<T>(
    range: WordRange,
    start: CpuId,
    mut each: impl FnMut(usize, u64) -> Option<T>,
) -> Option<T> {
    let middle = start.index() / BITS;
    let from_start = u64::MAX << (start.index() % BITS);
    let parts = [
        (middle.max(range.first), range.end, from_start),
        (range.first, range.end.min(middle + 1), !from_start),
    ];
    // One loop with one call, so that the call is inlined.
    for (first, end, at_middle) in parts {
        for i in first..end {
            let bits = if i == middle { at_middle } else { u64::MAX };
            if bits == 0 {
                break;
            }
            let answer = each(i, bits);
            if answer.is_some() {
                return answer;
            }
        }
    }
    None
}

/// The bits below the lowest of `bits`, or all when there is none.
const fn below_lowest(bits: u64) -> u64 {
    bits.wrapping_sub(1) & !bits
}

/// The bits up to and with the lowest of `bits`, or all when there is none.
const fn up_to_lowest(bits: u64) -> u64 {
    bits ^ bits.wrapping_sub(1)
}

/// Number of bits, soon known where all, one or none is set, as most often.
#[inline]
const fn ones(bits: u64) -> u32 {
    if bits == u64::MAX {
        BITS as u32
    } else if bits & bits.wrapping_sub(1) == 0 {
        (bits != 0) as u32
    } else {
        bits.count_ones()
    }
}

const fn cpu_at(word: usize, bits: u64) -> CpuId {
    CpuId((word * BITS) as u32 + bits.trailing_zeros())
}

/// How a counted walk ended.
enum Walk {
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
fn walk(
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
const fn tests_of(nr: Budget) -> u64 {
    if nr > 0 { nr as u64 - 1 } else { u64::MAX }
}

/// The CPUs of a core search in the order of the walk: those of the cluster first, if any.
struct CoreWalk<'a> {
    span: &'a CpuMask,
    range: WordRange,
    allowed: &'a CpuMask,
    cluster: Option<&'a CpuMask>,
    near: WordRange,
    start: CpuId,
}

/// What a walk over cores has counted on its way to an idle core, or to its end.
#[derive(Debug, Default)]
struct Tally {
    /// The idle core, as the thread through which the walk came to it, and the pass.
    found: Option<(u8, CpuId)>,
    /// The first busy core with a usable thread, likewise; none when the idle core comes first.
    known: Option<CpuId>,
    /// Busy cores.
    busy: u32,
    /// Their threads.
    threads: u32,
    /// Threads of busy cores before the known one.
    before: u32,
    /// What busy cores after the known one cost: each the threads up to its first busy one.
    after: u32,
}

/// The words that a walk over whole cores reads, all cut at the end of its range.
struct Rows<'a> {
    form: &'a CoreForm,
    span: &'a [u64],
    allowed: &'a [u64],
    idle_core: &'a [u64],
    some_idle: &'a [u64],
    some_sched_idle: &'a [u64],
    lowest: &'a [u64],
    /// Number of bits in the words of `lowest`.
    cores: &'a [u8],
}

impl CoreWalk<'_> {
    /// Word `i` of the CPUs of one pass: 0 in the cluster, 1 outside.
    #[inline]
    fn base(&self, pass: u8, i: usize) -> u64 {
        let all = word(self.span, i) & word(self.allowed, i);
        match (self.cluster, pass) {
            (Some(cluster), 0) => all & word(cluster, i),
            (Some(cluster), _) => all & !word(cluster, i),
            (None, 0) => 0,
            (None, _) => all,
        }
    }

    /// What to count this walk with by words; none when it sees parts of cores, or cores that have no
    /// common form.
    #[inline]
    fn rows<'m>(
        &'m self,
        masks: &'m IdleMasks,
        llc: MaskId,
        cluster: Option<MaskId>,
    ) -> Option<Rows<'m>> {
        let form = masks.form(llc)?;
        if let Some(cluster) = cluster {
            masks.form(cluster)?;
        }
        let end = self.range.end;
        let rows = Rows {
            form,
            span: self.span.words().get(..end)?,
            allowed: self.allowed.words().get(..end)?,
            idle_core: masks.idle_core.words().get(..end)?,
            some_idle: masks.some_idle.words().get(..end)?,
            some_sched_idle: masks.some_sched_idle.words().get(..end)?,
            lowest: masks.lowest.words().get(..end)?,
            cores: masks.cores_of_words.get(..end)?,
        };
        let forbidden = rows.span.iter().zip(rows.allowed);
        let is_whole = forbidden.fold(0, |some, (span, allowed)| some | span & !allowed) == 0
            || form.is_allowed_whole(
                self.range,
                self.span,
                self.allowed,
                &masks.lowest,
                &masks.single,
            );
        is_whole.then_some(rows)
    }

    /// Walks whole cores of a common form, a word at a time. `KNOWS` says that the walk gives a core
    /// up at its first busy thread from the beginning; else it does so once it has come to a usable
    /// thread: one that is idle, or with `takes_sched_idle` as good as idle. Without `LEARNS` it looks
    /// at all threads to the end.
    #[inline]
    fn tally<const KNOWS: bool, const LEARNS: bool>(
        &self,
        masks: &IdleMasks,
        rows: &Rows<'_>,
        takes_sched_idle: bool,
    ) -> Tally {
        let mut tally = Tally::default();
        let (mut busy, mut singles) = (0, 0);
        let (mut before, mut singles_before) = (0, 0);
        let form = rows.form;
        let sched = if takes_sched_idle { u64::MAX } else { 0 };
        let first_pass = u8::from(self.cluster.is_none());
        for pass in first_pass..=1 {
            let range = if pass == 0 { self.near } else { self.range };
            let _ = wrap_words(range, self.start, |i, bits| {
                let mut base = rows.span[i] & rows.allowed[i] & bits;
                if let Some(cluster) = self.cluster {
                    let near = word(cluster, i);
                    base &= if pass == 0 { near } else { !near };
                }
                let idle = base & rows.idle_core[i];
                let lowest = rows.lowest[i];
                let single = if form.has_singles {
                    word(&masks.single, i)
                } else {
                    0
                };
                let leads = form.leads(i, self.start, lowest, single);
                let mut cores = base & leads & below_lowest(idle);
                let count = if cores == lowest {
                    u32::from(rows.cores[i])
                } else {
                    ones(cores)
                };
                busy += count;
                let count_single = if form.has_singles {
                    ones(cores & single)
                } else {
                    0
                };
                singles += count_single;
                if KNOWS || (LEARNS && tally.known.is_some()) {
                    tally.after += count;
                } else {
                    let first = if LEARNS {
                        cores & (rows.some_idle[i] | rows.some_sched_idle[i] & sched)
                    } else {
                        0
                    };
                    if first == 0 {
                        before += count;
                        singles_before += count_single;
                        cores = 0;
                    } else {
                        let early = cores & below_lowest(first);
                        let count_early = ones(early);
                        before += count_early;
                        singles_before += ones(early & single);
                        tally.after += count - count_early - 1;
                        tally.known = Some(cpu_at(i, first));
                        // Without the known core, which is the lowest that is left.
                        cores &= !early;
                        cores &= cores.wrapping_sub(1);
                    }
                }
                if cores != 0 {
                    for (bit, mask) in masks.leading_idle.iter().enumerate() {
                        tally.after += ones(cores & word(mask, i)) << bit;
                    }
                }
                if idle == 0 {
                    return None;
                }
                tally.found = Some((pass, cpu_at(i, idle)));
                Some(())
            });
            if tally.found.is_some() {
                break;
            }
        }
        let threads_of = |cores: u32, singles: u32| (cores - singles) * form.threads + singles;
        tally.busy = busy;
        tally.threads = threads_of(busy, singles);
        tally.before = threads_of(before, singles_before);
        tally
    }

    fn pass_of(&self, cpu: CpuId) -> u8 {
        u8::from(!self.cluster.is_some_and(|cluster| cluster.test(cpu)))
    }

    fn holds(&self, cpu: CpuId) -> bool {
        self.span.test(cpu) && self.allowed.test(cpu)
    }

    /// Position in the walk.
    fn key(&self, cpu: CpuId) -> (u8, bool, CpuId) {
        (self.pass_of(cpu), cpu < self.start, cpu)
    }

    /// The first member with a bit in `hits` for which `take` answers something.
    fn first<T>(
        &self,
        hits: impl Fn(usize) -> u64,
        mut take: impl FnMut(u8, CpuId) -> Option<T>,
    ) -> Option<T> {
        let first_pass = if self.cluster.is_some() { 0 } else { 1 };
        for pass in first_pass..=1 {
            let found = wrap_words(self.range, self.start, |i, bits| {
                let mut hit = self.base(pass, i) & hits(i) & bits;
                while hit != 0 {
                    let answer = take(pass, cpu_at(i, hit));
                    if answer.is_some() {
                        return answer;
                    }
                    hit &= hit - 1;
                }
                None
            });
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Does the walk come to the core of `cpu` through `cpu`, not through another of its threads?
    fn leads(&self, masks: &IdleMasks, cpu: CpuId) -> bool {
        let threads = masks.threads(cpu);
        if self.cluster.is_none() && cpu >= self.start && threads.first() == Some(&cpu) {
            // The others are higher, so they come later.
            return true;
        }
        let key = self.key(cpu);
        threads
            .iter()
            .all(|t| *t == cpu || !self.holds(*t) || self.key(*t) > key)
    }
}

impl<'a, V: MachineView, E: Explain> Search<'a, V, E> {
    /// Does a scan find anybody to visit?
    pub(crate) fn scan_is_empty(&self, llc: DomainId) -> bool {
        !self.domains.span(llc).intersects(self.p.allowed)
    }

    /// The one-pass scan for an idle CPU, cluster first.
    pub(crate) fn fast_walk_cpus(
        &mut self,
        masks: &IdleMasks,
        llc: DomainId,
        cluster: Option<MaskId>,
        start: CpuId,
        nr: Budget,
    ) -> ScanEnd {
        let limit = tests_of(nr);
        if cluster.is_none() {
            // Most walks end in the word where they begin.
            let i = start.index() / BITS;
            let sched = if self.takes_sched_idle {
                word(&masks.sched_idle, i)
            } else {
                0
            };
            let all = word(self.domains.span(llc), i) & word(self.p.allowed, i);
            let all = all & (u64::MAX << (start.index() % BITS));
            let hit = all & (word(&masks.idle, i) | sched);
            let visited = ones(all & up_to_lowest(hit));
            if hit != 0 && u64::from(visited) <= limit {
                self.cost.idle_tests += visited;
                return ScanEnd::Found(cpu_at(i, hit), Reason::IdleCpu);
            }
        }
        self.fast_walk_all_cpus(masks, llc, cluster, start, limit)
    }

    /// [`fast_walk_cpus`](Self::fast_walk_cpus) in its full length, apart from the short form so that
    /// each is compiled well.
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
        let range = masks.range(self.domains.domain(llc).span);
        let sched_idle = self.takes_sched_idle;
        let usable = |i: usize| {
            let sched = if sched_idle {
                word(&masks.sched_idle, i)
            } else {
                0
            };
            word(&masks.idle, i) | sched
        };
        let base = |i: usize| word(span, i) & word(allowed, i);
        let mut visited = 0;
        let mut near = None;
        if let Some(cluster) = cluster {
            let mask = self.domains.mask(cluster);
            near = Some(mask);
            let end = walk(
                masks.range(cluster),
                start,
                limit,
                &mut visited,
                |i| base(i) & word(mask, i),
                usable,
            );
            match end {
                Walk::Hit(cpu) => {
                    self.cost.idle_tests += visited as u32;
                    return ScanEnd::Found(cpu, Reason::ClusterIdleCpu);
                }
                Walk::Spent => {
                    self.cost.idle_tests += visited as u32;
                    return ScanEnd::OutOfBudget;
                }
                Walk::End => self.cost.mask_ops += 1,
            }
        }
        let end = walk(
            range,
            start,
            limit,
            &mut visited,
            |i| base(i) & !near.map_or(0, |near| word(near, i)),
            usable,
        );
        self.cost.idle_tests += visited as u32;
        match end {
            Walk::Hit(cpu) => ScanEnd::Found(cpu, Reason::IdleCpu),
            Walk::Spent => ScanEnd::OutOfBudget,
            Walk::End => ScanEnd::Nothing,
        }
    }

    /// The one-pass scan for an idle core, cluster first. The caller clears the hint unless a core
    /// is found.
    pub(crate) fn fast_walk_cores(
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
            return self.count_words(masks, &walk, &rows);
        }
        let core = walk.first(|i| word(&masks.idle_core, i), |pass, cpu| Some((pass, cpu)));
        let in_scan = self.has(Feature::SIS_CORE_DOMAIN);
        let sched_idle = self.takes_sched_idle;
        let is_usable = |t: CpuId| masks.idle.test(t) || (sched_idle && masks.sched_idle.test(t));
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
        match core {
            Some((0, cpu)) => return ScanEnd::Found(cpu, Reason::ClusterIdleCore),
            Some((_, cpu)) => return ScanEnd::Found(cpu, Reason::IdleCore),
            None => {}
        }
        // The first core of the walk that has a usable thread gives its lowest such thread.
        let thread = walk.first(
            |i| {
                let sched = if sched_idle {
                    word(&masks.some_sched_idle, i)
                } else {
                    0
                };
                word(&masks.some_idle, i) | sched
            },
            |pass, cpu| {
                if !walk.leads(masks, cpu) {
                    return None;
                }
                let mut threads = masks.threads(cpu).iter().copied();
                threads.find(|t| is_usable(*t) && is_candidate(pass, *t))
            },
        );
        match thread {
            Some(cpu) => ScanEnd::Found(cpu, Reason::IdleThread),
            None => ScanEnd::Nothing,
        }
    }

    /// The one-pass scan over whole cores of a common form: finds and counts in one walk over words.
    #[inline]
    fn count_words(&mut self, masks: &IdleMasks, walk: &CoreWalk<'_>, rows: &Rows<'_>) -> ScanEnd {
        let sched_idle = self.takes_sched_idle;
        let tally = walk.tally::<false, true>(masks, rows, sched_idle);
        let mut tests = tally.before + tally.after;
        let mut thread = None;
        if let Some(cpu) = tally.known {
            // All threads that count are in the scan: a core is allowed as a whole.
            for t in masks.threads(cpu) {
                tests += 1;
                if masks.idle.test(*t) {
                    thread = thread.or(Some(*t));
                } else if thread.is_some() {
                    break;
                } else if sched_idle && masks.sched_idle.test(*t) {
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
        if walk.cluster.is_some() && tally.found.is_none_or(|(pass, _)| pass == 1) {
            self.cost.mask_ops += 1;
        }
        match (tally.found, thread) {
            (Some((0, cpu)), _) => ScanEnd::Found(cpu, Reason::ClusterIdleCore),
            (Some((_, cpu)), _) => ScanEnd::Found(cpu, Reason::IdleCore),
            (None, Some(cpu)) => ScanEnd::Found(cpu, Reason::IdleThread),
            (None, None) => ScanEnd::Nothing,
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
                    if masks.idle.test(*thread) {
                        knows_thread |= is_candidate(pass, *thread);
                        continue;
                    }
                    if knows_thread {
                        break;
                    }
                    let is_second = sched_idle && masks.sched_idle.test(*thread);
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

    /// The core pass of v5.4 and v5.6. The caller clears the hint when there is no idle core.
    pub(crate) fn fast_idle_core<const EARLY_EXIT: bool, const CLEAR_ONCE: bool>(
        &mut self,
        masks: &IdleMasks,
        llc: DomainId,
        target: CpuId,
    ) -> Option<CpuId> {
        let span = self.domains.domain(llc).span;
        let range = masks.range(span);
        let walk = CoreWalk {
            span: self.domains.mask(span),
            range,
            allowed: self.p.allowed,
            cluster: None,
            near: range,
            start: target,
        };
        if masks.counts_cores
            && let Some(rows) = walk.rows(masks, span, None)
        {
            let tally = if EARLY_EXIT {
                walk.tally::<true, false>(masks, &rows, false)
            } else {
                walk.tally::<false, false>(masks, &rows, false)
            };
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
        let found = walk.first(|i| word(&masks.idle_core, i), |_, cpu| Some(cpu));
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
                let idle_first = threads.iter().take_while(|t| masks.idle.test(**t)).count();
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
        let hits = |i: usize| {
            let sched = if as_idle {
                word(&masks.sched_idle, i)
            } else {
                0
            };
            (word(&masks.idle, i) | sched) & word(allowed, i)
        };
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
                let sched = tested & word(&masks.sched_idle, i) & !word(&masks.idle, i);
                if as_second && second.is_none() && sched != 0 {
                    second = Some(cpu_at(i, sched));
                }
                (left == 0).then_some(())
            });
        }
        self.cost.idle_tests += tests;
        match (end, second) {
            (Walk::Hit(cpu), _) => ScanEnd::Found(cpu, Reason::IdleCpu),
            (Walk::Spent, Some(cpu)) => ScanEnd::Found(cpu, Reason::ScanSchedIdle),
            (Walk::Spent, None) => ScanEnd::OutOfBudget,
            (Walk::End, _) => ScanEnd::Nothing,
        }
    }
}
