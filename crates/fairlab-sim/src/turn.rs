//! A run that goes on otherwise from a point: under another kernel, or with other chances.
//!
//! Whoever saved a point kept the inputs of the run and the time; the state at that time is made again
//! by running up to it, which the hash of the events proves. Then the turn replaces what belongs to the
//! kernel and keeps what belongs to the tasks:
//!
//! ```text
//!   kept      where tasks are, what they have done and are owed, PELT signals, sleepers, timers,
//!             wakeups on their way, idle times, frequencies, memory, caches
//!   anew      domains, balancing turns and their intervals, hints about idle cores, scan costs,
//!             preferred LLCs, slices and deadlines where the old kernel has none
//! ```

use std::sync::Arc;

use fairlab_kernel::{Feature, Kernel};
use fairlab_pelt::OnQueue;
use fairlab_policy::IdleMasks;
use fairlab_policy::balance::BalanceState;
use fairlab_rng::Rng;
use fairlab_runqueue::RqConfig;
use fairlab_topology::{Domains, Machine};
use fairlab_units::{CpuId, Nanos, PerCpu, Timestamp};

use crate::attributes::SpreadOver;
use crate::balance::scatter;
use crate::cache_aware::CacheAware;
use crate::census::Census;
use crate::costs::mask_words;
use crate::cpu::Noted;
use crate::engine::{Engine, SimError};
use crate::metrics::{Counts, CpuTime, TaskTime};
use crate::numa::NumaTask;
use crate::task::Phase;
use crate::world::Shared;

/// How a run goes on from a point.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// When. What is due at that time still happens before.
    pub at: Timestamp,
    /// The hash that the events up to then must have, if it is known.
    pub event_hash: Option<u64>,
    /// The kernel that schedules from then on, and the machine's domains under it; the same as before
    /// when not given.
    pub kernel: Option<(Kernel, &'a Domains)>,
    /// Seed of the chances from then on; they go on as they were when not given.
    pub seed: Option<u64>,
}

impl<'a> Engine<'a> {
    /// Makes the turn. What is measured begins now.
    pub(crate) fn turn(&mut self, machine: &Machine, turn: &Turn<'a>) -> Result<(), SimError> {
        if turn
            .event_hash
            .is_some_and(|hash| hash != self.event_hash())
        {
            return Err(SimError::OtherPast { at: turn.at });
        }
        self.now = turn.at;
        self.measure_anew();
        if let Some((kernel, domains)) = turn.kernel {
            if kernel.tunables.tick_ns() != self.tick.0 {
                return Err(SimError::OtherTick);
            }
            // The averages of groups, and who of them is throttled how, have no other terms yet.
            if !self.workload.groups.is_empty() {
                return Err(SimError::GroupsKeepKernel);
            }
            self.change_kernel(machine, kernel, domains, turn.seed.unwrap_or(self.seed));
        }
        if let Some(seed) = turn.seed {
            self.seed = seed;
            self.newidle_rng = Rng::stream(seed, "newidle");
            for task in &mut self.world.tasks {
                task.rng = Rng::stream(seed, &format!("task {}", task.id.0));
            }
        }
        Ok(())
    }

    /// Forgets what was measured so far.
    fn measure_anew(&mut self) {
        let now = self.now;
        self.began = now;
        self.groups_at_began = self.group_times();
        for cpu in &self.world.all.clone() {
            let c = &mut self.world.cpus[cpu];
            c.book_time(now);
            c.time = CpuTime::default();
        }
        for task in &mut self.world.tasks {
            task.enter(task.phase, now);
            task.time = TaskTime::default();
            task.group_booked = Nanos::ZERO;
        }
        self.counts = Counts::default();
        self.warmup_counts = Counts::default();
        self.reasons.fill(0);
        self.wakeup_delay.clear();
        self.loops.clear();
        for samples in &mut self.samples {
            samples.clear();
        }
    }

    fn change_kernel(
        &mut self,
        machine: &Machine,
        kernel: Kernel,
        domains: &'a Domains,
        seed: u64,
    ) {
        let was = std::mem::replace(&mut self.world.kernel, kernel);
        self.world.domains = domains;
        let online = self.world.all.clone();
        self.turn_queues(&was, Arc::new(RqConfig::new(&kernel, online.weight())));
        self.turn_census();
        self.world.scan_cost = vec![0; domains.domains().len()];
        self.world.perf = fairlab_policy::perf_domains(machine, domains, &kernel);
        self.cache = CacheAware::new(machine, domains, &kernel);
        for task in self.world.tasks.iter().filter(|t| t.phase != Phase::Dead) {
            let process = self.workload.programs[task.program.index()].process;
            self.cache
                .count_thread(process, self.world.cpus.len(), true);
        }
        self.mask_words = mask_words(domains);
        self.spread_over = SpreadOver::new(kernel.has(Feature::AFFINITY_DISTRIBUTE));
        self.start_numa_balancing();
        self.balance = BalanceState::new(domains, &kernel, self.world.jiffies, online.weight())
            .with_sums(domains);
        scatter(&mut self.balance, domains, &kernel, seed);
        self.masks = IdleMasks::new(domains);
        self.asleep.clear_all();
        self.nr_asleep = 0;
        self.world.shared = vec![Shared::default(); domains.nr_shared()];
        for cpu in &online {
            self.world.cpus[cpu].noted = Noted::default();
            self.note_idle(cpu);
        }
        for cpu in &online {
            let cached = domains.cached(cpu);
            let Some(id) = cached.llc_shared else {
                continue;
            };
            let has_idle_core = self.masks.is_idle_core(cpu) && domains.switches().smt_present;
            self.world.shared[id.0 as usize].has_idle_cores |= has_idle_core;
            self.balance.shared_mut(id).nr_idle_scan = cached.llc_size;
            if self.world.cpus[cpu].is_idle() {
                self.stop_tick(cpu);
            }
        }
    }

    /// The queues and all tasks, queued or not.
    fn turn_queues(&mut self, was: &Kernel, config: Arc<RqConfig>) {
        let now = self.now;
        let kernel = self.world.kernel;
        let nr = self.world.cpus.len();
        let mut turned = PerCpu::from_fn(nr, |_| None);
        for cpu in (0..nr).map(CpuId::from_index) {
            let queue = &mut self.world.cpus[cpu].queue;
            turned[cpu] = Some(queue.turn(&mut self.world.ents, Arc::clone(&config), now));
            self.collect_left(cpu);
        }
        let mut of_cpu = PerCpu::from_fn(nr, |_| Vec::new());
        for task in &mut self.world.tasks {
            if task.phase == Phase::Dead {
                continue;
            }
            task.avg.turn_task(was, &kernel);
            let has_left = task.phase == Phase::Waking && self.moved[task.id.index()];
            if let Some(turned) = &turned[task.cpu] {
                let rq = &self.world.cpus[task.cpu].queue.rq;
                rq.turn_sleeper(&mut self.world.ents, task.entity, turned, has_left);
            }
            if !task.avg.last_update_time.is_never() {
                of_cpu[task.cpu].push(task.id);
            }
        }
        for cpu in (0..nr).map(CpuId::from_index) {
            let ents = &self.world.ents;
            let tasks = &self.world.tasks;
            let on_queue = of_cpu[cpu].iter().map(|id| {
                let task = &tasks[id.index()];
                let entity = &ents[task.entity];
                OnQueue {
                    avg: &task.avg,
                    is_queued: entity.is_on_rq() && !entity.is_delayed(),
                }
            });
            self.world.cpus[cpu].queue.avg.turn(was, &kernel, on_queue);
        }
    }

    /// Who is where it wants to be, counted anew: LLCs may have other numbers now, and no process
    /// prefers one yet.
    fn turn_census(&mut self) {
        for cpu in (0..self.world.cpus.len()).map(CpuId::from_index) {
            let llc = self.world.domains.cached(cpu).llc_id;
            self.world.cpus[cpu].queue.census = Census::of(self.world.nodes[cpu], llc);
        }
        for task in &mut self.world.tasks {
            let was_counted = task.counted.take().is_some();
            task.wish.llc = None;
            if was_counted {
                self.world.cpus[task.cpu].queue.census.add(task);
            }
        }
    }

    /// The kernel before may have balanced no memory.
    fn start_numa_balancing(&mut self) {
        if !self.balances_numa() {
            return;
        }
        let delay = self.world.kernel.tunables.numa_scan_delay_ms;
        let nr = self.world.nr_nodes();
        for task in &mut self.world.tasks {
            if task.numa.is_none() && task.memory.is_some() && !task.is_kthread {
                task.numa = Some(Box::new(NumaTask::new(nr, delay, self.now)));
            }
        }
    }
}
