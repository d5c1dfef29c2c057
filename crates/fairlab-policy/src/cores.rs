//! The threads of each core.

use alloc::vec::Vec;

use fairlab_topology::Domains;
use fairlab_units::{CpuId, PerCpu};

/// The threads of each core, without walking masks as long as the machine is big.
#[derive(Clone, Debug)]
pub(crate) struct Cores {
    threads: Vec<CpuId>,
    /// Where the threads of a CPU's core begin, and how many they are.
    place: PerCpu<(u32, u32)>,
    /// The core of a CPU as bits of the word of that CPU; zero when it has threads in others.
    bits: PerCpu<u64>,
}

impl Cores {
    pub fn new(domains: &Domains) -> Self {
        let nr = domains.nr_cpu_ids();
        let mut threads: Vec<CpuId> = Vec::with_capacity(nr);
        let mut place = PerCpu::from_fn(nr, |_| (0, 0));
        for cpu in (0..nr).map(CpuId::from_index) {
            let mask = domains.smt_mask(cpu);
            let first = mask.first();
            let shared = first.filter(|first| *first < cpu && domains.smt_mask(*first) == mask);
            place[cpu] = match shared {
                Some(first) => place[first],
                None => {
                    let start = threads.len();
                    threads.extend(mask);
                    (start as u32, (threads.len() - start) as u32)
                }
            };
        }
        let bits = PerCpu::from_fn(nr, |cpu| {
            let (start, len) = place[cpu];
            let core = &threads[start as usize..(start + len) as usize];
            let is_near = core.iter().all(|t| t.index() / 64 == cpu.index() / 64);
            let bits = core.iter().map(|t| 1 << (t.index() % 64));
            if is_near { bits.sum() } else { 0 }
        });
        Self {
            threads,
            place,
            bits,
        }
    }

    /// Where the threads of a core are; equal for all of them.
    #[inline]
    pub fn place(&self, cpu: CpuId) -> (u32, u32) {
        self.place[cpu]
    }

    /// The threads of the core of `cpu`, ascending.
    #[inline]
    pub fn threads(&self, cpu: CpuId) -> &[CpuId] {
        let (start, len) = self.place[cpu];
        &self.threads[start as usize..(start + len) as usize]
    }

    /// The core of `cpu` as bits of its word; zero when it has threads in others.
    #[inline(always)]
    pub fn bits(&self, cpu: CpuId) -> u64 {
        self.bits[cpu]
    }
}
