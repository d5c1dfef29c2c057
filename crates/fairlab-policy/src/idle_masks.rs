//! Which CPUs are idle, as masks kept up to date on each change.

use alloc::vec;
use alloc::vec::Vec;

use fairlab_topology::Domains;
use fairlab_topology::domains::MaskId;
use fairlab_units::{CpuId, CpuMask, PerCpu};

use crate::core_form::{CoreForm, THREADS_MAX};

/// The idle state of all CPUs as masks, for a search that looks at 64 CPUs at once.
///
/// The owner of the state reports every change; each costs a few operations on one core. The masks
/// must say what the view says at the moment of a decision.
///
/// ```text
///   idle        .X..XX.X      a bit per CPU
///   idle_core   ....XX..      the bits of cores that are idle with all threads
///   some_idle   XX..XXXX      the bits of cores that have an idle thread
/// ```
#[derive(Clone, Debug)]
pub struct IdleMasks {
    pub(crate) idle: CpuMask,
    pub(crate) sched_idle: CpuMask,
    pub(crate) idle_core: CpuMask,
    pub(crate) some_idle: CpuMask,
    pub(crate) some_sched_idle: CpuMask,
    /// How many threads of a core are idle before its first busy one, at the bits of all its
    /// threads: bit `n` of that number is in mask `n`. Zero for idle cores, whose number nobody asks
    /// for, and for cores of more threads than the masks have room for, which have no [`CoreForm`].
    pub(crate) leading_idle: Vec<CpuMask>,
    /// The lowest thread of each core.
    pub(crate) lowest: CpuMask,
    /// Number of bits in each word of `lowest`.
    pub(crate) cores_of_words: Vec<u8>,
    /// CPUs that are a core of their own.
    pub(crate) single: CpuMask,
    pub(crate) counts_cores: bool,
    cores: Cores,
    /// By number of the mask.
    facts: Vec<MaskFacts>,
}

/// What is known of a mask of the domains.
#[derive(Clone, Copy, Debug)]
struct MaskFacts {
    /// Words that hold members.
    range: WordRange,
    form: Option<CoreForm>,
}

/// The threads of each core, without walking masks as long as the machine is big.
#[derive(Clone, Debug)]
pub(crate) struct Cores {
    threads: Vec<CpuId>,
    /// Where the threads of a CPU's core begin, and how many they are.
    place: PerCpu<(u32, u32)>,
}

impl Cores {
    fn new(domains: &Domains) -> Self {
        let nr = domains.nr_cpu_ids();
        let mut threads: Vec<CpuId> = Vec::with_capacity(nr);
        let mut place = PerCpu::from_fn(nr, |_| (0, 0));
        for cpu in (0..nr).map(CpuId::from_index) {
            let mask = domains.smt_mask(cpu);
            let first = mask.first();
            let shared = first.filter(|first| *first < cpu && domains.smt_mask(*first) == mask);
            place[cpu] = match shared {
                Some(first) => place[first],
                None => {
                    let start = threads.len();
                    threads.extend(mask);
                    (start as u32, (threads.len() - start) as u32)
                }
            };
        }
        Self { threads, place }
    }

    /// Where the threads of a core are; equal for all of them.
    #[inline]
    pub fn place(&self, cpu: CpuId) -> (u32, u32) {
        self.place[cpu]
    }

    /// The threads of the core of `cpu`, ascending.
    #[inline]
    pub fn threads(&self, cpu: CpuId) -> &[CpuId] {
        let (start, len) = self.place[cpu];
        &self.threads[start as usize..(start + len) as usize]
    }
}

/// The words of a mask that may have members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WordRange {
    pub first: usize,
    /// One past the last.
    pub end: usize,
}

impl WordRange {
    pub fn of(mask: &CpuMask) -> Self {
        let words = mask.words();
        let first = words.iter().position(|w| *w != 0).unwrap_or(0);
        let end = words.iter().rposition(|w| *w != 0).map_or(0, |i| i + 1);
        Self { first, end }
    }
}

impl IdleMasks {
    /// Masks for the CPUs of `domains`, none of which is idle. Make new ones when domains change.
    #[must_use]
    pub fn new(domains: &Domains) -> Self {
        let empty = CpuMask::new(domains.nr_cpu_ids());
        let cores = Cores::new(domains);
        let unknown = MaskFacts {
            range: WordRange { first: 0, end: 0 },
            form: None,
        };
        let mut facts = vec![unknown; 1];
        let mut add = |id: MaskId| {
            let index = id.0 as usize;
            if facts.len() <= index {
                facts.resize(index + 1, unknown);
            }
            if facts[index].range.end == 0 {
                let mask = domains.mask(id);
                facts[index] = MaskFacts {
                    range: WordRange::of(mask),
                    form: CoreForm::of(mask, &cores),
                };
            }
        };
        for cpu in (0..domains.nr_cpu_ids()).map(CpuId::from_index) {
            if let Some(llc) = domains.cached(cpu).llc {
                add(domains.domain(llc).span);
                if let Some(local) = domains.groups(llc).first() {
                    add(local.span);
                }
            }
        }
        let (mut lowest, mut single) = (empty.clone(), empty.clone());
        let mut most = 1;
        for cpu in (0..domains.nr_cpu_ids()).map(CpuId::from_index) {
            let threads = cores.threads(cpu);
            if threads.first() == Some(&cpu) {
                lowest.set(cpu);
            }
            if threads.len() == 1 {
                single.set(cpu);
            }
            most = most.max(threads.len().min(THREADS_MAX));
        }
        // The number is below `most` where it is kept.
        let bits = usize::BITS - (most - 1).leading_zeros();
        Self {
            leading_idle: vec![empty.clone(); bits as usize],
            cores_of_words: lowest
                .words()
                .iter()
                .map(|w| w.count_ones() as u8)
                .collect(),
            lowest,
            single,
            idle: empty.clone(),
            sched_idle: empty.clone(),
            idle_core: empty.clone(),
            some_idle: empty.clone(),
            some_sched_idle: empty,
            counts_cores: true,
            cores,
            facts,
        }
    }

    /// Counts the cost of a search for an idle core as the kernel's scan would have had it (on by
    /// default), or only the core that was found. Counting looks at each core in the scan.
    #[must_use]
    pub const fn counting_cores(mut self, on: bool) -> Self {
        self.counts_cores = on;
        self
    }

    /// `cpu` became available: it runs its idle task, nothing is queued or pending.
    pub fn on_idle_enter(&mut self, cpu: CpuId) {
        if !self.idle.test(cpu) {
            self.idle.set(cpu);
            self.refresh_core(cpu);
        }
    }

    /// `cpu` is not available any more: something runs, is queued or pending.
    pub fn on_idle_exit(&mut self, cpu: CpuId) {
        if self.idle.test(cpu) {
            self.idle.clear(cpu);
            self.refresh_core(cpu);
        }
    }

    /// `cpu` runs only SCHED_IDLE tasks, or does so no more.
    pub fn set_sched_idle(&mut self, cpu: CpuId, is_sched_idle: bool) {
        if self.sched_idle.test(cpu) == is_sched_idle {
            return;
        }
        assign(&mut self.sched_idle, cpu, is_sched_idle);
        let threads = self.cores.threads(cpu);
        let some = threads.iter().any(|t| self.sched_idle.test(*t));
        for thread in threads {
            assign(&mut self.some_sched_idle, *thread, some);
        }
    }

    /// The idle CPUs.
    #[must_use]
    pub const fn idle(&self) -> &CpuMask {
        &self.idle
    }

    /// The CPUs of cores that are idle with all threads.
    #[must_use]
    pub const fn idle_core(&self) -> &CpuMask {
        &self.idle_core
    }

    fn refresh_core(&mut self, cpu: CpuId) {
        let threads = self.cores.threads(cpu);
        let leading = threads.iter().take_while(|t| self.idle.test(**t)).count();
        let all = leading == threads.len();
        let some = leading > 0 || threads.iter().any(|t| self.idle.test(*t));
        let number = if all || threads.len() > THREADS_MAX {
            0
        } else {
            leading
        };
        for thread in threads {
            assign(&mut self.idle_core, *thread, all);
            assign(&mut self.some_idle, *thread, some);
        }
        for (bit, mask) in self.leading_idle.iter_mut().enumerate() {
            let on = number >> bit & 1 != 0;
            // The threads of a core say the same.
            if mask.test(cpu) != on {
                for thread in threads {
                    assign(mask, *thread, on);
                }
            }
        }
    }

    #[inline]
    pub(crate) fn threads(&self, cpu: CpuId) -> &[CpuId] {
        self.cores.threads(cpu)
    }

    #[inline]
    pub(crate) fn range(&self, id: MaskId) -> WordRange {
        self.facts[id.0 as usize].range
    }

    /// How the cores of a mask are numbered, if counting by words is possible for it.
    #[inline]
    pub(crate) fn form(&self, id: MaskId) -> Option<&CoreForm> {
        self.facts[id.0 as usize].form.as_ref()
    }
}

#[inline]
fn assign(mask: &mut CpuMask, cpu: CpuId, on: bool) {
    if on {
        mask.set(cpu);
    } else {
        mask.clear(cpu);
    }
}
