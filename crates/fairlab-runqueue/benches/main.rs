//! Cost of one wakeup, one pick and one sleep on queues of different lengths.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fairlab_kernel::{Kernel, Release};
use fairlab_runqueue::{DequeueFlags, EnqueueFlags, Entities, EntityId, FairRq, Policy, RqConfig};
use fairlab_units::Timestamp;

/// A queue of `nr` tasks, one of them running.
struct Cpu {
    ents: Entities,
    rq: FairRq,
    now: u64,
    /// A task that is not queued.
    spare: EntityId,
}

impl Cpu {
    fn new(release: Release, nr: usize) -> Self {
        let cfg = RqConfig::new(&Kernel::of(release), 8);
        let mut ents = Entities::with_capacity(nr + 1);
        let mut rq = FairRq::new(cfg);
        for _ in 0..nr {
            let id = ents.add_task(0, Policy::Normal);
            let _ = rq.fork(&mut ents, id, Timestamp(0));
            let _ = rq.enqueue(&mut ents, id, EnqueueFlags::NEW, Timestamp(0));
        }
        let spare = ents.add_task(0, Policy::Normal);
        let mut cpu = Self {
            ents,
            rq,
            now: 1,
            spare,
        };
        // Spreads the tasks over virtual time.
        for _ in 0..4 * nr {
            cpu.switch();
        }
        cpu
    }

    fn switch(&mut self) {
        self.now += 100_000;
        let now = Timestamp(self.now);
        let curr = self.rq.curr(&self.ents);
        let pick = self.rq.pick_next(&mut self.ents, now);
        if pick != curr {
            if let Some(curr) = curr {
                self.rq.put_prev(&mut self.ents, curr, now);
            }
            if let Some(pick) = pick {
                self.rq.set_next(&mut self.ents, pick, now);
            }
        }
    }

    /// One task wakes up, the running one is charged, the best is picked, and a task leaves.
    fn cycle(&mut self) {
        let spare = self.spare;
        let now = Timestamp(self.now);
        let _ = self
            .rq
            .enqueue(&mut self.ents, spare, EnqueueFlags::WAKEUP, now);
        self.switch();
        let now = Timestamp(self.now);
        if let Some(curr) = self.rq.curr(&self.ents) {
            // A move is never delayed, so the length of the queue stays.
            let _ = self
                .rq
                .dequeue(&mut self.ents, curr, DequeueFlags::SPECIAL, now);
            let pick = self.rq.pick_next(&mut self.ents, now);
            self.rq.put_prev(&mut self.ents, curr, now);
            if let Some(pick) = pick {
                self.rq.set_next(&mut self.ents, pick, now);
            }
            self.spare = curr;
        }
    }
}

fn cycle(c: &mut Criterion) {
    for release in [Release::V6_1, Release::V6_12, Release::V7_2] {
        let mut group = c.benchmark_group(format!("enqueue+pick+dequeue/{release}"));
        for nr in [1, 2, 8, 64, 1_000, 100_000, 1_000_000] {
            let mut cpu = Cpu::new(release, nr);
            group.bench_function(BenchmarkId::from_parameter(nr), |b| {
                b.iter(|| {
                    cpu.cycle();
                    black_box(&cpu.rq);
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, cycle);
criterion_main!(benches);
