//! The run: takes what is due, one thing at a time, until the workload is over.

use std::sync::Arc;

use fairlab_event::{EventKind, SchedEvent};
use fairlab_kernel::{Feature, Kernel};
use fairlab_pelt::{EntityState, SchedAvg};
use fairlab_policy::balance::{BalanceScratch, BalanceState};
use fairlab_policy::{IdleMasks, Reason, Scratch};
use fairlab_rng::Rng;
use fairlab_runqueue::{Entities, FairClass, GroupId, HigherQueue, RqConfig};
use fairlab_topology::{Distances, Domains, Machine};
use fairlab_units::{CpuId, CpuMask, Nanos, PerCpu, TaskId, Timestamp};
use fairlab_workload::{End, Program, ProgramId, Workload};

use crate::attributes::SpreadOver;
use crate::balance::{Action, scatter};
use crate::cache_aware::CacheAware;
use crate::census::Census;
use crate::costs::{CostTable, mask_words};
use crate::cpu::{Cpu, Noted};
use crate::cpus::Cpus;
use crate::event_queue::{Due, EventQueue};
use crate::fair_queue::FairQueue;
use crate::groups::{add_groups, group_id};
use crate::higher::fair_policy;
use crate::idle::Governor;
use crate::lock::Lock;
use crate::loops::{Lap, LoopRow};
use crate::memory::Memory;
use crate::metrics::{Counts, CpuTime, GroupTime, RunResult};
use crate::numa::NumaTask;
use crate::observer::{Observer, SectionTimer};
use crate::operations::Operations;
use crate::resources::Resources;
use crate::speed::{Bandwidth, Packages};
use crate::task::{Phase, Task};
use crate::turn::Turn;
use crate::warmth::{Caches, Warmth};
use crate::world::{AllowedId, IdleTask, JIFFIES_AT_START, Shared, World, jiffies_at};

/// How a run is set up, beside machine and workload.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// The kernel that schedules.
    pub kernel: Kernel,
    /// A kernel that is asked beside at every placement, in the same state; its answers are
    /// compared and have no effect.
    pub beside: Option<Kernel>,
    /// Decisions to be told in sentences, see [`Observer::story`].
    pub explain: Option<Explain>,
    /// Seed of all randomness.
    pub seed: u64,
    /// Costs; those of the machine's class when not given.
    pub costs: Option<CostTable>,
    /// The run stops with an error when this much time has been simulated and the workload is not
    /// over: a workload that waits for itself never ends.
    pub limit: Nanos,
    /// Things due at the same time happen in an order that this seed shuffles, instead of by kind and
    /// insertion. Nothing that is true of every run may depend on it.
    pub shuffle_ties: Option<u64>,
    /// The run is cut off at this time, if the workload is not over before.
    pub until: Option<Timestamp>,
}

impl SimOptions {
    /// `kernel` with the costs of the machine's class and a limit of an hour.
    #[must_use]
    pub fn new(kernel: Kernel, seed: u64) -> Self {
        Self {
            kernel,
            beside: None,
            explain: None,
            seed,
            costs: None,
            limit: Nanos::from_secs(3_600),
            shuffle_ties: None,
            until: None,
        }
    }
}

/// Which decisions are told in sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Explain {
    /// Those about this task.
    Task(TaskId),
    /// Those at this time or later.
    From(Timestamp),
}

impl Explain {
    pub(crate) fn wants(self, task: TaskId, now: Timestamp) -> bool {
        match self {
            Self::Task(wanted) => wanted == task,
            Self::From(time) => now >= time,
        }
    }
}

/// Why a run cannot be made or finished.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// Nothing is due any more, but tasks are still waiting.
    #[error(
        "deadlock at {at:?}: {tasks} tasks sleep and nothing can wake them; the first is {first}"
    )]
    Deadlock {
        /// When.
        at: Timestamp,
        /// How many.
        tasks: usize,
        /// Name of the first.
        first: String,
    },
    /// A task goes round in circles without any time passing.
    #[error(
        "at {at:?} task {name} performs operations without end that take no time; let its loop compute or sleep"
    )]
    Stuck {
        /// When.
        at: Timestamp,
        /// Name of the task.
        name: String,
    },
    /// The run ended before the point from which it was to go on otherwise.
    #[error("the run was over before {at:?}, when it was to go on otherwise")]
    Over {
        /// The point.
        at: Timestamp,
    },
    /// The run was to be cut off no later than at the point from which it goes on otherwise.
    #[error("the run goes on from {at:?}: it cannot be cut off at {until:?}, which is not later")]
    CutBefore {
        /// The point.
        at: Timestamp,
        /// The cut.
        until: Timestamp,
    },
    /// What happened before the point is not what happened when it was saved.
    #[error(
        "up to {at:?} other things happened than in the run that was saved: an input has changed, or it was saved by another version"
    )]
    OtherPast {
        /// The point.
        at: Timestamp,
    },
    /// A kernel with another tick cannot take over.
    #[error("a run cannot go on under a kernel with another tick: give it the same hz")]
    OtherTick,
    /// A kernel cannot take over task groups.
    #[error(
        "a run with task groups cannot go on under another kernel: leave the groups out, or keep the kernel"
    )]
    GroupsKeepKernel,
    /// The limit was reached.
    #[error(
        "the workload is not over after {0} of simulated time; raise the limit or look for tasks that wait for each other"
    )]
    Limit(Nanos),
}

/// A run under way.
pub(crate) struct Engine<'a> {
    pub(crate) now: Timestamp,
    pub(crate) queue: EventQueue,
    pub(crate) world: World<'a>,
    pub(crate) balance: BalanceState,
    pub(crate) balance_scratch: BalanceScratch,
    pub(crate) balance_actions: Vec<Action>,
    pub(crate) newidle_rng: Rng,
    pub(crate) beside: Option<Kernel>,
    pub(crate) explain: Option<Explain>,
    /// Idle CPUs as masks, for the word-parallel search.
    pub(crate) masks: IdleMasks,
    /// CPUs with nothing but sleepers: idle to whoever watches, busy to the kernel.
    pub(crate) asleep: CpuMask,
    /// How many these are.
    pub(crate) nr_asleep: u32,
    pub(crate) workload: &'a Workload,
    pub(crate) ops: Operations,
    pub(crate) resources: Resources,
    pub(crate) memory: Memory,
    pub(crate) cache: CacheAware,
    pub(crate) caches: Caches,
    pub(crate) bandwidth: Bandwidth,
    pub(crate) frequencies: Packages,
    pub(crate) costs: CostTable,
    pub(crate) distances: Distances,
    pub(crate) mask_words: u64,
    pub(crate) tick: Nanos,
    pub(crate) scratch: Scratch,
    pub(crate) seed: u64,
    /// Tasks that the end of the run waits for.
    pub(crate) alive: usize,
    pub(crate) spread_over: SpreadOver,
    pub(crate) loops: Vec<LoopRow>,
    pub(crate) laps: Vec<Lap>,
    /// Periods of limited groups that are due.
    pub(crate) nr_periods: usize,
    /// CPU time of each group that has been added up.
    pub(crate) group_cpu: Vec<Nanos>,
    /// Work that the waker does before the interrupt of the present wakeup is sent.
    pub(crate) before_ipi: Nanos,
    /// The task that makes no progress, if there is one.
    pub(crate) stuck: Option<TaskId>,
    /// Per task: did its last wakeup move it?
    pub(crate) moved: Vec<bool>,
    pub(crate) samples: Vec<Vec<u64>>,
    pub(crate) wakeup_delay: Vec<u64>,
    pub(crate) counts: Counts,
    /// What was counted in the warm-up.
    pub(crate) warmup_counts: Counts,
    /// Placements by reason, in the order of [`Reason::ALL`].
    pub(crate) reasons: Vec<u64>,
    pub(crate) observer: &'a mut dyn Observer,
    pub(crate) timer: Option<&'a dyn SectionTimer>,
    /// Since when figures count.
    pub(crate) began: Timestamp,
    /// What the groups had by then.
    pub(crate) groups_at_began: Vec<GroupTime>,
    hash: u64,
    events: u64,
}

/// Simulates `workload` on `machine`, whose domains under the kernel of `options` are `domains`.
///
/// # Errors
/// When the workload deadlocks or does not end.
pub fn run(
    machine: &Machine,
    domains: &Domains,
    workload: &Workload,
    options: &SimOptions,
    observer: &mut dyn Observer,
    timer: Option<&dyn SectionTimer>,
) -> Result<RunResult, SimError> {
    run_and_turn(machine, domains, workload, options, None, observer, timer)
}

/// Simulates as [`run`] does up to the time of `turn`, and otherwise from there. Figures are of the
/// time after it; the hash is that of all events.
///
/// # Errors
/// As [`run`]; and when the run is over or cut off before, was another one up to then, or cannot go on
/// so.
pub fn run_and_turn<'a>(
    machine: &Machine,
    domains: &'a Domains,
    workload: &'a Workload,
    options: &SimOptions,
    turn: Option<&Turn<'a>>,
    observer: &'a mut dyn Observer,
    timer: Option<&'a dyn SectionTimer>,
) -> Result<RunResult, SimError> {
    if let (Some(turn), Some(until)) = (turn, options.until)
        && until <= turn.at
    {
        return Err(SimError::CutBefore { at: turn.at, until });
    }
    let mut engine = Engine::new(machine, domains, workload, options, observer, timer);
    engine.start();
    if let Some(turn) = turn {
        if engine.run(options.limit, Some(turn.at))? != Ended::Cut {
            return Err(SimError::Over { at: turn.at });
        }
        engine.turn(machine, turn)?;
    }
    engine.run(options.limit, options.until)?;
    Ok(engine.finish())
}

/// How a stretch of a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// The workload is over.
    Over,
    /// The time is over.
    Cut,
}

impl<'a> Engine<'a> {
    fn new(
        machine: &Machine,
        domains: &'a Domains,
        workload: &'a Workload,
        options: &SimOptions,
        observer: &'a mut dyn Observer,
        timer: Option<&'a dyn SectionTimer>,
    ) -> Self {
        let kernel = options.kernel;
        let costs = options
            .costs
            .clone()
            .unwrap_or_else(|| CostTable::of(machine));
        let distances = Distances::of(machine);
        let nr = machine.nr_cpu_ids();
        let online = machine.online();
        let config = Arc::new(RqConfig::new(&kernel, online.weight()));
        let migration_cost = kernel.tunables.migration_cost_ns;
        let node_of = |id| {
            let cpu = machine.cpu(id);
            cpu.and_then(|c| machine.node_index(c.node)).unwrap_or(0)
        };
        let mut cpus = PerCpu::from_fn(nr, |id| Cpu {
            queue: FairQueue::new(
                FairClass::on_cpu(Arc::clone(&config), domains.capacity_orig(id), id),
                Census::of(node_of(id), domains.cached(id).llc_id),
            ),
            higher: HigherQueue::default(),
            curr_higher: None,
            slice_over: false,
            curr: None,
            online: online.test(id),
            stopper: false,
            need_resched: false,
            lazy_resched: false,
            resched_sent: false,
            wake_list: Vec::new(),
            noted: Noted::default(),
            booked: Timestamp::ZERO,
            capacity: machine.cpu(id).map_or(1024, |c| c.capacity),
            smt_speed: 1024,
            frequency: 1024,
            speed: 1024,
            lock: Lock::default(),
            idle: Governor::default(),
            process: u64::MAX,
            debt: Nanos::ZERO,
            since: Timestamp::ZERO,
            time: CpuTime::default(),
            tick_pending: false,
            idle_since: Timestamp::ZERO,
            // Every CPU went idle once while booting; zero would mean that it never did.
            idle_stamp: 1,
            avg_idle: 2 * migration_cost,
            max_idle_balance_cost: migration_cost,
            wake_avg_idle: (0, 0),
        });
        let mut ents = Entities::new();
        add_groups(workload, &config, online.weight(), &mut cpus, &mut ents);
        let masks = core::iter::once(online.clone())
            .chain(workload.masks.iter().map(|mask| mask.and(&online)))
            .collect();
        let nodes = PerCpu::from_fn(nr, node_of);
        let node_cpus = machine
            .nodes()
            .iter()
            .map(|n| machine.mask_of(|c| c.online && c.node == n.id))
            .collect();
        let node_distances = machine.nodes().iter().map(|n| n.distances.clone());
        // A machine that has idled for long: every hint is set, and the balancer has found the LLCs
        // empty, so that a wakeup may scan all of them.
        let mut shared = vec![Shared::default(); domains.nr_shared()];
        let mut balance = BalanceState::new(domains, &kernel, JIFFIES_AT_START, online.weight())
            .with_sums(domains);
        scatter(&mut balance, domains, &kernel, options.seed);
        for cpu in &online {
            let cached = domains.cached(cpu);
            if let Some(id) = cached.llc_shared {
                shared[id.0 as usize].has_idle_cores = domains.switches().smt_present;
                balance.shared_mut(id).nr_idle_scan = cached.llc_size;
            }
        }
        Self {
            now: Timestamp::ZERO,
            queue: EventQueue::new(nr, options.shuffle_ties),
            world: World {
                domains,
                kernel,
                cpus: Cpus::new(cpus),
                idle_tasks: PerCpu::from_fn(nr, |_| IdleTask::default()),
                tasks: Vec::new(),
                first_task: (workload.groups.len() * nr) as u32,
                ents,
                shared,
                scan_cost: vec![0; domains.domains().len()],
                active: online.clone(),
                all: online,
                masks,
                jiffies: JIFFIES_AT_START,
                nodes,
                node_cpus,
                perf: fairlab_policy::perf_domains(machine, domains, &kernel),
                node_distances: node_distances.collect(),
            },
            balance,
            balance_scratch: BalanceScratch::new(nr),
            balance_actions: Vec::new(),
            newidle_rng: Rng::stream(options.seed, "newidle"),
            beside: options.beside,
            explain: options.explain,
            masks: IdleMasks::new(domains),
            asleep: CpuMask::new(nr),
            nr_asleep: 0,
            workload,
            ops: Operations::of(workload),
            resources: Resources::of(workload),
            cache: CacheAware::new(machine, domains, &kernel),
            memory: Memory::new(machine, workload, &costs),
            caches: Caches::new(machine, &distances, &costs),
            bandwidth: Bandwidth::new(machine, &distances, &costs),
            frequencies: Packages::new(machine),
            costs,
            distances,
            mask_words: mask_words(domains),
            tick: Nanos(kernel.tunables.tick_ns()),
            scratch: Scratch::new(nr),
            seed: options.seed,
            alive: 0,
            spread_over: SpreadOver::new(kernel.has(Feature::AFFINITY_DISTRIBUTE)),
            loops: Vec::new(),
            laps: Vec::new(),
            nr_periods: 0,
            group_cpu: vec![Nanos::ZERO; workload.groups.len()],
            before_ipi: Nanos::ZERO,
            stuck: None,
            moved: Vec::new(),
            samples: vec![Vec::new(); workload.metrics.len() + workload.hidden_metrics as usize],
            wakeup_delay: Vec::new(),
            counts: Counts::default(),
            warmup_counts: Counts::default(),
            reasons: vec![0; Reason::ALL.len()],
            observer,
            timer,
            began: Timestamp::ZERO,
            groups_at_began: Vec::new(),
            hash: 0xcbf2_9ce4_8422_2325,
            events: 0,
        }
    }

    /// Runs until the workload is over, or `until` comes first.
    fn run(&mut self, limit: Nanos, until: Option<Timestamp>) -> Result<Ended, SimError> {
        let own_end = match self.workload.end {
            End::After(span) | End::AllExitedBy(span) => Timestamp(span.0),
            End::AllExited => Timestamp(u64::MAX),
        };
        let end = until.map_or(own_end, |until| until.min(own_end));
        while self.alive > 0 {
            let next = match self.queue.next() {
                // Ticks of busy CPUs go on for ever, so an empty queue means that all sleep.
                None => {
                    self.deadlock(own_end)?;
                    break;
                }
                Some(next) if next.time() > end => break,
                Some(next) if next.time().0 > limit.0 => return Err(SimError::Limit(limit)),
                Some(next) => next,
            };
            let time = next.time();
            let Some(due) = self.queue.take(next) else {
                break;
            };
            self.now = time;
            self.world.jiffies = jiffies_at(time, self.tick.0);
            self.counts.steps += 1;
            self.handle(due);
            if let Some(id) = self.stuck {
                let program = self.world.tasks[id.index()].program;
                return Err(SimError::Stuck {
                    at: self.now,
                    name: self.workload.programs[program.index()].name.clone(),
                });
            }
        }
        let is_cut_by_workload = match self.workload.end {
            End::After(_) => true,
            End::AllExitedBy(_) => self.alive > 0,
            End::AllExited => false,
        };
        let is_before_own_end = end < own_end && self.alive > 0;
        if is_cut_by_workload || is_before_own_end {
            self.now = end;
        }
        Ok(if is_before_own_end {
            Ended::Cut
        } else {
            Ended::Over
        })
    }

    fn deadlock(&self, end: Timestamp) -> Result<(), SimError> {
        if end.0 != u64::MAX {
            // A workload that ends by time may well sleep through its rest.
            return Ok(());
        }
        let asleep = || {
            self.world
                .tasks
                .iter()
                .filter(|t| t.phase == Phase::Sleeping)
        };
        let first = asleep().next();
        Err(SimError::Deadlock {
            at: self.now,
            tasks: asleep().count(),
            first: first
                .map(|t| self.workload.programs[t.program.index()].name.clone())
                .unwrap_or_default(),
        })
    }

    fn handle(&mut self, due: Due) {
        match due {
            Due::Segment { cpu } => self.end_segment(cpu),
            Due::WakeList { cpu } => self.take_wake_list(cpu),
            Due::Resched { cpu } => {
                self.world.cpus[cpu].resched_sent = false;
                self.schedule(cpu);
            }
            Due::Timer { task } => {
                let target = &mut self.world.tasks[task.index()];
                target.granted = true;
                let cpu = target.cpu;
                self.interrupt(cpu, Nanos::ZERO);
                self.wake_up(task, cpu, 0, false);
                self.resume(cpu);
            }
            Due::Tick { cpu } => self.tick(cpu),
            Due::NohzBalance { cpu } => self.nohz_balance(cpu),
            Due::ActiveBalance { cpu } => self.active_balance(cpu),
            Due::Period { group } => self.begin_period(group),
            Due::Warm => self.warmup_counts = self.counts.clone(),
        }
    }

    /// A new task, asleep, that belongs to `cpu`. It may run where its program says, or else where
    /// its parent may.
    pub(crate) fn new_task(
        &mut self,
        program: ProgramId,
        cpu: CpuId,
        parent: Option<TaskId>,
    ) -> TaskId {
        let id = TaskId::from_index(self.world.tasks.len());
        let workload = self.workload;
        let spec = &workload.programs[program.index()];
        let entity = self.world.ents.add_task(spec.nice, fair_policy(spec.class));
        let group = spec.group.map(|own| group_id(Some(own)));
        let group = group.or_else(|| parent.map(|parent| self.world.group_of(parent)));
        if let Some(group) = group.filter(|group| *group != GroupId::ROOT) {
            let rq = &self.world.cpus[cpu].queue.rq;
            rq.set_group(&mut self.world.ents, entity, group);
        }
        let weight = self.world.ents[entity].weight().0;
        let avg = SchedAvg::new_task(&self.world.kernel, &EntityState::task(weight, false, false));
        let rng = Rng::stream(self.seed, &format!("task {}", id.0));
        self.world
            .tasks
            .push(Task::new(id, entity, program, cpu, self.now, avg, rng));
        self.world.tasks[id.index()].class = spec.class;
        self.set_class(id);
        let own = spec.allowed.map(AllowedId::of);
        let allowed = own
            .filter(|own| !self.world.mask(*own).is_empty())
            .or_else(|| parent.map(|parent| self.world.tasks[parent.index()].allowed))
            .unwrap_or_default();
        self.cache
            .count_thread(spec.process, self.world.cpus.len(), true);
        let walk = Rng::stream(self.seed, &format!("memory {}", id.0));
        let memory = self.memory.of_task(self.workload, spec, walk).map(Box::new);
        let balances_numa = self.balances_numa() && memory.is_some() && !spec.is_kthread;
        let numa = balances_numa.then(|| {
            let delay = self.world.kernel.tunables.numa_scan_delay_ms;
            Box::new(NumaTask::new(self.world.nr_nodes(), delay, self.now))
        });
        let default_set = self.costs.working_set as u32;
        let task = &mut self.world.tasks[id.index()];
        task.traffic = spec.traffic();
        task.warmth = Warmth::of(spec.working_set_kib.unwrap_or(default_set));
        task.process = match spec.process {
            _ if spec.is_kthread => None,
            Program::OWN_PROCESS => Some(1 << 32 | u64::from(id.0)),
            process => Some(u64::from(process)),
        };
        task.memory = memory;
        task.numa = numa;
        task.allowed = allowed;
        task.is_kthread = spec.is_kthread;
        self.observer.task(self.now, id, program);
        self.tell_priority(id);
        if allowed != AllowedId::ALL {
            self.observer
                .affinity(self.now, id, &self.world.masks[allowed.index()]);
        }
        self.moved.push(false);
        self.alive += usize::from(!spec.is_background);
        id
    }

    /// Tells an event to whoever watches, and adds it to the hash.
    pub(crate) fn emit(&mut self, cpu: CpuId, kind: EventKind) {
        let event = SchedEvent {
            time: self.now,
            cpu,
            kind,
        };
        self.events += 1;
        self.hash = mix(self.hash, &event);
        self.observer.event(&event);
    }

    pub(crate) const fn event_hash(&self) -> u64 {
        self.hash
    }

    fn finish(mut self) -> RunResult {
        let now = self.now;
        for cpu in &self.world.active.clone() {
            self.world.cpus[cpu].book_time(now);
        }
        for task in &mut self.world.tasks {
            task.enter(task.phase, now);
        }
        let mut groups = self.group_times();
        for (group, before) in groups.iter_mut().zip(&self.groups_at_began) {
            *group = group.since(before);
        }
        RunResult {
            began: self.began,
            end: now,
            groups,
            samples: self.samples,
            counts: self.counts,
            warmup_counts: self.warmup_counts,
            reasons: named(&self.reasons),
            wakeup_delay: self.wakeup_delay,
            cpu_time: self
                .world
                .active
                .iter()
                .map(|c| (c, self.world.cpus[c].time))
                .collect(),
            programs: self.world.tasks.iter().map(|t| t.program).collect(),
            loops: self.loops,
            laps: self.laps,
            task_memory: self
                .world
                .tasks
                .iter()
                .filter_map(|t| Some((t.id, self.memory.shares(t.memory.as_ref()?))))
                .collect(),
            task_time: self.world.tasks.iter().map(|t| (t.id, t.time)).collect(),
            event_hash: self.hash,
            events: self.events,
        }
    }
}

/// The counts of reasons with their names, sorted by name.
fn named(counts: &[u64]) -> Vec<(&'static str, u64)> {
    let mut named: Vec<_> = Reason::ALL
        .iter()
        .map(|reason| reason.name())
        .zip(counts.iter().copied())
        .filter(|(_, count)| *count > 0)
        .collect();
    named.sort_unstable();
    named
}

/// Adds an event to a hash: FNV-1a over its fields as 64-bit words.
fn mix(hash: u64, event: &SchedEvent) -> u64 {
    let word = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    let task = |t: Option<TaskId>| t.map_or(u64::MAX, |t| u64::from(t.0));
    let (kind, a, b) = match event.kind {
        EventKind::Switch {
            prev,
            prev_state,
            next,
        } => (prev_state as u64, task(prev), task(next)),
        EventKind::Waking { task, prev_cpu } => (8, u64::from(task.0), u64::from(prev_cpu.0)),
        EventKind::Wakeup { task, target } => (9, u64::from(task.0), u64::from(target.0)),
        EventKind::WakeupNew { task, target } => (10, u64::from(task.0), u64::from(target.0)),
        EventKind::Migrate { task, from, to } => (
            11 + (u64::from(from.0) << 8),
            u64::from(task.0),
            u64::from(to.0),
        ),
        EventKind::Fork { parent, child } => (12, u64::from(parent.0), u64::from(child.0)),
        EventKind::Exec { task } => (13, u64::from(task.0), 0),
        EventKind::Exit { task } => (14, u64::from(task.0), 0),
        // Unknown kinds cannot come from this engine.
        _ => (15, 0, 0),
    };
    [event.time.0, u64::from(event.cpu.0), kind, a, b]
        .into_iter()
        .fold(hash, word)
}
