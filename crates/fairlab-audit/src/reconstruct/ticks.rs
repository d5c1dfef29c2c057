//! What happens between events: ticks.

use fairlab_policy::balance::IdleKind;
use fairlab_runqueue::Resched;
use fairlab_units::{CpuId, Nanos, Timestamp};

use super::Reconstruction;
use super::cpu::Curr;

/// Ticks that are made up for after a silence; what was before them has decayed to nothing.
const MOST_TICKS: u64 = 1_000;

/// Jiffies at time zero: recordings may begin there, and what was last done before has to have a time.
const EPOCH: u64 = 1 << 20;

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
            self.pick_silently(Timestamp(self.next_tick));
            self.set_now(self.next_tick);
            self.next_tick += self.tick;
            self.ticks();
            // The kicked CPUs begin when the interrupts have reached them.
            for cpu in std::mem::take(&mut self.kicked) {
                self.look_around(|balancer, ops| {
                    balancer.nohz_idle_balance(ops, cpu);
                });
            }
        }
        self.pick_silently(Timestamp(time));
        self.set_now(time);
    }

    /// CPUs that were asked to reschedule and did not switch have picked what they ran before. No
    /// event tells of it, but sleepers whose dequeue was delayed have left.
    fn pick_silently(&mut self, now: Timestamp) {
        let mut at = 0;
        while let Some(&cpu) = self.asked.get(at) {
            let c = &mut self.cpus[cpu];
            let is_moot = c.resched != Resched::Now || c.curr_is_higher;
            let due = c.chooses_at;
            if !is_moot && due >= now {
                at += 1;
                continue;
            }
            self.asked.swap_remove(at);
            if is_moot || !matches!(c.curr, Curr::Task(_)) {
                continue;
            }
            c.resched = Resched::None;
            let _ = c.class.rq.pick_next(&mut self.ents, due);
            self.collect_left(cpu);
        }
    }

    /// `cpu` is asked to reschedule by `by`. What a CPU asks of itself it does as soon as it has done what
    /// it is at; others have to send an interrupt.
    pub(super) fn request(&mut self, cpu: CpuId, by: CpuId, resched: Resched) {
        let after = if cpu == by {
            Nanos(0)
        } else {
            self.assumed.resched
        };
        if self.cpus[cpu].request(resched, self.now + after) {
            self.asked.push(cpu);
        }
    }

    /// The ticks of all CPUs that are due at this moment: first of those that have been busy longest.
    fn ticks(&mut self) {
        let mut due: Vec<(u64, CpuId)> = Vec::new();
        for (cpu, c) in self.cpus.iter_mut() {
            due.extend(c.tick.take().map(|place| (place, cpu)));
        }
        due.sort_unstable();
        for (_, cpu) in due {
            self.tick(cpu);
        }
    }

    /// The tick of `cpu` goes on, if it was stopped.
    pub(super) fn arm_tick(&mut self, cpu: CpuId) {
        if self.cpus[cpu].tick.is_none() {
            self.cpus[cpu].tick = Some(self.nr_armed);
            self.nr_armed += 1;
        }
    }

    fn set_now(&mut self, time: u64) {
        self.now = Timestamp(time);
        self.jiffies = EPOCH + time / self.tick;
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
            let is_due = c.resched == Resched::Lazy;
            self.request(cpu, cpu, if is_due { Resched::Now } else { resched });
        }
        self.arm_tick(cpu);
        self.note_overutilized(cpu);
        if self.domains.base(cpu).is_some() && self.jiffies >= self.balance.cpus[cpu].next_balance {
            self.look_around(|balancer, ops| {
                balancer.rebalance_domains(ops, cpu, IdleKind::NotIdle);
            });
            self.keep_balance_cost(cpu);
        }
        let kick = self.look_around(|balancer, ops| balancer.nohz_kick(ops, cpu));
        self.kicked.extend(kick.map(|kick| kick.target));
    }
}
