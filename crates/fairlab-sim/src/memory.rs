//! The memory of the run: on which nodes it is, and what that costs those who use it.
//!
//! A page of this model has 2 MiB. A task walks through its regions while it runs; what it has walked
//! is booked at ticks. The first touch places a page; one that NUMA balancing has marked faults (see
//! `numa.rs`). What lies on other nodes slows the task down by the machine's distances.

use fairlab_policy::numa::Toucher;
use fairlab_rng::Rng;
use fairlab_topology::Machine;
use fairlab_units::{CpuId, Nanos, TaskId};
use fairlab_workload::{Home, Program, Workload};

use crate::costs::CostTable;
use crate::engine::Engine;

/// Size of a page, KiB.
pub(crate) const PAGE_KB: u64 = 2_048;

/// A page.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Page {
    /// Where it is; nowhere before the first touch.
    pub(crate) node: Option<u16>,
    /// The next touch faults.
    pub(crate) is_marked: bool,
    /// Who took the last fault on it.
    pub(crate) last: Option<Toucher>,
}

/// A region of the run.
#[derive(Clone, Debug)]
pub(crate) struct RegionState {
    pub(crate) pages: Vec<Page>,
    /// Pages per node.
    pub(crate) on: Vec<u32>,
}

impl RegionState {
    pub(crate) fn put(&mut self, page: usize, node: usize) {
        if let Some(old) = self.pages[page].node.replace(node as u16) {
            self.on[usize::from(old)] -= 1;
        }
        self.on[node] += 1;
    }
}

/// The memory of a process (`mm_struct`).
#[derive(Clone, Debug)]
pub(crate) struct Mm {
    process: u32,
    pub(crate) regions: Vec<usize>,
    /// When it is scanned next, jiffies; none before its first task asks.
    pub(crate) next_scan: Option<u64>,
    /// Scans of all of it.
    pub(crate) scans: u32,
    /// The next page to scan, as position in `regions` and in the region.
    pub(crate) cursor: (usize, usize),
}

/// How a task uses a region.
#[derive(Clone, Copy, Debug)]
struct Walk {
    region: usize,
    mb_per_ms: u32,
    /// Next page.
    page: usize,
    /// What was walked of it, in ns times MiB per ms.
    part: u64,
}

/// The memory of a task.
#[derive(Clone, Debug)]
pub(crate) struct TaskMemory {
    pub(crate) mm: usize,
    walks: Vec<Walk>,
    /// The region of each walk that is the task's own.
    own: Vec<usize>,
    bound: u32,
    /// Running time up to which the walk is booked.
    booked: Nanos,
}

/// All memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    pub(crate) regions: Vec<RegionState>,
    pub(crate) mms: Vec<Mm>,
    shared: Vec<Option<usize>>,
    nr_nodes: usize,
    /// Time of an access from a node to another, in 1024ths of a local one.
    latency: Vec<Vec<u64>>,
}

impl Memory {
    pub(crate) fn new(machine: &Machine, workload: &Workload, costs: &CostTable) -> Self {
        let percent =
            |distance: u32| 100 + u64::from(distance.saturating_sub(10)) * costs.remote_memory / 10;
        Self {
            regions: Vec::new(),
            mms: Vec::new(),
            shared: vec![None; workload.regions.len()],
            nr_nodes: machine.nodes().len(),
            latency: machine
                .nodes()
                .iter()
                .map(|n| {
                    n.distances
                        .iter()
                        .map(|d| percent(*d) * 1024 / 100)
                        .collect()
                })
                .collect(),
        }
    }

    /// The memory of a new task; none if its program says nothing about it. It begins to walk
    /// anywhere: tasks that walked in step would leave all faults to the first of them.
    pub(crate) fn of_task(
        &mut self,
        workload: &Workload,
        program: &Program,
        mut rng: Rng,
    ) -> Option<TaskMemory> {
        if program.memory.is_empty() {
            return None;
        }
        let known = self.of_process(program.process);
        let mm = known.unwrap_or_else(|| {
            self.mms.push(Mm {
                process: program.process,
                regions: Vec::new(),
                next_scan: None,
                scans: 0,
                cursor: (0, 0),
            });
            self.mms.len() - 1
        });
        let mut own = Vec::new();
        let mut walks = Vec::new();
        for used in &program.memory {
            let spec = workload.regions.get(used.region.index())?;
            let known = self.shared[used.region.index()].filter(|_| spec.is_shared);
            let region = known.unwrap_or_else(|| self.add(mm, spec.mb, spec.home));
            if spec.is_shared {
                self.shared[used.region.index()] = Some(region);
            } else {
                own.push(region);
            }
            walks.push(Walk {
                region,
                mb_per_ms: used.mb_per_ms,
                page: rng.below(self.regions[region].pages.len() as u64) as usize,
                part: 0,
            });
        }
        Some(TaskMemory {
            mm,
            walks,
            own,
            bound: program.memory_bound.min(100),
            booked: Nanos::ZERO,
        })
    }

    fn add(&mut self, mm: usize, mb: u32, home: Home) -> usize {
        let pages = (u64::from(mb) * 1024).div_ceil(PAGE_KB).max(1) as usize;
        let mut region = RegionState {
            pages: vec![Page::default(); pages],
            on: vec![0; self.nr_nodes],
        };
        if let Home::Node(node) = home {
            let node = (node as usize).min(self.nr_nodes - 1);
            (0..pages).for_each(|page| region.put(page, node));
        }
        self.regions.push(region);
        self.mms[mm].regions.push(self.regions.len() - 1);
        self.regions.len() - 1
    }

    /// Marks the next `mb` MiB of a process, so that touching them faults. Returns the number of pages
    /// looked at.
    #[doc(alias = "change_prot_numa")]
    pub(crate) fn mark(&mut self, mm: usize, mb: u64) -> u64 {
        let mm = &mut self.mms[mm];
        let wanted = (mb * 1024 / PAGE_KB).max(1);
        let mut looked = 0;
        let (mut at, mut page) = mm.cursor;
        while looked < wanted {
            let Some(region) = mm.regions.get(at) else {
                // All of it has been seen; a process of little memory is not marked twice at once.
                (at, page) = (0, 0);
                mm.scans += 1;
                break;
            };
            match self.regions[*region].pages.get_mut(page) {
                Some(state) => {
                    state.is_marked = state.node.is_some();
                    looked += 1;
                    page += 1;
                }
                None => (at, page) = (at + 1, 0),
            }
        }
        mm.cursor = (at, page);
        looked
    }

    /// Frees what only this task used.
    pub(crate) fn free(&mut self, memory: &TaskMemory) {
        for region in &memory.own {
            self.regions[*region].pages = Vec::new();
            self.regions[*region].on.fill(0);
        }
    }

    /// The memory of a process.
    pub(crate) fn of_process(&self, process: u32) -> Option<usize> {
        let of = |mm: &Mm| mm.process == process && process != Program::OWN_PROCESS;
        self.mms.iter().position(of)
    }

    /// Memory of a process that is somewhere, KiB.
    pub(crate) fn resident_kb(&self, mm: usize) -> u64 {
        let regions = self.mms[mm].regions.iter();
        let on = regions.flat_map(|region| &self.regions[*region].on);
        on.map(|pages| u64::from(*pages)).sum::<u64>() * PAGE_KB
    }

    /// Speed of a task with `memory` on `node`, in 1024ths of that with all memory local.
    fn speed(&self, memory: &TaskMemory, node: usize) -> u32 {
        let (mut time, mut accesses) = (0, 0);
        for walk in &memory.walks {
            let rate = u64::from(walk.mb_per_ms);
            let region = &self.regions[walk.region];
            for (other, pages) in region.on.iter().enumerate() {
                let weight = rate * u64::from(*pages);
                time += weight * self.latency[node][other];
                accesses += weight;
            }
        }
        if accesses == 0 {
            return 1024;
        }
        let bound = u64::from(memory.bound);
        let slowed = (100 - bound) * 1024 + bound * (time / accesses);
        u32::try_from(100 * 1024 * 1024 / slowed)
            .unwrap_or(1024)
            .max(1)
    }

    /// Share of the pages of a task that are on each node, in 1000ths.
    pub(crate) fn shares(&self, memory: &TaskMemory) -> Vec<u64> {
        let mut on = vec![0u64; self.nr_nodes];
        for walk in &memory.walks {
            for (node, pages) in self.regions[walk.region].on.iter().enumerate() {
                on[node] += u64::from(*pages);
            }
        }
        let all: u64 = on.iter().sum::<u64>().max(1);
        on.iter().map(|n| n * 1000 / all).collect()
    }
}

impl Engine<'_> {
    /// Sets the speed of a task that is on `cpu` by where its memory is.
    pub(crate) fn set_memory_speed(&mut self, cpu: CpuId, id: TaskId) {
        let node = self.world.nodes[cpu];
        let task = &mut self.world.tasks[id.index()];
        if let Some(memory) = &task.memory {
            task.speed = self.memory.speed(memory, node);
        }
    }

    /// Books what the running task of `cpu` has walked of its memory, with the faults that this
    /// takes. True when it took faults that NUMA balancing wants.
    pub(crate) fn walk_memory(&mut self, cpu: CpuId, id: TaskId) -> bool {
        let task = &mut self.world.tasks[id.index()];
        let Some(mut memory) = task.memory.take() else {
            return false;
        };
        let ran = task.time.running + (self.now - task.since);
        let span = ran.saturating_sub(memory.booked);
        memory.booked = ran;
        let node = self.world.nodes[cpu];
        let mut cost = Nanos::ZERO;
        let mut faulted = false;
        for walk in &mut memory.walks {
            let nr = self.memory.regions[walk.region].pages.len();
            let walked = span.0 * u64::from(walk.mb_per_ms) + walk.part;
            let page_ns = PAGE_KB / 1024 * 1_000_000;
            walk.part = walked % page_ns;
            // Walking over all of it twice between two ticks changes nothing more.
            for _ in 0..(walked / page_ns).min(nr as u64) {
                let region = &mut self.memory.regions[walk.region];
                let page = region.pages[walk.page];
                if page.node.is_none() {
                    region.put(walk.page, node);
                    cost += self.costs.page_clear;
                } else if page.is_marked {
                    cost += self.hinting_fault(id, memory.mm, walk.region, walk.page, node);
                    faulted = true;
                }
                walk.page = (walk.page + 1) % nr;
            }
        }
        self.world.tasks[id.index()].memory = Some(memory);
        self.charge(cpu, cost);
        self.set_memory_speed(cpu, id);
        faulted
    }
}
