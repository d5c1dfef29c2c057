//! Contention on the locks of runqueues.

use fairlab_units::{CpuId, Nanos, Timestamp};

use crate::engine::Engine;

/// The lock of a runqueue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lock {
    /// Who had it last, and until when.
    holder: CpuId,
    until: Timestamp,
}

impl Engine<'_> {
    /// `this` takes the lock of the runqueue of `cpu`, and pays for waiting until others have given it
    /// back. Holding it is part of the cost of what it is taken for.
    ///
    /// What one CPU does at one moment of simulated time happens one after the other, so it does not
    /// wait for itself.
    pub(crate) fn take_lock(&mut self, cpu: CpuId, this: CpuId) {
        let now = self.now;
        let lock = &mut self.world.cpus[cpu].lock;
        let wait = if lock.holder == this {
            Nanos::ZERO
        } else {
            Nanos(lock.until.0.saturating_sub(now.0))
        };
        let from = self.distances.between(lock.holder, this);
        let hold = self.costs.lock_hold + self.costs.probe[from as usize];
        *lock = Lock {
            holder: this,
            until: lock.until.max(now) + hold,
        };
        if wait > Nanos::ZERO {
            self.counts.lock_wait += wait;
            self.charge(this, wait);
        }
    }
}
