//! Which groups there are at each level, and which levels nest.

use std::collections::BTreeMap;

use fairlab_topology::{Cpu, Machine};
use fairlab_units::{CpuId, CpuMask};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Package,
    Node,
    Die,
    Llc,
    Cluster,
    Core,
}

impl Kind {
    /// From wide to narrow, as most machines have them.
    pub(crate) const ALL: [Self; 6] = [
        Self::Package,
        Self::Node,
        Self::Die,
        Self::Llc,
        Self::Cluster,
        Self::Core,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Package => "package",
            Self::Node => "node",
            Self::Die => "die",
            Self::Llc => "LLC",
            Self::Cluster => "cluster",
            Self::Core => "core",
        }
    }

    /// The CPU's group number.
    pub(crate) fn number(self, cpu: &Cpu) -> Option<u32> {
        match self {
            Self::Package => cpu.package,
            Self::Node => Some(cpu.node.0),
            Self::Die => cpu.die,
            Self::Llc => cpu.llc,
            Self::Cluster => cpu.cluster,
            Self::Core => Some(cpu.core),
        }
    }
}

/// The groups of one level, by lowest CPU.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub kind: Kind,
    pub masks: Vec<CpuMask>,
    /// Position in `masks` by CPU number: 8192 CPUs must not be searched pairwise.
    group_of: Vec<Option<u32>>,
}

impl Level {
    /// The groups of online CPUs.
    pub(crate) fn of(machine: &Machine, kind: Kind) -> Self {
        let mut groups: BTreeMap<u32, CpuMask> = BTreeMap::new();
        for cpu in machine.cpus().iter().filter(|c| c.online) {
            if let Some(number) = kind.number(cpu) {
                groups
                    .entry(number)
                    .or_insert_with(|| CpuMask::new(machine.nr_cpu_ids()))
                    .set(cpu.id);
            }
        }
        let mut masks: Vec<CpuMask> = groups.into_values().collect();
        masks.sort_by_key(CpuMask::first);
        let mut group_of = vec![None; machine.nr_cpu_ids()];
        for (number, mask) in masks.iter().enumerate() {
            for cpu in mask {
                group_of[cpu.index()] = Some(number as u32);
            }
        }
        Self {
            kind,
            masks,
            group_of,
        }
    }

    fn group(&self, cpu: CpuId) -> Option<u32> {
        self.group_of.get(cpu.index()).copied().flatten()
    }

    /// The groups that are inside `span`, by lowest CPU.
    pub(super) fn inside(&self, span: &CpuMask) -> Vec<&CpuMask> {
        let mut found: BTreeMap<u32, usize> = BTreeMap::new();
        for group in span.iter().filter_map(|cpu| self.group(cpu)) {
            *found.entry(group).or_default() += 1;
        }
        found
            .into_iter()
            .filter_map(|(group, nr_inside)| {
                let mask = self.masks.get(group as usize)?;
                (mask.weight() == nr_inside).then_some(mask)
            })
            .collect()
    }

    /// Is every group inside one group of `outer`, or outside all of them?
    pub(crate) fn refines(&self, outer: &Self) -> bool {
        self.masks.iter().all(|mask| {
            let mut groups = mask.iter().map(|cpu| outer.group(cpu));
            let first = groups.next();
            groups.all(|group| Some(group) == first)
        })
    }
}

/// The levels of a machine, those that nest from wide to narrow.
#[derive(Debug)]
pub(super) struct Levels {
    pub nested: Vec<Level>,
    /// Levels with groups that cut through groups of a wider level.
    pub crossing: Vec<Level>,
}

impl Levels {
    pub(super) fn of(machine: &Machine) -> Self {
        let mut levels: Vec<Level> = Kind::ALL
            .iter()
            .map(|kind| Level::of(machine, *kind))
            .filter(|l| !l.masks.is_empty())
            .collect();
        let cores = Level::of(machine, Kind::Core);
        let packages = Level::of(machine, Kind::Package);
        // Clusters that are cores and dies that are packages add nothing to read.
        levels.retain(|l| match l.kind {
            Kind::Cluster => l.masks != cores.masks,
            Kind::Die => l.masks != packages.masks,
            _ => true,
        });
        let widest = |l: &Level| l.masks.iter().map(CpuMask::weight).max().unwrap_or(0);
        levels.sort_by_key(|l| (usize::MAX - widest(l), l.kind));
        let mut result = Self {
            nested: Vec::new(),
            crossing: Vec::new(),
        };
        for level in levels {
            if result.nested.iter().all(|outer| level.refines(outer)) {
                result.nested.push(level);
            } else {
                result.crossing.push(level);
            }
        }
        result
    }
}
