//! Does a task fit a CPU, and what is used of a CPU without it?

use fairlab_kernel::Feature;
use fairlab_pelt::{Clamp, CpuCapacity, CpuUtil, Fit, TaskUtil, fits_capacity, util_fits_cpu};
use fairlab_units::CpuId;

use crate::explain::Explain;
use crate::search::Search;
use crate::{MachineView, Signals};

/// `task_util_est`.
#[inline]
pub(crate) fn task_util_est(signals: &Signals) -> u64 {
    signals.util_avg.max(signals.util_est)
}

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// Does placement look at capacities at all?
    pub(crate) fn is_asymmetric(&self) -> bool {
        self.domains.switches().asym_cpucapacity && self.has(Feature::SIS_ASYM_SCAN)
    }

    /// `cap_orig` minus pressure (`get_actual_cpu_capacity`).
    pub(crate) fn actual_capacity(&self, cpu: CpuId) -> u64 {
        u64::from(self.domains.capacity_orig(cpu)).saturating_sub(self.view.pressure(cpu))
    }

    pub(crate) fn capacity(&self, cpu: CpuId) -> CpuCapacity {
        CpuCapacity {
            capacity: self.view.capacity_of(cpu),
            capacity_orig: u64::from(self.domains.capacity_orig(cpu)),
            actual: self.actual_capacity(cpu),
        }
    }

    pub(crate) fn clamp(&self) -> Clamp {
        Clamp {
            min: self.p.uclamp.0,
            max: self.p.uclamp.1,
        }
    }

    /// How well `util` under `clamp` fits `capacity`. Without UCLAMP_FIT the clamped utilization is
    /// compared with what is left of the CPU.
    pub(crate) fn util_fits(&self, util: u64, clamp: Clamp, capacity: &CpuCapacity) -> Fit {
        let used = self.view.uclamp_used();
        let util = if used && self.has(Feature::UCLAMP_TASK_UTIL) && !self.has(Feature::UCLAMP_FIT)
        {
            clamp.apply(util)
        } else {
            util
        };
        util_fits_cpu(self.kernel, util, clamp, used, capacity)
    }

    /// How well `p` fits `cpu`.
    pub(crate) fn task_fits(&self, cpu: CpuId) -> Fit {
        self.util_fits(
            task_util_est(&self.signals),
            self.clamp(),
            &self.capacity(cpu),
        )
    }

    /// Does a single candidate of `select_idle_sibling` suit `p` (`asym_fits_cpu`)? Always, on a
    /// symmetric machine.
    pub(crate) fn suits(&mut self, cpu: CpuId) -> bool {
        if !self.is_asymmetric() {
            return true;
        }
        if !self.task_fits(cpu).is_full() {
            return false;
        }
        !(self.has(Feature::SIS_ASYM_SMT) && self.domains.switches().smt_present)
            || self.is_core_idle(cpu)
    }

    /// Would the wakee, moved between these two CPUs, be too big for the smaller (`wake_cap`)?
    pub(crate) fn wake_cap(&mut self) -> bool {
        if !self.domains.switches().asym_cpucapacity {
            return false;
        }
        let capacity = |cpu| u64::from(self.domains.capacity_orig(cpu));
        let min = capacity(self.ctx.this_cpu).min(capacity(self.ctx.prev_cpu));
        let max = self.view.active().iter().map(capacity).max();
        let max = max.unwrap_or(min);
        if max.saturating_sub(min) < max >> 3 {
            return false;
        }
        self.sync_signals();
        let capacity = CpuCapacity {
            capacity: min,
            capacity_orig: min,
            actual: min,
        };
        !self
            .util_fits(task_util_est(&self.signals), self.clamp(), &capacity)
            .is_full()
    }

    /// Would `p` fit the biggest CPU of a group? Compared with what is left of that CPU.
    pub(crate) fn fits_group(&self, max_capacity: u64) -> bool {
        let util = task_util_est(&self.signals);
        let clamps = self.view.uclamp_used() && self.has(Feature::UCLAMP_TASK_UTIL);
        let util = if clamps {
            self.clamp().apply(util)
        } else {
            util
        };
        fits_capacity(util, max_capacity)
    }

    /// The root queue of `cpu`, for the utilization functions.
    #[inline]
    pub(crate) fn queue_util(&self, cpu: CpuId) -> CpuUtil {
        CpuUtil {
            cpu,
            util_avg: self.view.util_avg(cpu),
            runnable_avg: self.view.runnable_avg(cpu),
            util_est: self.view.util_est(cpu),
            capacity_orig: u64::from(self.domains.capacity_orig(cpu)),
        }
    }

    /// `p`, for the utilization functions.
    #[inline]
    pub(crate) fn task_util(&self) -> TaskUtil {
        TaskUtil {
            cpu: self.p.cpu,
            util_avg: self.signals.util_avg,
            runnable_avg: self.signals.runnable_avg,
            util_est: self.signals.util_est,
            is_counted: self.p.on_rq || self.p.id == self.current.id,
            is_new: self.p.is_new,
        }
    }
}
