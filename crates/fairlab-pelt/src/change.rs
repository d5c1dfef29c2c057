//! Changing a signal from outside, average and sum together.
//!
//! Averages are rounded, sums are not, and they come from entities that were updated at other times
//! than the queue. What is taken out may therefore be more than what was put in: nothing goes below
//! zero, and the sum is kept in step with its average by one of two rules.

use fairlab_kernel::{Feature, Kernel};

use crate::SchedAvg;
use crate::series::MIN_DIVIDER;

impl SchedAvg {
    /// Changes the load signal by an average and a sum, with clamping.
    pub(crate) fn change_load(&mut self, kernel: &Kernel, average: i64, sum: i64) {
        let divider = self.divider();
        (self.load_avg, self.load_sum) = changed(
            kernel,
            divider,
            (self.load_avg, self.load_sum),
            average,
            sum,
        );
    }

    /// Changes the runnable signal by an average and a sum, with clamping.
    pub(crate) fn change_runnable(&mut self, kernel: &Kernel, average: i64, sum: i64) {
        let divider = self.divider();
        (self.runnable_avg, self.runnable_sum) = changed(
            kernel,
            divider,
            (self.runnable_avg, self.runnable_sum),
            average,
            sum,
        );
    }

    /// Changes the utilization signal by an average and a sum, with clamping.
    pub(crate) fn change_util(&mut self, kernel: &Kernel, average: i64, sum: i64) {
        let divider = self.divider();
        let old = (self.util_avg, u64::from(self.util_sum));
        let (average, sum) = changed(kernel, divider, old, average, sum);
        self.util_avg = average;
        // The sum of one CPU's running time fits in 32 bits; attached averages that add up to more
        // than 87 CPUs wrap, as in the kernel.
        self.util_sum = sum as u32;
    }
}

/// `(average, sum)` after a change of both.
///
/// # Source
/// Linux v7.2 `kernel/sched/fair.c`, `__update_sa()`; v6.1 `detach_entity_load_avg()` and others;
/// v5.15 the same. Differs: none.
fn changed(
    kernel: &Kernel,
    divider: u32,
    (old_average, old_sum): (u64, u64),
    average: i64,
    sum: i64,
) -> (u64, u64) {
    let average = old_average.saturating_add_signed(average);
    if !kernel.has(Feature::PELT_MIN_DIVIDER) {
        return (average, average.wrapping_mul(u64::from(divider)));
    }
    let sum = old_sum.saturating_add_signed(sum);
    let least = average.wrapping_mul(u64::from(MIN_DIVIDER));
    let sum = if kernel.has(Feature::PELT_SUB_32BIT) {
        u64::from((sum as u32).max(least as u32))
    } else {
        sum.max(least)
    };
    (average, sum)
}
