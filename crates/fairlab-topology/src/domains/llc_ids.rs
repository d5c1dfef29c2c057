//! Small dense LLC numbers (7.2).

use alloc::vec;
use alloc::vec::Vec;

use fairlab_units::{CpuId, PerCpu};

use super::intern::MaskTable;
use super::{BuildOptions, CpuCached, MaskId};
use crate::Machine;

/// The LLC number of every CPU after a build whose CPUs come in `order`.
///
/// CPUs keep the number they had. One without takes that of a CPU of its LLC, or else the lowest
/// free one, so CPUs of different partitions but of one LLC have the same.
///
/// # Source
/// Linux v7.2 `kernel/sched/topology.c`, as described in the domain specification.
pub(super) fn assign(
    machine: &Machine,
    options: &BuildOptions,
    llc: &PerCpu<Option<MaskId>>,
    order: impl Iterator<Item = CpuId>,
    masks: &MaskTable,
) -> PerCpu<u32> {
    const NONE: u32 = CpuCached::NO_LLC_ID;
    let previous = |cpu: CpuId| {
        let ids = options.previous_llc_ids.as_ref();
        ids.and_then(|ids| ids.get(cpu)).copied().unwrap_or(NONE)
    };
    // The number of a CPU that went away is released, unless others of its LLC still have it.
    let online = machine.online();
    let mut ids = PerCpu::from_fn(machine.nr_cpu_ids(), |cpu| {
        if online.test(cpu) {
            previous(cpu)
        } else {
            NONE
        }
    });
    let mut used: Vec<bool> = vec![false; machine.nr_cpu_ids() + 1];
    for (_, id) in ids.iter().filter(|(_, id)| **id != NONE) {
        if let Some(used) = used.get_mut(*id as usize) {
            *used = true;
        }
    }
    let mut of_llc: Vec<u32> = vec![NONE; masks.len()];
    for cpu in &online {
        if let Some(mask) = llc[cpu]
            && ids[cpu] != NONE
        {
            of_llc[mask.0 as usize] = ids[cpu];
        }
    }
    for cpu in order {
        let Some(mask) = llc[cpu] else { continue };
        if ids[cpu] == NONE {
            let known = &mut of_llc[mask.0 as usize];
            if *known == NONE {
                // There are more places than CPUs, so one is free.
                let free = used.iter().position(|used| !used).unwrap_or(0);
                used[free] = true;
                *known = free as u32;
            }
            ids[cpu] = *known;
        }
    }
    ids
}
