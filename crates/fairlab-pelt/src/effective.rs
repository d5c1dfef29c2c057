//! Utilization of a CPU by all classes, as energy and frequency selection read it.

use crate::{Clamp, scale_irq_capacity};

/// Who uses a CPU, all on the 1024 scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectiveInput {
    /// Original capacity.
    pub capacity_orig: u64,
    /// Utilization by fair tasks ([`cpu_util`](crate::cpu_util)).
    pub cfs: u64,
    /// `util_avg` of the real-time class.
    pub rt: u64,
    /// `util_avg` of the deadline class.
    pub dl: u64,
    /// Bandwidth that deadline tasks have reserved.
    pub dl_bandwidth: u64,
    /// `util_avg` of interrupts.
    pub irq: u64,
    /// Clamp of the runqueue.
    pub clamp: Clamp,
    /// Has anyone ever set a clamp?
    pub uclamp_used: bool,
    /// Is a real-time task runnable?
    pub has_rt: bool,
}

/// How much of a CPU is used, and the range in which its performance should stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectiveUtil {
    /// Used by anyone.
    pub util: u64,
    /// Performance must not be below this.
    pub min: u64,
    /// Performance need not be above this.
    pub max: u64,
}

/// The utilization of a CPU by all classes, in the form of v6.8 on.
///
/// # Source
/// Linux v7.2 `kernel/sched/syscalls.c`, `effective_cpu_util()`. Differs: the caller gives the
/// signals.
#[must_use]
pub fn effective_cpu_util(input: &EffectiveInput) -> EffectiveUtil {
    let scale = input.capacity_orig;
    if input.irq >= scale {
        return EffectiveUtil {
            util: scale,
            min: scale,
            max: scale,
        };
    }
    let asked = (input.irq + input.dl_bandwidth).max(input.clamp.min);
    // Real-time tasks run at full speed unless clamps say otherwise.
    let min = if !input.uclamp_used && input.has_rt {
        asked.max(scale)
    } else {
        asked
    };
    let max = scale.min(input.clamp.max);
    let classes = input.cfs + input.rt + input.dl;
    let util = if classes >= scale {
        scale
    } else {
        // The classes share what interrupts leave of the time.
        scale.min(scale_irq_capacity(classes, input.irq, scale) + input.irq)
    };
    EffectiveUtil { util, min, max }
}

impl EffectiveUtil {
    /// The performance to request from the frequency governor: a quarter more than is used, within
    /// the range.
    ///
    /// # Source
    /// Linux v7.2 `kernel/sched/cpufreq_schedutil.c`, `sugov_effective_cpu_perf()`. Differs: none.
    #[doc(alias = "sugov_effective_cpu_perf")]
    #[must_use]
    pub fn performance(&self) -> u64 {
        let wanted = self.util + (self.util >> 2);
        self.min.max(wanted.min(self.max))
    }
}
