//! Which idle state a CPU enters, and what it takes to leave it.
//!
//! The governor predicts how long the CPU will idle from its next timer and from the recent lengths
//! of its idle periods, and takes the deepest state that is worth it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fairlab_units::{Nanos, Timestamp};

use crate::costs::CostTable;

/// How many idle periods the prediction looks back.
const INTERVALS: usize = 8;

/// What the governor knows of a CPU.
#[derive(Clone, Debug)]
pub(crate) struct Governor {
    /// Lengths of the last idle periods, us.
    intervals: [u32; INTERVALS],
    next: usize,
    /// The state that the CPU is in, or was in last.
    state: u8,
    is_idle: bool,
    /// When the timers that were set on this CPU fire; those of the past are dropped now and then.
    timers: BinaryHeap<Reverse<Timestamp>>,
}

impl Default for Governor {
    /// A CPU that has idled for long.
    fn default() -> Self {
        Self {
            intervals: [u32::MAX; INTERVALS],
            next: 0,
            state: 0,
            is_idle: false,
            timers: BinaryHeap::new(),
        }
    }
}

impl Governor {
    /// A timer was set at `now` to fire at `due`.
    pub(crate) fn set_timer(&mut self, due: Timestamp, now: Timestamp) {
        self.drop_past(now);
        self.timers.push(Reverse(due));
    }

    fn drop_past(&mut self, now: Timestamp) {
        while self.timers.peek().is_some_and(|due| due.0 <= now) {
            self.timers.pop();
        }
    }

    /// The CPU goes idle at `now`, and enters a state.
    ///
    /// # Source
    /// Linux v6.x `drivers/cpuidle/governors/menu.c`, `menu_select()`. Differs: the time to the next
    /// timer is not corrected by how early past ones were cut short, and the tick is always stopped.
    #[doc(alias = "menu_select")]
    pub(crate) fn enter(&mut self, now: Timestamp, costs: &CostTable) {
        self.drop_past(now);
        let to_timer = self.timers.peek().map_or(u64::MAX, |due| (due.0 - now).0);
        let predicted = match self.typical_us() {
            Some(us) => to_timer.min(u64::from(us) * 1_000),
            None => to_timer,
        };
        let worth = |residency: &u64| *residency <= predicted;
        let states = costs.idle_residency.iter();
        self.is_idle = true;
        self.state = states.take_while(|r| worth(r)).count().saturating_sub(1) as u8;
    }

    /// The CPU has idled for `span`; what leaving takes. Nothing when its stopper ran meanwhile.
    pub(crate) fn leave(&mut self, span: Nanos, costs: &CostTable) -> Nanos {
        if !std::mem::take(&mut self.is_idle) {
            return Nanos::ZERO;
        }
        self.intervals[self.next] = u32::try_from(span.0 / 1_000).unwrap_or(u32::MAX);
        self.next = (self.next + 1) % INTERVALS;
        self.exit(costs)
    }

    /// What leaving the present state takes.
    fn exit(&self, costs: &CostTable) -> Nanos {
        costs.idle_exit_of(usize::from(self.state))
    }

    /// What leaving the present state takes, in us; none when the CPU is in no idle state.
    pub(crate) fn exit_us(&self, costs: &CostTable) -> Option<u32> {
        let us = self.exit(costs).0 / 1_000;
        self.is_idle
            .then_some(u32::try_from(us).unwrap_or(u32::MAX))
    }

    /// The length that recent idle periods have in common: their mean, once the largest are left out,
    /// if the rest lies close together. None when more than a quarter would have to be left out.
    #[doc(alias = "get_typical_interval")]
    fn typical_us(&self) -> Option<u32> {
        let mut sorted = self.intervals;
        sorted.sort_unstable();
        (INTERVALS * 3 / 4..=INTERVALS).rev().find_map(|count| {
            let kept = &sorted[..count];
            let n = count as u64;
            let mean = kept.iter().map(|v| u64::from(*v)).sum::<u64>() / n;
            let squares = kept
                .iter()
                .map(|v| u128::from(mean.abs_diff(u64::from(*v))).pow(2));
            let variance = squares.sum::<u128>() / u128::from(n);
            // A deviation of 20 us is nothing; else at most a sixth of the mean.
            let is_close = variance <= 400 || u128::from(mean).pow(2) > 36 * variance;
            is_close.then_some(u32::try_from(mean).unwrap_or(u32::MAX))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs() -> CostTable {
        CostTable::default()
    }

    fn idle(governor: &mut Governor, us: u64) {
        governor.enter(Timestamp(0), &costs());
        governor.leave(Nanos::from_micros(us), &costs());
    }

    #[test]
    fn regular_idle_periods_choose_the_state_that_is_worth_it() {
        let (mut governor, costs) = (Governor::default(), costs());
        for _ in 0..INTERVALS {
            idle(&mut governor, 900);
        }
        governor.enter(Timestamp(0), &costs);
        assert_eq!(governor.exit(&costs), Nanos(30_000));
        for _ in 0..INTERVALS {
            idle(&mut governor, 100);
        }
        governor.enter(Timestamp(0), &costs);
        assert_eq!(governor.exit(&costs), Nanos(2_000));
    }

    #[test]
    fn two_long_periods_among_short_ones_do_not_count() {
        let mut governor = Governor::default();
        for us in [50, 52, 9_000, 48, 51, 50, 7_000, 49] {
            idle(&mut governor, us);
        }
        assert_eq!(governor.typical_us(), Some(50));
    }

    #[test]
    fn a_near_timer_keeps_the_cpu_in_a_shallow_state() {
        let (mut governor, costs) = (Governor::default(), costs());
        for us in [10, 9_000, 400, 70_000, 3, 1_500, 22_000, 120] {
            idle(&mut governor, us);
        }
        governor.enter(Timestamp(0), &costs);
        assert_eq!(governor.state, 2, "nothing typical, no timer");
        governor.set_timer(Timestamp(30_000), Timestamp(0));
        governor.enter(Timestamp(0), &costs);
        assert_eq!(governor.state, 1);
        governor.enter(Timestamp(30_000), &costs);
        assert_eq!(governor.state, 2, "that timer has fired");
    }
}
