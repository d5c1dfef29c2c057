//! The CPUs of the run, and which of them have been touched.

use std::ops::{Index, IndexMut};

use fairlab_units::{CpuId, CpuMask, PerCpu};

use crate::cpu::Cpu;

/// The CPUs by number. Whoever takes one to write to it leaves a mark, so that the balancer knows whose
/// numbers may be others than before.
#[derive(Debug)]
pub(crate) struct Cpus {
    cpus: PerCpu<Cpu>,
    touched: CpuMask,
}

impl Cpus {
    pub(crate) fn new(cpus: PerCpu<Cpu>) -> Self {
        let touched = CpuMask::full(cpus.len());
        Self { cpus, touched }
    }

    /// Number of CPU slots.
    pub(crate) fn len(&self) -> usize {
        self.cpus.len()
    }

    /// All CPUs, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (CpuId, &Cpu)> {
        self.cpus.iter()
    }

    /// Adds who was touched since the last call to `mask`.
    pub(crate) fn take_touched(&mut self, mask: &mut CpuMask) {
        mask.or_with(&self.touched);
        self.touched.clear_all();
    }
}

impl Index<CpuId> for Cpus {
    type Output = Cpu;

    #[inline]
    fn index(&self, cpu: CpuId) -> &Cpu {
        &self.cpus[cpu]
    }
}

impl IndexMut<CpuId> for Cpus {
    #[inline]
    fn index_mut(&mut self, cpu: CpuId) -> &mut Cpu {
        self.touched.set(cpu);
        &mut self.cpus[cpu]
    }
}
