//! How many CPUs a scan may look at.

use fairlab_kernel::Feature;
use fairlab_topology::domains::DomainId;
use fairlab_units::CpuId;

use crate::MachineView;
use crate::effects::{ScanAccount, WakeAvgIdle};
use crate::explain::Explain;
use crate::search::Search;

/// The scan budget: the kernel's `nr`, which a scan counts down before it looks at a CPU, stopping
/// at zero. So at most `nr - 1` CPUs are tested.
///
/// A quotient that SIS_PROP cannot store in an int may come out negative; such a budget is never
/// used up, as in the kernels that test for zero. SIS_UTIL never makes one.
pub(crate) type Budget = i32;

/// No limit.
pub(super) const UNLIMITED: Budget = Budget::MAX;

/// The budget of SIS_PROP: as many CPUs as the average idle time pays for, and four at least.
///
/// `weight` = CPUs of the LLC, times in ns; `avg_cost` is at least 1.
#[must_use]
pub(crate) fn proportional_budget(weight: u32, avg_idle: u64, avg_cost: u64) -> Budget {
    let span_avg = u64::from(weight).wrapping_mul(avg_idle);
    if span_avg > avg_cost.saturating_mul(4) {
        // The kernel stores the quotient in an int.
        (span_avg / avg_cost) as Budget
    } else {
        4
    }
}

/// The aged idle estimate: halved for each jiffy since the last ageing.
#[must_use]
pub(crate) fn aged_idle(mut stamp: u64, mut avg_ns: u64, jiffies: u64) -> WakeAvgIdle {
    // At most 64 rounds: the estimate reaches zero.
    while (stamp.wrapping_sub(jiffies) as i64) < 0 && avg_ns != 0 {
        stamp = stamp.wrapping_add(1);
        avg_ns >>= 1;
    }
    WakeAvgIdle { stamp, avg_ns }
}

impl<V: MachineView, E: Explain> Search<'_, V, E> {
    /// The budget by the idle time of the waking CPU, whose LLC domain is `this_llc`; none means no
    /// scan at all (SIS_AVG_CPU). Opens the account of the scan.
    #[inline(never)]
    pub(super) fn budget_by_idle_time(
        &mut self,
        this_llc: DomainId,
        weight: u32,
    ) -> Option<Budget> {
        let this = self.ctx.this_cpu;
        let mut account = ScanAccount {
            domain: this_llc,
            wake_avg_idle: None,
            is_timed: true,
            idle_tests: 0,
        };
        let avg_idle = if self.has(Feature::SIS_PROP_AGED) {
            let (stamp, avg_ns) = self.view.wake_avg_idle(this);
            let aged = aged_idle(stamp, avg_ns, self.view.jiffies());
            account.wake_avg_idle = Some(aged);
            aged.avg_ns
        } else {
            // Avoids scanning too long: the idle time is an overestimate.
            self.view.avg_idle(this) / 512
        };
        let avg_cost = self.view.avg_scan_cost(this_llc).saturating_add(1);
        if self.has(Feature::SIS_AVG_CPU) && avg_idle < avg_cost {
            return None;
        }
        self.effects.scan = Some(account);
        Some(if self.has(Feature::SIS_PROP) {
            proportional_budget(weight, avg_idle, avg_cost)
        } else {
            UNLIMITED
        })
    }

    /// The budget by the utilization of the target's LLC; none means no scan at all.
    pub(super) fn budget_by_utilization(&self, target: CpuId) -> Option<Budget> {
        let Some(shared) = self.llc_shared(target) else {
            return Some(UNLIMITED);
        };
        let nr = self.view.nr_idle_scan(shared);
        (nr != 0).then(|| Budget::try_from(nr).unwrap_or(UNLIMITED).saturating_add(1))
    }

    /// Notes in the account of the scan how it ended.
    pub(super) fn close_scan_account(&mut self, ran_out: bool, tests_before: u32) {
        let tests = self.cost.idle_tests - tests_before;
        if let Some(account) = &mut self.effects.scan {
            account.is_timed = !ran_out;
            account.idle_tests = tests;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update_avg;

    #[test]
    fn the_proportional_budget_follows_the_examples_of_the_spec() {
        let nr = |weight, avg_idle: u64, cost: u64, divided: bool| {
            proportional_budget(
                weight,
                if divided { avg_idle / 512 } else { avg_idle },
                cost + 1,
            )
        };
        assert_eq!(nr(16, 1_000_000, 2000, true), 15);
        assert_eq!(nr(16, 1_000_000, 2000, false), 7996);
        assert_eq!(nr(16, 10_000, 2000, true), 4);
        assert_eq!(nr(8, 500_000, 1500, true), 5);
        assert_eq!(nr(64, 100_000, 9000, false), 711);
    }

    #[test]
    fn averages_move_an_eighth_of_the_way() {
        let pairs = [
            (1_000_000, 200_000, 900_000),
            (200_000, 1_000_000, 300_000),
            (100, 93, 100),
            (100, 107, 100),
            (100, 108, 101),
            (100, 92, 99),
        ];
        for (avg, sample, after) in pairs {
            assert_eq!(update_avg(avg, sample), after, "({avg}, {sample})");
        }
    }

    #[test]
    fn the_idle_estimate_halves_each_jiffy_until_nothing_is_left() {
        let aged = |stamp, avg, now| {
            let a = aged_idle(stamp, avg, now);
            (a.stamp, a.avg_ns)
        };
        assert_eq!(aged(100, 1000, 100), (100, 1000));
        assert_eq!(aged(100, 1000, 103), (103, 125));
        // It stops ageing once it is zero.
        assert_eq!(aged(100, 1, 200), (101, 0));
    }
}
