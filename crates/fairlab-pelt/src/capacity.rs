//! Capacity of a CPU: what is left of it for fair tasks, and what fits.

use fairlab_kernel::{Feature, Kernel};

/// What takes from the capacity of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CapacityInput {
    /// Original capacity (`arch_scale_cpu_capacity`), 1024 = the biggest CPU.
    pub capacity_orig: u64,
    /// `util_avg` of interrupts; 0 without accounting of interrupt time.
    pub irq: u64,
    /// `util_avg` of the real-time class.
    pub rt: u64,
    /// `util_avg` of the deadline class.
    pub dl: u64,
    /// `load_avg` of the thermal signal, or of the hardware signal that followed it.
    pub pressure: u64,
    /// Capacity that the cpufreq limits take (`HW_PRESSURE`).
    pub cpufreq_pressure: u64,
}

/// `x * (max - irq) / max`: what interrupts leave of `x`.
#[inline]
#[must_use]
pub const fn scale_irq_capacity(x: u64, irq: u64, max: u64) -> u64 {
    x * (max - irq) / max
}

impl CapacityInput {
    /// The original capacity without what heat, hardware and frequency limits take now.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/fair.c`, `get_actual_cpu_capacity()`; before v6.10 the same
    /// difference stands in `util_fits_cpu()`. Differs: none.
    #[doc(alias = "get_actual_cpu_capacity")]
    #[must_use]
    pub const fn actual(&self, kernel: &Kernel) -> u64 {
        let pressure = if kernel.has(Feature::HW_PRESSURE) {
            if self.pressure > self.cpufreq_pressure {
                self.pressure
            } else {
                self.cpufreq_pressure
            }
        } else if kernel.has(Feature::THERMAL_PRESSURE) {
            self.pressure
        } else {
            0
        };
        self.capacity_orig.saturating_sub(pressure)
    }

    /// The capacity left for fair tasks, at least 1. The balancer computes it now and then; between
    /// its visits `capacity_of` is what it last found.
    ///
    /// # Source
    /// Linux v5.15, v7.2 `kernel/sched/fair.c`, `scale_rt_capacity()`. Differs: none.
    #[doc(alias = "scale_rt_capacity")]
    #[doc(alias = "update_cpu_capacity")]
    #[must_use]
    pub const fn left_for_fair(&self, kernel: &Kernel) -> u64 {
        let (max, thermal) = if kernel.has(Feature::HW_PRESSURE) {
            (self.actual(kernel), 0)
        } else if kernel.has(Feature::THERMAL_PRESSURE) {
            (self.capacity_orig, self.pressure)
        } else {
            (self.capacity_orig, 0)
        };
        let used = self.rt + self.dl + thermal;
        if self.irq >= max || used >= max {
            return 1;
        }
        let free = scale_irq_capacity(max - used, self.irq, max);
        if free == 0 { 1 } else { free }
    }
}

/// Does `util` fit `capacity` with 20 percent to spare?
///
/// # Source
/// Linux v7.2 `kernel/sched/fair.c`, `fits_capacity()`. Differs: none.
#[inline]
#[must_use]
pub const fn fits_capacity(util: u64, capacity: u64) -> bool {
    util * 1280 < capacity * 1024
}

/// Is capacity `a` greater than `b` by more than 5 percent?
///
/// # Source
/// Linux v7.2 `kernel/sched/fair.c`, `capacity_greater()`. Differs: none.
#[inline]
#[must_use]
pub const fn capacity_greater(a: u64, b: u64) -> bool {
    a * 1024 > b * 1078
}
