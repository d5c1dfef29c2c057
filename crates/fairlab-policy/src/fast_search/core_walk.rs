//! A walk over cores, cluster first.

use fairlab_topology::domains::MaskId;
use fairlab_units::{CpuId, CpuMask};

use super::words::{Passes, below_lowest, cpu_at, ones, sched_mask, wrap_words};
use crate::core_form::{CoreForm, word};
use crate::idle_masks::{IdleMasks, Row};
use crate::word_range::WordRange;

/// The CPUs of a core search in the order of the walk: those of the cluster first, if any.
pub(super) struct CoreWalk<'a> {
    pub span: &'a CpuMask,
    pub range: WordRange,
    pub allowed: &'a CpuMask,
    pub cluster: Option<&'a CpuMask>,
    pub near: WordRange,
    pub start: CpuId,
}

/// What a walk over cores has counted on its way to an idle core, or to its end.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The idle core, as the thread through which the walk came to it, and the pass.
    pub found: Option<(u8, CpuId)>,
    /// The first busy core with a usable thread, likewise; none when the idle core comes first.
    pub known: Option<CpuId>,
    /// Busy cores.
    pub busy: u32,
    /// Their threads.
    pub threads: u32,
    /// Threads of busy cores before the known one.
    pub before: u32,
    /// What busy cores after the known one cost: each the threads up to its first busy one.
    pub after: u32,
}

/// The words that a walk over whole cores reads, all cut at the end of its range.
pub(super) struct Rows<'a> {
    pub form: &'a CoreForm,
    pub span: &'a [u64],
    pub allowed: &'a [u64],
    pub idle: &'a [Row],
    pub lowest: &'a [u64],
    /// Number of bits in the words of `lowest`.
    pub cores: &'a [u8],
}

impl CoreWalk<'_> {
    /// The passes: through the cluster, if any, and outside.
    #[inline]
    pub fn passes(&self) -> Passes {
        Passes {
            start: self.start,
            near: self.cluster.map(|_| self.near),
            range: self.range,
        }
    }

    /// Word `i` of the CPUs of one pass.
    #[inline]
    pub fn base(&self, pass: u8, i: usize) -> u64 {
        let all = word(self.span, i) & word(self.allowed, i);
        let cluster = self.cluster.map_or(0, |cluster| word(cluster, i));
        self.passes().part(pass, all, cluster)
    }

    /// What to count this walk with by words; none when it sees parts of cores, or cores that have no
    /// common form.
    #[inline]
    pub fn rows<'m>(
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
            idle: masks.rows(end)?,
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
    pub fn tally<const KNOWS: bool, const LEARNS: bool>(
        &self,
        masks: &IdleMasks,
        rows: &Rows<'_>,
        takes_sched_idle: bool,
    ) -> Tally {
        let mut tally = Tally::default();
        let (mut busy, mut singles) = (0, 0);
        let (mut before, mut singles_before) = (0, 0);
        let form = rows.form;
        let sched = sched_mask(takes_sched_idle);
        let first_pass = u8::from(self.cluster.is_none());
        for pass in first_pass..=1 {
            let range = if pass == 0 { self.near } else { self.range };
            let _ = wrap_words(range, self.start, |i, bits| {
                let mut base = rows.span[i] & rows.allowed[i] & bits;
                if let Some(cluster) = self.cluster {
                    let near = word(cluster, i);
                    base &= if pass == 0 { near } else { !near };
                }
                let idle = base & rows.idle[i].idle_core;
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
                        cores & rows.idle[i].some_usable(sched)
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
                    for (bit, leading) in rows.idle[i].leading_idle.iter().enumerate() {
                        tally.after += ones(cores & leading) << bit;
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

    pub fn pass_of(&self, cpu: CpuId) -> u8 {
        u8::from(!self.cluster.is_some_and(|cluster| cluster.test(cpu)))
    }

    pub fn holds(&self, cpu: CpuId) -> bool {
        self.span.test(cpu) && self.allowed.test(cpu)
    }

    /// Position in the walk.
    pub fn key(&self, cpu: CpuId) -> (u8, bool, CpuId) {
        (self.pass_of(cpu), cpu < self.start, cpu)
    }

    /// The first member with a bit in `hits` for which `take` answers something.
    pub fn first<T>(
        &self,
        hits: impl Fn(usize) -> u64,
        mut take: impl FnMut(u8, CpuId) -> Option<T>,
    ) -> Option<T> {
        self.passes().walk(|pass, i, bits| {
            let mut hit = self.base(pass, i) & hits(i) & bits;
            while hit != 0 {
                let answer = take(pass, cpu_at(i, hit));
                if answer.is_some() {
                    return answer;
                }
                hit &= hit - 1;
            }
            None
        })
    }

    /// Does the walk come to the core of `cpu` through `cpu`, not through another of its threads?
    pub fn leads(&self, masks: &IdleMasks, cpu: CpuId) -> bool {
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
