//! A CPU under a steady load: one wakeup, one pick and one sleep per cycle.

use fairlab_kernel::{Kernel, Release};
use fairlab_runqueue::{DequeueFlags, EnqueueFlags, Entities, EntityId, FairRq, Policy, RqConfig};
use fairlab_units::Timestamp;

/// A queue of `nr` tasks, one of them running.
pub struct Cpu {
    ents: Entities,
    pub rq: FairRq,
    now: u64,
    /// A task that is not queued.
    spare: EntityId,
}

impl Cpu {
    pub fn new(release: Release, nr: usize) -> Self {
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
    pub fn cycle(&mut self) {
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
