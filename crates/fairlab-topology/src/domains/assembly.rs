//! Putting the chains of a partition together: attached domains, written groups, shared objects.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use fairlab_kernel::{Feature, Kernel};
use fairlab_units::{CpuId, CpuMask, PerCpu};

use super::attach::{Link, attach};
use super::degenerate::Shape;
use super::groups::{CoreCounter, LevelGroups, Ring};
use super::intern::MaskTable;
use super::levels::Levels;
use super::overlap::NodeGroups;
use super::tree::Tree;
use super::{
    CapacityId, DomainFlags, DomainId, GroupCapacity, MaskId, SchedDomain, SchedGroup, SharedId,
    SharedStart,
};
use crate::Machine;

/// What grows while partitions are added.
pub(super) struct Assembly<'a> {
    pub(super) machine: &'a Machine,
    pub(super) kernel: &'a Kernel,
    pub(super) levels: &'a Levels,
    pub(super) capacity: &'a PerCpu<u32>,
    pub(super) cores: CoreCounter,
    /// A CPU that stands for each CPU's core.
    pub(super) core_of: PerCpu<CpuId>,
    pub(super) domains: Vec<SchedDomain>,
    pub(super) groups: Vec<SchedGroup>,
    pub(super) capacities: Vec<GroupCapacity>,
    /// By level and span. (The kernel has one per level and first CPU of the balance mask; those
    /// CPUs make exactly this group at the level, so it is the same.)
    pub(super) capacity_ids: BTreeMap<(u32, MaskId), CapacityId>,
    pub(super) shared: Vec<SharedStart>,
    /// By level and span.
    pub(super) shared_ids: BTreeMap<(usize, MaskId), SharedId>,
    pub(super) base: PerCpu<Option<DomainId>>,
}

/// Where the groups of an attached domain come from; they are written out when all chains of the
/// partition are attached, because attaching one changes groups of others.
enum GroupSource {
    /// The ring of the level and span, entered at a place.
    Shared(usize, MaskId, u32),
    /// Objects of a level.
    Own(usize, Vec<u32>),
    /// Groups of nodes.
    Nodes(Vec<u32>),
}

impl Assembly<'_> {
    /// Attaches the chains of one partition and writes its domains and groups.
    pub(super) fn add(&mut self, partition: &CpuMask, tree: &Tree, masks: &mut MaskTable) {
        let table = &self.levels.table;
        let cpus: Vec<CpuId> = partition.iter().collect();
        let mut by_level: Vec<LevelGroups> = table
            .iter()
            .enumerate()
            .map(|(number, level)| LevelGroups::build(number, level, tree, &cpus, masks))
            .collect();
        let mut nodes = NodeGroups::default();
        let mut sources: Vec<GroupSource> = Vec::new();
        let first_domain = self.domains.len();
        let one_node = self.machine.nodes().len() == 1;

        let mut chain: Vec<Link> = Vec::with_capacity(table.len());
        for &cpu in &cpus {
            chain.clear();
            let mut rings: Vec<Option<GroupSource>> = Vec::with_capacity(table.len());
            for (level, raw) in tree.chain(cpu).iter().enumerate() {
                let (nr_groups, source) = if table[level].overlaps() {
                    let ring = nodes.ring(self.kernel, level, tree, cpu, masks);
                    (ring.len(), GroupSource::Nodes(ring))
                } else {
                    match by_level[level].ring(level, tree, cpu, raw.span, masks) {
                        Ring::Shared(ring, place) => {
                            (ring.len(), GroupSource::Shared(level, raw.span, place))
                        }
                        Ring::Own(ring) => (ring.len(), GroupSource::Own(level, ring)),
                    }
                };
                rings.push(Some(source));
                chain.push(Link {
                    level,
                    shape: Shape {
                        span: raw.span,
                        span_weight: masks.weight(raw.span),
                        flags: raw.flags,
                        nr_groups: nr_groups as u32,
                    },
                    shared: raw.has_shared.then_some(level),
                    first_group_flags: None,
                });
            }
            attach(self.kernel, &mut chain, one_node);
            let base = self.domains.len() as u32;
            self.base[cpu] = (!chain.is_empty()).then_some(DomainId(base));
            let last = (base as usize + chain.len()).saturating_sub(1) as u32;
            for (id, link) in (base..).zip(&chain) {
                let mut domain = self.domain(cpu, link, tree, masks);
                domain.child = (id > base).then(|| DomainId(id - 1));
                domain.parent = (id < last).then(|| DomainId(id + 1));
                self.domains.push(domain);
                let Some(mut source) = rings[link.level].take() else {
                    continue;
                };
                if let Some(flags) = link.first_group_flags {
                    match &mut source {
                        GroupSource::Nodes(ring) => {
                            if let Some(local) = ring.first_mut() {
                                *local = nodes.with_flags(*local, flags);
                            }
                        }
                        _ => {
                            let groups = &mut by_level[link.level];
                            let local = groups.object(link.level, tree, cpu, masks);
                            groups.objects[local as usize].flags = flags;
                        }
                    }
                }
                sources.push(source);
            }
        }
        self.write_groups(first_domain, &sources, &by_level, &nodes, masks);
    }

    fn domain(&mut self, cpu: CpuId, link: &Link, tree: &Tree, masks: &MaskTable) -> SchedDomain {
        let raw = &tree.chain(cpu)[link.level];
        let span_weight = masks.weight(raw.span);
        let shared = link.shared.map(|level| self.shared(level, cpu, tree));
        SchedDomain {
            cpu,
            name: self.levels.table[link.level].name,
            level: link.level as u32,
            span: raw.span,
            span_weight,
            flags: link.shape.flags,
            parent: None,
            child: None,
            first_group: 0,
            nr_groups: link.shape.nr_groups,
            imbalance_pct: raw.imbalance_pct,
            cache_nice_tries: raw.cache_nice_tries,
            busy_factor: self.kernel.tunables.busy_factor as u32,
            min_interval: raw.start_weight,
            max_interval: 2 * raw.start_weight,
            imb_numa_nr: raw.imb_numa_nr,
            shared,
        }
    }

    /// The shared object of the domain of `cpu` at `level`.
    fn shared(&mut self, level: usize, cpu: CpuId, tree: &Tree) -> SharedId {
        let raw = &tree.chain(cpu)[level];
        let key = (level, raw.span);
        let next = SharedId(self.shared.len() as u32);
        let id = *self.shared_ids.entry(key).or_insert(next);
        if id == next {
            let flag = if raw.flags.has(DomainFlags::SHARE_LLC) {
                DomainFlags::SHARE_LLC
            } else {
                DomainFlags::ASYM_CPUCAPACITY
            };
            let has_flag = self.kernel.has(Feature::SD_SHARED_UNION);
            self.shared.push(SharedStart {
                nr_busy_cpus: raw.start_weight,
                nr_idle_scan: if has_flag {
                    flag.to_kernel_bits(self.kernel)
                } else {
                    0
                },
            });
        }
        id
    }

    /// Writes the groups of the domains from `first_domain` on.
    ///
    /// A shared ring is written twice in a row, so that each CPU's view of it, which begins with
    /// its own group, is a slice. Equal rings of nodes are written once.
    fn write_groups(
        &mut self,
        first_domain: usize,
        sources: &[GroupSource],
        by_level: &[LevelGroups],
        nodes: &NodeGroups,
        masks: &MaskTable,
    ) {
        let mut shared_rings: BTreeMap<(usize, MaskId), u32> = BTreeMap::new();
        let mut own_rings: BTreeMap<(usize, &[u32]), u32> = BTreeMap::new();
        let mut node_rings: BTreeMap<&[u32], u32> = BTreeMap::new();
        let mut node_groups: Vec<Option<SchedGroup>> = vec![None; nodes.groups.len()];
        for (offset, source) in sources.iter().enumerate() {
            let next = self.groups.len() as u32;
            let packing = self.domains[first_domain + offset]
                .flags
                .has(DomainFlags::ASYM_PACKING);
            let first_group = match source {
                GroupSource::Shared(level, span, place) => {
                    let first = *shared_rings.entry((*level, *span)).or_insert(next);
                    if first == next {
                        let ring = by_level[*level].shared_ring(*span);
                        self.write_objects(*level, ring, packing, by_level, masks);
                        self.groups.extend_from_within(next as usize..);
                        // The last place of the second half is never reached.
                        self.groups.pop();
                    }
                    first + place
                }
                GroupSource::Own(level, ring) => {
                    let first = *own_rings.entry((*level, ring)).or_insert(next);
                    if first == next {
                        self.write_objects(*level, ring, packing, by_level, masks);
                    }
                    first
                }
                GroupSource::Nodes(ring) => {
                    let first = *node_rings.entry(ring).or_insert(next);
                    if first == next {
                        for &number in ring {
                            let group = match &node_groups[number as usize] {
                                Some(known) => known.clone(),
                                None => {
                                    let made = &nodes.groups[number as usize];
                                    let spans = (made.span, made.balance_mask);
                                    self.group(spans, made.flags, made.level, packing, masks)
                                }
                            };
                            node_groups[number as usize] = Some(group.clone());
                            self.groups.push(group);
                        }
                    }
                    first
                }
            };
            self.domains[first_domain + offset].first_group = first_group;
        }
    }

    fn write_objects(
        &mut self,
        level: usize,
        ring: &[u32],
        packing: bool,
        by_level: &[LevelGroups],
        masks: &MaskTable,
    ) {
        for &number in ring {
            let object = &by_level[level].objects[number as usize];
            let spans = (object.span, object.span);
            let group = self.group(spans, object.flags, level as u32, packing, masks);
            self.groups.push(group);
        }
    }

    fn group(
        &mut self,
        (span, balance_mask): (MaskId, MaskId),
        flags: DomainFlags,
        level: u32,
        packing: bool,
        masks: &MaskTable,
    ) -> SchedGroup {
        let cpus = masks.get(span);
        let next = CapacityId(self.capacities.len() as u32);
        let capacity = *self.capacity_ids.entry((level, span)).or_insert(next);
        if capacity == next {
            let of_nodes = flags.has(DomainFlags::NUMA);
            self.capacities.push(self.group_capacity(cpus, of_nodes));
        }
        SchedGroup {
            span,
            balance_mask,
            weight: masks.weight(span),
            cores: if self.kernel.has(Feature::SD_GROUP_CORES) {
                self.cores.count(cpus, |cpu| self.core_of[cpu])
            } else {
                0
            },
            flags,
            asym_prefer_cpu: if packing {
                self.preferred(cpus)
            } else {
                CpuId(0)
            },
            capacity,
        }
    }

    /// What the group says before time for other things is taken from its CPUs.
    fn group_capacity(&self, cpus: &CpuMask, of_nodes: bool) -> GroupCapacity {
        let running_sum = of_nodes && self.kernel.has(Feature::SD_CAPACITY_RUNNING_SUM);
        let mut result = GroupCapacity {
            capacity: 0,
            min: u64::MAX,
            max: 0,
        };
        for cpu in cpus {
            let capacity = u64::from(self.capacity[cpu]);
            // At most 8192 times 1024.
            result.capacity += capacity;
            let seen = if running_sum {
                result.capacity
            } else {
                capacity
            };
            result.min = result.min.min(seen);
            result.max = result.max.max(seen);
        }
        result
    }

    /// The CPU that asymmetric packing prefers: the first of highest priority.
    fn preferred(&self, cpus: &CpuMask) -> CpuId {
        let priority = |cpu: CpuId| {
            let stated = self.machine.cpu(cpu).and_then(|c| c.priority);
            stated.map_or(-i64::from(cpu.0), i64::from)
        };
        let mut best: Option<(i64, CpuId)> = None;
        for cpu in cpus {
            let priority = priority(cpu);
            if best.is_none_or(|(highest, _)| priority > highest) {
                best = Some((priority, cpu));
            }
        }
        best.map_or(CpuId(0), |(_, cpu)| cpu)
    }
}
