//! What happens between events: ticks.

use fairlab_policy::balance::IdleKind;
use fairlab_runqueue::Resched;
use fairlab_units::{CpuId, Timestamp};

use super::Reconstruction;
use super::cpu::Curr;

/// Ticks that are made up for after a silence; what was before them has decayed to nothing.
const MOST_TICKS: u64 = 1_000;

/// Later times are not believed, so that no sum of times overflows.
const LATEST: u64 = u64::MAX / 4;

impl Reconstruction<'_> {
    /// Time goes on to `time`. Ticks at that very time come after its events.
    pub(super) fn advance(&mut self, time: Timestamp) {
        let time = time.0.min(LATEST).max(self.now.0);
        if !self.has_begun {
            self.has_begun = true;
            self.next_tick = time - time % self.tick + self.tick;
            self.set_now(time);
            self.begin = self.now;
            self.begin_balancing();
        }
        let missed = time.saturating_sub(self.next_tick) / self.tick;
        if missed > MOST_TICKS {
            self.next_tick += (missed - MOST_TICKS) * self.tick;
        }
        while self.next_tick < time {
            self.set_now(self.next_tick);
            self.next_tick += self.tick;
            for cpu in &self.active.clone() {
                self.tick(cpu);
            }
        }
        self.set_now(time);
    }

    fn set_now(&mut self, time: u64) {
        self.now = Timestamp(time);
        self.jiffies = time / self.tick;
    }

    /// The tick of a busy CPU; idle ones have none.
    fn tick(&mut self, cpu: CpuId) {
        let now = self.now;
        let c = &mut self.cpus[cpu];
        let Curr::Task(slot) = c.curr else { return };
        if c.curr_is_higher {
            c.class.update_higher(now, true);
        } else {
            let avg = &mut self.tasks[slot.index()].avg;
            let resched = c.class.tick(&mut self.ents, slot.entity(), avg, now);
            // A lazy request becomes a real one at the tick after it was made.
            c.resched = match (c.resched, resched) {
                (Resched::Lazy, _) | (_, Resched::Now) => Resched::Now,
                (before, Resched::None) => before,
                (before, Resched::Lazy) => before.or(Resched::Lazy),
            };
        }
        self.note_overutilized(cpu);
        if self.domains.base(cpu).is_some() && self.jiffies >= self.balance.cpus[cpu].next_balance {
            self.look_around(|balancer, ops| {
                balancer.rebalance_domains(ops, cpu, IdleKind::NotIdle);
            });
            self.keep_balance_cost(cpu);
        }
        let kick = self.look_around(|balancer, ops| balancer.nohz_kick(ops, cpu));
        if let Some(kick) = kick {
            self.look_around(|balancer, ops| {
                balancer.nohz_idle_balance(ops, kick.target);
            });
        }
    }
}
