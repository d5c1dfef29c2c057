//! What the hardware and the kernel's own code cost a task: a table of numbers, nothing hidden.
//!
//! Times are in nanoseconds of the CPU that pays. Every default names where it comes from; none is
//! fitted to a workload.

use std::collections::BTreeMap;

use fairlab_topology::{Domains, Machine};
use fairlab_units::{CpuId, Nanos};

/// How far two CPUs are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distance {
    /// The same CPU.
    SameCpu,
    /// Threads of one core.
    SameCore,
    /// One cluster (L2 or tag).
    SameCluster,
    /// One last-level cache.
    SameLlc,
    /// One NUMA node.
    SameNode,
    /// Different nodes.
    Remote,
}

impl Distance {
    /// All distances, nearest first.
    pub const ALL: [Self; 6] = [
        Self::SameCpu,
        Self::SameCore,
        Self::SameCluster,
        Self::SameLlc,
        Self::SameNode,
        Self::Remote,
    ];

    /// As tables call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SameCpu => "same CPU",
            Self::SameCore => "same core",
            Self::SameCluster => "same cluster",
            Self::SameLlc => "same LLC",
            Self::SameNode => "same node",
            Self::Remote => "other node",
        }
    }
}

/// Distances between CPUs, from the hardware's sharing (whatever the kernel makes of it).
#[derive(Clone, Debug)]
pub struct Distances {
    /// Per CPU: core, cluster, LLC, node.
    keys: Vec<[u32; 4]>,
    /// Per CPU: which of [`Self::llcs`] is its own.
    llc_of: Vec<usize>,
    /// The CPUs of each LLC, ascending.
    llcs: Vec<Vec<CpuId>>,
}

impl Distances {
    /// The distances of `machine`.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let mut keys = vec![[u32::MAX; 4]; machine.nr_cpu_ids()];
        for cpu in machine.cpus() {
            // A fact that is not known is shared with nobody: own number, above all real ones.
            let alone = u32::MAX / 2 + cpu.id.0;
            keys[cpu.id.index()] = [
                cpu.core,
                cpu.cluster.unwrap_or(alone),
                cpu.llc.unwrap_or(alone),
                cpu.node.0,
            ];
        }
        let mut by_llc: BTreeMap<u32, Vec<CpuId>> = BTreeMap::new();
        for cpu in machine.cpus() {
            by_llc
                .entry(keys[cpu.id.index()][2])
                .or_default()
                .push(cpu.id);
        }
        let mut llc_of = vec![usize::MAX; machine.nr_cpu_ids()];
        for (index, cpus) in by_llc.values().enumerate() {
            for cpu in cpus {
                llc_of[cpu.index()] = index;
            }
        }
        Self {
            keys,
            llc_of,
            llcs: by_llc.into_values().collect(),
        }
    }

    /// The CPUs that share the last-level cache with `cpu`, itself included.
    #[must_use]
    pub fn llc(&self, cpu: CpuId) -> &[CpuId] {
        self.llc_of
            .get(cpu.index())
            .and_then(|&llc| self.llcs.get(llc))
            .map_or(&[], Vec::as_slice)
    }

    /// How far `a` and `b` are apart.
    #[must_use]
    pub fn between(&self, a: CpuId, b: CpuId) -> Distance {
        if a == b {
            return Distance::SameCpu;
        }
        let (a, b) = (&self.keys[a.index()], &self.keys[b.index()]);
        let shared = a.iter().zip(b).position(|(a, b)| a == b);
        match shared {
            Some(0) => Distance::SameCore,
            Some(1) => Distance::SameCluster,
            Some(2) => Distance::SameLlc,
            Some(_) => Distance::SameNode,
            None => Distance::Remote,
        }
    }
}

/// A cost per [`Distance`], nearest first.
pub type ByDistance = [Nanos; 6];

/// The table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostTable {
    /// Direct cost of a context switch. lmbench `lat_ctx -s 0 2` on servers of 2018 to 2024: 0.9 to
    /// 1.5 us.
    pub context_switch: Nanos,
    /// A wakeup in the waker, without the search for a CPU: locks, enqueue, preemption test.
    /// `perf trace` of futex wakes on x86 servers: 0.5 to 1 us.
    pub wakeup: Nanos,
    /// From the interrupt's sending to the first instruction on the target. Published IPI
    /// benchmarks (`ipi_benchmark` on x86 and arm64 servers): 0.5 us near, 1 to 2 us across nodes.
    pub ipi: ByDistance,
    /// Reading a line that another CPU wrote (its runqueue) while searching. Core-to-core
    /// latency measurements: 20 to 40 ns inside an LLC, 60 to 100 ns inside a node, 110 to 200 ns
    /// across nodes; about half overlaps with other reads.
    pub probe: ByDistance,
    /// One operation on a CPU mask, per 64-bit word.
    pub mask_word: Nanos,
    /// Gathering the statistics of one CPU in the slow path or the balancer, beside the probe.
    pub group_cpu: Nanos,
    /// Examining one task for migration.
    pub migrate_task: Nanos,
    /// Work of a timer interrupt with a busy CPU.
    pub tick: Nanos,
    /// Taking a task in from the wakeup list.
    pub wake_list: Nanos,
    /// What a task loses by a move, through cold caches. Working sets of some tens of KiB; between
    /// nodes about 100 KiB at 10 GB/s.
    pub refill: ByDistance,
    /// Leaving idle: `(idle for at least, exit latency)`, shallow first. C1 and a deep state as
    /// listed by `cpuidle` drivers (intel_idle, acpi_idle on EPYC).
    pub idle_exit: [(Nanos, Nanos); 3],
    /// Fork in the parent. lmbench fork+exit of a small process is 60 to 300 us in all.
    pub fork: Nanos,
    /// A new thread in the parent (`clone` with shared memory). lmbench and `pthread_create`
    /// measurements: 10 to 25 us, against 60 and more for a process.
    pub clone_thread: Nanos,
    /// `execve` in the task itself, until the new program's first instruction, page faults of its
    /// start not included. lmbench's fork+execve takes 3 to 5 times as long as its fork+exit; about
    /// half of the difference is spent in the call.
    pub exec: Nanos,
    /// Exit.
    pub exit: Nanos,
    /// A change of a task's affinity or nice value, in the caller: a system call, and the task taken
    /// off its queue and put back, which is about the work of a wakeup.
    pub set_attribute: Nanos,
    /// A fault on memory that NUMA balancing has marked, without moving it. Huge-page faults take 1
    /// to 2 us (`perf trace -F all` on x86 servers).
    pub hint_fault: Nanos,
    /// Marking a page of 2 MiB: one entry of the page table, and its share of the flush.
    pub page_mark: Nanos,
    /// Clearing a page of 2 MiB at its first touch: 10 GB/s.
    pub page_clear: Nanos,
    /// Copying a page of 2 MiB from another node: 7 GB/s.
    pub page_copy: Nanos,
    /// By how many percent an access to memory takes longer for every 10 of distance beyond the
    /// local 10. Intel MLC on two-socket Xeons of 2017 to 2023 (distance 21): 80 to 90 ns local, 130
    /// to 150 ns remote.
    pub remote_memory_percent: u64,
    /// Speed of each busy thread of a core, by the number of busy threads (1, 2, ...), in 1024ths.
    pub smt_speed: [u32; 8],
}

impl Default for CostTable {
    fn default() -> Self {
        let us = |n: u64| Nanos(n * 1_000);
        Self {
            context_switch: Nanos(1_200),
            wakeup: Nanos(800),
            ipi: [
                Nanos(0),
                Nanos(400),
                Nanos(500),
                Nanos(700),
                Nanos(1_000),
                Nanos(1_600),
            ],
            probe: [
                Nanos(1),
                Nanos(4),
                Nanos(10),
                Nanos(18),
                Nanos(40),
                Nanos(80),
            ],
            mask_word: Nanos(2),
            group_cpu: Nanos(12),
            migrate_task: Nanos(120),
            tick: Nanos(1_500),
            wake_list: Nanos(300),
            refill: [Nanos(0), Nanos(0), us(1), us(3), us(8), us(15)],
            idle_exit: [(Nanos(0), Nanos(300)), (us(20), us(2)), (us(600), us(30))],
            fork: us(60),
            clone_thread: us(15),
            exec: us(150),
            exit: us(25),
            set_attribute: Nanos(800),
            hint_fault: Nanos(1_500),
            page_mark: Nanos(300),
            page_clear: us(200),
            page_copy: us(300),
            remote_memory_percent: 60,
            // SMT2 gains about 25 percent in throughput, SMT4 about 60, SMT8 about 90 (published
            // Power9 and x86 SMT scaling).
            smt_speed: [1024, 640, 500, 410, 345, 300, 268, 243],
        }
    }
}

impl CostTable {
    /// Latency of leaving idle after `idle` time.
    #[must_use]
    pub fn idle_exit_after(&self, idle: Nanos) -> Nanos {
        self.idle_exit
            .iter()
            .rev()
            .find(|(least, _)| idle >= *least)
            .map_or(Nanos::ZERO, |e| e.1)
    }

    /// Speed of a thread in a core with `busy` busy threads, in 1024ths.
    #[must_use]
    pub fn speed(&self, busy: usize) -> u32 {
        self.smt_speed[busy.clamp(1, 8) - 1]
    }

    /// Time that a search took, by the counts of the kernel's own scan, on a machine whose masks
    /// have `words` words. Probes are charged at the typical distance of an LLC mate.
    #[must_use]
    pub fn search(&self, cost: &fairlab_policy::Cost, words: u64) -> Nanos {
        let near = self.probe[Distance::SameLlc as usize];
        Nanos(
            u64::from(cost.idle_tests) * near.0
                + u64::from(cost.mask_ops) * words * self.mask_word.0
                + u64::from(cost.bit_clears) * self.mask_word.0
                + u64::from(cost.group_cpus) * (near.0 + self.group_cpu.0),
        )
    }
}

/// Number of words in a CPU mask of these domains.
#[must_use]
pub fn mask_words(domains: &Domains) -> u64 {
    domains.nr_cpu_ids().div_ceil(64) as u64
}
