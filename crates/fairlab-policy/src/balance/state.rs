//! What the balancer keeps between passes. The owner of the running state owns it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use fairlab_kernel::Kernel;
use fairlab_topology::Domains;
use fairlab_topology::domains::{CapacityId, DomainId, SharedId};
use fairlab_units::{CpuId, CpuMask, PerCpu};

use super::sums::GroupSums;

/// State of one domain of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainState {
    /// When the domain was last balanced, jiffies.
    pub last_balance: u64,
    /// Present interval between balancing attempts, ms.
    pub balance_interval: u32,
    /// Attempts in a row that moved nothing although there was an imbalance.
    pub nr_balance_failed: u32,
    /// Longest newidle balance, ns; decays.
    pub max_newidle_lb_cost: u64,
    /// When that cost last changed, jiffies (`last_decay_max_lb_cost`); without
    /// [`LB_COST_DECAY_AFTER_CHANGE`](fairlab_kernel::Feature::LB_COST_DECAY_AFTER_CHANGE) one second before the next decay.
    pub last_decay: u64,
    /// Newidle attempts, halved now and then.
    pub newidle_call: u32,
    /// Weighted successes among them.
    pub newidle_success: u32,
    /// Successes in 1024 at the last count.
    pub newidle_ratio: u32,
    /// When the successes were last counted, ns.
    pub newidle_stamp: u64,
}

/// State of a group capacity object (`sched_group_capacity`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupState {
    /// Sum of the CPUs' capacities for fair tasks.
    pub capacity: u64,
    /// Smallest capacity of a CPU in it.
    pub min_capacity: u64,
    /// Largest capacity of a CPU in it.
    pub max_capacity: u64,
    /// When newidle balancing refreshes it next, jiffies.
    pub next_update: u64,
    /// Affinity kept a lower level from balancing.
    pub imbalance: bool,
}

/// State of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuBalance {
    /// When its domains are balanced next, jiffies (`rq->next_balance`).
    pub next_balance: u64,
    /// Its stopper was asked to push the running task to this CPU (`active_balance`, `push_cpu`).
    pub push_to: Option<CpuId>,
    /// Longest newidle balance over all domains, ns.
    pub max_idle_balance_cost: u64,
    /// Capacity left for fair tasks (`cpu_capacity`, `capacity_of`).
    pub capacity: u64,
    /// Kick flags that the CPU has not served yet.
    pub nohz_flags: KickFlags,
    /// Its tick is stopped because it is idle.
    pub tick_stopped: bool,
    /// It has blocked load, and wants to be visited.
    pub has_blocked: bool,
    /// When its blocked averages were last refreshed by an idle balancer, jiffies.
    pub blocked_updated: u64,
}

/// State of a shared object (`sched_domain_shared`), as far as balancing keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedBalance {
    /// How many CPUs a wakeup may scan.
    pub nr_idle_scan: u32,
    /// CPUs of the LLC whose tick runs.
    pub nr_busy_cpus: u32,
    /// Utilization of the LLC, for cache-aware scheduling.
    pub llc_util: u64,
    /// Capacity of the LLC, for cache-aware scheduling; zero means that nothing is known yet.
    pub llc_capacity: u64,
}

/// What a kicked CPU is asked to do (`NOHZ_KICK_MASK`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct KickFlags(pub u8);

impl KickFlags {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Balance the domains of the idle CPUs.
    pub const BALANCE: Self = Self(1);
    /// Refresh blocked averages.
    pub const STATS: Self = Self(2);
    /// A CPU that goes idle refreshes blocked averages itself.
    pub const NEWLY_IDLE: Self = Self(4);
    /// Refresh `nohz.next_balance`.
    pub const NEXT: Self = Self(8);

    /// Is any of `flags` set?
    #[must_use]
    pub const fn any(self, flags: Self) -> bool {
        self.0 & flags.0 != 0
    }

    /// Are all of `flags` set?
    #[must_use]
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// The union with `flags`.
    #[must_use]
    pub const fn with(self, flags: Self) -> Self {
        Self(self.0 | flags.0)
    }

    /// True when nothing is asked.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// State of the idle balancer (`nohz`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NohzState {
    /// Idle CPUs with stopped tick.
    pub idle_cpus: CpuMask,
    /// When idle CPUs are balanced next, jiffies.
    pub next_balance: u64,
    /// Some idle CPU has blocked load.
    pub has_blocked: bool,
    /// When blocked load is refreshed next, jiffies.
    pub next_blocked: u64,
    /// A CPU became idle with an earlier `next_balance`.
    pub needs_update: bool,
}

/// All state that balancing keeps. Sized from [`Domains`]; new domains need new state.
#[derive(Clone, Debug)]
pub struct BalanceState {
    domains: Vec<DomainState>,
    capacities: Vec<GroupState>,
    shared: Vec<SharedBalance>,
    /// State of each CPU.
    pub cpus: PerCpu<CpuBalance>,
    /// The idle balancer's state.
    pub nohz: NohzState,
    /// Some CPU of the root domain has more than one runnable task, or a misfit one
    /// (`rd->overload`, `rd->overloaded`).
    pub overload: bool,
    /// Some CPU of the root domain is too busy for its capacity (`rd->overutilized`).
    pub overutilized: bool,
    /// Another CPU holds the lock of SERIALIZE domains. A caller whose passes take no time never
    /// sets it.
    pub serialize_locked: bool,
    /// Upper bound of balance intervals, jiffies: a tenth of a second per online CPU.
    pub max_interval: u64,
    pub(super) sums: Option<Box<GroupSums>>,
}

impl BalanceState {
    /// The state after the domains were attached, at `jiffies`, with `online` CPUs.
    #[must_use]
    pub fn new(domains: &Domains, kernel: &Kernel, jiffies: u64, online: usize) -> Self {
        let hz = kernel.tunables.hz;
        let full = |cpu| u64::from(domains.capacity_orig(cpu));
        Self {
            domains: domains
                .domains()
                .iter()
                .map(|d| DomainState {
                    last_balance: jiffies,
                    balance_interval: d.min_interval,
                    nr_balance_failed: 0,
                    max_newidle_lb_cost: 0,
                    last_decay: jiffies,
                    newidle_call: 512,
                    newidle_success: 256,
                    newidle_ratio: 512,
                    newidle_stamp: 0,
                })
                .collect(),
            capacities: (0..domains.nr_capacities())
                .map(|i| {
                    let start = domains.capacity(CapacityId(i as u32));
                    GroupState {
                        capacity: start.capacity,
                        min_capacity: start.min,
                        max_capacity: start.max,
                        next_update: jiffies,
                        imbalance: false,
                    }
                })
                .collect(),
            shared: (0..domains.nr_shared())
                .map(|i| {
                    let start = domains.shared(SharedId(i as u32));
                    SharedBalance {
                        nr_idle_scan: start.nr_idle_scan,
                        nr_busy_cpus: start.nr_busy_cpus,
                        llc_util: 0,
                        llc_capacity: 0,
                    }
                })
                .collect(),
            cpus: PerCpu::from_fn(domains.nr_cpu_ids(), |cpu| CpuBalance {
                next_balance: jiffies,
                push_to: None,
                max_idle_balance_cost: kernel.tunables.migration_cost_ns,
                capacity: full(cpu),
                nohz_flags: KickFlags::NONE,
                tick_stopped: false,
                has_blocked: false,
                blocked_updated: 0,
            }),
            nohz: NohzState {
                idle_cpus: CpuMask::new(domains.nr_cpu_ids()),
                next_balance: jiffies,
                has_blocked: false,
                next_blocked: 0,
                needs_update: false,
            },
            overload: false,
            overutilized: false,
            serialize_locked: false,
            max_interval: (hz * online as u64 / 10).max(1),
            sums: None,
        }
    }

    /// Remembers sums over large groups from search to search. Of use where
    /// [`BalanceOps::take_changed`](super::BalanceOps::take_changed) tells what has changed.
    #[must_use]
    pub fn with_sums(mut self, domains: &Domains) -> Self {
        self.sums = Some(Box::new(GroupSums::new(domains)));
        self
    }

    /// State of domain `id`.
    #[inline]
    #[must_use]
    pub fn domain(&self, id: DomainId) -> &DomainState {
        &self.domains[id.0 as usize]
    }

    /// State of domain `id`, for writing.
    #[inline]
    pub fn domain_mut(&mut self, id: DomainId) -> &mut DomainState {
        &mut self.domains[id.0 as usize]
    }

    /// State of capacity object `id`.
    #[inline]
    #[must_use]
    pub fn group(&self, id: CapacityId) -> &GroupState {
        &self.capacities[id.0 as usize]
    }

    /// State of capacity object `id`, for writing.
    #[inline]
    pub fn group_mut(&mut self, id: CapacityId) -> &mut GroupState {
        &mut self.capacities[id.0 as usize]
    }

    /// State of shared object `id`.
    #[inline]
    #[must_use]
    pub fn shared(&self, id: SharedId) -> &SharedBalance {
        &self.shared[id.0 as usize]
    }

    /// State of shared object `id`, for writing.
    #[inline]
    pub fn shared_mut(&mut self, id: SharedId) -> &mut SharedBalance {
        &mut self.shared[id.0 as usize]
    }

    /// Capacity of `cpu` that is left for fair tasks.
    #[inline]
    #[must_use]
    pub fn capacity_of(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu].capacity
    }
}

/// Memory that a pass works in; one per thread of simulation is enough.
#[derive(Clone, Debug)]
pub struct BalanceScratch {
    /// The working mask of an attempt (`load_balance_mask`).
    pub(crate) cpus: CpuMask,
    /// CPUs that `should_we_balance` skips (`should_we_balance_tmpmask`).
    pub(crate) skip: CpuMask,
    /// The idle CPUs that an idle balancer walks.
    pub(crate) walk: CpuMask,
    /// Tasks between detach and attach.
    pub(crate) detached: Vec<fairlab_units::TaskId>,
}

impl BalanceScratch {
    /// Memory for machines with CPU numbers below `nr_cpu_ids`.
    #[must_use]
    pub fn new(nr_cpu_ids: usize) -> Self {
        Self {
            cpus: CpuMask::new(nr_cpu_ids),
            skip: CpuMask::new(nr_cpu_ids),
            walk: CpuMask::new(nr_cpu_ids),
            detached: Vec::with_capacity(super::detach::LOOP_BREAK as usize + 1),
        }
    }
}
