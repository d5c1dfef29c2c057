//! Signals of a runqueue beside the fair class: what takes capacity from it.

use fairlab_kernel::{Feature, Kernel};

use crate::clock::Speed;
use crate::{Contribution, PeltTime, SchedAvg};

/// A unit of time that counts `value` in every signal.
const fn all(kernel: &Kernel, value: u64) -> Contribution {
    Contribution {
        load: value,
        runnable: if kernel.has(Feature::RUNNABLE_AVG) {
            value << 10
        } else {
            value
        },
        is_running: value != 0,
    }
}

impl SchedAvg {
    /// Updates the signals of the real-time or the deadline class. `is_running`: did a task of the
    /// class run until now?
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/pelt.c`, `update_rt_rq_load_avg()`, `update_dl_rq_load_avg()`.
    /// Differs: none.
    #[doc(alias = "update_rt_rq_load_avg")]
    #[doc(alias = "update_dl_rq_load_avg")]
    pub fn update_class(&mut self, kernel: &Kernel, now: PeltTime, is_running: bool) -> bool {
        let crossed = self.accumulate(now, all(kernel, u64::from(is_running)));
        if crossed {
            self.average(1, 1);
        }
        crossed
    }

    /// Updates the interrupt signal with `irq_ns` of interrupt and stolen time that ended now.
    /// `clock` is the runqueue's wall clock: interrupts know no PELT time. Nothing without
    /// `NONTASK_CAPACITY`.
    ///
    /// When within the span the interrupts came is not known; they are put at its end.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/pelt.c`, `update_irq_load_avg()`. Differs: none.
    #[doc(alias = "update_irq_load_avg")]
    pub fn update_irq(&mut self, kernel: &Kernel, clock: u64, irq_ns: u64, speed: &Speed) -> bool {
        if !kernel.has(Feature::NONTASK_CAPACITY) {
            return false;
        }
        let by_frequency = irq_ns.wrapping_mul(speed.freq_scale) >> 10;
        let irq_ns = by_frequency.wrapping_mul(speed.cpu_scale) >> 10;
        let began = PeltTime(clock.wrapping_sub(irq_ns));
        let mut crossed = self.accumulate(began, Contribution::NONE);
        crossed |= self.accumulate(PeltTime(clock), all(kernel, 1));
        if crossed {
            self.average(1, 1);
        }
        crossed
    }

    /// Updates the signal of capacity that heat or hardware takes: `lost` of the 1024 scale until
    /// now. Its `load_avg` is the pressure. `now` is `clock_task`, or what the architecture uses.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/pelt.c`, `update_hw_load_avg()`; v5.15 `update_thermal_load_avg()`.
    /// Differs: none.
    #[doc(alias = "update_hw_load_avg")]
    #[doc(alias = "update_thermal_load_avg")]
    pub fn update_pressure(&mut self, kernel: &Kernel, now: PeltTime, lost: u64) -> bool {
        let crossed = self.accumulate(now, all(kernel, lost));
        if crossed {
            self.average(1, 1);
        }
        crossed
    }
}
