//! Energy-aware scheduling: when the machine is too busy for it.

use fairlab_policy::balance::capacity::note_overutilized;
use fairlab_units::CpuId;

use crate::engine::Engine;

impl Engine<'_> {
    /// Sets the root domain's flag when `cpu` has more to do than it can; only balancing the whole
    /// machine clears it.
    pub(crate) fn note_overutilized(&mut self, cpu: CpuId) {
        if !self.world.perf.is_empty() {
            let (world, balance) = (&self.world, &mut self.balance);
            let avg = &world.cpus[cpu].queue.avg.avg;
            note_overutilized(&world.kernel, world.domains, balance, cpu, avg);
        }
    }
}
