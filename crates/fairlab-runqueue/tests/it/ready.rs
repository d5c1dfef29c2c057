//! A CPU driven by ticks alone, whose tasks never sleep.

use fairlab_kernel::{Kernel, Release};
use fairlab_runqueue::{
    EnqueueFlags, Entities, EntityId, FairRq, GroupId, Policy, RqConfig, Weight,
};
use fairlab_units::Timestamp;

/// A CPU with tasks that are always ready.
pub struct Cpu {
    pub ents: Entities,
    pub rq: FairRq,
    pub tick: u64,
    pub now: u64,
}

impl Cpu {
    pub fn new(release: Release) -> Self {
        let kernel = Kernel::of(release);
        Self {
            ents: Entities::new(),
            rq: FairRq::new(RqConfig::new(&kernel, 8)),
            tick: kernel.tunables.tick_ns(),
            now: 1_000_000,
        }
    }

    pub fn add(&mut self, nice: i8, group: GroupId) -> EntityId {
        let id = self.ents.add_task(nice, Policy::Normal);
        self.rq.set_group(&mut self.ents, id, group);
        let now = Timestamp(self.now);
        let _ = self.rq.fork(&mut self.ents, id, now);
        let _ = self.rq.enqueue(&mut self.ents, id, EnqueueFlags::NEW, now);
        id
    }

    /// Runs for `ticks` ticks; every task is always ready.
    pub fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            let now = Timestamp(self.now);
            let curr = self.rq.curr(&self.ents);
            if curr.is_none() || self.rq.tick(&mut self.ents, now).is_requested() {
                let pick = self.rq.pick_next(&mut self.ents, now).unwrap();
                if curr != Some(pick) {
                    if let Some(curr) = curr {
                        self.rq.put_prev(&mut self.ents, curr, now);
                    }
                    self.rq.set_next(&mut self.ents, pick, now);
                }
            }
            self.now += self.tick;
        }
        let _ = self.rq.update_curr(&mut self.ents, Timestamp(self.now));
    }

    pub fn ran(&self, ids: &[EntityId]) -> f64 {
        let sum: u64 = ids.iter().map(|id| self.ents[*id].sum_exec().0).sum();
        sum as f64
    }

    /// A group of `weight` (`cpu.weight`, 100 is the default).
    pub fn group(&mut self, weight: u64) -> GroupId {
        let group = self.rq.add_group(&mut self.ents, GroupId::ROOT);
        let shares = Weight(weight * Weight::NICE_0.0 / 100);
        let now = Timestamp(self.now);
        self.rq.set_shares(&mut self.ents, group, shares, now);
        group
    }
}
