//! The scheduler's state, rebuilt from events, as one kernel would keep it.
//!
//! ```text
//!   events ──> events      what each one says of tasks and CPUs
//!                │
//!                ├──> waking, switching     queues, vruntimes and load averages follow
//!                ├──> ticks                 what happens between events
//!                └──> balancing             the balancer's own numbers: capacities, intervals, budgets
//!                          │
//!                        view               all of it as the policy sees a machine
//! ```
//!
//! # What is rebuilt
//! Who runs, waits and sleeps where comes from the events. Vruntimes, lags and load averages follow
//! from that, because the queues are driven by what was recorded: where they would pick another task,
//! the recording is right. What the kernel only remembers (recent CPUs, wake counts, idle-core hints,
//! idle times) is written down as its code would, at the same moments.
//!
//! Balancing passes are made at the ticks where they are due, and move what the recording says was
//! moved at that moment, nothing else. Their own numbers (group capacities, scan budgets, intervals)
//! are kept.
//!
//! # What cannot be rebuilt
//! - Whether a wakeup was told to be synchronous. See [`WhatIf`](crate::WhatIf) for how it is guessed.
//! - What was before the first event. A load average forgets half of it every 32 ms.
//! - When ticks were: they are taken to be at multiples of their length, on all CPUs.
//! - How long scans and balancing passes took: they are taken to take [`Assumed`] times.
//! - Groups of tasks: all tasks are taken to be in the root group.

mod balancing;
mod cpu;
mod events;
mod switching;
mod task;
mod ticks;
mod view;
mod waking;

use std::collections::VecDeque;
use std::sync::Arc;

use fairlab_event::SchedEvent;
use fairlab_kernel::Kernel;
use fairlab_policy::balance::{BalanceScratch, BalanceState};
use fairlab_policy::{Outcome, PerfDomain, perf_domains};
use fairlab_runqueue::{Entities, FairClass, RqConfig};
use fairlab_topology::{Domains, Machine};
use fairlab_units::{CpuId, CpuMask, Nanos, PerCpu, TaskId, Timestamp};

use crate::track::Tasks;
use cpu::Cpu;
use switching::Pulled;
use task::Task;

pub(crate) use task::Slot;
pub(crate) use view::{Bend, Scan};

/// Times that no recording tells and that some kernels measure and act upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumed {
    /// Looking at one CPU while a wakeup searches.
    pub probe: Nanos,
    /// Looking at one CPU while the balancer gathers statistics.
    pub balance_cpu: Nanos,
    /// From a request to another CPU to reschedule to its choice. A CPU that has not switched after that
    /// has chosen to go on with what it runs.
    pub resched: Nanos,
}

impl Default for Assumed {
    /// Half of a transfer of a cache line inside an LLC, one inside a node with the work on it, and
    /// an interrupt between CPUs of different nodes.
    fn default() -> Self {
        Self {
            probe: Nanos(18),
            balance_cpu: Nanos(52),
            resched: Nanos(1_600),
        }
    }
}

/// A placement, as it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub time: Timestamp,
    pub kind: Asked,
    pub slot: Slot,
    pub this_cpu: CpuId,
    pub prev_cpu: CpuId,
    /// The moment of the decision was recorded, and not only its end.
    pub is_timed: bool,
    /// The task sleeps but is still queued: its wakeup is no placement.
    pub is_delayed: bool,
}

/// What is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Asked {
    /// A task that slept.
    Wakeup,
    /// A new task.
    Fork,
    /// A task that becomes another program.
    Exec,
}

/// Answers placements while events are taken in, and learns where tasks went.
pub(crate) trait Asker {
    /// A task is placed. The effects of the outcome are written down.
    fn ask(&mut self, state: &Reconstruction<'_>, question: &Question) -> Option<Outcome>;
    /// The task went to `cpu`.
    fn settle(&mut self, state: &Reconstruction<'_>, slot: Slot, kind: Asked, cpu: CpuId);
    /// What was asked was no placement after all.
    fn withdraw(&mut self, slot: Slot, kind: Asked);
    /// `cpu` runs something else from now on.
    fn switched(&mut self, cpu: CpuId, time: Timestamp);
    /// The task runs.
    fn ran(&mut self, slot: Slot, cpu: CpuId, time: Timestamp);
}

/// The state. Hand it all events in time order.
#[derive(Debug)]
pub struct Reconstruction<'a> {
    domains: &'a Domains,
    kernel: Kernel,
    assumed: Assumed,
    now: Timestamp,
    has_begun: bool,
    /// The first event.
    begin: Timestamp,
    next_tick: u64,
    tick: u64,
    /// How often a CPU's tick was set going.
    nr_armed: u64,
    jiffies: u64,
    cpus: PerCpu<Cpu>,
    tasks: Vec<Task>,
    slots: Tasks<Slot>,
    ents: Entities,
    /// The idle-core hint of each LLC.
    has_idle_cores: Vec<bool>,
    /// `avg_scan_cost` of each domain.
    scan_cost: Vec<u64>,
    active: CpuMask,
    nodes: PerCpu<usize>,
    perf: Vec<PerfDomain>,
    balance: BalanceState,
    balance_scratch: BalanceScratch,
    /// Idle CPUs that were kicked to balance.
    kicked: Vec<CpuId>,
    /// Events that come next, as far as they are needed: see [`balancing::SOON`].
    soon: VecDeque<SchedEvent>,
    /// CPUs that are asked to reschedule.
    asked: Vec<CpuId>,
    /// Tasks that a CPU has pulled, until it is known whether it did because it had nothing left.
    pulled: Vec<Pulled>,
    contradictions: u64,
    /// CPUs whose queues are not known, because events were lost or must have been. Who idles has an
    /// empty queue, and is known again.
    shaken: CpuMask,
    /// Wakeups whose end was not recorded.
    untold: u64,
    picks: Picks,
}

/// How often the rebuilt queues would have picked the task that was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Picks {
    /// Switches to a fair task, with others waiting.
    pub asked: u64,
    /// Of these, to the task that the queue would have picked.
    pub same: u64,
}

impl<'a> Reconstruction<'a> {
    /// The state of `machine`, whose domains under `kernel` are `domains`, of which no event has told
    /// yet. It is taken to have idled for long.
    #[must_use]
    pub fn new(machine: &Machine, domains: &'a Domains, kernel: Kernel, assumed: Assumed) -> Self {
        let nr = machine.nr_cpu_ids();
        let active = machine.online();
        let config = Arc::new(RqConfig::new(&kernel, active.weight()));
        Self {
            domains,
            kernel,
            assumed,
            now: Timestamp::ZERO,
            has_begun: false,
            begin: Timestamp::ZERO,
            next_tick: 0,
            tick: kernel.tunables.tick_ns().max(1),
            jiffies: 0,
            nr_armed: 0,
            cpus: PerCpu::from_fn(nr, |id| {
                let class = FairClass::new(Arc::clone(&config), domains.capacity_orig(id));
                Cpu::new(class, kernel.tunables.migration_cost_ns)
            }),
            tasks: Vec::new(),
            slots: Tasks::default(),
            ents: Entities::new(),
            has_idle_cores: vec![domains.switches().smt_present; domains.nr_shared()],
            scan_cost: vec![0; domains.domains().len()],
            nodes: PerCpu::from_fn(nr, |id| {
                let node = machine.cpu(id).and_then(|cpu| machine.node_index(cpu.node));
                node.unwrap_or(0)
            }),
            perf: perf_domains(machine, domains, &kernel),
            balance: BalanceState::new(domains, &kernel, 0, active.weight()),
            balance_scratch: BalanceScratch::new(nr),
            active,
            kicked: Vec::new(),
            soon: VecDeque::new(),
            asked: Vec::new(),
            pulled: Vec::new(),
            contradictions: 0,
            shaken: CpuMask::new(nr),
            untold: 0,
            picks: Picks::default(),
        }
    }

    /// From now on `task` may run on these CPUs only.
    pub fn allow(&mut self, task: TaskId, allowed: &CpuMask) {
        let slot = self.slot(task);
        let allowed = allowed.and(&self.active);
        self.tasks[slot.index()].allowed = (!allowed.is_empty()).then_some(allowed);
    }

    /// The kernel whose state it is.
    #[must_use]
    pub const fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Events that contradict those before: something between was not recorded.
    #[must_use]
    pub const fn contradictions(&self) -> u64 {
        self.contradictions
    }

    /// Wakeups whose end was not recorded, so that they are taken to have gone where the tasks ran next.
    #[must_use]
    pub const fn untold(&self) -> u64 {
        self.untold
    }

    /// How well the rebuilt queues foresee who runs next.
    #[must_use]
    pub const fn picks(&self) -> Picks {
        self.picks
    }

    pub(crate) const fn domains(&self) -> &'a Domains {
        self.domains
    }

    /// Events contradict those before: something between was not recorded, about whichever CPU.
    fn contradict(&mut self) {
        self.contradictions += 1;
        self.shaken.copy_from(&self.active);
    }

    fn is_known_cpu(&self, cpu: CpuId) -> bool {
        cpu.index() < self.cpus.len() && self.active.test(cpu)
    }
}
