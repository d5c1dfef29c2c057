//! Balancing.

use fairlab_units::CpuId;

use crate::engine::Engine;

impl Engine<'_> {
    pub(crate) fn newidle_balance(&mut self, _cpu: CpuId) -> bool {
        false
    }

    pub(crate) fn tick_balance(&mut self, _cpu: CpuId) {}

    pub(crate) fn nohz_balance(&mut self, _cpu: CpuId) {}
}
