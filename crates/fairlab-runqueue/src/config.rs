//! What one kernel on one machine does with its queues.

use fairlab_kernel::{Feature, Kernel};
use fairlab_units::Nanos;

use crate::entity::Entity;
use crate::weight::{self, Weight};

/// The switches and scaled tunables that the queues read.
///
/// Made once from a [`Kernel`] and the number of online CPUs; all queues of a machine share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RqConfig {
    /// The kernel's switches, kept for those that are read rarely.
    pub(crate) kernel: Kernel,
    pub(crate) eevdf: bool,
    pub(crate) division: bool,
    pub(crate) zero_vruntime: bool,
    pub(crate) vprot: bool,
    pub(crate) run_to_parity: bool,
    pub(crate) preempt_short: bool,
    pub(crate) delay_dequeue: bool,
    pub(crate) delay_zero: bool,
    pub(crate) lazy: bool,
    /// CFS: the targeted latency, scaled.
    pub(crate) latency: u64,
    /// CFS: the shortest slice, scaled.
    pub(crate) min_granularity: u64,
    pub(crate) idle_min_granularity: u64,
    /// CFS: scaled lead of a wakee.
    pub(crate) wakeup_granularity: u64,
    /// CFS: number of entities from which the period grows.
    pub(crate) nr_latency: u32,
    /// EEVDF: the slice, scaled.
    pub(crate) base_slice: u64,
    /// EEVDF: the slice before scaling.
    pub(crate) normalized_base_slice: u64,
    pub(crate) tick: u64,
}

impl RqConfig {
    /// The configuration of `kernel` on a machine with `nr_cpus` online CPUs.
    ///
    /// # Source
    /// Linux v5.4 to v7.2 `kernel/sched/fair.c`, `update_sysctl()` and `sched_update_scaling()`.
    #[must_use]
    #[doc(alias = "sched_update_scaling")]
    pub fn new(kernel: &Kernel, nr_cpus: usize) -> Self {
        let t = &kernel.tunables_in_use();
        let factor = t.scaling_factor(nr_cpus);
        let eevdf = kernel.has(Feature::EEVDF);
        let latency = t.latency_ns * factor;
        let min_granularity = t.min_granularity_ns * factor;
        Self {
            kernel: *kernel,
            eevdf,
            division: !kernel.has(Feature::WEIGHT_UNSCALED),
            zero_vruntime: kernel.has(Feature::ZERO_VRUNTIME),
            vprot: kernel.has(Feature::SLICE_VPROT),
            run_to_parity: kernel.has(Feature::RUN_TO_PARITY),
            preempt_short: kernel.has(Feature::PREEMPT_SHORT),
            delay_dequeue: kernel.has(Feature::DELAY_DEQUEUE),
            delay_zero: kernel.has(Feature::DELAY_ZERO),
            lazy: kernel.has(Feature::RESCHED_LAZY),
            latency,
            min_granularity,
            idle_min_granularity: t.idle_min_granularity_ns,
            wakeup_granularity: t.wakeup_granularity_ns * factor,
            nr_latency: latency
                .div_ceil(min_granularity.max(1))
                .min(u64::from(u32::MAX)) as u32,
            base_slice: t.base_slice_ns * factor,
            normalized_base_slice: t.base_slice_ns,
            tick: t.tick_ns(),
        }
    }

    /// The kernel it was made from.
    #[must_use]
    pub const fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// EEVDF: the slice of tasks that did not ask for another one, in ns.
    #[must_use]
    #[doc(alias = "sysctl_sched_base_slice")]
    pub const fn base_slice(&self) -> Nanos {
        Nanos(self.base_slice)
    }

    /// Is `feature` on?
    #[inline]
    pub(crate) const fn has(&self, feature: Feature) -> bool {
        self.kernel.has(feature)
    }

    /// The weight that counts in the sums from which the average vruntime is computed.
    #[inline]
    pub(crate) const fn sum_weight(&self, weight: Weight) -> u64 {
        if self.division {
            weight.0
        } else {
            weight.unscaled()
        }
    }

    /// Virtual time that `delta` ns of running are for `entity` (`calc_delta_fair`).
    #[inline]
    pub(crate) fn fair(&self, delta: u64, entity: &Entity) -> u64 {
        if entity.weight == Weight::NICE_0 {
            delta
        } else if self.division {
            weight::weighted_by_division(delta, Weight::NICE_0.0, entity.weight.0)
        } else {
            weight::weighted_by_inverse(delta, Weight::NICE_0.unscaled(), entity.inverse)
        }
    }

    /// The part of `delta` ns that `weight` gets of `load`, a sum of weights (`__calc_delta`).
    #[inline]
    pub(crate) fn share(&self, delta: u64, weight: Weight, load: Weight) -> u64 {
        if self.division {
            weight::weighted_by_division(delta, weight.0, load.0)
        } else {
            weight::weighted_by_inverse(delta, weight.unscaled(), load.sum_inverse())
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlab_kernel::{Kernel, Release};

    use super::*;

    #[test]
    fn cfs_in_a_release_of_eevdf_has_the_numbers_of_the_last_release_of_cfs() {
        let back: Kernel = "6.6:NO_EEVDF".parse().unwrap();
        let numbers = |kernel: &Kernel| {
            let c = RqConfig::new(kernel, 8);
            let granularity = (c.min_granularity, c.idle_min_granularity);
            (c.latency, granularity, c.wakeup_granularity, c.nr_latency)
        };
        assert_eq!(numbers(&back), numbers(&Kernel::of(Release::V6_1)));
    }
}
