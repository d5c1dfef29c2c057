//! Capacity: of a CPU, of a group, and comparisons of both.

use fairlab_kernel::{Feature, Kernel};
use fairlab_pelt::{
    CapacityInput, Clamp, CpuCapacity, CpuUtil, SchedAvg, cpu_util_cfs, cpu_util_cfs_boost,
    task_fits_cpu,
};
use fairlab_topology::Domains;
use fairlab_topology::domains::DomainFlags;
use fairlab_units::{CpuId, TaskId};

use super::env::Env;
use super::state::BalanceState;
use super::view::BalanceView;

/// Has a CPU of `original` capacity only so much left that `pct` percent of it stay below?
#[must_use]
pub const fn is_reduced(capacity: u64, original: u64, pct: u32) -> bool {
    capacity * (pct as u64) < original * 100
}

/// What of the view decides about the capacity of `cpu`.
fn capacity_input<V: BalanceView + ?Sized>(env: &Env<'_>, view: &V, cpu: CpuId) -> CapacityInput {
    let loss = view.capacity_loss(cpu);
    CapacityInput {
        capacity_orig: u64::from(env.domains.capacity_orig(cpu)),
        irq: loss.irq,
        rt: loss.rt,
        dl: loss.dl,
        pressure: loss.pressure,
        cpufreq_pressure: 0,
    }
}

/// What fitting a task on `cpu` looks at.
fn cpu_capacity<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    cpu: CpuId,
) -> CpuCapacity {
    let input = capacity_input(env, view, cpu);
    CpuCapacity {
        capacity: state.capacity_of(cpu),
        capacity_orig: input.capacity_orig,
        actual: input.actual(env.kernel),
    }
}

/// The clamp, and whether anybody uses clamps.
fn clamp_of(clamps: Option<(u64, u64)>) -> (Clamp, bool) {
    clamps.map_or((Clamp::NONE, false), |(min, max)| {
        (Clamp { min, max }, true)
    })
}

/// Refreshes the capacity of `cpu` and of the group that consists of it.
#[doc(alias = "update_cpu_capacity")]
fn update_cpu<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &mut BalanceState,
    cpu: CpuId,
) {
    let capacity = capacity_input(env, view, cpu).left_for_fair(env.kernel);
    if core::mem::replace(&mut state.cpus[cpu].capacity, capacity) != capacity
        && let Some(sums) = &mut state.sums
    {
        sums.note_capacity(cpu);
    }
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
    cpu_util_cfs(env.kernel, &signals(env, view, cpu))
}

/// The same, but at least `runnable_avg`.
#[doc(alias = "cpu_util_cfs_boost")]
#[must_use]
pub fn cpu_util_boost<V: BalanceView + ?Sized>(env: &Env<'_>, view: &V, cpu: CpuId) -> u64 {
    cpu_util_cfs_boost(env.kernel, &signals(env, view, cpu))
}

fn signals<V: BalanceView + ?Sized>(env: &Env<'_>, view: &V, cpu: CpuId) -> CpuUtil {
    CpuUtil {
        cpu,
        util_avg: view.util_avg(cpu),
        runnable_avg: view.runnable_avg(cpu),
        util_est: view.util_est(cpu),
        capacity_orig: u64::from(env.domains.capacity_orig(cpu)),
    }
}

/// Does `task` fit `cpu`?
#[doc(alias = "task_fits_cpu", alias = "task_fits_capacity")]
#[must_use]
pub fn task_fits<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    task: TaskId,
    cpu: CpuId,
) -> bool {
    let (clamp, used) = clamp_of(view.task_uclamp(task));
    let cpu = cpu_capacity(env, view, state, cpu);
    task_fits_cpu(env.kernel, view.task_util_est(task), clamp, used, &cpu)
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
    let (clamp, used) = clamp_of(view.uclamp(cpu));
    fairlab_pelt::is_overutilized(
        env.kernel,
        cpu_util(env, view, cpu),
        clamp,
        used,
        view.is_energy_aware(),
        &cpu_capacity(env, view, state, cpu),
    )
}

/// Sets the root domain's flag when `cpu`, whose queue has these averages, has more to do than it
/// can. Only balancing the whole machine clears it. For machines with an energy model.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `check_update_overutilized_status()`.
#[doc(alias = "update_overutilized_status")]
pub fn note_overutilized(
    kernel: &Kernel,
    domains: &Domains,
    state: &mut BalanceState,
    cpu: CpuId,
    avg: &SchedAvg,
) {
    if state.overutilized {
        return;
    }
    let capacity_orig = u64::from(domains.capacity_orig(cpu));
    let util = CpuUtil {
        cpu,
        util_avg: avg.util_avg,
        runnable_avg: avg.runnable_avg,
        util_est: u64::from(avg.util_est.enqueued),
        capacity_orig,
    };
    let capacity = CpuCapacity {
        capacity: state.capacity_of(cpu),
        capacity_orig,
        actual: capacity_orig,
    };
    let util = cpu_util_cfs(kernel, &util);
    state.overutilized =
        fairlab_pelt::is_overutilized(kernel, util, Clamp::NONE, false, true, &capacity);
}
