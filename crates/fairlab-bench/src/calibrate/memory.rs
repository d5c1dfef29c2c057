//! Caches and memory: a line between two CPUs, a working set after a move, siblings, bandwidth.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fairlab_topology::Distance;

use super::places::Places;
use super::rounds::{Part, median_of};
use super::{CalibrateOptions, Missing};
use crate::load::schbench::work::Matrices;
use crate::{BenchError, CpuList};

/// A working set that second-level caches hold, KiB.
const SET_KIB: usize = 256;
/// More than any last-level cache holds per core, KiB.
const FLUSH_KIB: usize = 96 << 10;
/// Words of a line.
const LINE: usize = 8;
/// Measurements of a line in a round, whose median counts.
const LINES: u32 = 9;
/// How long threads compute or copy beside each other.
const TOGETHER: Duration = Duration::from_millis(20);
/// Of the latency of a line, the part that a search sees: the rest overlaps with other reads.
const SEEN: f64 = 0.5;
/// Lines of a runqueue, pipe or socket that another CPU wrote: lock, queue, clock, averages, tree.
const OBJECT: f64 = 8.0;
/// Bandwidth is the limit when all CPUs together move less than this part of what they would alone.
const SATURATED: f64 = 0.85;

pub(super) struct Memory {
    pub(super) parts: Vec<Part>,
    pub(super) missing: Vec<Missing>,
}

pub(super) fn measure(options: &CalibrateOptions, places: &Places) -> Result<Memory, BenchError> {
    let mut memory = Memory {
        parts: Vec::new(),
        missing: Vec::new(),
    };
    for (distance, cpu) in places.pairs() {
        let ns = median_of(LINES, || line(places.home, cpu, options.count(1_000)))?;
        memory.part("probe", distance as usize, ns * SEEN);
        memory.part("shared_object", distance as usize, ns * SEEN * OBJECT);
    }
    refill(places, &mut memory)?;
    CpuList::only(places.home).pin()?;
    memory.part("arithmetic", 0, arithmetic(options.count(20))?);
    siblings(places, &mut memory)?;
    bandwidth(places, &mut memory)?;
    let rest =
        "tick, wake_list, mask_word, group_cpu, migrate_task, lock_hold, remote_memory, page_*";
    memory.lacks(rest, "no program can time them from outside the kernel");
    memory.lacks(
        "working_set, task_state",
        "they belong to programs and to the kernel's build, not to the host",
    );
    Ok(memory)
}

impl Memory {
    fn part(&mut self, entry: &'static str, index: usize, value: f64) {
        self.parts.push(Part {
            entry,
            index,
            value,
        });
    }

    fn lacks(&mut self, what: &str, why: &str) {
        self.missing.push(Missing {
            what: what.to_owned(),
            why: why.to_owned(),
        });
    }
}

/// One way of a line between two CPUs, ns.
fn line(a: u32, b: u32, rounds: u32) -> Result<f64, BenchError> {
    let word = AtomicU32::new(0);
    // The first turns find both there: the other thread has to get to its CPU, and may have to wait for it.
    let (first, last) = (rounds / 8, rounds / 8 + rounds);
    let pass = |cpu: u32, parity: u32| {
        CpuList::only(cpu).pin()?;
        let mut start = Instant::now();
        for round in 0..last {
            if round == first {
                start = Instant::now();
            }
            let turn = 2 * round + parity;
            while word.load(Ordering::Acquire) != turn {
                spin_loop();
            }
            word.store(turn + 1, Ordering::Release);
        }
        Ok(start.elapsed().as_nanos() as f64)
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| pass(b, 1));
        let elapsed = pass(a, 0)?;
        crate::load::join(other)?;
        Ok(elapsed / f64::from(2 * rounds))
    })
}

/// Reads every line of `set` once, ns.
fn read(set: &[u64]) -> f64 {
    let start = Instant::now();
    let sum = set.iter().step_by(LINE).fold(0, |sum, word| sum ^ word);
    black_box(sum);
    start.elapsed().as_nanos() as f64
}

/// What reading a working set takes longer after a move, or after others have used the caches.
fn refill(places: &Places, memory: &mut Memory) -> Result<(), BenchError> {
    let mut set = vec![1_u64; SET_KIB * 1024 / size_of::<u64>()];
    let mut flush = vec![1_u64; FLUSH_KIB * 1024 / size_of::<u64>()];
    let warm = |set: &mut [u64]| {
        // Written, so that the lines are this CPU's alone.
        set.iter_mut().for_each(|word| *word = word.wrapping_add(1));
        read(set).min(read(set))
    };
    let home = CpuList::only(places.home);
    for (distance, cpu) in places.pairs() {
        if distance == Distance::SameCore {
            continue;
        }
        home.pin()?;
        let before = warm(&mut set);
        CpuList::only(cpu).pin()?;
        let after = read(&set);
        let per_kib = ((after - before) / SET_KIB as f64).max(0.0);
        memory.part("refill", distance as usize, per_kib);
    }
    if places.at(Distance::SameNode).is_none() {
        // From memory, which is where another LLC of the node would have to read it.
        home.pin()?;
        let before = warm(&mut set);
        flush.iter_mut().step_by(LINE).for_each(|word| *word += 1);
        let after = read(&set);
        let per_kib = ((after - before) / SET_KIB as f64).max(0.0);
        memory.part("refill", Distance::SameNode as usize, per_kib);
    }
    Ok(())
}

/// Rounds of a small computation that `cpus` do together in a while, for each of them.
fn together(cpus: &[u32], work: impl Fn(&AtomicBool) -> u64 + Sync) -> Result<u64, BenchError> {
    let stop = AtomicBool::new(false);
    let ready = AtomicU32::new(0);
    let total = AtomicU64::new(0);
    let all = cpus.len() as u32;
    let one = |cpu: u32| {
        CpuList::only(cpu).pin()?;
        ready.fetch_add(1, Ordering::AcqRel);
        while ready.load(Ordering::Acquire) < all {
            thread::yield_now();
        }
        total.fetch_add(work(&stop), Ordering::Relaxed);
        Ok(())
    };
    thread::scope(|scope| {
        let tasks: Vec<_> = cpus
            .iter()
            .map(|&cpu| scope.spawn(move || one(cpu)))
            .collect();
        while ready.load(Ordering::Acquire) < all {
            thread::yield_now();
        }
        thread::sleep(TOGETHER);
        stop.store(true, Ordering::Relaxed);
        tasks.into_iter().try_for_each(crate::load::join)
    })?;
    Ok(total.load(Ordering::Relaxed))
}

/// What schbench's matrices take, in percent of a multiply-add per nanosecond.
fn arithmetic(count: u32) -> Result<f64, BenchError> {
    // Its usual footprint.
    let mut matrices = Matrices::new(256);
    let all = matrices.multiply_adds() as f64;
    median_of(count, || {
        let start = Instant::now();
        matrices.multiply();
        Ok(start.elapsed().as_nanos() as f64 / all * 100.0)
    })
}

/// A chain of dependent arithmetic that no sibling can speed up.
fn compute(stop: &AtomicBool) -> u64 {
    let (mut done, mut x) = (0, 1_u64);
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..1_000 {
            x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            x ^= x >> 17;
        }
        done += 1;
    }
    done
}

/// Speed of a thread beside its siblings, and of cores beside each other.
fn siblings(places: &Places, memory: &mut Memory) -> Result<(), BenchError> {
    let alone = together(&[places.home], compute)?.max(1) as f64;
    match places.at(Distance::SameCore) {
        Some(sibling) => {
            let both = together(&[places.home, sibling], compute)? as f64;
            let speed = (both / 2.0 / alone * 1024.0).clamp(1.0, 1024.0);
            memory.part("smt_speed", 1, speed);
        }
        None => memory.lacks(
            "smt_speed",
            "cores have one thread, or one that may be used",
        ),
    }
    memory.lacks(
        "boost_speed",
        "frequencies are the hardware's own choice, and slow to follow; state them by hand if they matter",
    );
    Ok(())
}

/// MiB per ms that all CPUs of the LLC, and of the node, move together, where that is the limit.
fn bandwidth(places: &Places, memory: &mut Memory) -> Result<(), BenchError> {
    let copied = |cpus: &[u32]| {
        let start = Instant::now();
        let moved = together(cpus, copy)? as f64;
        Ok::<f64, BenchError>(moved / start.elapsed().as_secs_f64() / 1_000.0)
    };
    let alone = copied(&[places.home])?;
    let mut limit = |entry: &'static str, cpus: &[u32], is_whole: bool| {
        if cpus.len() < 2 || !is_whole {
            memory.lacks(entry, "not all of the CPUs that share it may be used");
            return Ok(());
        }
        let all = copied(cpus)?;
        if all < SATURATED * alone * cpus.len() as f64 {
            memory.part(entry, 0, all.max(1.0));
        } else {
            memory.lacks(entry, "all CPUs together do not use it up");
        }
        Ok::<(), BenchError>(())
    };
    limit("llc_bandwidth", &places.llc, places.is_llc_whole)?;
    limit("node_bandwidth", &places.node, places.is_llc_whole)
}

/// Reads a large array again and again; MiB read.
fn copy(stop: &AtomicBool) -> u64 {
    const MIB: usize = 1 << 20;
    let array = vec![1_u64; 32 * MIB / size_of::<u64>()];
    let mut moved = 0;
    while !stop.load(Ordering::Relaxed) {
        for part in array.chunks(MIB / size_of::<u64>()) {
            black_box(part.iter().fold(0_u64, |sum, word| sum.wrapping_add(*word)));
            moved += 1;
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    moved
}
