//! The message threads.

use std::sync::atomic::Ordering;
use std::thread::{self, Thread};
use std::time::Duration;

use super::shared::{Group, Shared, Worker, lock};
use super::{SchbenchOptions, work};
use crate::BenchError;

/// Requests handed out between two pauses of the message thread.
const BATCH: u32 = 8;
/// A worker with more requests than that gets no further ones.
const MAX_PENDING: usize = 8;
const SECOND: Duration = Duration::from_secs(1);

/// The message thread `index`: starts its workers and wakes them until all is over.
pub fn run(options: &SchbenchOptions, shared: &Shared, index: usize) {
    let Some(group) = shared.groups.get(index) else {
        return;
    };
    let messenger = thread::current();
    thread::scope(|scope| {
        let mut workers = Vec::new();
        for index in 0..group.workers.len() {
            let messenger = &messenger;
            let body = move || work::run(options, shared, group, index, messenger);
            match thread::Builder::new().spawn_scoped(scope, body) {
                Ok(worker) => workers.push(worker.thread().clone()),
                Err(error) => {
                    shared.fail(BenchError::system("make a worker")(error));
                    break;
                }
            }
        }
        if shared.rps.load(Ordering::Relaxed) > 0 {
            hand_out_requests(options, shared, group, &workers);
        } else {
            wake_those_who_wait(options, shared, group, &workers);
        }
        // Everybody has to look up once more to see that it is over.
        for (worker, thread) in group.workers.iter().zip(&workers) {
            worker.post.wake(thread);
        }
    });
}

fn wake_those_who_wait(
    options: &SchbenchOptions,
    shared: &Shared,
    group: &Group,
    workers: &[Thread],
) {
    while !shared.is_over() {
        group.for_each_waiting(|index, worker| {
            if let Some(thread) = workers.get(index) {
                wake(options, shared, worker, thread);
            }
        });
        // Without workers nobody would post.
        if workers.is_empty() {
            thread::sleep(Duration::from_millis(1));
        } else {
            group.post.wait();
        }
    }
}

fn hand_out_requests(
    options: &SchbenchOptions,
    shared: &Shared,
    group: &Group,
    workers: &[Thread],
) {
    let mut turn = 0_usize;
    while !shared.is_over() {
        // Read again each second: the rate may still be growing.
        let rate = (shared.rps.load(Ordering::Relaxed) / options.message_threads).max(1);
        let pause = SECOND / rate * BATCH;
        let start = shared.clock.now();
        for number in 1..=rate {
            if shared.is_over() {
                return;
            }
            let index = turn % group.workers.len();
            turn = turn.wrapping_add(1);
            if let (Some(worker), Some(thread)) = (group.workers.get(index), workers.get(index)) {
                let mut pending = lock(&worker.pending);
                if pending.len() <= MAX_PENDING {
                    pending.push_back(shared.clock.now_ns());
                    drop(pending);
                    wake(options, shared, worker, thread);
                }
            }
            if number % BATCH == 0 {
                thread::sleep(pause.min(SECOND / 10));
            }
        }
        while let Some(left) = SECOND.checked_sub(shared.clock.now() - start) {
            if left.is_zero() || shared.is_over() {
                break;
            }
            thread::sleep(left.min(SECOND / 10));
        }
    }
}

fn wake(options: &SchbenchOptions, shared: &Shared, worker: &Worker, thread: &Thread) {
    if options.pipe > 0 {
        lock(&worker.page).fill(1);
    }
    worker
        .woken_at
        .store(shared.clock.now_ns(), Ordering::Relaxed);
    worker.post.wake(thread);
}
