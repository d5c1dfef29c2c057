//! Which CPU of the busiest group to pull from.

use fairlab_kernel::Feature;
use fairlab_pelt::capacity_greater;
use fairlab_topology::domains::DomainFlags;
use fairlab_units::CpuId;

use super::asym::{is_preferred, is_usable};
use super::busiest_group::Imbalance;
use super::capacity::{cpu_util, cpu_util_boost};
use super::cost::BalanceCost;
use super::env::{Env, MigrationType, NumaClass};
use super::llc;
use super::state::BalanceState;
use super::v5_4;
use super::view::BalanceView;

/// Where the tasks of `cpu` are relative to the nodes they prefer.
#[doc(alias = "fbq_classify_rq")]
#[must_use]
pub fn numa_class<V: BalanceView + ?Sized>(view: &V, cpu: CpuId) -> NumaClass {
    let running = view.nr_running(cpu);
    if running > view.nr_numa_running(cpu) {
        NumaClass::Regular
    } else if running > view.nr_preferred_running(cpu) {
        NumaClass::Remote
    } else {
        NumaClass::All
    }
}

/// The CPU of the busiest group to pull from, if one qualifies.
///
/// # Source
/// Linux v6.12 `kernel/sched/fair.c`, `sched_balance_find_src_rq()`.
#[doc(alias = "sched_balance_find_src_rq")]
pub fn find_busiest_queue<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    found: &Imbalance,
    cost: &mut BalanceCost,
) -> Option<CpuId> {
    if !env.has(Feature::LB_GROUP_TYPES) {
        return v5_4::find_busiest_queue(env, view, state, found, cost);
    }
    let dst_llc = llc::of(env, env.dst_cpu);
    let mut busiest = None;
    let mut most = 0;
    // Load is compared per capacity, crosswise, so that nothing is divided.
    let (mut most_load, mut most_capacity) = (0u64, 1u64);
    for cpu in env.domains.mask(env.groups[found.group].span) {
        if !env.cpus.test(cpu) {
            continue;
        }
        cost.queue_cpus += 1;
        if numa_class(view, cpu) > found.numa_class {
            continue;
        }
        let h_nr = env.h_nr(view, cpu);
        if h_nr == 0 && env.has(Feature::LB_QUEUE_NONEMPTY) {
            continue;
        }
        if h_nr == 1 && leaves_single(env, view, state, cpu) {
            continue;
        }
        let value = match found.migration {
            MigrationType::Load => {
                let load = env.load(view, cpu);
                let single_too_big =
                    h_nr == 1 && load as i64 > found.amount && !env.is_capacity_reduced(state, cpu);
                let capacity = state.capacity_of(cpu);
                if !single_too_big && load * most_capacity > most_load * capacity {
                    (most_load, most_capacity) = (load, capacity);
                    busiest = Some(cpu);
                }
                continue;
            }
            MigrationType::Util => {
                if h_nr <= 1 && env.has(Feature::LB_QUEUE_UTIL_SINGLE) {
                    continue;
                }
                if env.has(Feature::LB_QUEUE_UTIL_BOOST) {
                    cpu_util_boost(env, view, cpu)
                } else {
                    cpu_util(env, view, cpu)
                }
            }
            MigrationType::Task => u64::from(h_nr),
            MigrationType::Misfit => view.misfit_load(cpu),
            MigrationType::LlcTask => {
                dst_llc.map_or(0, |dst| u64::from(view.nr_preferring_llc(cpu, dst)))
            }
        };
        if value > most {
            most = value;
            busiest = Some(cpu);
        }
    }
    busiest
}

/// Is the single task on `cpu` better left where it is?
fn leaves_single<V: BalanceView + ?Sized>(
    env: &Env<'_>,
    view: &V,
    state: &BalanceState,
    cpu: CpuId,
) -> bool {
    if env.flag(DomainFlags::ASYM_CPUCAPACITY) {
        let (dst, src) = (state.capacity_of(env.dst_cpu), state.capacity_of(cpu));
        let leaves = if env.has(Feature::LB_CAPACITY_GREATER) {
            !capacity_greater(dst, src)
        } else {
            dst < src
        };
        if leaves {
            return true;
        }
    }
    env.flag(DomainFlags::ASYM_PACKING)
        && env.has(Feature::LB_QUEUE_PACKING)
        && is_preferred(view, cpu, env.dst_cpu)
        && (!env.has(Feature::LB_ASYM_IDLE_CORE) || is_usable(env, view, cpu))
}
