//! The facts about a machine.
//!
//! Sharing is stored as *group numbers*, not as masks: two CPUs share a core (cluster, die, ...)
//! exactly when their numbers are equal. So a machine is small at 8192 CPUs, and a sharing relation
//! that is not an equivalence cannot be written down; importers that meet one in a dump decide, and
//! record the decision as an [`Oddity`].

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use fairlab_units::{CpuId, CpuMask, NodeId};

use crate::EnergyDomain;

/// The instruction set family; decides which rules build the level masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Arch {
    #[default]
    X86,
    Arm64,
    Ppc64,
    S390,
    RiscV,
    /// Anything else: the generic rules.
    Other,
}

/// What kind of core a CPU is, on machines with several kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum CoreKind {
    /// All cores are alike, or nothing is known.
    #[default]
    Uniform,
    /// Performance core ("big", Intel Core).
    Performance,
    /// In between (three-tier phones).
    Medium,
    /// Efficiency core ("little", Intel Atom).
    Efficiency,
}

/// Where a CPU's capacity comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum CapacitySource {
    /// Nothing known: 1024 everywhere.
    #[default]
    Default,
    /// `cpu_capacity` in sysfs, or stated by a machine file.
    Stated,
    /// From maximum frequencies.
    Frequency,
    /// From core kinds.
    CoreKind,
}

/// A hardware thread. All group numbers are arbitrary; equality is what counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The kernel's number.
    pub id: CpuId,
    /// Online at the moment of the description. Offline CPUs usually carry no sharing facts.
    pub online: bool,
    /// Taken out of balancing (`isolcpus=domain`, isolated cpuset partition).
    pub isolated: bool,
    /// Core: CPUs with the same number are SMT siblings.
    pub core: u32,
    /// Cluster as the kernel sees it (x86: sharers of the L2; arm64: firmware cluster).
    pub cluster: Option<u32>,
    /// Sharers of the last-level cache, as the hardware describes it (not cut at nodes).
    pub llc: Option<u32>,
    /// Die.
    pub die: Option<u32>,
    /// Package (socket). `None`: not described.
    pub package: Option<u32>,
    /// NUMA node.
    pub node: NodeId,
    /// Original capacity on the 1024 scale (`arch_scale_cpu_capacity`).
    pub capacity: u32,
    /// Kind of core.
    pub kind: CoreKind,
    /// Priority for asymmetric packing (ITMT), higher is preferred; `None` without it.
    pub priority: Option<i32>,
    /// Highest frequency in kHz, where known.
    pub max_freq_khz: Option<u64>,
}

impl Cpu {
    /// An online CPU of capacity 1024 in a core of its own, on node 0, sharing nothing.
    #[must_use]
    pub fn new(id: CpuId) -> Self {
        Self {
            id,
            online: true,
            isolated: false,
            core: id.0,
            cluster: None,
            llc: None,
            die: None,
            package: None,
            node: NodeId(0),
            capacity: 1024,
            kind: CoreKind::Uniform,
            priority: None,
            max_freq_khz: None,
        }
    }
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum CacheKind {
    Data,
    Instruction,
    Unified,
}

/// One physical cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1 to 4 or so.
    pub level: u8,
    /// What it holds.
    pub kind: CacheKind,
    /// Size in bytes; 0 when unknown.
    pub size: u64,
    /// Line size in bytes; 0 when unknown.
    pub line: u32,
    /// The CPUs that share it.
    pub cpus: CpuMask,
}

/// A NUMA node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The kernel's number (may be sparse).
    pub id: NodeId,
    /// Memory in KiB, where known.
    pub memory_kb: Option<u64>,
    /// Distance to every node, in the order of [`Machine::nodes`]; 10 is local.
    pub distances: Vec<u32>,
}

/// Something odd about a machine's description, and what was done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oddity {
    /// What is odd: where, and the values found.
    pub what: String,
    /// What fairlab did about it.
    pub action: String,
}

/// A machine: immutable, validated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    name: String,
    model: Option<String>,
    arch: Arch,
    amd_epyc: bool,
    capacity_source: CapacitySource,
    cpus: Vec<Cpu>,
    nodes: Vec<Node>,
    caches: Vec<Cache>,
    energy: Vec<EnergyDomain>,
    boot_smt: Option<bool>,
    oddities: Vec<Oddity>,
    source: String,
}

/// The parts of a machine, before validation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineBuilder {
    /// Short name.
    pub name: String,
    /// Processor or product name, where known.
    pub model: Option<String>,
    /// Instruction set family.
    pub arch: Arch,
    /// An AMD EPYC, for which x86 kernels raise the reclaim distance to 32.
    pub amd_epyc: bool,
    /// Where the capacities come from.
    pub capacity_source: CapacitySource,
    /// The possible CPUs, in any order; numbers may have holes.
    pub cpus: Vec<Cpu>,
    /// The nodes, memory-only ones included. Empty: one node 0.
    pub nodes: Vec<Node>,
    /// The caches.
    pub caches: Vec<Cache>,
    /// The energy model; empty where the machine has none.
    pub energy: Vec<EnergyDomain>,
    /// Was more than one thread per core usable when the machine booted? `None`: as the online
    /// CPUs say.
    pub boot_smt: Option<bool>,
    /// What was odd so far.
    pub oddities: Vec<Oddity>,
    /// Where the description comes from, in words ("short spec", "sysfs tree /x").
    pub source: String,
}

/// Why parts do not make a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MachineError {
    /// There is no CPU, or none is online.
    NoCpu,
    /// A CPU number at or above [`Machine::MAX_CPUS`].
    TooManyCpus(CpuId),
    /// Two CPUs have the same number.
    DuplicateCpu(CpuId),
    /// A CPU's node is not among the nodes.
    UnknownNode(CpuId, NodeId),
    /// Two nodes have the same number.
    DuplicateNode(NodeId),
    /// A node has a number of distances that is not the number of nodes.
    DistanceCount(NodeId, usize, usize),
    /// A capacity outside 1..=1024.
    Capacity(CpuId, u32),
    /// An energy domain holds a CPU that is not described, or that another one holds too.
    EnergyCpu(CpuId),
    /// The states of the energy domain of this CPU are missing, do not rise, or exceed 1024.
    EnergyStates(CpuId),
}

impl fmt::Display for MachineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCpu => f.write_str("the machine has no online CPU"),
            Self::TooManyCpus(cpu) => {
                write!(
                    f,
                    "CPU number {cpu} is too high, below {} is accepted",
                    Machine::MAX_CPUS
                )
            }
            Self::DuplicateCpu(cpu) => write!(f, "CPU {cpu} is described twice"),
            Self::UnknownNode(cpu, node) => {
                write!(f, "CPU {cpu} is on node {node}, which is not described")
            }
            Self::DuplicateNode(node) => write!(f, "node {node} is described twice"),
            Self::DistanceCount(node, found, wanted) => {
                write!(
                    f,
                    "node {node} has {found} distances, {wanted} are wanted (one per node)"
                )
            }
            Self::Capacity(cpu, capacity) => {
                write!(
                    f,
                    "CPU {cpu} has capacity {capacity}, 1 to 1024 is accepted"
                )
            }
            Self::EnergyCpu(cpu) => {
                write!(
                    f,
                    "CPU {cpu} is in an energy domain but not described, or in two of them; each CPU \
                     may be in one"
                )
            }
            Self::EnergyStates(cpu) => {
                write!(
                    f,
                    "the energy states of CPU {cpu} are not one or more with rising capacities from 1 \
                     to 1024"
                )
            }
        }
    }
}

impl core::error::Error for MachineError {}

impl MachineBuilder {
    /// Checks the parts and makes the machine. CPUs and nodes are sorted by number.
    ///
    /// # Errors
    /// When the parts contradict each other; see [`MachineError`].
    pub fn build(mut self) -> Result<Machine, MachineError> {
        self.cpus.sort_by_key(|c| c.id);
        if self.nodes.is_empty() {
            self.nodes.push(Node {
                id: NodeId(0),
                memory_kb: None,
                distances: alloc::vec![10],
            });
        }
        // Distances are columns in the order of the nodes: sort both alike.
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|&i| self.nodes[i].id);
        for node in &self.nodes {
            if node.distances.len() != order.len() {
                let (found, wanted) = (node.distances.len(), order.len());
                return Err(MachineError::DistanceCount(node.id, found, wanted));
            }
        }
        let nodes: Vec<Node> = order
            .iter()
            .map(|&i| Node {
                distances: order.iter().map(|&j| self.nodes[i].distances[j]).collect(),
                ..self.nodes[i].clone()
            })
            .collect();
        if let Some(pair) = nodes.windows(2).find(|w| w[0].id == w[1].id) {
            return Err(MachineError::DuplicateNode(pair[0].id));
        }
        if let Some(pair) = self.cpus.windows(2).find(|w| w[0].id == w[1].id) {
            return Err(MachineError::DuplicateCpu(pair[0].id));
        }
        if !self.cpus.iter().any(|c| c.online) {
            return Err(MachineError::NoCpu);
        }
        for cpu in &self.cpus {
            if cpu.id.index() >= Machine::MAX_CPUS {
                return Err(MachineError::TooManyCpus(cpu.id));
            }
            if nodes.binary_search_by_key(&cpu.node, |n| n.id).is_err() {
                return Err(MachineError::UnknownNode(cpu.id, cpu.node));
            }
            if !(1..=1024).contains(&cpu.capacity) {
                return Err(MachineError::Capacity(cpu.id, cpu.capacity));
            }
        }
        self.check_energy()?;
        Ok(Machine {
            name: self.name,
            model: self.model,
            arch: self.arch,
            amd_epyc: self.amd_epyc,
            capacity_source: self.capacity_source,
            cpus: self.cpus,
            nodes,
            caches: self.caches,
            energy: self.energy,
            boot_smt: self.boot_smt,
            oddities: self.oddities,
            source: self.source,
        })
    }

    fn check_energy(&self) -> Result<(), MachineError> {
        let mut seen = CpuMask::new(Machine::MAX_CPUS);
        for domain in &self.energy {
            let first = domain.cpus.first().unwrap_or_default();
            for cpu in &domain.cpus {
                let known = self.cpus.binary_search_by_key(&cpu, |c| c.id).is_ok();
                if !known || seen.test(cpu) {
                    return Err(MachineError::EnergyCpu(cpu));
                }
                seen.set(cpu);
            }
            let rising = domain
                .states
                .windows(2)
                .all(|w| w[0].capacity < w[1].capacity);
            let in_range = domain
                .states
                .iter()
                .all(|s| (1..=1024).contains(&s.capacity));
            if domain.states.is_empty() || !rising || !in_range {
                return Err(MachineError::EnergyStates(first));
            }
        }
        Ok(())
    }
}

impl Machine {
    /// CPU numbers are below this (the largest `NR_CPUS` that a kernel is built with).
    pub const MAX_CPUS: usize = 8192;

    /// Short name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Processor or product name, where known.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Instruction set family.
    #[must_use]
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Where the description comes from, in words.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Where the capacities come from.
    #[must_use]
    pub fn capacity_source(&self) -> CapacitySource {
        self.capacity_source
    }

    /// What was odd about the description, and what was done about it.
    #[must_use]
    pub fn oddities(&self) -> &[Oddity] {
        &self.oddities
    }

    /// The possible CPUs, by number; numbers may have holes.
    #[must_use]
    pub fn cpus(&self) -> &[Cpu] {
        &self.cpus
    }

    /// The CPU numbered `id`.
    #[must_use]
    pub fn cpu(&self, id: CpuId) -> Option<&Cpu> {
        self.cpus
            .binary_search_by_key(&id, |c| c.id)
            .ok()
            .map(|i| &self.cpus[i])
    }

    /// Highest possible CPU number plus one (`nr_cpu_ids`): the length of per-CPU containers.
    #[must_use]
    pub fn nr_cpu_ids(&self) -> usize {
        self.cpus.last().map_or(0, |c| c.id.index() + 1)
    }

    /// The online CPUs.
    #[must_use]
    pub fn online(&self) -> CpuMask {
        self.mask_of(|c| c.online)
    }

    /// The CPUs for which `test` holds.
    pub fn mask_of(&self, test: impl Fn(&Cpu) -> bool) -> CpuMask {
        let ids = self.cpus.iter().filter(|c| test(c)).map(|c| c.id);
        CpuMask::from_cpus(self.nr_cpu_ids(), ids)
    }

    /// The nodes by number, memory-only ones included.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Position of node `id` in [`Self::nodes`].
    #[must_use]
    pub fn node_index(&self, id: NodeId) -> Option<usize> {
        self.nodes.binary_search_by_key(&id, |n| n.id).ok()
    }

    /// The caches.
    #[must_use]
    pub fn caches(&self) -> &[Cache] {
        &self.caches
    }

    /// The energy model; empty where the machine has none.
    #[must_use]
    pub fn energy(&self) -> &[EnergyDomain] {
        &self.energy
    }

    /// Was more than one thread per core usable at boot?
    #[must_use]
    pub fn boot_smt(&self) -> bool {
        self.boot_smt.unwrap_or_else(|| self.threads_per_core() > 1)
    }

    /// The largest number of online threads in one core.
    #[must_use]
    pub fn threads_per_core(&self) -> usize {
        let mut cores: Vec<u32> = self
            .cpus
            .iter()
            .filter(|c| c.online)
            .map(|c| c.core)
            .collect();
        cores.sort_unstable();
        cores
            .chunk_by(|a, b| a == b)
            .map(<[u32]>::len)
            .max()
            .unwrap_or(0)
    }

    /// Distance beyond which a node is far (`node_reclaim_distance`): 30, on AMD EPYC 32.
    #[must_use]
    pub fn reclaim_distance(&self) -> u32 {
        if self.amd_epyc { 32 } else { 30 }
    }

    /// The same machine with exactly the CPUs of `online` online: hotplug. What was decided when
    /// it booted (usable threads per core) stays.
    ///
    /// # Errors
    /// When no CPU would be online.
    pub fn with_online(&self, online: &CpuMask) -> Result<Self, MachineError> {
        let mut machine = self.clone();
        machine.boot_smt = Some(self.boot_smt());
        for cpu in &mut machine.cpus {
            cpu.online = online.test(cpu.id);
        }
        if machine.cpus.iter().any(|c| c.online) {
            Ok(machine)
        } else {
            Err(MachineError::NoCpu)
        }
    }

    /// The parts, to make a changed machine.
    #[must_use]
    pub fn to_builder(&self) -> MachineBuilder {
        MachineBuilder {
            name: self.name.clone(),
            model: self.model.clone(),
            arch: self.arch,
            amd_epyc: self.amd_epyc,
            capacity_source: self.capacity_source,
            cpus: self.cpus.clone(),
            nodes: self.nodes.clone(),
            caches: self.caches.clone(),
            energy: self.energy.clone(),
            boot_smt: self.boot_smt,
            oddities: self.oddities.clone(),
            source: self.source.clone(),
        }
    }
}
