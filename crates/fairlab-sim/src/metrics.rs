//! What a run measured.

use fairlab_topology::Distance;
use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};
use fairlab_workload::ProgramId;

use crate::loops::{Lap, LoopRow};

/// Counts over a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events due that were handled.
    pub steps: u64,
    /// Context switches, to and from idle included.
    pub switches: u64,
    /// Switches of a task that would have gone on.
    pub preemptions: u64,
    /// Wakeups.
    pub wakeups: u64,
    /// Moves to another CPU, by distance, nearest first; placement and balancing together.
    pub migrations: [u64; 6],
    /// Moves by the balancer.
    pub balance_moves: u64,
    /// Balancing passes of all kinds.
    pub balance_passes: u64,
    /// Attempts to balance a domain that found a busiest group.
    pub balance_found: u64,
    /// Stretches of memory that NUMA balancing marked.
    pub numa_scans: u64,
    /// Faults on marked memory.
    pub numa_faults: u64,
    /// Pages of 2 MiB that went to another node.
    pub numa_pages_moved: u64,
    /// Tasks that NUMA balancing moved to their preferred node.
    pub numa_moves: u64,
    /// Pairs of tasks that it swapped.
    pub numa_swaps: u64,
    /// Forks.
    pub forks: u64,
    /// Exits.
    pub exits: u64,
    /// Tasks that became another program.
    pub execs: u64,
    /// CPU time spent in the scheduler: switches, wakeups, searches, balancing, ticks.
    pub scheduler: Nanos,
    /// CPU time of that spent waiting for locks of runqueues.
    pub lock_wait: Nanos,
    /// CPUs probed while searching.
    pub probes: u64,
    /// Placements.
    pub placements: u64,
    /// Wakeups and forks by what the task got and what it could have had, see [`crate::Found`] and
    /// [`crate::Missed`]. Those that the kernel decides without a search are among them.
    pub found: [[u64; 4]; 3],
    /// Placements where the kernel asked beside answered another CPU or reason.
    pub beside_differs: u64,
}

impl Counts {
    pub(crate) fn migrated(&mut self, distance: Distance) {
        self.migrations[distance as usize] += 1;
    }
}

/// Time of a CPU: `busy + idle` is the elapsed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// A task ran, or the kernel did on its behalf.
    pub busy: Nanos,
    /// Nothing to run.
    pub idle: Nanos,
}

/// Time of a task: `running + waiting + sleeping` is its lifetime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskTime {
    /// On a CPU.
    pub running: Nanos,
    /// Runnable, not on a CPU.
    pub waiting: Nanos,
    /// Asleep.
    pub sleeping: Nanos,
}

/// Time of a task group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupTime {
    /// CPU time of its tasks, and of those of the groups in it.
    pub cpu: Nanos,
    /// Time that its queues were throttled, on all CPUs together; groups around it do not count.
    pub throttled: Nanos,
    /// How often a queue of it was throttled.
    pub nr_throttled: u64,
}

impl GroupTime {
    /// What came after `before`, an earlier reading.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            cpu: self.cpu - before.cpu,
            throttled: self.throttled - before.throttled,
            nr_throttled: self.nr_throttled - before.nr_throttled,
        }
    }
}

/// What a finished run says.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// Since when figures count: the start, or the point from which the run went on otherwise.
    pub began: Timestamp,
    /// When it ended.
    pub end: Timestamp,
    /// Samples of each metric of the workload, in the order of time.
    pub samples: Vec<Vec<u64>>,
    /// Counts.
    pub counts: Counts,
    /// What of them was counted before the end of the workload's warm-up.
    pub warmup_counts: Counts,
    /// Placements by reason name, sorted by name.
    pub reasons: Vec<(&'static str, u64)>,
    /// Delay of each wakeup from the wakeup to the first instruction, by the task's distance moved:
    /// in ns, in the order of time.
    pub wakeup_delay: Vec<u64>,
    /// Time per CPU.
    pub cpu_time: Vec<(CpuId, CpuTime)>,
    /// Time per task, over its life.
    pub task_time: Vec<(TaskId, TaskTime)>,
    /// Time per task group, in the order of the workload.
    pub groups: Vec<GroupTime>,
    /// Which program each task ran, by number.
    pub programs: Vec<ProgramId>,
    /// The passes of loops, in the order of their ends, where the workload logs them.
    pub loops: Vec<LoopRow>,
    /// How far tasks had come at their laps, in the order of time.
    pub laps: Vec<Lap>,
    /// Where the memory of each living task is at the end: the share of each node, in 1000ths.
    pub task_memory: Vec<(TaskId, Vec<u64>)>,
    /// Hash over all events, for determinism checks.
    pub event_hash: u64,
    /// Number of events.
    pub events: u64,
}
