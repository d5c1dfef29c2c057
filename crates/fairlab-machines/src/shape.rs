//! Regular machines: a tree of levels with counts, as the textual notations write them.
//!
//! ```text
//!   2 sockets -> 2 nodes -> 1 LLC -> 10 cores -> 2 threads
//! ```
//!
//! Short specs, hwloc synthetic strings, QEMU options and the catalogue all end here.

use fairlab_topology::{
    Arch, Cache, CacheKind, CapacitySource, CoreKind, Cpu, Machine, MachineBuilder, Node,
};
use fairlab_units::{CpuId, CpuMask, NodeId};

use crate::kinds::typical_capacity;

/// A level of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Socket,
    Node,
    Die,
    Llc,
    Cluster,
    Core,
    Thread,
}

const NR_LEVELS: usize = 7;

/// `count` equal children of their parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    pub level: Level,
    pub count: u32,
    pub capacity: Option<u32>,
    pub kind: Option<CoreKind>,
    /// What each of them holds; several entries where the kinds of core differ.
    pub inside: Vec<Branch>,
}

/// How CPUs are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// First threads of all cores, then the second threads (x86 servers).
    CoresFirst,
    /// The threads of a core follow each other (POWER, Arm, Intel hybrids).
    ThreadsAdjacent,
    /// As `CoresFirst`, and neighbours are on different nodes (some x86 firmware).
    NodesInterleaved,
}

/// Remote distances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Distances {
    /// Same socket, another socket.
    BySocket(u32, u32),
    /// One row per node.
    Table(Vec<Vec<u32>>),
}

/// Sizes in bytes of the caches that are described; 0: not described.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheSizes {
    pub l1d: u64,
    pub l1i: u64,
    pub l2: u64,
    pub l3: u64,
    pub line: u32,
}

/// A regular machine before it is built.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub name: String,
    pub model: Option<String>,
    pub source: String,
    pub tree: Vec<Branch>,
    pub arch: Arch,
    pub amd_epyc: bool,
    pub numbering: Option<Numbering>,
    pub distances: Distances,
    pub sizes: CacheSizes,
    /// The last-level cache is not described.
    pub llc_unknown: bool,
    pub memory_only_nodes: u32,
    pub offline: CpuMask,
    pub isolated: CpuMask,
    pub boot_smt: Option<bool>,
    /// Where stated capacities come from.
    pub capacity_source: CapacitySource,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            name: String::new(),
            model: None,
            source: String::new(),
            tree: Vec::new(),
            arch: Arch::X86,
            amd_epyc: false,
            numbering: None,
            distances: Distances::BySocket(20, 20),
            sizes: CacheSizes::default(),
            llc_unknown: false,
            memory_only_nodes: 0,
            offline: CpuMask::new(1),
            isolated: CpuMask::new(1),
            boot_smt: None,
            capacity_source: CapacitySource::Stated,
        }
    }
}

/// A hardware thread while the tree is walked: the running number of its object at each level.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    at: [Option<u32>; NR_LEVELS],
    /// Position within its core.
    thread: u32,
    capacity: Option<u32>,
    kind: Option<CoreKind>,
}

impl Leaf {
    fn level(&self, level: Level) -> Option<u32> {
        self.at[level as usize]
    }
}

/// Number of hardware threads in `tree`; `None` when there are more than a machine may have.
fn count_threads(tree: &[Branch]) -> Option<u64> {
    let mut sum = 0_u64;
    for branch in tree {
        let inside = if branch.inside.is_empty() {
            1
        } else {
            count_threads(&branch.inside)?
        };
        sum = sum.checked_add(inside.checked_mul(branch.count.into())?)?;
        if sum > Machine::MAX_CPUS as u64 {
            return None;
        }
    }
    Some(sum)
}

fn walk(tree: &[Branch], parent: Leaf, next: &mut [u32; NR_LEVELS], leaves: &mut Vec<Leaf>) {
    // Threads are numbered within their core, also where a core holds two kinds of branches.
    let mut thread = 0;
    for branch in tree {
        for _ in 0..branch.count {
            let mut leaf = parent;
            let level = branch.level as usize;
            leaf.at[level] = Some(next[level]);
            next[level] += 1;
            leaf.capacity = branch.capacity.or(parent.capacity);
            leaf.kind = branch.kind.or(parent.kind);
            if branch.level == Level::Thread {
                leaf.thread = thread;
                thread += 1;
            }
            if branch.inside.is_empty() {
                if branch.level < Level::Core {
                    leaf.at[Level::Core as usize] = Some(next[Level::Core as usize]);
                    next[Level::Core as usize] += 1;
                }
                leaves.push(leaf);
            } else {
                walk(&branch.inside, leaf, next, leaves);
            }
        }
    }
}

impl Shape {
    /// The machine's parts, or what is wrong with the shape.
    pub(crate) fn build(self) -> Result<Machine, String> {
        let threads = count_threads(&self.tree)
            .ok_or_else(|| format!("more than {} CPUs, the limit", Machine::MAX_CPUS))?;
        if threads == 0 {
            return Err("it has no CPU; every count must be at least 1".to_owned());
        }
        let root = Leaf {
            at: [None; NR_LEVELS],
            thread: 0,
            capacity: None,
            kind: None,
        };
        let mut leaves = Vec::with_capacity(threads as usize);
        walk(&self.tree, root, &mut [0; NR_LEVELS], &mut leaves);
        let on_nodes = leaves.iter().filter(|l| l.level(Level::Node).is_some());
        if ![0, leaves.len()].contains(&on_nodes.count()) {
            return Err("either all parts are on NUMA nodes, or none is".to_owned());
        }
        self.fill(&mut leaves);
        self.number(&mut leaves);
        let builder = self.assemble(&leaves)?;
        builder.build().map_err(|e| e.to_string())
    }

    /// Gives every leaf a socket, node, LLC and cluster where the notation left them out.
    ///
    /// Numbers that are filled in lie above those that the notation gave.
    fn fill(&self, leaves: &mut [Leaf]) {
        let above = |level: Level| leaves.iter().filter_map(|l| l.level(level)).max();
        let first_llc = above(Level::Llc).map_or(0, |n| n + 1);
        let first_cluster = above(Level::Cluster).map_or(0, |n| n + 1);
        for leaf in leaves {
            let core = leaf.level(Level::Core);
            let socket = leaf.level(Level::Socket).unwrap_or(0);
            leaf.at[Level::Socket as usize] = Some(socket);
            if leaf.level(Level::Node).is_none() {
                leaf.at[Level::Node as usize] = Some(socket);
            }
            if self.llc_unknown {
                leaf.at[Level::Llc as usize] = None;
            } else if leaf.level(Level::Llc).is_none() {
                let container = leaf.level(Level::Die).unwrap_or(socket);
                leaf.at[Level::Llc as usize] = Some(first_llc + container);
            }
            if leaf.level(Level::Cluster).is_none() && self.arch == Arch::X86 {
                leaf.at[Level::Cluster as usize] = core.map(|c| first_cluster + c);
            }
        }
    }

    /// Puts the leaves into the order of the CPU numbers.
    fn number(&self, leaves: &mut Vec<Leaf>) {
        let numbering = self.numbering.unwrap_or(if self.arch == Arch::X86 {
            Numbering::CoresFirst
        } else {
            Numbering::ThreadsAdjacent
        });
        match numbering {
            Numbering::ThreadsAdjacent => {}
            Numbering::CoresFirst => leaves.sort_by_key(|l| l.thread),
            Numbering::NodesInterleaved => {
                let nr_nodes = leaves.iter().filter_map(|l| l.level(Level::Node)).max();
                let mut seen = vec![0_u32; nr_nodes.unwrap_or(0) as usize + 1];
                let mut last_thread = 0;
                leaves.sort_by_key(|l| l.thread);
                let mut keyed: Vec<((u32, u32, u32), Leaf)> = leaves
                    .iter()
                    .map(|l| {
                        if l.thread != last_thread {
                            last_thread = l.thread;
                            seen.fill(0);
                        }
                        let node = l.level(Level::Node).unwrap_or(0);
                        let rank = seen[node as usize];
                        seen[node as usize] += 1;
                        ((l.thread, rank, node), *l)
                    })
                    .collect();
                keyed.sort_by_key(|(key, _)| *key);
                *leaves = keyed.into_iter().map(|(_, l)| l).collect();
            }
        }
    }

    fn assemble(self, leaves: &[Leaf]) -> Result<MachineBuilder, String> {
        let nr_cpus = leaves.len();
        for (what, mask) in [("offline", &self.offline), ("isolated", &self.isolated)] {
            if let Some(cpu) = mask.last().filter(|c| c.index() >= nr_cpus) {
                return Err(format!(
                    "{what} CPU {cpu} does not exist, the CPUs are 0-{}",
                    nr_cpus - 1
                ));
            }
        }
        let stated = leaves.iter().any(|l| l.capacity.is_some());
        let kinds = leaves.iter().any(|l| l.kind.is_some());
        let mut builder = MachineBuilder {
            name: self.name.clone(),
            model: self.model.clone(),
            arch: self.arch,
            amd_epyc: self.amd_epyc,
            capacity_source: match (stated, kinds) {
                (true, _) => self.capacity_source,
                (false, true) => CapacitySource::CoreKind,
                (false, false) => CapacitySource::Default,
            },
            boot_smt: self.boot_smt,
            source: self.source.clone(),
            nodes: self.nodes(leaves)?,
            caches: self.caches(leaves),
            ..MachineBuilder::default()
        };
        for (i, leaf) in leaves.iter().enumerate() {
            let id = CpuId::from_index(i);
            builder.cpus.push(Cpu {
                online: !self.offline.test(id),
                isolated: self.isolated.test(id),
                core: leaf.level(Level::Core).unwrap_or(id.0),
                cluster: leaf.level(Level::Cluster),
                llc: leaf.level(Level::Llc),
                die: leaf.level(Level::Die),
                package: leaf.level(Level::Socket),
                node: NodeId(leaf.level(Level::Node).unwrap_or(0)),
                capacity: match leaf.capacity {
                    Some(capacity) => capacity,
                    None if stated => 1024,
                    None => typical_capacity(leaf.kind.unwrap_or_default()),
                },
                kind: leaf.kind.unwrap_or_default(),
                ..Cpu::new(id)
            });
        }
        Ok(builder)
    }

    fn nodes(&self, leaves: &[Leaf]) -> Result<Vec<Node>, String> {
        let nr_cpu_nodes = leaves
            .iter()
            .filter_map(|l| l.level(Level::Node))
            .max()
            .unwrap_or(0) as usize
            + 1;
        let mut socket_of = vec![None; nr_cpu_nodes];
        for leaf in leaves {
            if let Some(node) = leaf.level(Level::Node) {
                socket_of[node as usize] = leaf.level(Level::Socket);
            }
        }
        let nr_nodes = nr_cpu_nodes + self.memory_only_nodes as usize;
        socket_of.resize(nr_nodes, None);
        let rows = match &self.distances {
            Distances::Table(rows) => {
                if rows.len() != nr_nodes || rows.iter().any(|r| r.len() != nr_nodes) {
                    return Err(format!(
                        "the distance table must have {nr_nodes} rows of {nr_nodes} numbers, one per \
                         node"
                    ));
                }
                rows.clone()
            }
            Distances::BySocket(near, far) => (0..nr_nodes)
                .map(|i| {
                    (0..nr_nodes)
                        .map(|j| {
                            if i == j {
                                10
                            } else if socket_of[i].is_some() && socket_of[i] == socket_of[j] {
                                *near
                            } else {
                                *far
                            }
                        })
                        .collect()
                })
                .collect(),
        };
        Ok(rows
            .into_iter()
            .enumerate()
            .map(|(i, distances)| Node {
                id: NodeId(i as u32),
                memory_kb: None,
                distances,
            })
            .collect())
    }

    fn caches(&self, leaves: &[Leaf]) -> Vec<Cache> {
        let line = if self.sizes.line == 0 {
            64
        } else {
            self.sizes.line
        };
        let mut caches = Vec::new();
        let mut add = |level: u8, kind: CacheKind, size: u64, at: Level| {
            if size == 0 {
                return;
            }
            let nr_groups = leaves.iter().filter_map(|l| l.level(at)).max();
            let mut masks =
                vec![CpuMask::new(leaves.len()); nr_groups.map_or(0, |n| n as usize + 1)];
            for (i, leaf) in leaves.iter().enumerate() {
                if let Some(group) = leaf.level(at) {
                    masks[group as usize].set(CpuId::from_index(i));
                }
            }
            caches.extend(
                masks
                    .into_iter()
                    .filter(|m| !m.is_empty())
                    .map(|cpus| Cache {
                        level,
                        kind,
                        size,
                        line,
                        cpus,
                    }),
            );
        };
        // The L2 belongs to the cluster on x86 by definition, and to the core elsewhere.
        let l2_at = if self.arch == Arch::X86 {
            Level::Cluster
        } else {
            Level::Core
        };
        add(1, CacheKind::Data, self.sizes.l1d, Level::Core);
        add(1, CacheKind::Instruction, self.sizes.l1i, Level::Core);
        add(2, CacheKind::Unified, self.sizes.l2, l2_at);
        add(3, CacheKind::Unified, self.sizes.l3, Level::Llc);
        caches
    }
}
