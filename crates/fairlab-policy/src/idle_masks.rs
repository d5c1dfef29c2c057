//! Which CPUs are idle, as masks kept up to date on each change.

use alloc::vec;
use alloc::vec::Vec;

use fairlab_topology::Domains;
use fairlab_topology::domains::MaskId;
use fairlab_units::{CpuId, CpuMask};

use crate::core_form::{CoreForm, THREADS_MAX};
use crate::cores::Cores;
use crate::walk_order::{Places, WalkOrder};
use crate::word_range::WordRange;

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
///
/// The words of all masks for the same 64 CPUs lie in one cache line.
#[derive(Clone, Debug)]
pub struct IdleMasks {
    rows: Vec<Row>,
    nr_idle: u32,
    /// How many words of [`Row::leading_idle`] are in use.
    leading_words: usize,
    /// The lowest thread of each core.
    pub(crate) lowest: CpuMask,
    /// Number of bits in each word of `lowest`.
    pub(crate) cores_of_words: Vec<u8>,
    /// CPUs that are a core of their own.
    pub(crate) single: CpuMask,
    pub(crate) counts_cores: bool,
    cores: Cores,
    pub(crate) places: Places,
    /// By number of the mask.
    facts: Vec<MaskFacts>,
}

/// The idle state of 64 CPUs.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Row {
    pub idle: u64,
    pub sched_idle: u64,
    /// Cores that are idle with all threads; here and below at the bits of all their threads.
    pub idle_core: u64,
    /// Cores with an idle thread.
    pub some_idle: u64,
    /// Cores with a sched-idle thread.
    pub some_sched_idle: u64,
    /// How many threads of a core are idle before its first busy one: bit `n` of that number is in
    /// word `n`. Zero for idle cores, whose number nobody asks for, and for cores of more
    /// threads than there is room for, which have no [`CoreForm`].
    pub leading_idle: [u64; LEADING_WORDS],
}

/// Enough for numbers below [`THREADS_MAX`].
const LEADING_WORDS: usize = 3;

const _: () = assert!(THREADS_MAX == 1 << LEADING_WORDS && size_of::<Row>() == 64);

impl Row {
    /// Usable CPUs; sched-idle ones count where `sched` has all bits, not none.
    #[inline(always)]
    pub const fn usable(&self, sched: u64) -> u64 {
        self.idle | self.sched_idle & sched
    }

    /// Cores with a usable thread, likewise.
    #[inline(always)]
    pub const fn some_usable(&self, sched: u64) -> u64 {
        self.some_idle | self.some_sched_idle & sched
    }
}

/// What is known of a mask of the domains.
#[derive(Clone, Copy, Debug)]
struct MaskFacts {
    /// Words that hold members.
    range: WordRange,
    form: Option<CoreForm>,
    order: Option<WalkOrder>,
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
            order: None,
        };
        let mut places = Places::new(domains.nr_cpu_ids());
        let mut facts = vec![unknown; 1];
        let mut add = |id: MaskId| {
            let index = id.0 as usize;
            if facts.len() <= index {
                facts.resize(index + 1, unknown);
            }
            if facts[index].range.end == 0 {
                let mask = domains.mask(id);
                let form = CoreForm::of(mask, &cores);
                facts[index] = MaskFacts {
                    range: WordRange::of(mask),
                    form,
                    order: places.add(domains, id, form.as_ref(), &cores),
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
        let (mut lowest, mut single) = (empty.clone(), empty);
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
        let row = Row::default();
        Self {
            rows: vec![row; lowest.words().len()],
            nr_idle: 0,
            leading_words: bits as usize,
            cores_of_words: lowest
                .words()
                .iter()
                .map(|w| w.count_ones() as u8)
                .collect(),
            lowest,
            single,
            counts_cores: true,
            cores,
            places,
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
        let (i, bit) = place(cpu);
        if self.rows[i].idle & bit == 0 {
            self.rows[i].idle |= bit;
            self.nr_idle += 1;
            self.refresh_core(cpu);
        }
    }

    /// `cpu` is not available any more: something runs, is queued or pending.
    pub fn on_idle_exit(&mut self, cpu: CpuId) {
        let (i, bit) = place(cpu);
        if self.rows[i].idle & bit != 0 {
            self.rows[i].idle &= !bit;
            self.nr_idle -= 1;
            self.refresh_core(cpu);
        }
    }

    /// `cpu` runs only SCHED_IDLE tasks, or does so no more.
    pub fn set_sched_idle(&mut self, cpu: CpuId, is_sched_idle: bool) {
        let (i, bit) = place(cpu);
        if is_sched_idle == (self.rows[i].sched_idle & bit != 0) {
            return;
        }
        self.rows[i].sched_idle ^= bit;
        let threads = self.cores.threads(cpu);
        let some = threads.iter().any(|t| self.is_sched_idle(*t));
        for thread in threads {
            let (i, bit) = place(*thread);
            assign(&mut self.rows[i].some_sched_idle, bit, some);
        }
    }

    /// Is `cpu` idle?
    #[inline]
    #[must_use]
    pub fn is_idle(&self, cpu: CpuId) -> bool {
        let (i, bit) = place(cpu);
        self.row(i).idle & bit != 0
    }

    /// Is the core of `cpu` idle with all its threads?
    #[inline]
    #[must_use]
    pub fn is_idle_core(&self, cpu: CpuId) -> bool {
        let (i, bit) = place(cpu);
        self.row(i).idle_core & bit != 0
    }

    /// Does `cpu` run only SCHED_IDLE tasks?
    #[inline]
    #[must_use]
    pub fn is_sched_idle(&self, cpu: CpuId) -> bool {
        let (i, bit) = place(cpu);
        self.row(i).sched_idle & bit != 0
    }

    /// The idle CPUs, ascending.
    pub fn idle_cpus(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.rows.iter().enumerate().flat_map(|(i, row)| {
            let mut left = row.idle;
            core::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(CpuId(i as u32 * 64 + bit))
            })
        })
    }

    /// Number of idle CPUs.
    #[must_use]
    #[inline]
    pub const fn nr_idle(&self) -> u32 {
        self.nr_idle
    }

    fn refresh_core(&mut self, cpu: CpuId) {
        let core = self.cores.bits(cpu);
        if core != 0 {
            self.refresh_word(cpu, core);
            return;
        }
        let threads = self.cores.threads(cpu);
        let leading = threads.iter().take_while(|t| self.is_idle(**t)).count();
        let all = leading == threads.len();
        let some = leading > 0 || threads.iter().any(|t| self.is_idle(*t));
        let number = if all || threads.len() > THREADS_MAX {
            0
        } else {
            leading
        };
        for thread in threads {
            let (i, bit) = place(*thread);
            let row = &mut self.rows[i];
            assign(&mut row.idle_core, bit, all);
            assign(&mut row.some_idle, bit, some);
            for (n, word) in row.leading_idle[..self.leading_words]
                .iter_mut()
                .enumerate()
            {
                assign(word, bit, number >> n & 1 != 0);
            }
        }
    }

    /// Refreshes the core of `cpu`, whose threads are the bits `core` of one word.
    #[inline]
    fn refresh_word(&mut self, cpu: CpuId, core: u64) {
        let row = &mut self.rows[place(cpu).0];
        let busy = core & !row.idle;
        assign(&mut row.idle_core, core, busy == 0);
        assign(&mut row.some_idle, core, busy != core);
        // Below the lowest busy thread; nothing counts when there is none.
        let leading = core & busy.wrapping_sub(1) & !busy;
        let number = if busy == 0 || busy == core {
            0
        } else {
            leading.count_ones() as usize
        };
        // More threads than THREADS_MAX have no form, so that nobody reads the number.
        for (n, word) in row.leading_idle[..self.leading_words]
            .iter_mut()
            .enumerate()
        {
            assign(word, core, number >> n & 1 != 0);
        }
    }

    /// The rows of the words below `end`.
    #[inline(always)]
    pub(crate) fn rows(&self, end: usize) -> Option<&[Row]> {
        self.rows.get(..end)
    }

    /// Row `i`; nobody is idle beyond the end.
    #[inline(always)]
    pub(crate) fn row(&self, i: usize) -> Row {
        self.rows.get(i).copied().unwrap_or_default()
    }

    /// The threads of the core of `cpu`, itself included.
    #[inline]
    #[must_use]
    pub fn threads(&self, cpu: CpuId) -> &[CpuId] {
        self.cores.threads(cpu)
    }

    /// The threads of the core of `cpu` as bits of its word; none when there are others.
    #[inline(always)]
    pub(crate) fn core_bits(&self, cpu: CpuId) -> Option<u64> {
        Some(self.cores.bits(cpu)).filter(|bits| *bits != 0)
    }

    #[inline(always)]
    pub(crate) fn range(&self, id: MaskId) -> WordRange {
        self.facts[id.0 as usize].range
    }

    /// How the cores of a mask are numbered, if counting by words is possible for it.
    #[inline]
    pub(crate) fn form(&self, id: MaskId) -> Option<&CoreForm> {
        self.facts[id.0 as usize].form.as_ref()
    }

    /// The words of a mask, and what the places of its members mean if it is an LLC to all of them.
    #[inline(always)]
    pub(crate) fn order(&self, id: MaskId) -> Option<(WordRange, &WalkOrder)> {
        let facts = &self.facts[id.0 as usize];
        Some((facts.range, facts.order.as_ref()?))
    }
}

/// The word of `cpu`, and its bit there.
#[inline(always)]
const fn place(cpu: CpuId) -> (usize, u64) {
    (cpu.index() / 64, 1 << (cpu.index() % 64))
}

#[inline(always)]
fn assign(word: &mut u64, bits: u64, on: bool) {
    if on {
        *word |= bits;
    } else {
        *word &= !bits;
    }
}
