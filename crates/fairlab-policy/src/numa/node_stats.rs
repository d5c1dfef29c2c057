//! What is known of a node when nodes are compared.

use fairlab_kernel::{Feature, Kernel};
use fairlab_pelt::{CpuUtil, cpu_util_cfs};
use fairlab_topology::Domains;
use fairlab_units::{CpuId, CpuMask};

use super::NumaView;
use crate::balance::{BalanceState, is_core_idle};

/// Class of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeType {
    /// It could run more.
    HasSpare,
    /// It is busy, and nobody waits.
    FullyBusy,
    /// Tasks wait.
    Overloaded,
}

/// Statistics of a node (`struct numa_stats`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeStats {
    /// Class.
    pub node_type: NodeType,
    /// Sum of the CPUs' loads.
    pub load: u64,
    /// Sum of the CPUs' utilizations.
    pub util: u64,
    /// Sum of the CPUs' `runnable_avg`.
    pub runnable: u64,
    /// Sum of the CPUs' capacities.
    pub capacity: u64,
    /// Fair tasks.
    pub nr_running: u32,
    /// CPUs.
    pub weight: u32,
    /// An idle CPU where the task may run, preferably of an idle core.
    pub idle_cpu: Option<CpuId>,
}

impl NodeStats {
    /// Statistics of the CPUs of `node`; with `allowed` an idle CPU is looked for as well.
    ///
    /// # Source
    /// Linux v6.12 `kernel/sched/fair.c`, `update_numa_stats()`, `numa_classify()`. Differs: the hint
    /// that some core is idle is not read.
    #[doc(alias = "update_numa_stats", alias = "numa_classify")]
    #[must_use]
    pub fn gather<V: NumaView + ?Sized>(
        kernel: &Kernel,
        domains: &Domains,
        view: &V,
        state: &BalanceState,
        node: usize,
        allowed: Option<&CpuMask>,
        pct: u64,
    ) -> Self {
        let mut stats = Self {
            node_type: NodeType::FullyBusy,
            load: 0,
            util: 0,
            runnable: 0,
            capacity: 0,
            nr_running: 0,
            weight: 0,
            idle_cpu: None,
        };
        let mut idle_core = None;
        for cpu in view.node_cpus(node) {
            stats.weight += 1;
            stats.load += if kernel.has(Feature::LOAD_RUNNABLE_LOAD) {
                view.runnable_load_avg(cpu)
            } else {
                view.load_avg(cpu)
            };
            stats.runnable += view.runnable_avg(cpu);
            stats.util += cpu_util_cfs(
                kernel,
                &CpuUtil {
                    cpu,
                    util_avg: view.util_avg(cpu),
                    runnable_avg: view.runnable_avg(cpu),
                    util_est: view.util_est(cpu),
                    capacity_orig: u64::from(domains.capacity_orig(cpu)),
                },
            );
            stats.nr_running += if kernel.has(Feature::LB_NR_RUNNABLE) {
                view.h_nr_runnable(cpu)
            } else {
                view.h_nr_queued(cpu)
            };
            stats.capacity += state.capacity_of(cpu);
            let may_run = allowed.is_some_and(|allowed| allowed.test(cpu));
            if may_run && view.nr_running(cpu) == 0 && view.is_idle(cpu) {
                stats.idle_cpu = stats.idle_cpu.or(Some(cpu));
                if idle_core.is_none() && is_core_idle(domains, view, cpu) {
                    idle_core = Some(cpu);
                }
            }
        }
        stats.idle_cpu = idle_core.or(stats.idle_cpu);
        stats.node_type = stats.classify(kernel, pct);
        stats
    }

    fn classify(&self, kernel: &Kernel, pct: u64) -> NodeType {
        let by_runnable = kernel.has(Feature::LB_RUNNABLE);
        let presses = self.capacity * 100 < self.util * pct
            || (by_runnable && self.capacity * pct < self.runnable * 100);
        let has_room = self.capacity * 100 > self.util * pct
            && !(by_runnable && self.capacity * pct <= self.runnable * 100);
        if self.nr_running > self.weight && presses {
            NodeType::Overloaded
        } else if self.nr_running < self.weight || has_room {
            NodeType::HasSpare
        } else {
            NodeType::FullyBusy
        }
    }
}
