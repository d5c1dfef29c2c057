//! From a machine to its domains.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use fairlab_kernel::{Feature, Kernel};
use fairlab_units::{CpuId, CpuMask, PerCpu};

use super::assembly::Assembly;
use super::groups::CoreCounter;
use super::intern::MaskTable;
use super::levels::{self, Levels};
use super::tree::{self, TreeInput};
use super::{
    BuildError, BuildOptions, CpuCached, DomainFlags, Domains, Partition, Switches, cached, llc_ids,
};
use crate::{Arch, CapacitySource, Cpu, Machine};

/// Builds the domains of `machine` as `kernel` does.
///
/// CPUs that are offline, isolated or in no partition have no domains. For hotplug, build again
/// from [`Machine::with_online`], with [`BuildOptions::after`] and [`BuildOptions::dying`].
///
/// # Errors
/// When the kernel would refuse the machine, or the options contradict each other or the machine.
///
/// # Source
/// Linux v6.12 `kernel/sched/topology.c`, `build_sched_domains()`.
///
/// # Examples
/// ```
/// use fairlab_kernel::{Kernel, Release};
/// use fairlab_topology::domains::{self, BuildOptions};
/// use fairlab_topology::{Cpu, MachineBuilder};
/// use fairlab_units::CpuId;
///
/// // Four cores of two threads around one LLC.
/// let cpus = (0..8).map(|n| Cpu { core: n / 2, llc: Some(0), ..Cpu::new(CpuId(n)) });
/// let machine = MachineBuilder { cpus: cpus.collect(), ..Default::default() }.build()?;
/// let domains = domains::build(&machine, &Kernel::of(Release::V6_12), &BuildOptions::default())?;
/// let names: Vec<_> = domains.chain(CpuId(0)).map(|id| domains.domain(id).name).collect();
/// assert_eq!(names, ["SMT", "MC"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "build_sched_domains")]
pub fn build(
    machine: &Machine,
    kernel: &Kernel,
    options: &BuildOptions,
) -> Result<Domains, BuildError> {
    let nr_cpu_ids = machine.nr_cpu_ids();
    let mut masks = MaskTable::new(nr_cpu_ids);
    let levels = levels::levels(machine, kernel, options, &mut masks)?;
    let capacity = PerCpu::from_fn(nr_cpu_ids, |cpu| {
        machine
            .cpu(cpu)
            .map_or(1024, |c| known_capacity(machine, kernel, c))
    });
    let partitions = partitions(machine, options)?;
    let mut assembly = Assembly {
        machine,
        kernel,
        levels: &levels,
        cores: CoreCounter::new(nr_cpu_ids),
        core_of: PerCpu::from_fn(nr_cpu_ids, |cpu| masks.first(levels.smt[cpu])),
        domains: Vec::new(),
        groups: Vec::new(),
        capacities: Vec::new(),
        capacity_ids: BTreeMap::new(),
        shared: Vec::new(),
        shared_ids: BTreeMap::new(),
        base: PerCpu::from_fn(nr_cpu_ids, |_| None),
        capacity: &capacity,
    };
    let mut switches = Switches {
        smt_present: levels.smt.iter().any(|(_, id)| masks.weight(*id) > 1),
        ..Switches::default()
    };
    let reclaim_distance = options
        .reclaim_distance
        .or(Some(kernel.tunables.reclaim_distance as u32).filter(|d| *d != 0))
        .unwrap_or_else(|| machine.reclaim_distance());
    for partition in &partitions {
        let relax_domain_level = match partition.relax_domain_level {
            ..0 => options.relax_domain_level,
            level => level,
        };
        let input = TreeInput {
            kernel,
            levels: &levels.table,
            partition: &partition.cpus,
            capacity: &capacity,
            relax_domain_level,
            reclaim_distance,
        };
        let tree = tree::build(&input, &mut masks)?;
        switches.asym_cpucapacity |= tree.has_asym;
        assembly.add(&partition.cpus, &tree, &mut masks);
    }
    let attached = assembly.domains.iter();
    let mut attached_flags = attached.map(|d| d.flags);
    switches.cluster_active = attached_flags.any(|f| f.has(DomainFlags::CLUSTER));

    let Assembly {
        domains,
        groups,
        capacities,
        shared,
        base,
        ..
    } = assembly;
    let Levels { numa, smt, llc, .. } = levels;
    let llc_ids = kernel.has(Feature::SD_DENSE_LLC_ID).then(|| {
        let order = partitions.iter().flat_map(|p| p.cpus.iter());
        llc_ids::assign(machine, options, &llc, order, &masks)
    });
    let mut domains = Domains {
        masks: masks.into_masks(),
        domains,
        groups,
        capacities,
        shared,
        base,
        cached: PerCpu::from_fn(nr_cpu_ids, CpuCached::detached),
        smt,
        capacity,
        switches,
        numa,
    };
    for i in 0..nr_cpu_ids {
        let cpu = CpuId::from_index(i);
        let mut cached = cached::of_chain(&domains, cpu, kernel);
        if let Some(ids) = &llc_ids {
            cached.llc_id = ids[cpu];
        }
        domains.cached[cpu] = cached;
    }
    Ok(domains)
}

/// The partitions, without CPUs that are offline or isolated, and without those left empty.
fn partitions(machine: &Machine, options: &BuildOptions) -> Result<Vec<Partition>, BuildError> {
    let mut usable = machine.mask_of(|c| c.online && !c.isolated);
    usable.and_not_with(&options.isolated);
    let mut partitions = options.partitions.clone();
    if partitions.is_empty() {
        partitions.push(usable.clone().into());
    }
    let mut seen = CpuMask::new(machine.nr_cpu_ids());
    for partition in &mut partitions {
        partition.cpus = usable.and(&partition.cpus);
        if let Some(cpu) = seen.and(&partition.cpus).first() {
            return Err(BuildError::PartitionsOverlap(cpu));
        }
        seen.or_with(&partition.cpus);
    }
    partitions.retain(|p| !p.cpus.is_empty());
    Ok(partitions)
}

/// The capacity that the kernel goes by (`arch_scale_cpu_capacity`), which is not always that of the
/// hardware: an x86 kernel does not infer it from frequencies or kinds of core, and before v6.12 it
/// took all CPUs for equal.
fn known_capacity(machine: &Machine, kernel: &Kernel, cpu: &Cpu) -> u32 {
    let inferred = matches!(
        machine.capacity_source(),
        CapacitySource::Frequency | CapacitySource::CoreKind
    );
    let stated = machine.capacity_source() == CapacitySource::Stated;
    let is_unknown = inferred || (stated && !kernel.has(Feature::SD_X86_CAPACITY));
    if machine.arch() == Arch::X86 && is_unknown {
        1024
    } else {
        cpu.capacity
    }
}
