//! The faults of a task: how often it found memory on which node.

use alloc::vec::Vec;

use fairlab_topology::domains::{NumaKind, NumaTopology};

/// Faults that concern one node. In each pair the first counts memory that other tasks use too, the
/// second what only this task uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NodeFaults {
    /// On memory of the node, halved at each placement (`NUMA_MEM`).
    memory: [u64; 2],
    /// By CPUs of the node, weighted with the time that the task ran (`NUMA_CPU`).
    cpu: [u64; 2],
    /// Since the last placement (`NUMA_MEMBUF`, `NUMA_CPUBUF`).
    new_memory: [u64; 2],
    new_cpu: [u64; 2],
}

/// What the faults of a task since the last placement come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The node with most faults; none when there were none.
    pub preferred: Option<usize>,
    /// Faults on memory that other tasks use too.
    pub shared: u64,
    /// Faults on memory that only this task uses.
    pub private: u64,
}

/// Fault statistics of a task (`numa_faults` and its companions).
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "numa_faults")]
pub struct Faults {
    nodes: Vec<NodeFaults>,
    total: u64,
    /// Pages found on another node, and on the CPU's own, since the period was last adapted.
    locality: [u64; 2],
}

impl Faults {
    /// No faults, on a machine with `nodes` nodes.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        let mut list = Vec::with_capacity(nodes);
        list.resize(nodes, NodeFaults::default());
        Self {
            nodes: list,
            total: 0,
            locality: [0; 2],
        }
    }

    /// Counts a fault on `pages` pages of node `memory` by a CPU of node `cpu`. `is_local`: the memory
    /// was on the CPU's node before the fault moved it, if it did.
    ///
    /// # Source
    /// Linux v6.12 `kernel/sched/fair.c`, `task_numa_fault()`.
    #[doc(alias = "task_numa_fault")]
    pub fn record(&mut self, memory: usize, cpu: usize, pages: u64, private: bool, is_local: bool) {
        let class = usize::from(private);
        if let Some(node) = self.nodes.get_mut(memory) {
            node.new_memory[class] += pages;
        }
        if let Some(node) = self.nodes.get_mut(cpu) {
            node.new_cpu[class] += pages;
        }
        self.locality[usize::from(is_local)] += pages;
    }

    /// Folds the new faults in and says which node is to be preferred. The task ran for `runtime` of
    /// the last `period` ns.
    ///
    /// # Source
    /// Linux v6.12 `kernel/sched/fair.c`, `task_numa_placement()`, without groups.
    #[doc(alias = "task_numa_placement")]
    pub fn place(&mut self, runtime: u64, period: u64) -> Placement {
        let all: u64 = self
            .nodes
            .iter()
            .map(|n| n.new_memory.iter().sum::<u64>())
            .sum();
        let mut placement = Placement {
            preferred: None,
            shared: 0,
            private: 0,
        };
        let share = (u128::from(runtime) << 16) / u128::from(period + 1);
        let mut most = 0;
        for (number, node) in self.nodes.iter_mut().enumerate() {
            let mut memory = 0;
            for class in 0..2 {
                let new = core::mem::take(&mut node.new_memory[class]);
                let old = node.memory[class];
                node.memory[class] = old - old / 2 + new;
                self.total = self.total + node.memory[class] - old;
                memory += node.memory[class];
                if class == 0 {
                    placement.shared += new;
                } else {
                    placement.private += new;
                }
                let cpu = core::mem::take(&mut node.new_cpu[class]);
                // At most 2^16 for each fault: the share of the CPU time, and of the faults.
                let weighted = share * u128::from(cpu) / u128::from(all + 1);
                let old = node.cpu[class];
                node.cpu[class] = old - old / 2 + u64::try_from(weighted).unwrap_or(u64::MAX);
            }
            if memory > most {
                most = memory;
                placement.preferred = Some(number);
            }
        }
        placement
    }

    /// Pages found on another node, and on the CPU's own, since the last call.
    pub fn take_locality(&mut self) -> (u64, u64) {
        let [remote, local] = core::mem::take(&mut self.locality);
        (remote, local)
    }

    /// Has any fault been placed?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Faults on memory of `node`.
    #[must_use]
    pub fn on(&self, node: usize) -> u64 {
        self.nodes.get(node).map_or(0, |n| n.memory.iter().sum())
    }

    /// Share of `node` in all faults, in 1000ths; on machines whose nodes are several hops apart those
    /// on near nodes count too. `limit` is the distance of the two nodes that are compared.
    ///
    /// # Source
    /// Linux v6.12 `kernel/sched/fair.c`, `task_weight()`, `score_nearby_nodes()`.
    #[doc(alias = "task_weight", alias = "score_nearby_nodes")]
    #[must_use]
    pub fn weight(
        &self,
        node: usize,
        limit: u32,
        topology: &NumaTopology,
        distance: impl Fn(usize, usize) -> u32,
    ) -> i64 {
        if self.total == 0 {
            return 0;
        }
        let mut faults = self.on(node);
        if topology.kind != NumaKind::Direct {
            for near in (0..self.nodes.len()).filter(|near| *near != node) {
                let apart = distance(node, near);
                let is_far = apart >= topology.max_distance;
                let beyond = topology.kind == NumaKind::Backplane && apart >= limit;
                if is_far || beyond {
                    continue;
                }
                let mut score = self.on(near);
                if topology.kind == NumaKind::GluelessMesh {
                    // The nearer the better.
                    let span = u64::from(topology.max_distance.saturating_sub(10)).max(1);
                    score = score * u64::from(topology.max_distance - apart) / span;
                }
                faults += score;
            }
        }
        (1000 * faults / self.total).cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direct() -> NumaTopology {
        NumaTopology {
            distances: alloc::vec![10, 20],
            kind: NumaKind::Direct,
            max_distance: 20,
        }
    }

    #[test]
    fn the_node_with_most_faults_is_preferred_and_old_ones_fade() {
        let mut faults = Faults::new(2);
        assert_eq!(faults.place(1, 1).preferred, None);
        faults.record(0, 0, 300, true, true);
        faults.record(1, 0, 100, false, false);
        let placement = faults.place(1_000, 2_000);
        assert_eq!(placement.preferred, Some(0));
        assert_eq!((placement.private, placement.shared), (300, 100));
        assert_eq!(faults.weight(0, 20, &direct(), |_, _| 20), 750);
        assert_eq!(faults.weight(1, 20, &direct(), |_, _| 20), 250);
        assert_eq!(faults.take_locality(), (100, 300));
        assert_eq!(faults.take_locality(), (0, 0));
        // 150 old ones are left on node 0, 50 and 200 new ones on node 1.
        faults.record(1, 0, 200, true, false);
        assert_eq!(faults.place(1_000, 2_000).preferred, Some(1));
        assert_eq!((faults.on(0), faults.on(1)), (150, 250));
    }

    #[test]
    fn near_nodes_count_where_nodes_are_several_hops_apart() {
        // A line of three nodes: 0 and 2 are 30 apart.
        let mut faults = Faults::new(3);
        faults.record(1, 0, 600, true, false);
        faults.record(2, 0, 400, true, false);
        faults.place(1, 1);
        let distance = |a: usize, b: usize| 10 + 10 * a.abs_diff(b) as u32;
        let mesh = NumaTopology {
            distances: alloc::vec![10, 20, 30],
            kind: NumaKind::GluelessMesh,
            max_distance: 30,
        };
        // Node 1 is one hop away and counts half: 600 * (30 - 20) / (30 - 10).
        assert_eq!(faults.weight(0, 30, &mesh, distance), 300);
        assert_eq!(faults.weight(1, 30, &mesh, distance), 600 + 200);
        let backplane = NumaTopology {
            kind: NumaKind::Backplane,
            ..mesh
        };
        assert_eq!(faults.weight(0, 30, &backplane, distance), 600);
        assert_eq!(faults.weight(0, 20, &backplane, distance), 0);
    }
}
