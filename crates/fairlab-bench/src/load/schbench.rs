//! Message threads wake workers, workers think: as `schbench` has it.
//!
//! ```text
//!   message thread:  wake all that wait, sleep until one posts
//!   worker:          join those that wait, post, sleep            <- wakeup latency
//!                    sleep (the network), multiply matrices       <- request latency
//!   with -R:         the message thread hands out requests at a rate; a worker sleeps when it has none
//!   with -p:         a page is written on both sides, and there is no thinking
//! ```
//!
//! # Method
//! As schbench's present version. A wakeup latency runs from just before the post to the return of
//! the wait; a request's from the start of the work (with a rate: from when it was handed out) to
//! its end. The work holds a lock of the CPU that it runs on, so that a worker which is preempted in
//! the middle of it shows as a long request. Waiting is `std::thread::park`, a futex.
//! Latencies are counted in [`LatencyHistogram`], whose buckets are schbench's own.
//!
//! # Assumptions
//! The growth of the rate (`auto_rps`) follows the same idea as schbench's, with steps of our own. The
//! list of waiting workers is a stack without locks, as there. schbench measures with gettimeofday, we
//! with the monotonic clock.

mod clock;
mod message;
mod report;
mod shared;
pub(crate) mod work;

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use fairlab_stats::LatencyHistogram;

use crate::{BenchError, CpuList};
use clock::BusyClock;
use shared::Shared;

pub use report::{Layout, interval_report, report};

/// What is measured.
#[derive(Clone, Debug)]
pub struct SchbenchOptions {
    /// Threads that wake.
    pub message_threads: u32,
    /// Workers of each.
    pub threads: u32,
    /// How long it is measured.
    pub runtime: Duration,
    /// How long it runs before.
    pub warm_up: Duration,
    /// How often the latencies so far are told.
    pub interval: Duration,
    /// Requests per second, of all message threads together; 0: workers ask for work themselves.
    pub rps: u32,
    /// The part of the CPUs, in percent, that the rate is raised to keep busy before measuring
    /// starts.
    pub auto_rps: Option<u32>,
    /// Bytes of the page in pipe mode; 0: workers think instead.
    pub pipe: u32,
    /// What stands for the network, before each think.
    pub sleep: Duration,
    /// Matrix products of a think.
    pub operations: u32,
    /// Size of the three matrices of a worker together, in KiB.
    pub footprint_kib: u32,
    /// Does the think hold the lock of its CPU?
    pub is_locking: bool,
    /// Where the threads stay; anywhere when `None`.
    pub cpus: Option<CpuList>,
}

impl Default for SchbenchOptions {
    fn default() -> Self {
        Self {
            message_threads: 1,
            threads: thread::available_parallelism()
                .map_or(1, |n| u32::try_from(n.get()).unwrap_or(1)),
            runtime: Duration::from_secs(30),
            warm_up: Duration::ZERO,
            interval: Duration::from_secs(10),
            rps: 0,
            auto_rps: None,
            pipe: 0,
            sleep: Duration::from_micros(100),
            operations: 5,
            footprint_kib: 256,
            is_locking: true,
            cpus: None,
        }
    }
}

/// What came out.
#[derive(Clone, Debug, Default)]
pub struct SchbenchResult {
    /// In microseconds.
    pub wakeups: LatencyHistogram,
    /// In microseconds.
    pub requests: LatencyHistogram,
    /// Requests per second, one value for each second.
    pub rps: LatencyHistogram,
    /// Requests, or wakeups in pipe mode, of all workers.
    pub loops: u64,
    /// How long it was measured.
    pub seconds: f64,
    /// As in the options.
    pub pipe: u32,
    /// The rate that was found or given.
    pub target_rps: u32,
}

impl SchbenchResult {
    /// Requests per second over the whole time.
    #[must_use]
    pub fn average_rps(&self) -> f64 {
        self.loops as f64 / self.seconds.max(1e-9)
    }
}

/// Growing the rate ends here, busy or not.
const AUTO_RPS_LIMIT: u32 = 120;
const SECOND: Duration = Duration::from_secs(1);
/// The number of threads beyond which one did not mean it.
const MAX_THREADS: u64 = 1 << 20;

/// Runs the load once; `tell` gets the state after each interval.
///
/// # Errors
/// When an option makes no sense or threads cannot be made.
pub fn run(
    options: &SchbenchOptions,
    mut tell: impl FnMut(&SchbenchResult),
) -> Result<SchbenchResult, BenchError> {
    check(options)?;
    if let Some(cpus) = &options.cpus {
        cpus.pin()?;
    }
    let shared = Shared::new(options);
    thread::scope(|scope| {
        // Whatever happens, no thread of the scope may be left running.
        let shared = &shared;
        let stop = shared.stop_when_dropped();
        for index in 0..options.message_threads as usize {
            let body = move || message::run(options, shared, index);
            let thread = thread::Builder::new().spawn_scoped(scope, body);
            thread.map_err(BenchError::system("make a message thread"))?;
        }
        let result = observe(options, shared, &mut tell);
        drop(stop);
        result
    })
}

fn check(options: &SchbenchOptions) -> Result<(), BenchError> {
    let refuse = |text: &str| Err(BenchError::Option(text.into()));
    if options.message_threads == 0 || options.threads == 0 {
        return refuse("no threads: 1 or more message threads and workers are wanted");
    }
    if u64::from(options.message_threads) * u64::from(options.threads) > MAX_THREADS {
        return refuse("more than a million workers: take fewer");
    }
    if options.runtime < Duration::from_millis(1) {
        return refuse("no runtime: 1 ms or more is wanted");
    }
    if options
        .auto_rps
        .is_some_and(|percent| percent == 0 || percent > 100)
    {
        return refuse("a part of the CPUs from 1 to 100 percent is wanted");
    }
    if options.pipe > 0 && (options.rps > 0 || options.auto_rps.is_some()) {
        return refuse("a rate of requests and pipe mode exclude each other");
    }
    Ok(())
}

/// Warms up, finds the rate if it is to be found, and measures second by second.
fn observe(
    options: &SchbenchOptions,
    shared: &Shared,
    tell: &mut impl FnMut(&SchbenchResult),
) -> Result<SchbenchResult, BenchError> {
    shared.wait(options.warm_up)?;
    if let Some(percent) = options.auto_rps {
        find_rate(percent, shared)?;
    }
    let mut so_far = SchbenchResult {
        pipe: options.pipe,
        target_rps: shared.rps.load(Ordering::Relaxed),
        ..SchbenchResult::default()
    };
    shared.reset();
    let start = shared.clock.now();
    let (mut second_start, mut loops_before, mut told) = (start, 0, start);
    loop {
        let elapsed = shared.clock.now() - start;
        let Some(left) = options
            .runtime
            .checked_sub(elapsed)
            .filter(|left| !left.is_zero())
        else {
            break;
        };
        shared.wait(left.min(SECOND))?;
        let (now, loops) = (shared.clock.now(), shared.loops());
        let second = now - second_start;
        // A last part of a second says nothing about requests per second.
        if second >= SECOND / 2 {
            let rate = (loops - loops_before) as f64 / second.as_secs_f64();
            so_far.rps.record(rate.round() as u64);
        }
        (second_start, loops_before) = (now, loops);
        if now - told >= options.interval && options.runtime > now - start {
            told = now;
            shared.collect(&mut so_far);
            so_far.seconds = (now - start).as_secs_f64();
            tell(&so_far);
        }
    }
    so_far.seconds = (shared.clock.now() - start).as_secs_f64();
    shared.collect(&mut so_far);
    Ok(so_far)
}

/// Raises the rate until `percent` of the CPUs are busy.
fn find_rate(percent: u32, shared: &Shared) -> Result<(), BenchError> {
    let target = f64::from(percent) / 100.0;
    let mut busy = BusyClock::start()?;
    for _ in 0..AUTO_RPS_LIMIT {
        shared.wait(SECOND)?;
        let part = busy.lap()?;
        let rate = shared.rps.load(Ordering::Relaxed);
        if (part - target).abs() < 0.02 {
            return Ok(());
        }
        // Large steps far away, small ones near by, so that queues that built up can drain.
        let wish = (target / part.max(0.01)).clamp(0.5, 3.0);
        let step = if (0.8..1.2).contains(&wish) {
            1.0 + (wish - 1.0) / 4.0
        } else {
            1.0 + (wish - 1.0) / 2.0
        };
        let next = (f64::from(rate) * step).round().clamp(1.0, 1e9) as u32;
        let next = if next == rate && wish > 1.0 {
            rate + 1
        } else {
            next
        };
        shared.rps.store(next, Ordering::Relaxed);
    }
    Err(BenchError::Option(format!(
        "{percent} percent busy were not reached in {AUTO_RPS_LIMIT} s: give a rate with -R, or another \
         part with -A"
    )))
}

#[cfg(test)]
mod tests;
