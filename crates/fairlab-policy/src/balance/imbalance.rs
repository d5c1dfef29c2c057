//! How much to move, and what.

use fairlab_kernel::Feature;
use fairlab_topology::domains::DomainFlags;

use super::busiest_group::DomainStats;
use super::classify::GroupType;
use super::env::{Env, MigrationType};
use super::group_stats::avg_load;

/// How many tasks the busiest group has too many, relative to the local group. With cores counted
/// a group's share is its share of the cores.
///
/// # Source
/// Linux v6.6 `kernel/sched/fair.c`, `sibling_imbalance()`; before, the difference of
/// `sum_nr_running`.
#[must_use]
pub fn sibling_imbalance(env: &Env<'_>, stats: &DomainStats) -> i64 {
    let nb = i64::from(stats.busiest_stats.sum_nr_running);
    let nl = i64::from(stats.local.sum_nr_running);
    if !env.has(Feature::LB_SIBLING_CORES) {
        return (nb - nl).max(0);
    }
    if !env.idle.is_idle() || nb == 0 {
        return 0;
    }
    let cores = |n: u32| i64::from(n.max(1));
    sibling_imbalance_by_cores(
        nb,
        nl,
        cores(stats.busiest_stats.cores),
        cores(stats.local.cores),
    )
}

/// The arithmetic of [`sibling_imbalance`]: running tasks and cores, busiest group first.
#[must_use]
pub const fn sibling_imbalance_by_cores(nb: i64, nl: i64, cb: i64, cl: i64) -> i64 {
    if cb == cl {
        return if nb > nl { nb - nl } else { 0 };
    }
    let scaled = cl * nb - cb * nl;
    let scaled = if scaled > 0 { scaled } else { 0 };
    // Rounded to nearest.
    let imbalance = (2 * scaled + cl + cb) / (cl + cb);
    if imbalance <= 1 && nl == 0 && nb > 1 {
        2
    } else {
        imbalance
    }
}

/// The difference that remains of `difference` when a node may have a few more tasks than another.
#[doc(alias = "adjust_numa_imbalance")]
#[must_use]
pub(crate) const fn beyond_numa_leeway(difference: i64, running: u32, leeway: u32) -> i64 {
    if running > leeway || difference > 2 {
        difference
    } else {
        0
    }
}

/// What to move from the busiest group and how much; zero means that nothing is to be moved.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `calculate_imbalance()`.
#[doc(alias = "calculate_imbalance")]
#[must_use]
pub fn calculate(env: &Env<'_>, stats: &DomainStats) -> (MigrationType, i64) {
    let busiest = &stats.busiest_stats;
    match busiest.group_type {
        GroupType::Misfit => {
            if env.flag(DomainFlags::ASYM_CPUCAPACITY) || !env.has(Feature::LB_REDUCED_CAPACITY) {
                (MigrationType::Misfit, 1)
            } else {
                (MigrationType::Load, busiest.misfit_load as i64)
            }
        }
        GroupType::AsymPacking => (MigrationType::Task, i64::from(busiest.sum_h_nr_running)),
        GroupType::SmtBalance | GroupType::Imbalanced => (MigrationType::Task, 1),
        GroupType::LlcBalance => (MigrationType::LlcTask, 1),
        GroupType::HasSpare | GroupType::FullyBusy | GroupType::Overloaded => {
            if stats.local.group_type == GroupType::HasSpare {
                fill_spare(env, stats)
            } else {
                (MigrationType::Load, even_out_load(env, stats))
            }
        }
    }
}

/// The local group has room: fill it.
fn fill_spare(env: &Env<'_>, stats: &DomainStats) -> (MigrationType, i64) {
    let (local, busiest) = (&stats.local, &stats.busiest_stats);
    let by_util = env.has(Feature::LB_UTIL_IN_LLC) || !env.flag(DomainFlags::SHARE_LLC);
    if busiest.group_type > GroupType::FullyBusy && by_util {
        let room = local.group_capacity.saturating_sub(local.group_util);
        // A task that is known to wait may go even where the estimates leave no room.
        return if room == 0 && env.idle.is_idle() {
            (MigrationType::Task, 1)
        } else {
            (MigrationType::Util, room as i64)
        };
    }
    let leeway_last = env.has(Feature::LB_NUMA_IMB);
    let mut amount = if busiest.group_weight == 1 || stats.prefer_sibling {
        let tasks = sibling_imbalance(env, stats);
        if leeway_last { tasks } else { tasks >> 1 }
    } else {
        // Differs from Linux: none. The counts are 32 bits wide and unsigned, so a busiest group
        // with more idle CPUs makes a huge amount. That happens only to an overloaded group inside
        // an LLC, and the number of movable tasks limits it anyway.
        let idle = local.idle_cpus.wrapping_sub(busiest.idle_cpus);
        i64::from(if leeway_last { idle } else { idle >> 1 })
    };
    if env.flag(DomainFlags::NUMA) {
        if leeway_last {
            let running = local.sum_nr_running.saturating_add(1);
            amount = beyond_numa_leeway(amount, running, env.sd.imb_numa_nr);
        } else if env.has(Feature::LB_NUMA_TWO) {
            if busiest.sum_nr_running <= 2 {
                amount = 0;
            }
        } else if env.has(Feature::LB_NUMA_QUARTER)
            && busiest.sum_nr_running < busiest.group_weight >> 2
            && amount <= 2
        {
            amount = 0;
        }
    }
    (
        MigrationType::Task,
        if leeway_last { amount >> 1 } else { amount },
    )
}

/// Both groups are busy: bring the loads together, neither beyond the average.
fn even_out_load(env: &Env<'_>, stats: &DomainStats) -> i64 {
    let (local, busiest) = (&stats.local, &stats.busiest_stats);
    let average = stats.avg_load();
    let mut local_avg = local.avg_load;
    if local.group_type < GroupType::Overloaded {
        local_avg = avg_load(local.group_load, local.group_capacity);
        if env.has(Feature::LB_LOCAL_BUSIER_STOP) && local_avg >= busiest.avg_load {
            return 0;
        }
        if env.has(Feature::LB_LOCAL_AVG_CHECK) && local_avg >= average {
            return 0;
        }
    }
    // The subtractions wrap, as in the kernel; an average above the busiest is then no limit.
    let give = busiest
        .avg_load
        .wrapping_sub(average)
        .wrapping_mul(busiest.group_capacity);
    let take = average
        .wrapping_sub(local_avg)
        .wrapping_mul(local.group_capacity);
    (give.min(take) / 1024) as i64
}
