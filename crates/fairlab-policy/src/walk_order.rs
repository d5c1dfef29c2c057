//! Where CPUs and cores come in a walk over their LLC.

use alloc::vec::Vec;

use fairlab_topology::Domains;
use fairlab_topology::domains::MaskId;
use fairlab_units::{CpuId, CpuMask, PerCpu};

use crate::core_form::CoreForm;
use crate::cores::Cores;

/// Where a CPU is in its LLC.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// Members of the LLC with lower numbers.
    cpu: u32,
    /// Cores of the LLC whose lowest threads have lower numbers.
    core: u32,
    /// The core, numbered likewise, to which a walk from the next CPU comes first.
    next_core: u32,
}

/// The places of all CPUs.
#[derive(Clone, Debug)]
pub(crate) struct Places(PerCpu<Place>);

/// What the places of an LLC's CPUs mean; such an LLC is the LLC of each of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WalkOrder {
    /// Number of CPUs.
    pub cpus: u32,
    /// The cores, when every walk comes to them in a cyclic order.
    ///
    /// It does when no core has threads among those of another (`0 1 | 2 3 | 4 5`), and when first
    /// threads of all cores come before all second ones (`0 4 | 1 5 | 2 6`): the walk
    /// then passes from each core to the next and from the last to the first, wherever it starts.
    pub cores: Option<CyclicCores>,
}

/// Cores that are alike and walked in a cyclic order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CyclicCores {
    /// Number of cores.
    pub cores: u32,
    /// Threads of each.
    pub threads: u32,
}

impl Places {
    pub fn new(nr_cpus: usize) -> Self {
        Self(PerCpu::from_fn(nr_cpus, |_| Place::default()))
    }

    /// Notes the places of the members of `mask`, which is numbered `id`; none when it is not the LLC
    /// of all of them.
    pub fn add(
        &mut self,
        domains: &Domains,
        id: MaskId,
        form: Option<&CoreForm>,
        cores: &Cores,
    ) -> Option<WalkOrder> {
        let mask = domains.mask(id);
        let is_llc_of = |cpu: CpuId| {
            let llc = domains.cached(cpu).llc;
            llc.is_some_and(|llc| domains.domain(llc).span == id)
        };
        if !mask.iter().all(is_llc_of) {
            return None;
        }
        let mut cpus = 0;
        for cpu in mask {
            self.0[cpu].cpu = cpus;
            cpus += 1;
        }
        Some(WalkOrder {
            cpus,
            cores: form.and_then(|form| self.add_cores(mask, form, cores)),
        })
    }

    fn add_cores(&mut self, mask: &CpuMask, form: &CoreForm, cores: &Cores) -> Option<CyclicCores> {
        if form.has_singles {
            return None;
        }
        let is_lowest = |cpu: &CpuId| cores.threads(*cpu).first() == Some(cpu);
        let lowest: Vec<CpuId> = mask.iter().filter(is_lowest).collect();
        let (first, last) = (lowest.first()?, lowest.last()?);
        let extent = (form.threads - 1) * form.stride;
        let are_apart = lowest.windows(2).all(|pair| match pair {
            [low, high] => high.0 - low.0 > extent,
            _ => true,
        });
        let are_blocks = last.0 - first.0 < form.stride;
        if !are_apart && !are_blocks {
            return None;
        }
        let nr = lowest.len() as u32;
        for (core, lowest) in (0..nr).zip(&lowest) {
            let threads = cores.threads(*lowest);
            for thread in threads {
                // In a core apart from others a walk from the next CPU is still in the core.
                let stays = are_apart && threads.last() != Some(thread);
                let place = &mut self.0[*thread];
                place.core = core;
                place.next_core = if stays { core } else { (core + 1) % nr };
            }
        }
        Some(CyclicCores {
            cores: nr,
            threads: form.threads,
        })
    }

    /// How many CPUs of the LLC a walk that begins after `start` visits up to and with `cpu`.
    #[inline(always)]
    pub fn visited_after(&self, order: &WalkOrder, start: CpuId, cpu: CpuId) -> u32 {
        let (from, to) = (self.0[start].cpu, self.0[cpu].cpu);
        if to > from {
            to - from
        } else {
            to + order.cpus - from
        }
    }

    /// How many CPUs of the LLC a walk that begins with `start` visits up to and with `cpu`.
    #[inline(always)]
    pub fn visited_from(&self, order: &WalkOrder, start: CpuId, cpu: CpuId) -> u32 {
        let (from, to) = (self.0[start].cpu, self.0[cpu].cpu);
        if to >= from {
            to - from + 1
        } else {
            to + order.cpus - from + 1
        }
    }

    /// The core where a walk begins: with `cpu`, or with the CPU after it.
    #[inline(always)]
    pub fn first_core(&self, cpu: CpuId, is_after: bool) -> u32 {
        let place = self.0[cpu];
        if is_after {
            place.next_core
        } else {
            place.core
        }
    }

    /// How many cores a walk that begins with core `first` passes before that of `cpu`.
    #[inline(always)]
    pub fn passed(&self, cores: &CyclicCores, first: u32, cpu: CpuId) -> u32 {
        let core = self.0[cpu].core;
        if core >= first {
            core - first
        } else {
            core + cores.cores - first
        }
    }
}
