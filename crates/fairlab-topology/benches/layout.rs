//! What it costs when the values that wakeups read share a line with something that is written.
//!
//! `cargo bench -p fairlab-topology --bench layout` prints a table. One thread reads as wakeups do,
//! another keeps writing one word of a neighbouring per-CPU variable. Three placements of the same
//! values, in 64-byte lines:
//!
//! ```text
//!              line 0                             line 1
//!   top        ... shared, id+size              | llc, share_id, ...      W
//!   mid        ... shared                       | share_id+id, size, llc  W
//!   ours       id+share_id, size+llc, shared .. | (whatever comes next)   W
//! ```
//! `mid` and `top` are where the linker put the symbols in the two forms of the cluster series
//! (`top`: new variables defined first, so that all old addresses stay); `ours` is
//! [`fairlab_topology::domains::CpuCached`]. W is the written word. Two read patterns: `share` asks
//! only for the LLC number, as `cpus_share_cache` does of CPU after CPU; `wakeup` asks four times
//! for the number and then reads all values.
//!
//! The rounds of all placements, with and without the writer, are interleaved; the table shows
//! medians, and the slow-down is the ratio of medians with and without the writer of the same
//! placement. A round beside the writer counts only if the writer wrote throughout: on a machine
//! with other work it often does not run, and such rounds are made again. Where the two threads run
//! on siblings of one core they share its cache, and nothing slows down.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// Where the values are, as numbers of 8-byte words from the start of a line.
struct Layout {
    name: &'static str,
    llc_id: usize,
    llc_size: usize,
    llc: usize,
    llc_shared: usize,
    share_id: usize,
}

const LAYOUTS: [Layout; 3] = [
    Layout {
        name: "top",
        llc_id: 7,
        llc_size: 7,
        llc: 8,
        llc_shared: 6,
        share_id: 9,
    },
    Layout {
        name: "mid",
        llc_id: 8,
        llc_size: 9,
        llc: 10,
        llc_shared: 7,
        share_id: 8,
    },
    Layout {
        name: "ours",
        llc_id: 0,
        llc_size: 1,
        llc: 1,
        llc_shared: 2,
        share_id: 0,
    },
];

/// The word that the other thread writes.
const WRITTEN: usize = 14;

/// Two lines, aligned by leaving words out at the start.
struct Lines {
    words: Vec<AtomicU64>,
    start: usize,
}

impl Lines {
    fn new() -> Self {
        let words: Vec<AtomicU64> = (0..64).map(AtomicU64::new).collect();
        // Pairs of lines are fetched together by some processors: align to two lines.
        let misalignment = words.as_ptr().addr() % 128;
        let start = (128 - misalignment) % 128 / 8;
        Self { words, start }
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        &self.words[self.start + at]
    }
}

#[derive(Clone, Copy)]
enum Pattern {
    Share,
    Wakeup,
}

impl Pattern {
    const ALL: [(Self, &'static str); 2] = [(Self::Share, "share"), (Self::Wakeup, "wakeup")];

    fn read(self, lines: &Lines, layout: &Layout) {
        let load = |at: usize| black_box(lines.word(at).load(Ordering::Relaxed));
        match self {
            Self::Share => {
                load(layout.llc_id);
            }
            Self::Wakeup => {
                for _ in 0..4 {
                    load(layout.llc_id);
                }
                for at in [
                    layout.llc,
                    layout.llc_shared,
                    layout.llc_size,
                    layout.share_id,
                ] {
                    load(at);
                }
            }
        }
    }
}

/// Nanoseconds per read pattern, or nothing when the writer did not do what it should.
fn round(
    pattern: Pattern,
    lines: &Lines,
    layout: &Layout,
    reads: u32,
    writer: bool,
) -> Option<f64> {
    let written = || lines.word(WRITTEN).load(Ordering::Relaxed);
    // Two halves, because a writer that runs in only one of them is not beside the reader.
    let mut nanos = 0.0;
    for _ in 0..2 {
        let (before, start) = (written(), Instant::now());
        for _ in 0..reads / 2 {
            pattern.read(lines, layout);
        }
        let elapsed = start.elapsed().as_secs_f64() * 1e9;
        nanos += elapsed;
        // A contended store takes up to some hundred nanoseconds.
        let stores = written() - before;
        if (stores as f64 > elapsed / 500.0) != writer {
            return None;
        }
    }
    Some(nanos / f64::from(reads))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() {
    let quick = !std::env::args().any(|arg| arg == "--bench");
    let (rounds, reads) = if quick { (3, 1_000) } else { (101, 200_000) };
    let lines = Lines::new();
    let (writing, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    println!("| pattern | layout | alone, ns | beside a writer, ns | slow-down | rounds |");
    println!("|---|---|---|---|---|---|");
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut value = 0;
            while !stop.load(Ordering::Relaxed) {
                if !writing.load(Ordering::Relaxed) {
                    thread::yield_now();
                    continue;
                }
                for _ in 0..256 {
                    value += 1;
                    lines.word(WRITTEN).store(value, Ordering::Relaxed);
                }
            }
        });
        for (pattern, pattern_name) in Pattern::ALL {
            let mut times: Vec<[Vec<f64>; 2]> =
                LAYOUTS.iter().map(|_| Default::default()).collect();
            let mut attempts = 0;
            let missing =
                |times: &[[Vec<f64>; 2]]| times.iter().flatten().any(|t| t.len() < rounds);
            while missing(&times) && attempts < 600 * rounds {
                for (layout, times) in LAYOUTS.iter().zip(&mut times) {
                    for (with_writer, times) in [false, true].into_iter().zip(times) {
                        writing.store(with_writer, Ordering::Relaxed);
                        // Lets the writer notice.
                        round(pattern, &lines, layout, reads / 10, with_writer);
                        let attempt = || round(pattern, &lines, layout, reads, with_writer);
                        attempts += 1;
                        times.extend(attempt());
                    }
                }
            }
            for (layout, [alone, beside]) in LAYOUTS.iter().zip(times) {
                let counted = alone.len().min(beside.len());
                let (alone, beside) = (median(alone), median(beside));
                if counted == 0 {
                    // A number of no rounds would be a lie.
                    println!(
                        "| {pattern_name} | {} | {alone:.2} | - | - | 0: the host was too busy to run the writer |",
                        layout.name
                    );
                    continue;
                }
                println!(
                    "| {pattern_name} | {} | {alone:.2} | {beside:.2} | {:.2} | {counted} |",
                    layout.name,
                    beside / alone
                );
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}
