//! Cache-aware scheduling: which LLC a process prefers, by where its threads have run.
//!
//! Time is cut into epochs. Run time of a process on a CPU, and of all tasks there, is halved at each
//! epoch; their quotient is the occupancy. Once per epoch a process looks at all LLCs: the fullest of
//! it becomes the preferred one when it leads clearly. What follows from a preference is the
//! balancer's business (`fairlab_policy::balance::llc`).
//!
//! Differs from Linux: every LLC is looked at, also where NUMA balancing would leave nodes out; the
//! footprint of a process is its resident memory.

use std::collections::BTreeMap;

use fairlab_kernel::{Feature, Kernel};
use fairlab_pelt::fits_capacity;
use fairlab_topology::{Domains, Machine};
use fairlab_units::{CpuId, CpuMask, Nanos, PerCpu, TaskId};

use fairlab_workload::Program;

use crate::census::Wish;
use crate::engine::Engine;
use crate::world::JIFFIES_AT_START;

/// Run time that fades, and the epoch up to which it has.
#[derive(Clone, Copy, Debug, Default)]
struct Fading {
    ns: u64,
    epoch: u64,
}

impl Fading {
    fn fade(&mut self, epoch: u64) {
        let passed = epoch.saturating_sub(self.epoch);
        self.ns = self
            .ns
            .checked_shr(u32::try_from(passed).unwrap_or(u32::MAX))
            .unwrap_or(0);
        self.epoch = self.epoch.max(epoch);
    }
}

/// A process, as cache-aware scheduling sees it (`struct sched_cache_stat` of the `mm`).
#[derive(Clone, Debug)]
struct Process {
    threads: u32,
    ran: PerCpu<Fading>,
    /// The fullest CPU of the preferred LLC.
    cpu: Option<CpuId>,
    /// The epoch of the last look at all LLCs.
    scanned: u64,
    /// Average number of threads that run at once.
    nr_running: u64,
}

/// The state of cache-aware scheduling.
#[derive(Clone, Debug)]
pub(crate) struct CacheAware {
    is_active: bool,
    /// Length of an epoch in jiffies.
    period: u64,
    processes: BTreeMap<u32, Process>,
    /// Run time of all tasks.
    ran: PerCpu<Fading>,
    /// Size of the LLC of each CPU, KiB; 0 when unknown.
    llc_kb: PerCpu<u64>,
    threads_per_core: u64,
}

/// Share of a process in the run time of a CPU, in 2^20ths.
const fn occupancy(process: u64, all: u64) -> u64 {
    (process << 20) / (all + 1)
}

impl CacheAware {
    pub(crate) fn new(machine: &Machine, domains: &Domains, kernel: &Kernel) -> Self {
        let nr = machine.nr_cpu_ids();
        let online = machine.online();
        let llcs = online.iter().map(|cpu| domains.cached(cpu));
        let first = llcs.clone().next().map(|cached| cached.llc_id);
        let several = llcs.clone().any(|cached| Some(cached.llc_id) != first);
        let wide = llcs.clone().any(|cached| cached.llc_size > 1);
        let llc_kb = PerCpu::from_fn(nr, |cpu| {
            let caches = machine.caches().iter().filter(|c| c.cpus.test(cpu));
            caches.max_by_key(|c| c.level).map_or(0, |c| c.size / 1024)
        });
        Self {
            is_active: kernel.has(Feature::SCHED_CACHE) && several && wide,
            period: (kernel.tunables.hz / 100).max(1),
            processes: BTreeMap::new(),
            ran: PerCpu::from_fn(nr, |_| Fading::default()),
            llc_kb,
            threads_per_core: machine.threads_per_core() as u64,
        }
    }

    /// A task of `process` has come (or gone).
    pub(crate) fn count_thread(&mut self, process: u32, nr_cpus: usize, comes: bool) {
        if !self.is_active || process == Program::OWN_PROCESS {
            return;
        }
        let entry = self.processes.entry(process).or_insert_with(|| Process {
            threads: 0,
            ran: PerCpu::from_fn(0, |_| Fading::default()),
            cpu: None,
            scanned: 0,
            nr_running: 0,
        });
        if comes {
            entry.threads += 1;
            // A process of one thread has no preference, and there may be very many of them.
            if entry.threads == 2 && entry.ran.is_empty() {
                entry.ran = PerCpu::from_fn(nr_cpus, |_| Fading::default());
            }
        } else {
            entry.threads -= 1;
        }
    }

    /// Looks at all LLCs for `process`, of whose threads `running` says where they run.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `task_cache_work()`.
    #[doc(alias = "task_cache_work")]
    fn scan(
        &mut self,
        process: u32,
        epoch: u64,
        domains: &Domains,
        online: &CpuMask,
        llc_size: u64,
        is_running: impl Fn(CpuId) -> bool,
    ) {
        let entry = self.processes.get_mut(&process);
        let Some(entry) = entry.filter(|entry| !entry.ran.is_empty()) else {
            return;
        };
        let mut best = (0, None);
        let mut present = 0;
        let mut running = 0;
        let own = entry.cpu.map(|cpu| domains.cached(cpu).llc_id);
        // Per LLC: the sum, and the fullest CPU with its occupancy.
        let mut llcs: BTreeMap<u32, (u64, u64, CpuId)> = BTreeMap::new();
        for cpu in online {
            self.ran[cpu].fade(epoch);
            entry.ran[cpu].fade(epoch);
            let share = occupancy(entry.ran[cpu].ns, self.ran[cpu].ns);
            running += u64::from(is_running(cpu));
            let id = domains.cached(cpu).llc_id;
            let llc = llcs.entry(id).or_insert((0, 0, cpu));
            llc.0 += share;
            if share > llc.1 {
                (llc.1, llc.2) = (share, cpu);
            }
        }
        for (id, (sum, _, fullest)) in llcs {
            if sum > best.0 {
                best = (sum, Some(fullest));
            }
            if own == Some(id) {
                present = sum;
            }
        }
        if best.0 > 2 * present {
            entry.cpu = best.1;
        }
        let weight = (llc_size / 4).clamp(2, 8).cast_signed();
        let change = (running.cast_signed() - entry.nr_running.cast_signed()) / weight;
        entry.nr_running = entry.nr_running.saturating_add_signed(change);
        entry.scanned = epoch;
    }
}

impl Engine<'_> {
    fn epoch(&self) -> u64 {
        (self.world.jiffies - JIFFIES_AT_START) / self.cache.period
    }

    /// Books the run time of the running fair task of `cpu`, and renews its preference.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `account_mm_sched()`.
    #[doc(alias = "account_mm_sched")]
    pub(crate) fn account_cache(&mut self, cpu: CpuId, id: TaskId) {
        if !self.cache.is_active {
            return;
        }
        let epoch = self.epoch();
        let task = &mut self.world.tasks[id.index()];
        let program = &self.workload.programs[task.program.index()];
        if task.higher.is_some() || program.is_kthread {
            return;
        }
        let ran = task.time.running + (self.now - task.since);
        let delta = ran.saturating_sub(task.cache_booked);
        task.cache_booked = ran;
        let all = &mut self.cache.ran[cpu];
        all.fade(epoch);
        all.ns += delta.0;
        let process = program.process;
        let entry = self.cache.processes.get_mut(&process);
        let Some(entry) = entry.filter(|entry| !entry.ran.is_empty()) else {
            return;
        };
        entry.ran[cpu].fade(epoch);
        entry.ran[cpu].ns += delta.0;
        self.drop_preference(cpu, process, epoch);
        let preferred = self.cache.processes.get(&process).and_then(|p| p.cpu);
        let task = &self.world.tasks[id.index()];
        // A preferred node wins over an LLC elsewhere.
        let preferred = preferred.filter(|cpu| {
            task.wish
                .node
                .is_none_or(|node| node == self.world.nodes[*cpu])
        });
        let llc = preferred.map(|cpu| self.world.domains.cached(cpu).llc_id);
        let wish = Wish { llc, ..task.wish };
        self.set_wish(id, wish);
    }

    /// Has the process outgrown an LLC, or is nothing known of it?
    fn drop_preference(&mut self, cpu: CpuId, process: u32, epoch: u64) {
        let tunables = self.world.kernel.tunables;
        let llc_size = u64::from(self.world.domains.cached(cpu).llc_size);
        let mm = self.memory.of_process(process);
        let footprint = mm
            .filter(|_| self.balances_numa())
            .map(|mm| self.memory.resident_kb(mm));
        let llc_kb = self.cache.llc_kb[cpu];
        let threads_per_core = self.cache.threads_per_core;
        let Some(entry) = self.cache.processes.get_mut(&process) else {
            return;
        };
        let tolerance = tunables.llc_aggr_tolerance;
        let scaled = |limit: u64, step: u64| match tolerance {
            0 => 0,
            1..100 => limit * (1 + (tolerance - 1) * step),
            _ => u64::MAX >> 12,
        };
        let too_many = !fits_capacity(entry.nr_running * threads_per_core, scaled(llc_size, 1));
        let too_big = llc_kb != 0 && footprint.is_some_and(|kb| kb > scaled(llc_kb, 256));
        let too_old = epoch.saturating_sub(entry.scanned) > tunables.llc_epoch_affinity_timeout;
        if entry.threads <= 1 || too_many || too_big || too_old {
            entry.cpu = None;
        }
    }

    /// The tick of a fair task: once per epoch its process looks at all LLCs.
    #[doc(alias = "task_tick_cache")]
    pub(crate) fn tick_cache(&mut self, cpu: CpuId, id: TaskId) {
        if !self.cache.is_active {
            return;
        }
        self.account_cache(cpu, id);
        let epoch = self.epoch();
        let programs = &self.workload.programs;
        let program = &programs[self.world.tasks[id.index()].program.index()];
        let process = program.process;
        let due = self
            .cache
            .processes
            .get(&process)
            .is_some_and(|p| p.scanned != epoch && p.threads > 1);
        if !due || program.is_kthread {
            return;
        }
        let (cpus, tasks) = (&self.world.cpus, &self.world.tasks);
        let is_running = |cpu: CpuId| {
            let c = &cpus[cpu];
            c.curr.is_some_and(|id| {
                let program = &programs[tasks[id.index()].program.index()];
                c.curr_higher.is_none() && program.process == process && !program.is_kthread
            })
        };
        let domains = self.world.domains;
        let llc_size = u64::from(domains.cached(cpu).llc_size);
        self.cache.scan(
            process,
            epoch,
            domains,
            &self.world.active,
            llc_size,
            is_running,
        );
        // One CPU after the other, a line of each.
        let looks = self.world.active.weight() as u64;
        let cost: Nanos = self.costs.group_cpu * looks;
        self.charge(cpu, cost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_time_is_halved_at_each_epoch() {
        let mut ran = Fading {
            ns: 1_000,
            epoch: 3,
        };
        ran.fade(3);
        assert_eq!(ran.ns, 1_000);
        ran.fade(5);
        assert_eq!((ran.ns, ran.epoch), (250, 5));
        ran.fade(500);
        assert_eq!(ran.ns, 0);
    }

    #[test]
    fn occupancy_is_the_share_in_the_run_time_of_a_cpu() {
        assert_eq!(occupancy(500, 999), 1 << 19);
        assert_eq!(occupancy(0, 0), 0);
    }
}
