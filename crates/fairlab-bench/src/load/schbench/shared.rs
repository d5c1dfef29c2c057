//! What the threads share: the list of waiting workers, the posts, the counts.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use fairlab_stats::LatencyHistogram;

use super::clock::Clock;
use super::{SchbenchOptions, SchbenchResult};
use crate::BenchError;

/// An end of the list of waiting workers.
const NOBODY: usize = usize::MAX;

/// Shared by all threads.
pub struct Shared {
    /// The time that all latencies are taken with.
    pub clock: Clock,
    /// One per message thread.
    pub groups: Vec<Group>,
    /// Requests per second of all groups; 0 when workers ask for work.
    pub rps: AtomicU32,
    /// A lock per CPU.
    pub cpu_locks: Vec<Mutex<()>>,
    is_over: AtomicBool,
    failure: Mutex<Option<BenchError>>,
    failed: Condvar,
}

/// A message thread and its workers.
pub struct Group {
    /// What the message thread sleeps on.
    pub post: Post,
    /// The worker that joined the waiting last.
    head: AtomicUsize,
    /// The workers.
    pub workers: Vec<Worker>,
}

/// A worker, as others see it.
pub struct Worker {
    /// What it sleeps on.
    pub post: Post,
    /// The one that joined the waiting before it.
    next: AtomicUsize,
    /// When it was last posted, in ns of the clock.
    pub woken_at: AtomicU64,
    /// Requests done.
    pub loops: AtomicU64,
    /// Start times of requests that are still to do.
    pub pending: Mutex<VecDeque<u64>>,
    /// In pipe mode, written by both sides.
    pub page: Mutex<Vec<u8>>,
    /// Latencies.
    pub stats: Mutex<Stats>,
}

/// The latencies of a worker.
#[derive(Default)]
pub struct Stats {
    /// In microseconds.
    pub wakeups: LatencyHistogram,
    /// In microseconds.
    pub requests: LatencyHistogram,
}

/// A flag that one thread sleeps on.
#[derive(Default)]
pub struct Post(AtomicBool);

impl Post {
    /// Sets the flag and wakes `sleeper`, whose flag this is.
    pub fn wake(&self, sleeper: &Thread) {
        self.0.store(true, Ordering::Release);
        sleeper.unpark();
    }

    /// Sleeps until the flag is set, and clears it.
    pub fn wait(&self) {
        while !self.0.swap(false, Ordering::Acquire) {
            thread::park();
        }
    }
}

impl Shared {
    /// The state before the first thread.
    pub fn new(options: &SchbenchOptions) -> Self {
        let group = || Group {
            post: Post::default(),
            head: AtomicUsize::new(NOBODY),
            workers: (0..options.threads).map(|_| Worker::new(options)).collect(),
        };
        // A rate that is to be found has to start somewhere.
        let rps = if options.auto_rps.is_some() && options.rps == 0 {
            10
        } else {
            options.rps
        };
        Self {
            clock: Clock::start(),
            groups: (0..options.message_threads).map(|_| group()).collect(),
            rps: AtomicU32::new(rps),
            cpu_locks: (0..rustix::thread::CpuSet::MAX_CPU)
                .map(|_| Mutex::new(()))
                .collect(),
            is_over: AtomicBool::new(false),
            failure: Mutex::new(None),
            failed: Condvar::new(),
        }
    }

    /// Shall threads end?
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Lets all threads end when the answer is dropped.
    pub fn stop_when_dropped(&self) -> Stop<'_> {
        Stop(self)
    }

    /// A thread cannot go on.
    pub fn fail(&self, error: BenchError) {
        lock(&self.failure).get_or_insert(error);
        self.failed.notify_all();
    }

    /// Sleeps for `time`, or less when a thread fails, whose error comes back.
    pub fn wait(&self, time: Duration) -> Result<(), BenchError> {
        let failure = lock(&self.failure);
        let waited = self
            .failed
            .wait_timeout_while(failure, time, |failure| failure.is_none());
        let (mut failure, _) = waited.unwrap_or_else(PoisonError::into_inner);
        failure.take().map_or(Ok(()), Err)
    }

    /// Requests done by all workers.
    pub fn loops(&self) -> u64 {
        self.workers()
            .map(|worker| worker.loops.load(Ordering::Relaxed))
            .sum()
    }

    /// Forgets what was counted so far.
    pub fn reset(&self) {
        for worker in self.workers() {
            *lock(&worker.stats) = Stats::default();
            worker.loops.store(0, Ordering::Relaxed);
        }
    }

    /// Puts the counts of all workers into `result`.
    pub fn collect(&self, result: &mut SchbenchResult) {
        result.wakeups = LatencyHistogram::new();
        result.requests = LatencyHistogram::new();
        for worker in self.workers() {
            let stats = lock(&worker.stats);
            result.wakeups.merge(&stats.wakeups);
            result.requests.merge(&stats.requests);
        }
        result.loops = self.loops();
    }

    fn workers(&self) -> impl Iterator<Item = &Worker> {
        self.groups.iter().flat_map(|group| &group.workers)
    }
}

/// See [`Shared::stop_when_dropped`].
pub struct Stop<'a>(&'a Shared);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

impl Group {
    /// The worker `index` joins those that wait to be woken.
    pub fn join_waiting(&self, index: usize) {
        let Some(worker) = self.workers.get(index) else {
            return;
        };
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            worker.next.store(head, Ordering::Relaxed);
            match self
                .head
                .compare_exchange_weak(head, index, Ordering::AcqRel, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(newer) => head = newer,
            }
        }
    }

    /// Takes all that wait, the last that joined first, and calls `wake` for each.
    pub fn for_each_waiting(&self, mut wake: impl FnMut(usize, &Worker)) {
        let mut index = self.head.swap(NOBODY, Ordering::AcqRel);
        while let Some(worker) = self.workers.get(index) {
            // Once woken, it may join the list again; so the next one is read before.
            let next = worker.next.load(Ordering::Relaxed);
            wake(index, worker);
            index = next;
        }
    }
}

impl Worker {
    fn new(options: &SchbenchOptions) -> Self {
        Self {
            post: Post::default(),
            next: AtomicUsize::new(NOBODY),
            woken_at: AtomicU64::new(0),
            loops: AtomicU64::new(0),
            pending: Mutex::default(),
            page: Mutex::new(vec![0; options.pipe as usize]),
            stats: Mutex::default(),
        }
    }
}

/// Takes a lock. A thread that panicked with it has left nothing half done that matters here.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
