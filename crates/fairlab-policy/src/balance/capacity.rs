//! Capacity: of a CPU, of a group, and comparisons of both.

use fairlab_kernel::{Feature, Kernel};
use fairlab_topology::domains::DomainFlags;
use fairlab_units::CpuId;

use super::env::Env;
use super::state::BalanceState;
use super::view::{BalanceView, CapacityLoss};

/// Does `util` fit into `capacity` with a margin of 20 percent?
#[inline]
#[must_use]
pub(crate) const fn fits_capacity(util: u64, capacity: u64) -> bool {
    util.wrapping_mul(1280) < capacity.wrapping_mul(1024)
}

/// Is capacity `a` greater than `b` by more than 5 percent?
#[inline]
#[must_use]
pub(crate) const fn capacity_greater(a: u64, b: u64) -> bool {
    a.wrapping_mul(1024) > b.wrapping_mul(1078)
}

/// Has a CPU of `original` capacity only so much left that `pct` percent of it stay below?
#[must_use]
pub const fn is_reduced(capacity: u64, original: u64, pct: u32) -> bool {
    capacity * (pct as u64) < original * 100
}

/// Capacity left for fair tasks of a CPU of `original` capacity.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `scale_rt_capacity()`; with [`Feature::HW_PRESSURE`] pressure
/// lowers the maximum, before ([`Feature::THERMAL_PRESSURE`]) it counts as used.
#[doc(alias = "scale_rt_capacity")]
#[must_use]
pub fn left_for_fair(kernel: &Kernel, original: u64, loss: CapacityLoss) -> u64 {
    let hw = kernel.has(Feature::HW_PRESSURE);
    let max = if hw {
        original.saturating_sub(loss.pressure)
    } else {
        original
    };
    if loss.irq >= max {
        return 1;
    }
    let mut used = loss.rt + loss.dl;
    if kernel.has(Feature::THERMAL_PRESSURE) {
        used += loss.pressure;
    }
    if used >= max {
        return 1;
    }
    ((max - used) * (max - loss.irq) / max).max(1)
}

/// Refreshes the capacity of `cpu` and of the group that consists of it.
#[doc(alias = "update_cpu_capacity")]
fn update_cpu<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &mut BalanceState,
    cpu: CpuId,
) {
    let original = u64::from(env.domains.capacity_orig(cpu));
    let capacity = left_for_fair(env.kernel, original, view.capacity_loss(cpu));
    state.cpus[cpu].capacity = capacity;
    let group = state.group_mut(env.groups[0].capacity);
    group.capacity = capacity;
    group.min_capacity = capacity;
    group.max_capacity = capacity;
}

/// Refreshes the capacity of the local group of the domain.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `update_group_capacity()`.
#[doc(alias = "update_group_capacity")]
pub fn update_group<V: BalanceView + ?Sized>(env: &Env<'_>, view: &V, state: &mut BalanceState) {
    let interval = u64::from(state.domain(env.domain).balance_interval);
    let jiffies = (interval * env.kernel.tunables.hz).div_ceil(1000);
    let next = view.jiffies() + jiffies.clamp(1, state.max_interval.max(1));
    let local = &env.groups[0];
    state.group_mut(local.capacity).next_update = next;

    let Some(child) = env.sd.child else {
        update_cpu(env, view, state, env.dst_cpu);
        return;
    };
    let (mut sum, mut min, mut max) = (0, u64::MAX, 0);
    let overlapping = DomainFlags::OVERLAP | DomainFlags::NUMA;
    if env.domains.domain(child).flags.any(overlapping) {
        // The groups of an overlapping child do not add up to this group, its CPUs do.
        for cpu in env.domains.mask(local.span) {
            let capacity = state.capacity_of(cpu);
            sum += capacity;
            let seen = if env.has(Feature::LB_CAPACITY_SUM_DEFECT) {
                sum
            } else {
                capacity
            };
            min = min.min(seen);
            max = max.max(seen);
        }
    } else {
        for group in env.domains.groups(child) {
            let entry = state.group(group.capacity);
            sum += entry.capacity;
            min = min.min(entry.min_capacity);
            max = max.max(entry.max_capacity);
        }
    }
    let group = state.group_mut(local.capacity);
    group.capacity = sum;
    group.min_capacity = min;
    group.max_capacity = max;
}

/// Utilization of `cpu` by fair tasks, limited by its original capacity.
#[doc(alias = "cpu_util_cfs")]
#[must_use]
pub fn cpu_util<V: BalanceView + ?Sized>(env: &Env<'_>, view: &V, cpu: CpuId) -> u64 {
    util_of(env, view, cpu, false)
}

/// The same, but at least `runnable_avg`.
#[doc(alias = "cpu_util_cfs_boost")]
#[must_use]
pub fn cpu_util_boost<V: BalanceView + ?Sized>(env: &Env<'_>, view: &V, cpu: CpuId) -> u64 {
    util_of(env, view, cpu, true)
}

fn util_of<V: BalanceView + ?Sized>(env: &Env<'_>, view: &V, cpu: CpuId, boost: bool) -> u64 {
    let mut util = view.util_avg(cpu);
    if boost {
        util = util.max(view.runnable_avg(cpu));
    }
    if env.has(Feature::UTIL_EST) {
        util = util.max(view.util_est(cpu));
    }
    util.min(u64::from(env.domains.capacity_orig(cpu)))
}

/// Does utilization `util` fit `cpu`, given clamps?
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `util_fits_cpu()`.
#[doc(alias = "util_fits_cpu")]
#[must_use]
pub fn util_fits<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    util: u64,
    clamps: Option<(u64, u64)>,
    cpu: CpuId,
) -> bool {
    let plain = fits_capacity(util, state.capacity_of(cpu));
    let Some((min, max)) = clamps else {
        return plain;
    };
    if !env.has(Feature::UCLAMP_FIT) {
        let clamped = util.clamp(min.min(max), max);
        return fits_capacity(clamped, state.capacity_of(cpu));
    }
    let original = u64::from(env.domains.capacity_orig(cpu));
    let max_fits = !(original == 1024 && max == 1024) && max <= original;
    let fits = plain || max_fits;
    let min = min.min(max);
    let actual = original.saturating_sub(view.capacity_loss(cpu).pressure);
    fits && !(util < min && min > actual)
}

/// Is `cpu` too busy for its capacity?
#[doc(alias = "cpu_overutilized")]
#[must_use]
pub fn is_overutilized<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    cpu: CpuId,
) -> bool {
    if !env.has(Feature::LB_OVERUTILIZED_ALWAYS) && !view.is_energy_aware() {
        return false;
    }
    let clamps = if env.has(Feature::UCLAMP_FIT) {
        let clamps = view.uclamp(cpu);
        if env.has(Feature::OVERUTIL_NO_UMIN) {
            clamps.map(|(_, max)| (0, max))
        } else {
            clamps
        }
    } else {
        None
    };
    !util_fits(env, view, state, cpu_util(env, view, cpu), clamps, cpu)
}
