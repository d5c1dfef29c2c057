//! The workers.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, TryLockError};
use std::thread::{self, Thread};

use super::SchbenchOptions;
use super::shared::{Group, Shared, Worker, lock};

/// The worker `index` of `group`, whose message thread is `messenger`.
pub fn run(
    options: &SchbenchOptions,
    shared: &Shared,
    group: &Group,
    index: usize,
    messenger: &Thread,
) {
    let Some(worker) = group.workers.get(index) else {
        return;
    };
    let mut matrices = Matrices::new(options.footprint_kib);
    // Whether there is a rate does not change while it runs, only how large it is.
    let has_rate = shared.rps.load(Ordering::Relaxed) > 0;
    while !shared.is_over() {
        if has_rate {
            let request = lock(&worker.pending).pop_front();
            match request {
                Some(start) => think(options, shared, worker, &mut matrices, Some(start)),
                None => sleep_until_woken(shared, worker),
            }
        } else {
            group.join_waiting(index);
            group.post.wake(messenger);
            sleep_until_woken(shared, worker);
            if options.pipe > 0 {
                lock(&worker.page).fill(2);
                worker.loops.fetch_add(1, Ordering::Relaxed);
            } else {
                think(options, shared, worker, &mut matrices, None);
            }
        }
    }
    // The message thread may be asleep, and has to see that it is over.
    group.post.wake(messenger);
}

fn sleep_until_woken(shared: &Shared, worker: &Worker) {
    worker.post.wait();
    let now = shared.clock.now_ns();
    let latency = now.saturating_sub(worker.woken_at.load(Ordering::Relaxed));
    if !shared.is_over() {
        lock(&worker.stats).wakeups.record(latency / 1000);
    }
}

/// Does one request, which was handed out at `start`, or now.
fn think(
    options: &SchbenchOptions,
    shared: &Shared,
    worker: &Worker,
    matrices: &mut Matrices,
    start: Option<u64>,
) {
    let start = start.unwrap_or_else(|| shared.clock.now_ns());
    thread::sleep(options.sleep);
    {
        let _lock = options.is_locking.then(|| lock_this_cpu(shared));
        for _ in 0..options.operations {
            matrices.multiply();
        }
    }
    let latency = shared.clock.now_ns().saturating_sub(start);
    lock(&worker.stats).requests.record(latency / 1000);
    worker.loops.fetch_add(1, Ordering::Relaxed);
}

/// Takes the lock of the CPU that this thread is on. Spins while another has it: only a worker that
/// was preempted in the middle of its work can.
fn lock_this_cpu(shared: &Shared) -> MutexGuard<'_, ()> {
    loop {
        let cpu = rustix::thread::sched_getcpu();
        let Some(mutex) = shared.cpu_locks.get(cpu % shared.cpu_locks.len().max(1)) else {
            spin_loop();
            continue;
        };
        let guard = match mutex.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                spin_loop();
                continue;
            }
        };
        // It may have moved while it took the lock.
        if rustix::thread::sched_getcpu() == cpu {
            return guard;
        }
    }
}

/// Two square matrices and their product.
pub(crate) struct Matrices {
    size: usize,
    left: Vec<u64>,
    right: Vec<u64>,
    product: Vec<u64>,
}

impl Matrices {
    /// As large as three that fill `footprint_kib` together.
    pub(crate) fn new(footprint_kib: u32) -> Self {
        let words = u64::from(footprint_kib) * 1024 / 3 / 8;
        let size = usize::try_from(words.isqrt()).unwrap_or(0).max(1);
        let ramp = || (0..size * size).map(|word| word as u64).collect();
        Self {
            size,
            left: ramp(),
            right: ramp(),
            product: vec![0; size * size],
        }
    }

    /// How many times two numbers are multiplied and added up.
    pub(crate) const fn multiply_adds(&self) -> u64 {
        (self.size as u64).pow(3)
    }

    /// The plain triple loop, which strides through the right matrix as schbench's does.
    pub(crate) fn multiply(&mut self) {
        let rows = self.left.chunks_exact(self.size);
        for (row, products) in rows.zip(self.product.chunks_exact_mut(self.size)) {
            for (column, product) in products.iter_mut().enumerate() {
                let down = self.right.iter().skip(column).step_by(self.size);
                *product = row
                    .iter()
                    .zip(down)
                    .fold(0, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b)));
            }
        }
        black_box(&mut self.product);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_matrices_fill_the_footprint() {
        // 256 KiB: 10922 words each, 104 by 104.
        assert_eq!(Matrices::new(256).size, 104);
        assert_eq!(Matrices::new(0).size, 1);
    }

    #[test]
    fn the_product_is_that_of_matrices() {
        let mut matrices = Matrices::new(0);
        matrices.size = 2;
        matrices.left = vec![1, 2, 3, 4];
        matrices.right = vec![5, 6, 7, 8];
        matrices.product = vec![0; 4];
        matrices.multiply();
        assert_eq!(matrices.product, [19, 22, 43, 50]);
    }
}
