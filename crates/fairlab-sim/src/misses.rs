//! What a placed task got, and the best that it could have had at that moment.
//!
//! Seen from all of the machine's state, not from what the kernel's search looked at: this is what
//! an audit of the run's events has to find.

use fairlab_units::{CpuId, TaskId};

use crate::engine::Engine;

/// What a placed task got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A CPU whose siblings idled too, or that has none.
    IdleCore,
    /// An idle CPU with a busy sibling.
    IdleCpu,
    /// A busy CPU.
    Busy,
}

/// The best that a placed task could have had instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// Nothing better.
    Nothing,
    /// An idle core that shares the last-level cache with the CPU that it got.
    IdleCore,
    /// An idle CPU that does.
    IdleCpu,
    /// An idle CPU that does not.
    Elsewhere,
}

impl Engine<'_> {
    /// Counts what `id`, which was woken or forked, gets on `cpu`. Comes before it is queued there.
    pub(crate) fn note_found(&mut self, id: TaskId, cpu: CpuId) {
        let found = self.missed(id, cpu);
        self.count_found(found);
    }

    pub(crate) fn count_found(&mut self, (found, missed): (Found, Missed)) {
        self.counts.found[found as usize][missed as usize] += 1;
    }

    /// What `id` gets on `cpu`, and what it misses.
    pub(crate) fn missed(&self, id: TaskId, cpu: CpuId) -> (Found, Missed) {
        debug_assert_eq!(self.masks.is_idle(cpu), self.world.cpus[cpu].is_idle());
        let is_idle = |cpu: CpuId| self.masks.is_idle(cpu) || self.asleep.test(cpu);
        let is_idle_core = |cpu: CpuId| {
            self.masks.is_idle_core(cpu)
                || self.nr_asleep > 0 && self.masks.threads(cpu).iter().all(|&t| is_idle(t))
        };
        if is_idle(cpu) && is_idle_core(cpu) {
            return (Found::IdleCore, Missed::Nothing);
        }
        let found = if is_idle(cpu) {
            Found::IdleCpu
        } else {
            Found::Busy
        };
        if self.masks.nr_idle() == 0 && self.nr_asleep == 0 {
            return (found, Missed::Nothing);
        }
        let allowed = self.world.mask(self.world.tasks[id.index()].allowed);
        let mut has_idle_cpu = false;
        for &other in self.distances.llc(cpu) {
            if is_idle(other) && allowed.test(other) {
                if is_idle_core(other) {
                    return (found, Missed::IdleCore);
                }
                has_idle_cpu = true;
            }
        }
        let missed = if found == Found::IdleCpu {
            // Another idle CPU is no better than the one that it got.
            Missed::Nothing
        } else if has_idle_cpu {
            Missed::IdleCpu
        } else if self.masks.idle_cpus().any(|other| allowed.test(other))
            || (self.nr_asleep > 0 && self.asleep.intersects(allowed))
        {
            Missed::Elsewhere
        } else {
            Missed::Nothing
        };
        (found, missed)
    }
}
