//! Which CPUs stand for which distance.

use fairlab_topology::{Distance, Distances, Machine};
use fairlab_units::CpuId;

use super::Missing;
use crate::CpuList;

/// The CPUs that are measured.
pub(super) struct Places {
    /// The CPU where everything happens that needs one.
    pub(super) home: u32,
    /// For each distance, a CPU that is as far from home; none if there is none.
    pub(super) at: [Option<u32>; 6],
    /// The CPUs that may be used on the home's LLC, one per core, and on its node.
    pub(super) llc: Vec<u32>,
    pub(super) node: Vec<u32>,
    /// Does the LLC have further CPUs that may not be used?
    pub(super) is_llc_whole: bool,
}

impl Places {
    pub(super) fn of(machine: &Machine, allowed: &CpuList) -> Self {
        let distances = Distances::of(machine);
        let known = |cpu: &&u32| machine.cpu(CpuId(**cpu)).is_some();
        let usable: Vec<u32> = allowed.numbers().iter().filter(known).copied().collect();
        let home = usable.first().copied().unwrap_or(0);
        let between = |cpu: u32| distances.between(CpuId(home), CpuId(cpu));
        let at = Distance::ALL
            .map(|distance| usable.iter().copied().find(|cpu| between(*cpu) == distance));
        let mut llc: Vec<u32> = Vec::new();
        let mut node: Vec<u32> = Vec::new();
        for &cpu in &usable {
            let is_new_core = |cpus: &[u32]| {
                let same = |other: &u32| {
                    distances.between(CpuId(*other), CpuId(cpu)) == Distance::SameCore
                };
                !cpus.iter().any(same)
            };
            if between(cpu) <= Distance::SameLlc && is_new_core(&llc) {
                llc.push(cpu);
            }
            if between(cpu) <= Distance::SameNode && is_new_core(&node) {
                node.push(cpu);
            }
        }
        let of_llc = distances.llc(CpuId(home));
        let is_llc_whole = of_llc.iter().all(|cpu| usable.contains(&cpu.0));
        Self {
            home,
            at,
            llc,
            node,
            is_llc_whole,
        }
    }

    /// The CPU that is `distance` from home.
    pub(super) fn at(&self, distance: Distance) -> Option<u32> {
        self.at[distance as usize]
    }

    /// The distances between two CPUs that this host has, with a CPU of each.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (Distance, u32)> + '_ {
        let others = Distance::ALL.into_iter().skip(1);
        others.filter_map(|distance| Some((distance, self.at(distance)?)))
    }

    pub(super) fn missing(&self) -> Vec<Missing> {
        let absent = Distance::ALL.into_iter().filter(|d| self.at(*d).is_none());
        absent
            .map(|distance| Missing {
                what: format!("ipi, probe and refill at distance {}", distance.key()),
                why: format!(
                    "no CPU that this process may use is that far from CPU {}",
                    self.home
                ),
            })
            .collect()
    }
}
