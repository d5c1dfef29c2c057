//! The fast arithmetic against the slow model.

use fairlab_pelt::{Contribution, LOAD_AVG_MAX, PeltTime, SchedAvg, decay, segments};
use proptest::prelude::*;

use crate::naive::{self, Sums};

#[test]
fn the_table_of_powers_follows_from_its_definition() {
    // Decaying 2^32 shows an entry as it is.
    for n in 0..32 {
        assert_eq!(decay(1 << 32, n), naive::powers()[n as usize], "entry {n}");
    }
}

#[test]
fn the_largest_sum_is_where_the_rule_stops_growing() {
    let mut sum = 0;
    let mut periods = 0;
    loop {
        let next = decay(sum, 1) + 1024;
        if next == sum {
            break;
        }
        sum = next;
        periods += 1;
    }
    assert_eq!(sum, u64::from(LOAD_AVG_MAX));
    assert_eq!(periods, 347);
}

#[test]
fn segments_stay_near_the_series_they_stand_for() {
    // The rule truncates each term of the series, which costs at most one unit per period until
    // the terms have faded: 47 in all, one part in a thousand.
    for periods in 1..=2100 {
        for (first, last) in [(1, 0), (1, 1023), (512, 77), (1024, 0), (1024, 1023)] {
            let fast = u128::from(segments(periods, first, last));
            let series = naive::series(periods.into(), first.into(), last.into());
            assert!(
                fast <= series + 2 && series <= fast + 48,
                "{periods} {first} {last}: {fast} for {series}"
            );
        }
    }
}

/// Any magnitude is as likely as any other.
fn any_magnitude() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64_u32).prop_map(|(value, shift)| value >> shift)
}

proptest! {
    #[test]
    fn decay_equals_the_model(sum in any_magnitude(), periods in any_magnitude()) {
        prop_assert_eq!(
            u128::from(decay(sum, periods)),
            naive::decay(sum.into(), periods.into())
        );
    }

    #[test]
    fn decay_equals_the_model_for_short_times(sum in any_magnitude(), periods in 0..2100_u64) {
        prop_assert_eq!(
            u128::from(decay(sum, periods)),
            naive::decay(sum.into(), periods.into())
        );
    }

    #[test]
    fn segments_equal_the_model(
        periods in 1..3000_u64,
        first in 1..=1024_u32,
        last in 0..1024_u32,
    ) {
        prop_assert_eq!(
            u128::from(segments(periods, first, last)),
            naive::segments(periods.into(), first.into(), last.into())
        );
    }

    #[test]
    fn updates_equal_the_model(
        start in any_magnitude(),
        steps in prop::collection::vec(
            (any_magnitude(), 0..200_000_u64, 0..400_u64, any::<bool>()),
            1..60,
        ),
    ) {
        let mut avg = SchedAvg { last_update_time: PeltTime(start), ..SchedAvg::default() };
        let mut model = Sums { last_update: start, ..Sums::default() };
        let mut now = start;
        for (span, load, runnable, is_running) in steps {
            // Clocks wrap, and sometimes go back.
            now = now.wrapping_add(span);
            let input = Contribution { load, runnable: runnable << 10, is_running };
            let crossed = avg.accumulate(PeltTime(now), input);
            prop_assert_eq!(crossed, model.update(now, load.into(), runnable.into(), is_running));
            let sums = Sums {
                last_update: avg.last_update_time.0,
                load: avg.load_sum.into(),
                runnable: avg.runnable_sum.into(),
                util: avg.util_sum.into(),
                contrib: avg.period_contrib.into(),
            };
            prop_assert_eq!(sums, model);
        }
    }
}
