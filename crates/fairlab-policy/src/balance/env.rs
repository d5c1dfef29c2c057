//! The surroundings of one search: who balances which domain for whom.

use fairlab_kernel::{Feature, Kernel};
use fairlab_topology::Domains;
use fairlab_topology::domains::{DomainFlags, DomainId, SchedDomain, SchedGroup};
use fairlab_units::{CpuId, CpuMask};

use super::state::BalanceState;
use super::view::BalanceView;

/// Why a domain is balanced (`enum cpu_idle_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdleKind {
    /// The destination is busy.
    NotIdle,
    /// The destination is idle.
    Idle,
    /// The destination has just run out of tasks.
    NewlyIdle,
}

impl IdleKind {
    /// Is the destination idle, newly or not?
    #[inline]
    #[must_use]
    pub const fn is_idle(self) -> bool {
        !matches!(self, Self::NotIdle)
    }
}

/// What is moved, and so how the amount is counted (`enum migration_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MigrationType {
    /// Load.
    Load,
    /// Utilization.
    Util,
    /// Tasks.
    Task,
    /// One task that does not fit its CPU.
    Misfit,
    /// Tasks that prefer the destination's LLC.
    LlcTask,
}

/// Where the tasks of a group or queue are relative to the nodes they prefer (`enum fbq_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NumaClass {
    /// Some task has no preferred node.
    Regular,
    /// Some task is not on its preferred node.
    Remote,
    /// All tasks are where they want to be.
    All,
}

/// The surroundings of one search (the constant part of `struct lb_env`).
#[derive(Clone, Copy, Debug)]
pub struct Env<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The domains.
    pub domains: &'a Domains,
    /// The domain that is balanced.
    pub domain: DomainId,
    /// The same domain.
    pub sd: &'a SchedDomain,
    /// Its groups in ring order, local group first.
    pub groups: &'a [SchedGroup],
    /// CPUs of the domain that take part (`env->cpus`).
    pub cpus: &'a CpuMask,
    /// The CPU that pulls.
    pub dst_cpu: CpuId,
    /// Its state.
    pub idle: IdleKind,
    /// The sums over groups that [`BalanceState`] keeps are those of this search.
    pub(super) has_sums: bool,
}

impl<'a> Env<'a> {
    /// The surroundings of balancing `domain` for `dst_cpu`, with the CPUs in `cpus`.
    #[must_use]
    pub fn new(
        kernel: &'a Kernel,
        domains: &'a Domains,
        domain: DomainId,
        cpus: &'a CpuMask,
        dst_cpu: CpuId,
        idle: IdleKind,
    ) -> Self {
        Self {
            kernel,
            domains,
            domain,
            sd: domains.domain(domain),
            groups: domains.groups(domain),
            cpus,
            dst_cpu,
            idle,
            has_sums: false,
        }
    }

    /// Is `feature` on?
    #[inline]
    #[must_use]
    pub fn has(&self, feature: Feature) -> bool {
        self.kernel.has(feature)
    }

    /// Has the domain all of `flags`?
    #[inline]
    #[must_use]
    pub fn flag(&self, flags: DomainFlags) -> bool {
        self.sd.flags.has(flags)
    }

    /// CPUs of the local group among which a new destination is looked for (`dst_grpmask`).
    #[must_use]
    pub fn dst_group_mask(&self) -> &'a CpuMask {
        let local = &self.groups[0];
        self.domains.mask(if self.has(Feature::LB_BALANCE_MASK) {
            local.balance_mask
        } else {
            local.span
        })
    }

    /// Fair tasks on `cpu`, as this kernel counts them in balancing.
    #[inline]
    pub fn h_nr<V: BalanceView + ?Sized>(&self, view: &V, cpu: CpuId) -> u32 {
        if self.has(Feature::LB_NR_RUNNABLE) {
            view.h_nr_runnable(cpu)
        } else {
            view.h_nr_queued(cpu)
        }
    }

    /// Load of `cpu`, as this kernel reads it in balancing.
    #[doc(alias = "cpu_load")]
    #[inline]
    pub fn load<V: BalanceView + ?Sized>(&self, view: &V, cpu: CpuId) -> u64 {
        if self.has(Feature::LOAD_RUNNABLE_LOAD) {
            view.runnable_load_avg(cpu)
        } else {
            view.load_avg(cpu)
        }
    }

    /// Has `cpu` lost so much capacity that `imbalance_pct` of the domain sees it?
    #[doc(alias = "check_cpu_capacity")]
    #[must_use]
    pub fn is_capacity_reduced(&self, state: &BalanceState, cpu: CpuId) -> bool {
        super::capacity::is_reduced(
            state.capacity_of(cpu),
            u64::from(self.domains.capacity_orig(cpu)),
            self.sd.imbalance_pct,
        )
    }

    /// Are all other threads of the core of `cpu` idle?
    #[must_use]
    pub fn is_core_idle<V: BalanceView + ?Sized>(&self, view: &V, cpu: CpuId) -> bool {
        is_core_idle(self.domains, view, cpu)
    }
}

/// Are all other threads of the core of `cpu` idle?
#[must_use]
pub fn is_core_idle<V: BalanceView + ?Sized>(domains: &Domains, view: &V, cpu: CpuId) -> bool {
    domains
        .smt_mask(cpu)
        .iter()
        .all(|c| c == cpu || view.is_idle(c))
}
