//! May this task move?

use core::ops::{BitOr, BitOrAssign};

use fairlab_kernel::Feature;
use fairlab_topology::domains::DomainFlags;
use fairlab_units::{CpuId, TaskId};

use super::env::{Env, IdleKind, MigrationType};
use super::llc;
use super::state::BalanceState;
use super::view::BalanceView;

/// What an attempt remembers about the tasks it has seen (`LBF_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BalanceFlags(pub u8);

impl BalanceFlags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// No task seen so far may run at the destination.
    pub const ALL_PINNED: Self = Self(0x01);
    /// The lock was held long enough; go on after a pause.
    pub const NEED_BREAK: Self = Self(0x02);
    /// A task may run on another CPU of the destination's group.
    pub const DST_PINNED: Self = Self(0x04);
    /// Some task may not run at the destination.
    pub const SOME_PINNED: Self = Self(0x08);
    /// The stopper moves a running task.
    pub const ACTIVE: Self = Self(0x10);
    /// The preference for an LLC kept a task.
    pub const LLC_PINNED: Self = Self(0x20);
    /// The stopper moves a task towards its preferred LLC.
    pub const ACTIVE_LLC: Self = Self(0x40);

    /// Is any of `flags` set?
    #[inline]
    #[must_use]
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 != 0
    }

    /// Clears `flags`.
    pub fn clear(&mut self, flags: Self) {
        self.0 &= !flags.0;
    }
}

impl BitOr for BalanceFlags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for BalanceFlags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// What changes while the tasks of one source are examined (the variable part of `struct lb_env`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// The CPU to pull from.
    pub src_cpu: CpuId,
    /// What is moved.
    pub migration: MigrationType,
    /// What has been seen.
    pub flags: BalanceFlags,
    /// Another CPU of the destination's group for a task that may not run at the destination.
    pub new_dst_cpu: Option<CpuId>,
}

/// Why a task stays, or that it may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum MigrateAnswer {
    Yes,
    Delayed,
    Throttled,
    Ineligible,
    PerCpuKthread,
    BlockedDonor,
    Pinned,
    Running,
    Llc,
    Hot,
}

impl MigrateAnswer {
    /// May it move?
    #[must_use]
    pub const fn is_yes(self) -> bool {
        matches!(self, Self::Yes)
    }
}

/// May `task` move from `pull.src_cpu` to the destination? The tests apply in order.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `can_migrate_task()`.
#[doc(alias = "can_migrate_task")]
pub fn can_migrate<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    pull: &mut Pull,
    task: TaskId,
) -> MigrateAnswer {
    let t = view.task(task);
    let sd = state.domain(env.domain);
    let (src, dst) = (pull.src_cpu, env.dst_cpu);

    if env.has(Feature::LB_KEEP_DELAYED) && t.is_delayed && pull.migration != MigrationType::Load {
        return MigrateAnswer::Delayed;
    }
    let src_counts = !env.has(Feature::LB_THROTTLED_DST_ONLY);
    if view.is_throttled(task, dst) || (src_counts && view.is_throttled(task, src)) {
        return MigrateAnswer::Throttled;
    }
    if env.has(Feature::LB_KEEP_INELIGIBLE)
        && env.has(Feature::PLACE_LAG)
        && sd.nr_balance_failed == 0
        && !view.is_group_queue_empty(task, dst)
        && !view.is_eligible(task)
    {
        return MigrateAnswer::Ineligible;
    }
    if env.has(Feature::LB_KEEP_PER_CPU_KTHREAD) && t.is_per_cpu_kthread {
        return MigrateAnswer::PerCpuKthread;
    }
    if t.is_blocked_donor {
        return MigrateAnswer::BlockedDonor;
    }
    if !t.allowed.test(dst) {
        pull.flags |= BalanceFlags::SOME_PINNED;
        // Newidle balancing and active balance want this destination or none.
        let fixed = BalanceFlags::DST_PINNED | BalanceFlags::ACTIVE;
        if env.idle != IdleKind::NewlyIdle && !pull.flags.has(fixed) {
            let candidates = env.dst_group_mask();
            let other = candidates
                .iter()
                .find(|c| env.cpus.test(*c) && t.allowed.test(*c));
            if other.is_some() {
                pull.flags |= BalanceFlags::DST_PINNED;
                pull.new_dst_cpu = other;
            }
        }
        return MigrateAnswer::Pinned;
    }
    pull.flags.clear(BalanceFlags::ALL_PINNED);
    if t.is_running {
        return MigrateAnswer::Running;
    }
    if pull.flags.has(BalanceFlags::ACTIVE) {
        let wrong_llc = pull.flags.has(BalanceFlags::ACTIVE_LLC)
            && llc::of(env, dst).is_some()
            && t.preferred_llc != llc::of(env, dst);
        return if wrong_llc {
            MigrateAnswer::Llc
        } else {
            MigrateAnswer::Yes
        };
    }
    let hot = match numa_opinion(env, view, task, src) {
        NumaOpinion::Degrades => true,
        NumaOpinion::Improves => false,
        NumaOpinion::None => {
            if llc::keeps_task(env, view, state, task, src, pull.migration) {
                if pull.migration != MigrationType::LlcTask {
                    pull.flags |= BalanceFlags::LLC_PINNED;
                }
                return MigrateAnswer::Llc;
            }
            is_hot(env, view, task, src)
        }
    };
    if !hot || sd.nr_balance_failed > env.sd.cache_nice_tries {
        MigrateAnswer::Yes
    } else {
        MigrateAnswer::Hot
    }
}

/// What NUMA fault statistics say about a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumaOpinion {
    /// The task would lose locality.
    Degrades,
    /// The task would gain locality.
    Improves,
    /// Nothing is known, or it makes no difference.
    None,
}

/// What NUMA fault statistics say about moving `task` from `src` to the destination.
#[doc(alias = "migrate_degrades_locality")]
#[must_use]
pub fn numa_opinion<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    task: TaskId,
    src: CpuId,
) -> NumaOpinion {
    if !env.flag(DomainFlags::NUMA) {
        return NumaOpinion::None;
    }
    let Some(faults) = view.numa_faults(task, src, env.dst_cpu) else {
        return NumaOpinion::None;
    };
    if faults.src_is_preferred {
        // A queue with tasks from elsewhere gives those away first.
        return if view.nr_running(src) > view.nr_preferred_running(src) {
            NumaOpinion::Degrades
        } else {
            NumaOpinion::None
        };
    }
    if faults.dst_is_preferred {
        return NumaOpinion::Improves;
    }
    if env.idle == IdleKind::Idle {
        return NumaOpinion::None;
    }
    if faults.dst_weight < faults.src_weight {
        NumaOpinion::Degrades
    } else if faults.dst_weight == faults.src_weight && env.has(Feature::LB_NUMA_EQUAL_NEUTRAL) {
        NumaOpinion::None
    } else {
        NumaOpinion::Improves
    }
}

/// Is `task` likely to have its data in the caches of `src`?
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `task_hot()`.
#[doc(alias = "task_hot")]
#[must_use]
pub fn is_hot<V: BalanceView + ?Sized>(env: &Env<'_>, view: &V, task: TaskId, src: CpuId) -> bool {
    let t = view.task(task);
    if !t.is_fair || t.is_sched_idle {
        return false;
    }
    if env.has(Feature::LB_SMT_NOT_HOT) && env.flag(DomainFlags::SHARE_CPUCAPACITY) {
        return false;
    }
    if env.has(Feature::CACHE_HOT_BUDDY) && t.is_buddy && view.nr_running(env.dst_cpu) > 0 {
        return true;
    }
    let limit = env.kernel.tunables.migration_cost_ns;
    if limit == u64::MAX || !view.core_cookie_matches(task, env.dst_cpu) {
        return true;
    }
    let since = view.clock_task(src) as i64 - t.exec_start as i64;
    limit != 0 && since < limit as i64
}
