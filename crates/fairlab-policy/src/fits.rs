//! Does a task fit a CPU?

use fairlab_kernel::Feature;
use fairlab_units::CpuId;

use crate::explain::Explain;
use crate::search::Search;
use crate::{MachineView, Signals};

/// `fits_capacity`: utilization stays 20 percent below the capacity.
#[inline]
pub(crate) const fn fits_capacity(util: u64, capacity: u64) -> bool {
    util * 1280 < capacity * 1024
}

/// `task_util_est`.
#[inline]
pub(crate) const fn task_util_est(signals: &Signals) -> u64 {
    if signals.util_avg > signals.util_est {
        signals.util_avg
    } else {
        signals.util_est
    }
}

/// How well a utilization fits a CPU (`util_fits_cpu`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// -1: it fits, but the CPU cannot give the requested minimum.
    MinMisses,
    /// 0: it does not fit.
    No,
    /// 1: it fits.
    Yes,
}

/// The terms of `util_fits_cpu`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FitTest {
    pub util: u64,
    pub uclamp: Option<(u64, u64)>,
    pub capacity: u64,
    pub capacity_orig: u64,
    pub actual_capacity: u64,
}

impl FitTest {
    pub fn run(self) -> Fit {
        let fits = fits_capacity(self.util, self.capacity);
        let Some((min, max)) = self.uclamp else {
            return if fits { Fit::Yes } else { Fit::No };
        };
        // A cap of 1024 on the biggest CPU is no cap at all.
        let is_uncapped = self.capacity_orig == 1024 && max == 1024;
        let fits = fits || (!is_uncapped && max <= self.capacity_orig);
        let min = min.min(max);
        if fits && self.util < min && min > self.actual_capacity {
            return Fit::MinMisses;
        }
        if fits { Fit::Yes } else { Fit::No }
    }
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

    /// `util_fits_cpu` for `util` under the given clamps; without UCLAMP_FIT the utilization is
    /// clamped and compared with the capacity that is left.
    pub(crate) fn util_fits(&self, util: u64, uclamp: (u64, u64), cpu: CpuId) -> Fit {
        let capacity = self.view.capacity_of(cpu);
        if !self.has(Feature::UCLAMP_FIT) {
            let util = if self.view.uclamp_used() {
                util.max(uclamp.0).min(uclamp.1)
            } else {
                util
            };
            return if fits_capacity(util, capacity) {
                Fit::Yes
            } else {
                Fit::No
            };
        }
        FitTest {
            util,
            uclamp: self.view.uclamp_used().then_some(uclamp),
            capacity,
            capacity_orig: u64::from(self.domains.capacity_orig(cpu)),
            actual_capacity: self.actual_capacity(cpu),
        }
        .run()
    }

    /// How well `p` fits `cpu`.
    pub(crate) fn task_fits(&self, cpu: CpuId) -> Fit {
        self.util_fits(task_util_est(&self.signals), self.p.uclamp, cpu)
    }

    /// Does a single candidate of `select_idle_sibling` suit `p` (`asym_fits_cpu`)? Always, on a
    /// symmetric machine.
    pub(crate) fn suits(&mut self, cpu: CpuId) -> bool {
        if !self.is_asymmetric() {
            return true;
        }
        if self.task_fits(cpu) != Fit::Yes {
            return false;
        }
        !(self.has(Feature::SIS_ASYM_SMT) && self.domains.switches().smt_present)
            || self.is_core_idle(cpu)
    }

    /// Utilization of `cpu` without `p` (`cpu_util_without`): once per CPU of each group at fork and
    /// exec.
    pub(crate) fn cpu_util_without(&self, cpu: CpuId) -> u64 {
        let takes_out = self.p.cpu == cpu && !self.p.is_new;
        let mut util = self.view.util_avg(cpu);
        if takes_out {
            util = util.saturating_sub(self.signals.util_avg);
        }
        if self.has(Feature::UTIL_EST) {
            let mut estimate = self.view.util_est(cpu);
            if takes_out && (self.p.on_rq || self.p.id == self.current.id) {
                estimate = estimate.saturating_sub(self.signals.util_est);
            }
            util = util.max(estimate);
        }
        util.min(u64::from(self.domains.capacity_orig(cpu)))
    }

    /// Would the wakee, moved between these two CPUs, be too big for the smaller (`wake_cap`)?
    pub(crate) fn wake_cap(&mut self) -> bool {
        if !self.domains.switches().asym_cpucapacity {
            return false;
        }
        let capacity = |cpu| u64::from(self.domains.capacity_orig(cpu));
        let min = capacity(self.ctx.this_cpu).min(capacity(self.ctx.prev_cpu));
        let max = self.view.active().iter().map(capacity).max().unwrap_or(min);
        if max.saturating_sub(min) < max >> 3 {
            return false;
        }
        self.sync_signals();
        !fits_capacity(task_util_est(&self.signals), min)
    }
}
