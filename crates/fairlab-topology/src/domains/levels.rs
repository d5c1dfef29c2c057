//! The table of levels, with the mask of every CPU at each.

use alloc::vec::Vec;

use fairlab_kernel::{Feature, Kernel};
use fairlab_units::{CpuId, CpuMask, NodeId, PerCpu};

use super::intern::MaskTable;
use super::numa::{self, NumaLevels};
use super::{BuildError, BuildOptions, DomainFlags, MaskId, NumaTopology};
use crate::{Arch, CoreKind, Cpu, Machine};

/// Which level it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LevelKind {
    Smt,
    Cls,
    Mc,
    Pkg,
    Node,
    /// With its distance.
    Numa(u32),
}

/// One level (`sched_domain_topology_level`).
pub(super) struct Level {
    pub(super) kind: LevelKind,
    pub(super) name: &'static str,
    /// Flags that the level sets.
    pub(super) flags: DomainFlags,
    /// The raw mask of each CPU that is present: not cut to a partition.
    pub(super) raw: PerCpu<Option<MaskId>>,
}

impl Level {
    /// May the masks of two CPUs overlap without being equal?
    pub(super) fn overlaps(&self) -> bool {
        matches!(self.kind, LevelKind::Numa(_))
    }
}

/// All levels, narrow to wide, and what else building needs of the machine's masks.
pub(super) struct Levels {
    pub(super) table: Vec<Level>,
    pub(super) numa: NumaTopology,
    /// Online threads of the core of each CPU.
    pub(super) smt: PerCpu<MaskId>,
    /// The MC mask of each CPU, by which dense LLC numbers are given out.
    pub(super) llc: PerCpu<Option<MaskId>>,
}

type Masks = PerCpu<Option<MaskId>>;

/// Makes the table of levels that `kernel` has on `machine`.
///
/// # Source
/// Linux v6.12 `kernel/sched/topology.c`, `default_topology`; `arch/x86/kernel/smpboot.c`,
/// `build_sched_topology()`; `drivers/base/arch_topology.c`, `cpu_coregroup_mask()`. PowerPC and
/// s390 have tables of their own (shared caches of half a core; books and drawers), which need
/// facts that [`Machine`] does not hold: the generic table stands for them, without clusters.
pub(super) fn levels(
    machine: &Machine,
    kernel: &Kernel,
    options: &BuildOptions,
    masks: &mut MaskTable,
) -> Result<Levels, BuildError> {
    let mut present = machine.online();
    if let Some(cpu) = options.dying.filter(|c| machine.cpu(*c).is_some())
        && kernel.has(Feature::SD_SYNC_REBUILD)
    {
        present.set(cpu);
    }
    let NumaLevels {
        topology,
        masks: numa_masks,
    } = numa::levels(machine, kernel, options, &present, masks)?;
    let x86 = machine.arch() == Arch::X86;
    let mut sharing = if x86 {
        Sharing::x86(machine, &present, masks)
    } else {
        Sharing::generic(machine, kernel, &present, masks)
    };
    let llc = sharing.mc.clone();
    let rows = rows(machine, kernel, options);
    let mut table: Vec<Level> = rows
        .into_iter()
        .map(|(kind, name, flags)| Level {
            kind,
            name,
            flags,
            raw: match kind {
                LevelKind::Smt => core::mem::take(&mut sharing.smt),
                LevelKind::Cls => core::mem::take(&mut sharing.cls),
                LevelKind::Mc => core::mem::take(&mut sharing.mc),
                _ => core::mem::take(&mut sharing.node),
            },
        })
        .collect();
    for (k, of_node) in numa_masks.iter().enumerate() {
        let (kind, name, flags) = match k {
            0 => (LevelKind::Node, "NODE", DomainFlags::NONE),
            _ => {
                let kind = LevelKind::Numa(topology.distances[k]);
                (kind, "NUMA", DomainFlags::NUMA)
            }
        };
        let mut raw: Masks = PerCpu::from_fn(machine.nr_cpu_ids(), |_| None);
        for cpu in machine.cpus().iter().filter(|c| present.test(c.id)) {
            raw[cpu.id] = machine.node_index(cpu.node).map(|n| of_node[n]);
        }
        table.push(Level {
            kind,
            name,
            flags,
            raw,
        });
    }

    let online = machine.online();
    let threads = classes(machine, &online, masks, |c| Some(core_key(machine, c)));
    let smt = PerCpu::from_fn(machine.nr_cpu_ids(), |cpu| {
        threads[cpu].unwrap_or_else(|| masks.single(cpu))
    });
    Ok(Levels {
        table,
        numa: topology,
        smt,
        llc,
    })
}

type Row = (LevelKind, &'static str, DomainFlags);

/// The levels below NODE that exist, with their names and flags.
fn rows(machine: &Machine, kernel: &Kernel, options: &BuildOptions) -> Vec<Row> {
    let x86 = machine.arch() == Arch::X86;
    let has_priority = || machine.cpus().iter().any(|c| c.priority.is_some());
    let itmt = x86 && options.asym_packing.unwrap_or_else(has_priority);
    let packing = |wanted: bool| {
        if itmt && wanted {
            DomainFlags::ASYM_PACKING
        } else {
            DomainFlags::NONE
        }
    };
    let node_in_package = x86 && nodes_in_package(machine, kernel);
    let hybrid = x86 && machine.cpus().iter().any(|c| c.kind != CoreKind::Uniform);

    let mut rows: Vec<Row> = Vec::with_capacity(4);
    if !(x86 && kernel.has(Feature::SD_SMT_OPTIONAL) && !machine.boot_smt()) {
        let flags = DomainFlags::SHARE_CPUCAPACITY
            | DomainFlags::SHARE_LLC
            | packing(kernel.has(Feature::SD_ASYM_PACKING_SMT));
        rows.push((LevelKind::Smt, "SMT", flags));
    }
    let hybrid_table = hybrid && !node_in_package && kernel.has(Feature::SD_HYBRID_NO_CLS);
    if clusters_configured(machine, kernel) && !hybrid_table {
        let cluster = if kernel.has(Feature::SD_CLUSTER) {
            DomainFlags::CLUSTER
        } else {
            DomainFlags::NONE
        };
        let flags = DomainFlags::SHARE_LLC | cluster | packing(true);
        rows.push((LevelKind::Cls, "CLS", flags));
    }
    rows.push((LevelKind::Mc, "MC", DomainFlags::SHARE_LLC | packing(true)));
    if !node_in_package {
        let name = if kernel.has(Feature::SD_PKG_NAME) {
            "PKG"
        } else {
            "DIE"
        };
        let flags = packing(kernel.has(Feature::SD_ASYM_PACKING_PKG));
        rows.push((LevelKind::Pkg, name, flags));
    }
    rows
}

/// Is the kernel built with cluster scheduling?
fn clusters_configured(machine: &Machine, kernel: &Kernel) -> bool {
    let arch = !matches!(machine.arch(), Arch::Ppc64 | Arch::S390);
    arch && kernel.has(Feature::SD_CLS_LEVEL)
}

/// Does a package hold several nodes, by the kernel's way of finding out?
fn nodes_in_package(machine: &Machine, kernel: &Kernel) -> bool {
    let mut pairs: Vec<(u32, NodeId)> = machine
        .cpus()
        .iter()
        .filter_map(|c| Some((c.package?, c.node)))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    if !kernel.has(Feature::SD_NODES_PER_PACKAGE) {
        return pairs.windows(2).any(|p| p[0].0 == p[1].0);
    }
    let mut nodes: Vec<NodeId> = machine.cpus().iter().map(|c| c.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let packages = pairs.chunk_by(|a, b| a.0 == b.0).count();
    packages > 0 && nodes.len().div_ceil(packages) > 1
}

/// The masks below NODE.
struct Sharing {
    smt: Masks,
    cls: Masks,
    mc: Masks,
    node: Masks,
}

impl Sharing {
    /// On x86 nothing that is shared crosses a node.
    fn x86(machine: &Machine, present: &CpuMask, masks: &mut MaskTable) -> Self {
        let smt = classes(machine, present, masks, |c| Some(core_key(machine, c)));
        let mut cls = classes(machine, present, masks, |c| Some((c.node, c.cluster?)));
        let mut mc = classes(machine, present, masks, |c| Some((c.node, c.llc?)));
        for cpu in present {
            // An L2 that is not described counts as the core's, a last level as the CPU's own.
            cls[cpu] = cls[cpu].or(smt[cpu]);
            mc[cpu] = mc[cpu].or_else(|| Some(masks.single(cpu)));
        }
        Self {
            smt,
            cls,
            mc,
            node: classes(machine, present, masks, |c| Some(c.node)),
        }
    }

    /// The rules of arm64 and riscv: the narrowest of node, package and LLC, widened to a cluster
    /// that holds it.
    fn generic(
        machine: &Machine,
        kernel: &Kernel,
        present: &CpuMask,
        masks: &mut MaskTable,
    ) -> Self {
        let smt = classes(machine, present, masks, |c| Some(core_key(machine, c)));
        let node = classes(machine, present, masks, |c| Some(c.node));
        // CPUs whose package is not described count as one package, as their number -1 does.
        let package = classes(machine, present, masks, |c| Some(c.package));
        let llc = classes(machine, present, masks, |c| c.llc);
        let cluster = classes(machine, present, masks, |c| c.cluster);
        let with_clusters = clusters_configured(machine, kernel);
        let mut cls = node.clone();
        let mut mc = node.clone();
        for cpu in present {
            let own_cluster = cluster[cpu].unwrap_or_else(|| masks.single(cpu));
            let Some(mut group) = node[cpu] else { continue };
            for narrower in [package[cpu], llc[cpu]].into_iter().flatten() {
                if masks.is_subset(narrower, group) {
                    group = narrower;
                }
            }
            let in_cluster = masks.is_subset(group, own_cluster);
            if with_clusters && in_cluster {
                group = own_cluster;
            }
            mc[cpu] = Some(group);
            cls[cpu] = if in_cluster {
                smt[cpu]
            } else {
                Some(own_cluster)
            };
        }
        Self { smt, cls, mc, node }
    }
}

/// What the threads of a core have in common. Only x86 looks at the node.
fn core_key(machine: &Machine, cpu: &Cpu) -> (NodeId, u32) {
    match machine.arch() {
        Arch::X86 => (cpu.node, cpu.core),
        _ => (NodeId(0), cpu.core),
    }
}

/// One mask per distinct key over the CPUs that are `present`; CPUs without a key have none.
fn classes<K: Ord>(
    machine: &Machine,
    present: &CpuMask,
    masks: &mut MaskTable,
    key: impl Fn(&Cpu) -> Option<K>,
) -> Masks {
    let mut keyed: Vec<(K, CpuId)> = machine
        .cpus()
        .iter()
        .filter(|c| present.test(c.id))
        .filter_map(|c| Some((key(c)?, c.id)))
        .collect();
    keyed.sort_unstable();
    let mut result: Masks = PerCpu::from_fn(machine.nr_cpu_ids(), |_| None);
    for class in keyed.chunk_by(|a, b| a.0 == b.0) {
        let mask = CpuMask::from_cpus(machine.nr_cpu_ids(), class.iter().map(|(_, cpu)| *cpu));
        let id = masks.intern(&mask);
        for (_, cpu) in class {
            result[*cpu] = Some(id);
        }
    }
    result
}
