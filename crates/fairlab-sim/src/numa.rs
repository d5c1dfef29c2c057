//! Automatic NUMA balancing: scans, faults, and moves of tasks to their memory.
//!
//! The policy says how; here it is driven: at ticks, where the kernel does the same on the way back to
//! the program.

use fairlab_kernel::Feature;
use fairlab_policy::numa::{Choice, Faults, Toucher, next_period, page_moves, scan_min};
use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};

use crate::census::Wish;
use crate::engine::Engine;
use crate::memory::PAGE_KB;
use crate::task::Phase;

/// What NUMA balancing keeps of a task.
#[derive(Clone, Debug)]
pub(crate) struct NumaTask {
    pub(crate) faults: Faults,
    /// The number of scans of its process that its faults were last placed at.
    scans: u32,
    /// Time between scans that it asks for, ms.
    period_ms: u64,
    /// Running time at which it last asked for a scan; none before the first.
    stamp: Option<u64>,
    /// When it may try again to move to its preferred node, jiffies.
    retry: u64,
    /// When its faults were last placed, and its running time then.
    placed: (Timestamp, Nanos),
}

impl NumaTask {
    pub(crate) fn new(nodes: usize, delay_ms: u64, now: Timestamp) -> Self {
        Self {
            faults: Faults::new(nodes),
            scans: 0,
            period_ms: delay_ms,
            stamp: None,
            retry: 0,
            placed: (now, Nanos::ZERO),
        }
    }
}

impl Engine<'_> {
    /// Does the kernel balance between the nodes of this machine?
    pub(crate) fn balances_numa(&self) -> bool {
        self.world.kernel.has(Feature::NUMA_BALANCING) && self.world.nr_nodes() > 1
    }

    /// The memory part of the tick of a fair task.
    pub(crate) fn tick_memory(&mut self, cpu: CpuId, id: TaskId) {
        let faulted = self.walk_memory(cpu, id);
        if self.world.tasks[id.index()].numa.is_none() {
            return;
        }
        self.ask_for_scan(cpu, id);
        if faulted {
            self.place_faults(id);
            self.go_to_preferred(cpu, id);
        }
    }

    fn running_time(&self, id: TaskId) -> Nanos {
        let task = &self.world.tasks[id.index()];
        if task.phase == Phase::Running {
            task.time.running + (self.now - task.since)
        } else {
            task.time.running
        }
    }

    /// Scans memory of the process when the task has run long enough and nobody else did.
    ///
    /// # Source
    /// Linux v6.12 `kernel/sched/fair.c`, `task_tick_numa()`, `task_numa_work()`, from memory.
    #[doc(alias = "task_tick_numa", alias = "task_numa_work")]
    fn ask_for_scan(&mut self, cpu: CpuId, id: TaskId) {
        let ran = self.running_time(id).0;
        let jiffies = self.world.jiffies;
        let kernel = self.world.kernel;
        let hz = kernel.tunables.hz;
        let task = &mut self.world.tasks[id.index()];
        let (Some(memory), Some(numa)) = (&task.memory, &mut task.numa) else {
            return;
        };
        let (mm, delay) = (memory.mm, kernel.tunables.numa_scan_delay_ms);
        if ran <= numa.stamp.unwrap_or(0) + numa.period_ms * 1_000_000 {
            return;
        }
        let resident = self.memory.resident_kb(mm);
        if numa.stamp.is_none() {
            numa.period_ms = scan_min(&kernel, resident);
        }
        numa.stamp = Some(numa.stamp.unwrap_or(0) + numa.period_ms * 1_000_000);
        let to_jiffies = |ms: u64| (ms * hz).div_ceil(1_000);
        let next_scan = &mut self.memory.mms[mm].next_scan;
        if jiffies < *next_scan.get_or_insert(jiffies + to_jiffies(delay)) {
            return;
        }
        let next = jiffies + to_jiffies(numa.period_ms);
        self.memory.mms[mm].next_scan = Some(next);
        let marked = self.memory.mark(mm, kernel.tunables.numa_scan_size_mb);
        self.charge(cpu, self.costs.page_mark * marked);
        self.counts.numa_scans += 1;
    }

    /// The task touched a marked page. Returns what the fault costs.
    ///
    /// # Source
    /// Linux v6.12 `mm/memory.c`, `do_numa_page()`, from memory.
    #[doc(alias = "do_numa_page")]
    pub(crate) fn hinting_fault(
        &mut self,
        id: TaskId,
        mm: usize,
        region: usize,
        page: usize,
        node: usize,
    ) -> Nanos {
        let mut cost = self.costs.hint_fault;
        self.counts.numa_faults += 1;
        let scans = self.memory.mms[mm].scans;
        let region = &mut self.memory.regions[region];
        let state = &mut region.pages[page];
        state.is_marked = false;
        let Some(home) = state.node.map(usize::from) else {
            return cost;
        };
        let task = &mut self.world.tasks[id.index()];
        let has_preferred = task.wish.node.is_some();
        let Some(numa) = &mut task.numa else {
            return cost;
        };
        let now = Toucher { task: id, node };
        let last = state.last.replace(now);
        let private = last.is_none_or(|last| last.task == id);
        let moves = home != node && page_moves(last, now, scans, has_preferred);
        if moves {
            region.put(page, node);
            cost += self.costs.page_copy;
            self.counts.numa_pages_moved += 1;
        }
        let memory = if moves { node } else { home };
        let pages = PAGE_KB / 4;
        numa.faults
            .record(memory, node, pages, private, home == node);
        cost
    }

    /// Once per scan of all memory: which node does the task prefer?
    fn place_faults(&mut self, id: TaskId) {
        let now = self.now;
        let ran = self.running_time(id);
        let kernel = self.world.kernel;
        let task = &mut self.world.tasks[id.index()];
        let (Some(memory), Some(numa)) = (&task.memory, &mut task.numa) else {
            return;
        };
        let scans = self.memory.mms[memory.mm].scans;
        if numa.scans == scans || self.world.jiffies < numa.retry {
            return;
        }
        numa.scans = scans;
        let resident = self.memory.resident_kb(memory.mm);
        let (placed_at, ran_then) = numa.placed;
        numa.placed = (now, ran);
        let span = now - placed_at;
        let placement = numa.faults.place((ran - ran_then).0, span.0);
        let locality = numa.faults.take_locality();
        let faults = (placement.shared, placement.private);
        numa.period_ms = next_period(&kernel, resident, numa.period_ms, faults, locality);
        let wish = Wish {
            node: placement.preferred.or(task.wish.node),
            ..task.wish
        };
        self.set_wish(id, wish);
    }

    /// Gives a task another wish, and its CPU's queue the count that follows.
    pub(crate) fn set_wish(&mut self, id: TaskId, wish: Wish) {
        let task = &mut self.world.tasks[id.index()];
        if task.wish != wish {
            let queue = &mut self.world.cpus[task.cpu].queue;
            queue.census.change(task, wish);
        }
    }

    /// Moves the running task of `cpu` to the node that it prefers, if there is a good place.
    #[doc(alias = "numa_migrate_preferred")]
    fn go_to_preferred(&mut self, cpu: CpuId, id: TaskId) {
        let kernel = self.world.kernel;
        let (jiffies, hz) = (self.world.jiffies, kernel.tunables.hz);
        let node = self.world.nodes[cpu];
        let task = &mut self.world.tasks[id.index()];
        let Some(preferred) = task.wish.node else {
            return;
        };
        let Some(numa) = &mut task.numa else { return };
        if jiffies < numa.retry {
            return;
        }
        let wait = (numa.period_ms * hz).div_ceil(1_000) / 16;
        numa.retry = jiffies + wait.clamp(1, hz);
        if preferred == node {
            return;
        }
        match self.choose_numa_cpu(id, cpu, node) {
            Choice::Stay => {}
            Choice::PreferOwnNode => {
                let wish = self.world.tasks[id.index()].wish;
                self.set_wish(
                    id,
                    Wish {
                        node: Some(node),
                        ..wish
                    },
                );
            }
            Choice::Move(dst) => {
                self.counts.numa_moves += 1;
                self.stop_current(cpu);
                self.move_queued(id, cpu, dst, cpu);
                self.restart(cpu);
            }
            Choice::Swap(dst, other) => {
                self.counts.numa_swaps += 1;
                self.stop_current(cpu);
                self.stop_current(dst);
                self.move_queued(id, cpu, dst, cpu);
                self.move_queued(other, dst, cpu, cpu);
                self.restart(cpu);
                self.restart(dst);
            }
        }
    }
}
