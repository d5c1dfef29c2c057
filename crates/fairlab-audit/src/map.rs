//! Who is near whom, as flat tables for quick answers.

use fairlab_topology::Machine;
use fairlab_units::{CpuId, CpuMask};

/// How near two CPUs are: what is the nearest thing that they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// A core: they are SMT siblings.
    Core,
    /// A cluster (an L2, or what firmware calls one).
    Cluster,
    /// A last-level cache.
    Llc,
    /// A NUMA node.
    Node,
    /// Only the machine.
    Machine,
}

impl Level {
    /// All levels, nearest first.
    pub const ALL: [Self; 5] = [
        Self::Core,
        Self::Cluster,
        Self::Llc,
        Self::Node,
        Self::Machine,
    ];

    /// As tables call a distance.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Core => "same core",
            Self::Cluster => "same cluster",
            Self::Llc => "same LLC",
            Self::Node => "same node",
            Self::Machine => "other node",
        }
    }
}

/// A group of CPUs: a core, cluster or LLC.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) cpus: CpuMask,
}

/// The machine's sharing.
#[derive(Clone, Debug)]
pub struct Map {
    nr_cpus: usize,
    /// By CPU: core, cluster, LLC, node, as indices.
    places: Vec<[u32; 4]>,
    pub(crate) cores: Vec<Group>,
    pub(crate) clusters: Vec<Group>,
    pub(crate) llcs: Vec<Group>,
    /// The CPUs that exist and are online.
    pub(crate) online: CpuMask,
    has_clusters: bool,
}

/// Gives every distinct key an index, in the order of the CPUs, and the CPUs of each.
fn groups(nr_cpus: usize, keys: &[(CpuId, u64)]) -> (Vec<u32>, Vec<Group>) {
    let mut sorted: Vec<u64> = keys.iter().map(|&(_, key)| key).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let mut groups: Vec<Group> = sorted
        .iter()
        .map(|_| Group {
            cpus: CpuMask::new(nr_cpus),
        })
        .collect();
    let mut index = vec![u32::MAX; nr_cpus];
    for &(cpu, key) in keys {
        // The key is there: it was put in above.
        let group = sorted.partition_point(|&other| other < key);
        groups[group].cpus.set(cpu);
        index[cpu.index()] = group as u32;
    }
    (index, groups)
}

impl Map {
    /// The map of `machine`.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let nr_cpus = machine.nr_cpu_ids();
        // What is not described is shared with nobody: a number of its own above the real ones.
        let alone = |cpu: CpuId| (1 << 32) + u64::from(cpu.0);
        let keys = |key: &dyn Fn(&fairlab_topology::Cpu) -> u64| -> Vec<(CpuId, u64)> {
            machine
                .cpus()
                .iter()
                .filter(|cpu| cpu.online)
                .map(|cpu| (cpu.id, key(cpu)))
                .collect()
        };
        let (core, cores) = groups(nr_cpus, &keys(&|cpu| u64::from(cpu.core)));
        let (cluster, clusters) = groups(
            nr_cpus,
            &keys(&|cpu| cpu.cluster.map_or(alone(cpu.id), u64::from)),
        );
        let (llc, llcs) = groups(
            nr_cpus,
            &keys(&|cpu| cpu.llc.map_or(alone(cpu.id), u64::from)),
        );
        let (node, _) = groups(nr_cpus, &keys(&|cpu| u64::from(cpu.node.0)));
        let has_clusters = clusters.iter().any(|cluster| {
            let Some(first) = cluster.cpus.first() else {
                return false;
            };
            let core = &cores[core[first.index()] as usize];
            let llc = &llcs[llc[first.index()] as usize];
            cluster.cpus.weight() > core.cpus.weight() && cluster.cpus.weight() < llc.cpus.weight()
        });
        Self {
            nr_cpus,
            places: (0..nr_cpus)
                .map(|cpu| [core[cpu], cluster[cpu], llc[cpu], node[cpu]])
                .collect(),
            cores,
            clusters,
            llcs,
            online: CpuMask::from_cpus(
                nr_cpus,
                machine
                    .cpus()
                    .iter()
                    .filter(|cpu| cpu.online)
                    .map(|cpu| cpu.id),
            ),
            has_clusters,
        }
    }

    /// One more than the highest CPU number.
    #[must_use]
    pub const fn nr_cpus(&self) -> usize {
        self.nr_cpus
    }

    /// Are there clusters between cores and LLCs?
    #[must_use]
    pub const fn has_clusters(&self) -> bool {
        self.has_clusters
    }

    pub(crate) fn is_online(&self, cpu: CpuId) -> bool {
        cpu.index() < self.nr_cpus && self.online.test(cpu)
    }

    pub(crate) fn core_of(&self, cpu: CpuId) -> usize {
        self.places[cpu.index()][0] as usize
    }

    pub(crate) fn cluster_of(&self, cpu: CpuId) -> usize {
        self.places[cpu.index()][1] as usize
    }

    pub(crate) fn llc_of(&self, cpu: CpuId) -> usize {
        self.places[cpu.index()][2] as usize
    }

    /// How near `a` and `b` are; both must be online.
    pub(crate) fn level(&self, a: CpuId, b: CpuId) -> Level {
        let (a, b) = (self.places[a.index()], self.places[b.index()]);
        match a.iter().zip(b).position(|(&a, b)| a == b) {
            Some(0) => Level::Core,
            Some(1) => Level::Cluster,
            Some(2) => Level::Llc,
            Some(_) => Level::Node,
            None => Level::Machine,
        }
    }
}
