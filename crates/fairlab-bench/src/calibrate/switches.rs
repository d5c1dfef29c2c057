//! Wakeups, switches, interrupts and idle states, from token rings and late sleeps.
//!
//! ```text
//!   turns:        yield = call + switch
//!   on one CPU:   hop = write + switch + read, and a wakeup for each time that one of the two sleeps
//!   across:       hop = write + search + wakeup + interrupt + idle exit + switch + read, and the pipe's
//!                 lines, which the other CPU wrote (`hop.rs`)
//!   a sleep:      lateness = wakeup + idle exit + switch
//! ```
//!
//! A hop is what a long ring takes longer than a short one: making the threads is no part of it.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fairlab_topology::Distance;

use super::CalibrateOptions;
use super::calls::Calls;
use super::hop::Hop;
use super::places::Places;
use super::rounds::{Part, median, median_of};
use crate::load::pipe::{self, PipeOptions};
use crate::{BenchError, CpuList, sys};

/// Rings of each kind in a round, whose median counts.
const RINGS: u32 = 9;
/// Threads that sleep at once to be woken one after the other.
const SLEEPERS: usize = 16;
/// Sleeps whose lateness tells what idle states cost: one for each of the table's first states.
const SLEEPS: [Duration; 3] = [
    Duration::from_micros(15),
    Duration::from_micros(200),
    Duration::from_millis(4),
];
/// Of a hop between CPUs, the most that is taken for the idle exit rather than the interrupt.
const MOST_IDLE: f64 = 0.7;
/// The fewest sleeps a hop that are believed: one of the two has to sleep in every other.
const LEAST_SLEEPS: f64 = 0.5;
/// A short ring is this part of a long one.
const SHORT: u32 = 4;
/// What is left when a difference of parts comes out lower.
const LEAST_NS: f64 = 50.0;

pub(super) fn measure(
    options: &CalibrateOptions,
    places: &Places,
    calls: &Calls,
    memory: &[Part],
) -> Result<Vec<Part>, BenchError> {
    let here = CpuList::only(places.home);
    let ring = |is_threaded: bool, cpus: CpuList, loops: u32| {
        let run = |loops: u32| {
            let ring = PipeOptions {
                loops: u64::from(options.count(loops)),
                is_threaded,
                is_split: cpus.numbers().len() > 1,
                cpus: Some(cpus.clone()),
            };
            let before = sys::sleeps().map_err(BenchError::system("count sleeps"))?;
            let time = pipe::run(&ring)?;
            let after = sys::sleeps().map_err(BenchError::system("count sleeps"))?;
            let sleeps = after.saturating_sub(before) as f64;
            Ok::<_, BenchError>((
                time.loops as f64 * 2.0,
                time.total.as_nanos() as f64,
                sleeps,
            ))
        };
        // A hop is half of a token there and back.
        let (mut hops, mut sleeps) = (Vec::new(), Vec::new());
        for _ in 0..RINGS {
            let (short, long) = (run(loops / SHORT)?, run(loops + loops / SHORT)?);
            let nr = (long.0 - short.0).max(1.0);
            hops.push((long.1 - short.1) / nr);
            sleeps.push((long.2 - short.2) / nr);
        }
        Ok::<_, BenchError>((median(hops), median(sleeps)))
    };
    let call = calls.pipe.0 + calls.pipe.1;
    let (same, sleeps) = ring(true, here.clone(), 600)?;
    let (processes, _) = ring(false, here.clone(), 600)?;
    // A wakee that takes the CPU at once leaves its waker runnable, which then needs no wakeup itself.
    let sleeps = sleeps.clamp(LEAST_SLEEPS, 1.0);
    let mut switches = Vec::new();
    for _ in 0..RINGS {
        switches.extend(turns(&here, options.count(2_000))?);
    }
    let (wakeup, switch) = if switches.is_empty() {
        let wakeup = wakeup(&here, options.count(20))?;
        (wakeup, (same - call - wakeup * sleeps).max(LEAST_NS))
    } else {
        // Whatever is not the switch is the wakeup, so that both add up to what was seen.
        let switch = median(switches);
        (((same - call - switch) / sleeps).max(LEAST_NS), switch)
    };
    let mut parts = vec![
        part("wakeup", 0, wakeup),
        part("context_switch", 0, switch),
        part("switch_process", 0, (processes - same).max(0.0)),
        part(
            "set_attribute",
            0,
            set_attribute(&here, options.count(500))?,
        ),
    ];
    let mut exits = Vec::new();
    for (sleep, count) in SLEEPS.into_iter().zip([200, 60, 6]) {
        let late = lateness(&here, sleep, options.count(count))?;
        exits.push((late - wakeup - switch).max(0.0));
    }
    let mut nearest = None;
    for (distance, cpu) in places.pairs() {
        let across: CpuList = format!("{},{cpu}", places.home).parse()?;
        let measured = |entry, distance| {
            let part = memory
                .iter()
                .find(|part| (part.entry, part.index) == (entry, distance as usize));
            part.map(|part| part.value)
        };
        // Searches are charged as among LLC mates; where home has none, the nearest is what there is.
        let probe = measured("probe", Distance::SameLlc).or_else(|| measured("probe", distance));
        let known = Hop {
            call,
            wakeup,
            context_switch: switch,
            probe: probe.unwrap_or_default(),
            shared_object: measured("shared_object", distance).unwrap_or_default(),
            ..Hop::default()
        };
        let hop = (ring(true, across, 300)?.0 - known.total()).max(LEAST_NS);
        let idle = *nearest.get_or_insert(exits[0].min(hop * MOST_IDLE));
        parts.push(part("ipi", distance as usize, (hop - idle).max(LEAST_NS)));
    }
    exits[0] = nearest.unwrap_or(exits[0]);
    let mut least = 0.0_f64;
    for (state, exit) in exits.into_iter().enumerate() {
        // Deeper states are not left faster; a sleep that came out better was luck.
        least = least.max(exit);
        parts.push(part("idle_exit", state, least));
    }
    Ok(parts)
}

const fn part(entry: &'static str, index: usize, value: f64) -> Part {
    Part {
        entry,
        index,
        value,
    }
}

/// A switch between two threads that give the CPU to each other, without the call that does it, ns. None
/// where this process may not have threads that nobody comes between.
fn turns(here: &CpuList, count: u32) -> Result<Option<f64>, BenchError> {
    let start = Barrier::new(2);
    let turn = |is_alone: bool| {
        here.pin()?;
        if sys::take_turns().is_err() {
            return Ok(None);
        }
        if !is_alone {
            start.wait();
        }
        let began = Instant::now();
        (0..count).for_each(|_| thread::yield_now());
        Ok(Some(began.elapsed().as_nanos() as f64 / f64::from(count)))
    };
    thread::scope(|scope| {
        let Some(call) = crate::load::join(scope.spawn(|| turn(true)))? else {
            return Ok(None);
        };
        let two = [(); 2].map(|()| scope.spawn(|| turn(false)));
        let mut both = Vec::new();
        for thread in two {
            both.extend(crate::load::join(thread)?);
        }
        // In the time of one turn each of the two yields once.
        Ok(Some((median(both) / 2.0 - call).max(LEAST_NS)))
    })
}

/// A wakeup in the waker, when the sleepers belong to its own CPU and do not take it away.
fn wakeup(here: &CpuList, rounds: u32) -> Result<f64, BenchError> {
    let stop = AtomicBool::new(false);
    let sleeper = || {
        here.pin()?;
        sys::never_preempt().map_err(BenchError::system("become a batch task"))?;
        while !stop.load(Ordering::Relaxed) {
            thread::park();
        }
        Ok(())
    };
    here.pin()?;
    thread::scope(|scope| {
        let sleepers: Vec<_> = (0..SLEEPERS).map(|_| scope.spawn(sleeper)).collect();
        let mut times = Vec::new();
        for _ in 0..rounds {
            // Time for all of them to go to sleep.
            thread::sleep(Duration::from_millis(1));
            let start = Instant::now();
            sleepers
                .iter()
                .for_each(|sleeper| sleeper.thread().unpark());
            times.push(start.elapsed().as_nanos() as f64 / SLEEPERS as f64);
        }
        stop.store(true, Ordering::Relaxed);
        sleepers
            .iter()
            .for_each(|sleeper| sleeper.thread().unpark());
        for sleeper in sleepers {
            crate::load::join(sleeper)?;
        }
        Ok(median(times))
    })
}

/// How much later than asked for a sleep ends, ns.
fn lateness(here: &CpuList, sleep: Duration, count: u32) -> Result<f64, BenchError> {
    here.pin()?;
    let sleeper = || {
        let exact = rustix::thread::set_current_timer_slack(std::num::NonZero::new(1));
        exact.map_err(BenchError::system("have timers fire in time"))?;
        let late = (0..count).map(|_| {
            let start = Instant::now();
            thread::sleep(sleep);
            start.elapsed().saturating_sub(sleep).as_nanos() as f64
        });
        Ok(median(late.collect()))
    };
    // In a thread of its own, which takes its timer slack with it.
    thread::scope(|scope| match scope.spawn(sleeper).join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

fn set_attribute(here: &CpuList, count: u32) -> Result<f64, BenchError> {
    median_of(count, || {
        let start = Instant::now();
        here.pin()?;
        Ok(start.elapsed().as_nanos() as f64)
    })
}
