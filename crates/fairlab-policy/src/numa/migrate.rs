//! Where a task goes that is not on the node it prefers.

use fairlab_kernel::{Feature, Kernel};
use fairlab_topology::Domains;
use fairlab_topology::domains::NumaKind;
use fairlab_units::{CpuId, TaskId};

use super::NumaView;
use super::node_stats::{NodeStats, NodeType};
use crate::balance::BalanceState;
use crate::balance::imbalance::beyond_numa_leeway;

/// A gain below this is none (`SMALLIMP`), in 1000ths of a task's faults.
const SMALL_GAIN: i64 = 30;

/// What a task that prefers another node should do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Nothing is better than where it is.
    Stay,
    /// Its CPU has no NUMA domain, so its own node is to be the preferred one.
    PreferOwnNode,
    /// Move there.
    Move(CpuId),
    /// Change places with the task that runs there.
    Swap(CpuId, TaskId),
}

/// The best place found so far.
#[derive(Clone, Copy, Debug)]
struct Best {
    cpu: Option<CpuId>,
    swap: Option<TaskId>,
    gain: i64,
}

/// The surroundings of one search (`struct task_numa_env`).
struct Search<'a, V: ?Sized> {
    kernel: &'a Kernel,
    domains: &'a Domains,
    view: &'a V,
    task: TaskId,
    src_cpu: CpuId,
    src_node: usize,
    src: NodeStats,
    dst_node: usize,
    dst: NodeStats,
    imb_numa_nr: u32,
    /// Distance of source and destination.
    distance: u32,
    best: Best,
}

/// The CPU where `task` should go from `src_cpu`, given where its memory is.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `task_numa_migrate()`, without groups.
#[doc(alias = "task_numa_migrate")]
#[must_use]
pub fn choose_cpu<V: NumaView + ?Sized>(
    kernel: &Kernel,
    domains: &Domains,
    view: &V,
    state: &BalanceState,
    task: TaskId,
    src_cpu: CpuId,
    src_node: usize,
) -> Choice {
    let Some(preferred) = view.preferred_node(task) else {
        return Choice::Stay;
    };
    let Some(domain) = domains.cached(src_cpu).numa else {
        return Choice::PreferOwnNode;
    };
    if preferred == src_node {
        return Choice::Stay;
    }
    let sd = domains.domain(domain);
    let pct = 100 + u64::from(sd.imbalance_pct.saturating_sub(100)) / 2;
    let allowed = view.task(task).allowed;
    let stats = |node, allowed| NodeStats::gather(kernel, domains, view, state, node, allowed, pct);
    let mut search = Search {
        kernel,
        domains,
        view,
        task,
        src_cpu,
        src_node,
        src: stats(src_node, None),
        dst_node: preferred,
        dst: stats(preferred, Some(allowed)),
        imb_numa_nr: sd.imb_numa_nr,
        distance: view.distance(src_node, preferred),
        best: Best {
            cpu: None,
            swap: None,
            gain: 0,
        },
    };
    search.find_cpu(search.own_gain());
    if search.best.cpu.is_none() {
        // The preferred node is full. Another one may still be better than the present.
        for node in (0..view.nr_nodes()).filter(|n| *n != src_node && *n != preferred) {
            if view.node_cpus(node).is_empty() {
                continue;
            }
            search.dst_node = node;
            search.distance = view.distance(src_node, node);
            let gain = search.own_gain();
            if gain < 0 {
                continue;
            }
            search.dst = NodeStats::gather(kernel, domains, view, state, node, Some(allowed), pct);
            search.find_cpu(gain);
        }
    }
    match (search.best.cpu, search.best.swap) {
        (None, _) => Choice::Stay,
        (Some(cpu), None) => Choice::Move(cpu),
        (Some(cpu), Some(with)) => Choice::Swap(cpu, with),
    }
}

impl<V: NumaView + ?Sized> Search<'_, V> {
    /// Share of the faults of `task` on `node`, in 1000ths.
    fn weight(&self, task: TaskId, node: usize) -> i64 {
        let numa = self.domains.numa();
        let limit = if numa.kind == NumaKind::Backplane {
            self.distance
        } else {
            numa.max_distance
        };
        self.view.faults(task).map_or(0, |faults| {
            faults.weight(node, limit, numa, |a, b| self.view.distance(a, b))
        })
    }

    /// What the task gains on the destination's node.
    fn own_gain(&self) -> i64 {
        self.weight(self.task, self.dst_node) - self.weight(self.task, self.src_node)
    }

    /// Looks for a place on the destination's node, where the task gains `gain`.
    ///
    /// # Source
    /// Linux v6.12 `kernel/sched/fair.c`, `task_numa_find_cpu()`.
    #[doc(alias = "task_numa_find_cpu")]
    fn find_cpu(&mut self, gain: i64) {
        let mut may_move = false;
        let by_spare = self.kernel.has(Feature::NUMA_MOVE_TO_SPARE);
        if by_spare && self.dst.node_type == NodeType::HasSpare {
            if self.keeps_nodes_even() {
                may_move = true;
                if let Some(cpu) = self.dst.idle_cpu {
                    self.best = Best {
                        cpu: Some(cpu),
                        swap: None,
                        gain: 0,
                    };
                    return;
                }
            }
        } else {
            may_move = !self.is_too_uneven(self.view.task_h_load(self.task).cast_signed());
        }
        let view = self.view;
        for cpu in view.node_cpus(self.dst_node) {
            let allowed = view.task(self.task).allowed.test(cpu) && view.active().test(cpu);
            if allowed && self.compare(cpu, gain, may_move) {
                break;
            }
        }
    }

    /// Would the destination run few more tasks than the source, after the move?
    fn keeps_nodes_even(&self) -> bool {
        let src = self.src.nr_running.saturating_sub(1);
        let dst = self.dst.nr_running + 1;
        let more = dst.saturating_sub(src);
        let counts = if self.kernel.has(Feature::LB_NUMA_IMB) {
            beyond_numa_leeway(i64::from(more), dst, self.imb_numa_nr)
        } else if dst < self.dst.weight >> 2 && more <= 2 {
            0
        } else {
            i64::from(more)
        };
        counts == 0
    }

    /// Would moving `load` to the destination make the loads of the nodes more uneven?
    ///
    /// # Source
    /// Linux v6.12 `kernel/sched/fair.c`, `load_too_imbalanced()`.
    #[doc(alias = "load_too_imbalanced")]
    fn is_too_uneven(&self, load: i64) -> bool {
        let (src_load, dst_load) = (i128::from(self.src.load), i128::from(self.dst.load));
        let (src_cap, dst_cap) = (i128::from(self.src.capacity), i128::from(self.dst.capacity));
        let load = i128::from(load);
        let before = (dst_load * src_cap - src_load * dst_cap).abs();
        let after = ((dst_load + load) * src_cap - (src_load - load) * dst_cap).abs();
        after > before
    }

    /// Weighs going to `cpu`, alone or in exchange with what runs there. True ends the search.
    ///
    /// # Source
    /// Linux v6.12 `kernel/sched/fair.c`, `task_numa_compare()`.
    #[doc(alias = "task_numa_compare")]
    fn compare(&mut self, cpu: CpuId, gain: i64, may_move: bool) -> bool {
        let view = self.view;
        let Some(other) = view.current(cpu) else {
            if view.nr_running(cpu) > view.h_nr_queued(cpu) {
                // A task of a higher class runs there: neither a place nor a partner.
                return false;
            }
            if may_move && gain >= self.best.gain {
                return self.assign(cpu, None, gain, may_move);
            }
            return false;
        };
        if other == self.task {
            return true;
        }
        if !view.task(other).allowed.test(self.src_cpu) {
            return false;
        }
        let wants = view.preferred_node(other);
        let comes_home = wants == Some(self.src_node);
        let best_comes_home = self
            .best
            .swap
            .is_some_and(|best| view.preferred_node(best) == Some(self.src_node));
        // One that gets to its preferred node is not given up for one that does not.
        if best_comes_home && !comes_home {
            return false;
        }
        let other_gain = self.weight(other, self.src_node) - self.weight(other, self.dst_node);
        let mut both = gain + other_gain;
        if self.kernel.has(Feature::NUMA_SWAP_HOME) {
            if wants == Some(self.dst_node) {
                both -= both / 16;
            }
            if comes_home {
                both += both / 8;
            }
        }
        if may_move && gain > both && gain > self.best.gain {
            return self.assign(cpu, None, gain, may_move);
        }
        let prefers_home = self.kernel.has(Feature::NUMA_SWAP_HOME)
            && self.best.swap.is_some()
            && comes_home
            && !best_comes_home;
        if !prefers_home && (both < SMALL_GAIN || both <= self.best.gain + SMALL_GAIN / 2) {
            return false;
        }
        if !prefers_home {
            let load =
                view.task_h_load(self.task).cast_signed() - view.task_h_load(other).cast_signed();
            if load != 0 && self.is_too_uneven(load) {
                return false;
            }
        }
        self.assign(cpu, Some(other), both, may_move)
    }

    /// Takes a place as the best so far. True ends the search.
    fn assign(&mut self, cpu: CpuId, swap: Option<TaskId>, gain: i64, may_move: bool) -> bool {
        let view = self.view;
        let mut cpu = cpu;
        if swap.is_none() && self.kernel.has(Feature::NUMA_MOVE_TO_SPARE) {
            cpu = self.dst.idle_cpu.unwrap_or(cpu);
            if let Some(best) = self.best.cpu
                && !view.is_idle(cpu)
                && view.is_idle(best)
            {
                cpu = best;
            }
        }
        self.best = Best {
            cpu: Some(cpu),
            swap,
            gain,
        };
        if !self.kernel.has(Feature::NUMA_MOVE_TO_SPARE) {
            return false;
        }
        // Good enough: an idle CPU, or a partner that comes home.
        let home = swap.is_some_and(|t| view.preferred_node(t) == Some(self.src_node));
        (may_move && swap.is_none() && view.is_idle(cpu)) || (!may_move && home)
    }
}
