//! What readers of per-CPU values pay while another CPU writes a neighbour: real threads.
//!
//! ```text
//!   one round:   coordinator picks layout, with or without the writer
//!                  readers (one per CPU)  read, timed     } all leave together
//!                  writer (a CPU of its own)  stores      }
//!                a reader counts only when the writer stored throughout its reading
//! ```

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fairlab_rng::Rng;

use super::percpu::{BLOCK, Layout, Pattern};
use crate::{BenchError, CpuList};

/// Which neighbour is written. That is an assumption: the maps do not say what lies around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The last word of the block, after `sd_llc`.
    Above,
    /// A word before `sd_asym_packing`.
    Below,
}

impl Written {
    /// Its bytes from the start of the block.
    #[must_use]
    pub const fn offset(self) -> u32 {
        match self {
            Self::Above => 0x78,
            Self::Below => 0x08,
        }
    }

    /// As a table calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Above => "above sd_llc",
            Self::Below => "below sd_asym_packing",
        }
    }
}

/// What is measured.
#[derive(Clone, Debug)]
pub struct SharingOptions {
    /// What is read.
    pub pattern: Pattern,
    /// What is written.
    pub written: Written,
    /// Halve all offsets, so that the 128 bytes of a map become one line of 64: what stands together
    /// in a line of 128 bytes then stands together in one of this host.
    pub as_long_lines: bool,
    /// The CPUs of the readers; one reader each.
    pub readers: Vec<u32>,
    /// The writer's CPU.
    pub writer: u32,
    /// Clean rounds wanted, of each layout with and without the writer.
    pub rounds: usize,
    /// No round begins after this time.
    pub limit: Duration,
    /// Patterns read in one round.
    pub reads: u32,
    /// Where the order of the layouts is drawn from.
    pub seed: u64,
}

/// One layout's times: nanoseconds per pattern, the mean over the readers, one value per round.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Without a writer.
    pub alone: Vec<f64>,
    /// Beside one.
    pub beside: Vec<f64>,
    /// Rounds in which the writer (or a reader) did not run throughout.
    pub discarded: usize,
}

/// Memory for two blocks, aligned to 128 bytes by leaving words out at the start: that of the maps
/// with its neighbours, and ours.
struct Blocks {
    words: Vec<AtomicU16>,
    start: usize,
}

impl Blocks {
    fn new() -> Self {
        let words: Vec<AtomicU16> = (0..256).map(AtomicU16::new).collect();
        let misalignment = words.as_ptr().addr() % 128;
        Self {
            start: (128 - misalignment) % 128 / 2,
            words,
        }
    }

    /// Two bytes at `offset`: a read takes a line whatever its size, and halved offsets of integers
    /// are multiples of two.
    fn word(&self, offset: u32) -> &AtomicU16 {
        &self.words[self.start + offset as usize / 2]
    }
}

/// By how much offsets are divided.
const fn scale(as_long_lines: bool) -> u32 {
    if as_long_lines { 2 } else { 1 }
}

/// Where each read of `pattern` goes in `layout`.
fn offsets(layout: Layout, pattern: Pattern, as_long_lines: bool) -> Vec<u32> {
    let block = if layout.is_apart() { BLOCK } else { 0 };
    let reads = pattern.reads().iter();
    let variables = reads.filter_map(|name| layout.variable(name));
    variables
        .map(|v| block + v.offset / scale(as_long_lines))
        .collect()
}

/// A counter with lines of its own.
#[repr(align(256))]
#[derive(Default)]
struct Progress(AtomicU32);

/// What the threads of a measurement share.
struct Shared<'a> {
    options: &'a SharingOptions,
    blocks: Blocks,
    layout: AtomicUsize,
    is_writing: AtomicBool,
    is_over: AtomicBool,
    /// Readers that still read.
    reading: AtomicUsize,
    /// Stores of the writer, in steps of [`STORES`].
    stores: Progress,
    /// Bits of each reader's nanoseconds per pattern; not a number for a round that does not count.
    nanos: Vec<AtomicU64>,
    barrier: Barrier,
}

/// A contended store takes up to some hundred nanoseconds; a writer that stores less often than this
/// is not running.
const SLOWEST_STORE_NS: f64 = 500.0;

/// Stores between two looks of the writer at what the readers do.
const STORES: u32 = 64;

/// How long a reader waits for the writer to begin.
const PATIENCE: Duration = Duration::from_millis(20);

impl Shared<'_> {
    fn write(&self) {
        let written = self.options.written.offset() / scale(self.options.as_long_lines);
        let mut value = 0_u16;
        while self.reading.load(Ordering::Relaxed) > 0 {
            for _ in 0..STORES {
                value = value.wrapping_add(1);
                self.blocks.word(written).store(value, Ordering::Relaxed);
            }
            self.stores.0.fetch_add(STORES, Ordering::Relaxed);
        }
    }

    /// Nanoseconds per pattern; nothing when the writer did not do what it should meanwhile.
    fn read(&self, offsets: &[u32]) -> Option<f64> {
        let is_writing = self.is_writing.load(Ordering::Relaxed);
        let stores = || self.stores.0.load(Ordering::Relaxed);
        if is_writing {
            let (first, start) = (stores(), Instant::now());
            while stores() == first {
                if start.elapsed() > PATIENCE {
                    return None;
                }
                std::hint::spin_loop();
            }
        }
        let words: Vec<&AtomicU16> = offsets.iter().map(|at| self.blocks.word(*at)).collect();
        let read = |times: u32| {
            for _ in 0..times {
                for word in &words {
                    black_box(word.load(Ordering::Relaxed));
                }
            }
        };
        read(self.options.reads / 10);
        // Two halves, because a writer that runs in only one of them is not beside the reader.
        let half = (self.options.reads / 2).max(1);
        let mut nanos = 0.0;
        for _ in 0..2 {
            let (before, start) = (stores(), Instant::now());
            read(half);
            let elapsed = start.elapsed().as_nanos() as f64;
            nanos += elapsed;
            let stored = f64::from(stores().wrapping_sub(before));
            if (stored > elapsed / SLOWEST_STORE_NS) != is_writing {
                return None;
            }
        }
        Some(nanos / f64::from(2 * half))
    }

    fn reader(&self, index: usize) -> Result<(), BenchError> {
        let pinned = pin(self.options.readers[index]);
        let by_layout = Layout::ALL
            .map(|layout| offsets(layout, self.options.pattern, self.options.as_long_lines));
        loop {
            self.barrier.wait();
            if self.is_over.load(Ordering::Relaxed) {
                return pinned;
            }
            let offsets = &by_layout[self.layout.load(Ordering::Relaxed)];
            let nanos = if pinned.is_ok() {
                self.read(offsets)
            } else {
                None
            };
            self.reading.fetch_sub(1, Ordering::Relaxed);
            self.nanos[index].store(nanos.unwrap_or(f64::NAN).to_bits(), Ordering::Relaxed);
            self.barrier.wait();
        }
    }

    fn writer(&self) -> Result<(), BenchError> {
        let pinned = pin(self.options.writer);
        loop {
            self.barrier.wait();
            if self.is_over.load(Ordering::Relaxed) {
                return pinned;
            }
            if self.is_writing.load(Ordering::Relaxed) && pinned.is_ok() {
                self.write();
            }
            self.barrier.wait();
        }
    }

    /// One round: the mean over the readers, when it counts.
    fn round(&self, layout: usize, is_writing: bool) -> Option<f64> {
        self.layout.store(layout, Ordering::Relaxed);
        self.is_writing.store(is_writing, Ordering::Relaxed);
        self.reading.store(self.nanos.len(), Ordering::Relaxed);
        self.barrier.wait();
        self.barrier.wait();
        let nanos = self
            .nanos
            .iter()
            .map(|n| f64::from_bits(n.load(Ordering::Relaxed)));
        let mean = nanos.sum::<f64>() / self.nanos.len() as f64;
        mean.is_finite().then_some(mean)
    }
}

fn pin(cpu: u32) -> Result<(), BenchError> {
    cpu.to_string().parse::<CpuList>()?.pin()
}

/// Times of every layout, in the order of [`Layout::ALL`].
///
/// # Errors
/// When a thread cannot stay on its CPU, or there is no reader.
pub fn measure(options: &SharingOptions) -> Result<[Times; 4], BenchError> {
    if options.readers.is_empty() {
        return Err(BenchError::Option(
            "sharing is measured with at least one reader".to_owned(),
        ));
    }
    let shared = Shared {
        options,
        blocks: Blocks::new(),
        layout: AtomicUsize::new(0),
        is_writing: AtomicBool::new(false),
        is_over: AtomicBool::new(false),
        reading: AtomicUsize::new(0),
        stores: Progress::default(),
        nanos: options.readers.iter().map(|_| AtomicU64::new(0)).collect(),
        barrier: Barrier::new(options.readers.len() + 2),
    };
    thread::scope(|scope| {
        let shared = &shared;
        let mut threads: Vec<_> = (0..options.readers.len())
            .map(|i| scope.spawn(move || shared.reader(i)))
            .collect();
        threads.push(scope.spawn(|| shared.writer()));
        let times = rounds(shared);
        shared.is_over.store(true, Ordering::Relaxed);
        shared.barrier.wait();
        for thread in threads {
            match thread.join() {
                Ok(pinned) => pinned?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(times)
    })
}

/// Rounds of all layouts with and without the writer, in an order drawn anew each time, until every
/// one has what is wanted or the time is over.
fn rounds(shared: &Shared<'_>) -> [Times; 4] {
    let options = shared.options;
    let mut times: [Times; 4] = Default::default();
    let mut rng = Rng::stream(options.seed, "order of layouts");
    let mut order: Vec<(usize, bool)> = (0..4)
        .flat_map(|layout| [(layout, false), (layout, true)])
        .collect();
    let start = Instant::now();
    let is_done = |times: &[Times; 4]| {
        times
            .iter()
            .all(|t| t.alone.len().min(t.beside.len()) >= options.rounds)
    };
    while !is_done(&times) && start.elapsed() < options.limit {
        rng.shuffle(&mut order);
        for (layout, is_writing) in &order {
            let nanos = shared.round(*layout, *is_writing);
            let times = &mut times[*layout];
            match nanos {
                None => times.discarded += 1,
                Some(nanos) if *is_writing => times.beside.push(nanos),
                Some(nanos) => times.alone.push(nanos),
            }
        }
    }
    times
}

/// The CPUs of a measurement: the readers' and the writer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// CPUs for readers, in the order in which they are taken: threads of the writer's core last.
    pub readers: Vec<u32>,
    /// How many of them, at the end, are threads of the writer's core. They share its cache, so that
    /// hardly anything is paid between them.
    pub siblings: usize,
    /// The writer's CPU.
    pub writer: u32,
}

/// Places for the writer and as many readers as possible out of `cpus`: the last CPU writes. Nothing
/// with fewer than two CPUs, where no two threads run at once. `siblings_of` says which CPUs are
/// threads of the core of a CPU.
#[must_use]
pub fn places(cpus: &CpuList, siblings_of: impl Fn(u32) -> Vec<u32>) -> Option<Places> {
    let [others @ .., writer] = cpus.numbers() else {
        return None;
    };
    if others.is_empty() {
        return None;
    }
    let siblings = siblings_of(*writer);
    let (near, mut readers): (Vec<u32>, Vec<u32>) =
        others.iter().partition(|cpu| siblings.contains(cpu));
    readers.extend(&near);
    Some(Places {
        readers,
        siblings: near.len(),
        writer: *writer,
    })
}

/// The threads of the core of `cpu` on this host; only itself where sysfs does not say.
#[must_use]
pub fn host_siblings(cpu: u32) -> Vec<u32> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    match text.trim().parse::<CpuList>() {
        Ok(siblings) => siblings.numbers().to_vec(),
        Err(_) => vec![cpu],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::percpu::reads_in_written_line;

    #[test]
    fn one_cpu_has_no_places() {
        assert_eq!(places(&"3".parse().unwrap(), |cpu| vec![cpu]), None);
    }

    #[test]
    fn threads_of_the_writers_core_read_last() {
        let pairs = |cpu: u32| vec![cpu / 2 * 2, cpu / 2 * 2 + 1];
        let found = places(&"0-5".parse().unwrap(), pairs).unwrap();
        assert_eq!(found.writer, 5);
        assert_eq!(found.readers, [0, 1, 2, 3, 4]);
        assert_eq!(found.siblings, 1);
        let found = places(&"4,5".parse().unwrap(), pairs).unwrap();
        assert_eq!((found.readers, found.siblings), (vec![4], 1));
    }

    #[test]
    fn every_layout_reads_its_own_words_and_ours_is_apart() {
        for pattern in Pattern::ALL {
            for layout in Layout::ALL {
                for as_long_lines in [false, true] {
                    let offsets = offsets(layout, pattern, as_long_lines);
                    assert_eq!(offsets.len(), pattern.reads().len());
                    assert!(offsets.iter().all(|at| (*at >= BLOCK) == layout.is_apart()));
                    assert!(offsets.iter().all(|at| at % 2 == 0 && *at < 2 * BLOCK));
                }
            }
        }
    }

    #[test]
    fn long_lines_are_played_on_short_ones_as_they_would_hold() {
        for pattern in Pattern::ALL {
            for layout in Layout::ALL {
                for written in [Written::Above, Written::Below] {
                    let line = written.offset() / 2 / 64;
                    let offsets = offsets(layout, pattern, true);
                    let hit = offsets.iter().filter(|at| **at / 64 == line).count();
                    let wanted = reads_in_written_line(layout, pattern, 128, written.offset());
                    assert_eq!(hit, wanted, "{layout:?} {pattern:?} {written:?}");
                }
            }
        }
    }

    #[test]
    fn a_measurement_ends_in_time_whatever_the_host_does() {
        let Some(places) = places(&CpuList::allowed().unwrap(), host_siblings) else {
            eprintln!("skipped: one CPU only");
            return;
        };
        let options = SharingOptions {
            pattern: Pattern::Wakeup,
            written: Written::Above,
            as_long_lines: true,
            readers: places.readers[..1].to_vec(),
            writer: places.writer,
            rounds: 2,
            limit: Duration::from_millis(200),
            reads: 200,
            seed: 1,
        };
        for times in measure(&options).unwrap() {
            assert!(times.alone.iter().chain(&times.beside).all(|ns| *ns > 0.0));
        }
    }

    #[test]
    fn readers_are_wanted() {
        let options = SharingOptions {
            pattern: Pattern::Share,
            written: Written::Below,
            as_long_lines: false,
            readers: Vec::new(),
            writer: 0,
            rounds: 1,
            limit: Duration::ZERO,
            reads: 1,
            seed: 1,
        };
        assert!(measure(&options).is_err());
    }
}
