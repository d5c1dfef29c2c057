//! Cache warmth: what a task has to read again after it was elsewhere, or after others ran.
//!
//! Each core (or cluster that shares its second-level cache) and each LLC counts what was used in it. A
//! task remembers the counts of when it left; what was used since has displaced the older contents,
//! least recently used first. As long as the working sets of all whose last place is here fit together,
//! only what was missing counts as used, since the rest was there already. What is missing is refilled
//! while the task computes, for at most half of its time: a task touches its working set as it goes.

use std::collections::BTreeMap;

use fairlab_topology::{CacheKind, Distance, Distances, Machine};
use fairlab_units::{CpuId, Nanos, PerCpu, TaskId};

use crate::costs::CostTable;

/// A cache, in KiB.
#[derive(Clone, Copy, Debug)]
struct Cache {
    size: u32,
    /// All that was ever used; wraps.
    used: u32,
    /// The working sets of all whose last place is here.
    resident: u64,
    last: Option<TaskId>,
}

impl Cache {
    /// What is left of `kib` that were in use when the count was `then`.
    fn left(&self, kib: u32, then: u32) -> u32 {
        let newer = self.used.wrapping_sub(then);
        kib.min(self.size.saturating_sub(newer))
    }
}

/// All caches of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Caches {
    caches: Vec<Cache>,
    /// Per CPU: the cache of its core or cluster, and the LLC.
    of: PerCpu<[u32; 2]>,
    /// In ns per KiB.
    refill: [u32; 6],
}

/// The working set of a task, in KiB.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Warmth {
    size: u32,
    /// Where it last ran; nowhere before its first run.
    cpu: Option<CpuId>,
    /// What it had in the core's cache and in the LLC when it left, and their counts then.
    had: [u32; 2],
    then: [u32; 2],
    /// What it lacks in them since it runs.
    lacks: [u32; 2],
    /// What refilling takes in ns, in all and still.
    whole: u32,
    cold: u32,
}

impl Warmth {
    pub(crate) fn of(kib: u32) -> Self {
        Self {
            size: kib,
            ..Self::default()
        }
    }

    /// Of `span` of computing, what does not go into refilling, which is booked.
    pub(crate) fn compute(&mut self, span: Nanos) -> Nanos {
        let refilling = span.0.div_ceil(2).min(u64::from(self.cold));
        self.cold -= refilling as u32;
        Nanos(span.0 - refilling)
    }

    /// How long `span` of computing takes with refilling.
    pub(crate) fn stretch(&self, span: Nanos) -> Nanos {
        Nanos(span.0 + span.0.min(u64::from(self.cold)))
    }
}

impl Caches {
    pub(crate) fn new(machine: &Machine, distances: &Distances, costs: &CostTable) -> Self {
        let mut near_of = vec![None; machine.nr_cpu_ids()];
        let mut last_of = vec![None; machine.nr_cpu_ids()];
        let holds = |cache: &&fairlab_topology::Cache| {
            cache.kind != CacheKind::Instruction && cache.size >= 1_024
        };
        for (index, cache) in machine.caches().iter().enumerate().filter(|c| holds(&c.1)) {
            for cpu in &cache.cpus {
                if cache.level == 2 {
                    near_of[cpu.index()] = Some(index);
                }
                let last = &mut last_of[cpu.index()];
                if last.is_none_or(|(level, _)| level < cache.level) {
                    *last = Some((cache.level, index));
                }
            }
        }
        let size = |index: usize| u32::try_from(machine.caches()[index].size >> 10);
        let kib = |stated: Option<usize>, else_kib: u64| {
            let stated = stated.and_then(|index| size(index).ok());
            stated.unwrap_or(u32::try_from(else_kib).unwrap_or(u32::MAX))
        };
        let mut caches = Vec::new();
        let mut known = [BTreeMap::new(), BTreeMap::new()];
        let mut of = PerCpu::from_fn(machine.nr_cpu_ids(), |_| [0, 0]);
        for cpu in machine.cpus() {
            let at = cpu.id.index();
            // Cores share no number with caches: the even keys are caches', the odd ones cores'.
            let near = near_of[at].map_or(2 * u64::from(cpu.core) + 1, |index| 2 * index as u64);
            let llc = distances
                .llc(cpu.id)
                .first()
                .map_or(at, |first| first.index()) as u64;
            let sizes = [
                kib(near_of[at], costs.private_cache),
                kib(last_of[at].map(|(_, index)| index), costs.llc_cache),
            ];
            for (level, key) in [near, llc].into_iter().enumerate() {
                of[cpu.id][level] = *known[level].entry(key).or_insert_with(|| {
                    caches.push(Cache {
                        size: sizes[level],
                        used: 0,
                        resident: 0,
                        last: None,
                    });
                    caches.len() as u32 - 1
                });
            }
        }
        Self {
            caches,
            of,
            refill: costs.refill.map(|ns| ns.0 as u32),
        }
    }

    /// A task begins to run on `cpu`: what it lacks there is cold.
    pub(crate) fn enter(&self, warmth: &mut Warmth, cpu: CpuId, distances: &Distances) {
        let Some(last) = warmth.cpu else {
            // The first run of a program reads what fork and exec have just written.
            return;
        };
        let at = self.of[cpu];
        let before = self.of[last];
        let left = |level: usize| {
            if at[level] == before[level] {
                let cache = &self.caches[at[level] as usize];
                cache.left(warmth.had[level], warmth.then[level])
            } else {
                0
            }
        };
        let (near_left, llc_left) = (left(0), left(1));
        let [near, llc] = at.map(|index| warmth.size.min(self.caches[index as usize].size));
        let lacks = [
            near.saturating_sub(near_left),
            llc.saturating_sub(llc_left.max(near_left)),
        ];
        let distance = distances.between(last, cpu);
        let from_llc = if distance == Distance::SameCluster {
            Distance::SameCluster
        } else {
            Distance::SameLlc
        };
        let from_memory = distance.max(Distance::SameNode);
        let by_llc = lacks[0].saturating_sub(lacks[1]);
        warmth.lacks = lacks;
        warmth.whole = by_llc
            .saturating_mul(self.refill[from_llc as usize])
            .saturating_add(lacks[1].saturating_mul(self.refill[from_memory as usize]));
        warmth.cold = warmth.whole;
    }

    /// Task `id` leaves `cpu`: what it has refilled by now is in the caches.
    pub(crate) fn leave(&mut self, warmth: &mut Warmth, cpu: CpuId, id: TaskId) {
        let at = self.of[cpu];
        if warmth.cpu.is_none_or(|last| self.of[last] != at) {
            self.retire(warmth);
            for index in at {
                self.caches[index as usize].resident += u64::from(warmth.size);
            }
        }
        let is_first = warmth.cpu.is_none();
        for (level, index) in at.into_iter().enumerate() {
            let cache = &mut self.caches[index as usize];
            let size = warmth.size.min(cache.size);
            let lacked = if is_first { size } else { warmth.lacks[level] };
            // Of what it lacked, the part that is still cold was not brought in.
            let part = u64::from(lacked) * u64::from(warmth.cold);
            let missing = part.checked_div(u64::from(warmth.whole)).unwrap_or(0) as u32;
            let fits = cache.resident <= u64::from(cache.size);
            let used = if fits || cache.last == Some(id) {
                lacked - missing
            } else {
                size - missing
            };
            cache.used = cache.used.wrapping_add(used);
            cache.last = Some(id);
            warmth.then[level] = cache.used;
            warmth.had[level] = size - missing;
        }
        warmth.cpu = Some(cpu);
        warmth.lacks = [0, 0];
        (warmth.whole, warmth.cold) = (0, 0);
    }

    /// A new program: nothing of the old one's working set is of use.
    pub(crate) fn forget(&mut self, warmth: &mut Warmth) {
        self.retire(warmth);
        *warmth = Warmth::of(warmth.size);
    }

    /// The working set will not be used any more where it was.
    pub(crate) fn retire(&mut self, warmth: &Warmth) {
        if let Some(cpu) = warmth.cpu {
            for index in self.of[cpu] {
                self.caches[index as usize].resident -= u64::from(warmth.size);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlab_topology::{Arch, Cpu, MachineBuilder};

    use super::*;

    /// Two LLCs of two cores, one node.
    fn machine() -> Machine {
        let cpus = (0..4).map(|n| Cpu {
            llc: Some(n / 2),
            ..Cpu::new(CpuId(n))
        });
        let builder = MachineBuilder {
            arch: Arch::X86,
            cpus: cpus.collect(),
            ..MachineBuilder::default()
        };
        builder.build().unwrap()
    }

    fn costs() -> CostTable {
        CostTable {
            private_cache: 100,
            llc_cache: 1_000,
            refill: [0, 0, 1, 2, 10, 20].map(Nanos),
            ..CostTable::default()
        }
    }

    #[test]
    fn a_move_costs_a_refill_by_where_the_working_set_is() {
        let distances = Distances::of(&machine());
        let mut caches = Caches::new(&machine(), &distances, &costs());
        let mut task = Warmth::of(50);
        caches.enter(&mut task, CpuId(0), &distances);
        assert_eq!(task.cold, 0, "the first run");
        caches.leave(&mut task, CpuId(0), TaskId(0));
        for (cpu, cold) in [(0, 0), (1, 100), (2, 500), (3, 100)] {
            caches.enter(&mut task, CpuId(cpu), &distances);
            assert_eq!(task.cold, cold, "on CPU {cpu}");
            task.cold = 0;
            caches.leave(&mut task, CpuId(cpu), TaskId(0));
        }
    }

    #[test]
    fn what_others_bring_in_meanwhile_displaces_the_oldest() {
        let distances = Distances::of(&machine());
        let mut caches = Caches::new(&machine(), &distances, &costs());
        let (mut task, mut other) = (Warmth::of(50), Warmth::of(70));
        for (id, warmth) in [&mut task, &mut other].into_iter().enumerate() {
            caches.enter(warmth, CpuId(0), &distances);
            caches.leave(warmth, CpuId(0), TaskId(id as u32));
        }
        caches.enter(&mut task, CpuId(0), &distances);
        assert_eq!(task.cold, 20 * 2, "30 of 50 KiB are left beside 70 in 100");
        task.cold = 0;
        caches.leave(&mut task, CpuId(0), TaskId(0));
        caches.enter(&mut other, CpuId(0), &distances);
        assert_eq!(other.cold, 20 * 2, "and so it goes on as they take turns");
    }

    #[test]
    fn refilling_takes_at_most_half_of_the_time() {
        let mut warmth = Warmth::of(10);
        (warmth.whole, warmth.cold) = (100, 100);
        assert_eq!(warmth.stretch(Nanos(30)), Nanos(60));
        assert_eq!(warmth.compute(Nanos(60)), Nanos(30));
        assert_eq!(warmth.cold, 70);
        assert_eq!(warmth.stretch(Nanos(500)), Nanos(570));
        assert_eq!(warmth.compute(Nanos(570)), Nanos(500));
        assert_eq!(warmth.cold, 0);
    }
}
