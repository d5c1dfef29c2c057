//! What holds for every history.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_pelt::{
    EntityState, LOAD_AVG_MAX, MIN_DIVIDER, PeltTime, QueueAvg, QueueState, SchedAvg,
    scale_load_down,
};
use proptest::prelude::*;

use crate::{MS, NICE_0, run, running, sleeping};

/// The sum of the series without truncation, `1024 / (1 - y)`: sums with ten more bits come closer to
/// it than to [`LOAD_AVG_MAX`].
const SERIES_MAX: u64 = 47_789;

pub fn assert_in_bounds(avg: &SchedAvg, weight: u64) {
    let weight = scale_load_down(weight);
    assert!(avg.period_contrib < 1024);
    assert!(avg.load_sum <= u64::from(LOAD_AVG_MAX), "{avg:?}");
    assert!(u64::from(avg.util_sum) <= SERIES_MAX << 10, "{avg:?}");
    assert!(avg.load_avg <= weight, "{avg:?}");
    assert!(avg.util_avg <= 1024, "{avg:?}");
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Run,
    Wait,
    Sleep,
}

fn step() -> impl Strategy<Value = (Step, u64)> {
    let kind = prop_oneof![Just(Step::Run), Just(Step::Wait), Just(Step::Sleep)];
    let span = prop_oneof![0..5_000_u64, 0..5 * MS, 0..500 * MS, 0..(1_u64 << 50)];
    (kind, span)
}

fn release() -> impl Strategy<Value = Kernel> {
    prop::sample::select(Release::ALL.to_vec()).prop_map(Kernel::of)
}

/// From the smallest group share to the largest.
fn weight() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(2),
        Just(15 << 10),
        Just(NICE_0),
        Just(88_761 << 10),
        2..(1_u64 << 28)
    ]
}

proptest! {
    #[test]
    fn an_entity_stays_within_bounds(
        kernel in release(),
        weight in weight(),
        start in any::<u64>(),
        steps in prop::collection::vec(step(), 1..100),
    ) {
        let mut avg = SchedAvg { last_update_time: PeltTime(start), ..SchedAvg::default() };
        let mut now = start;
        for (kind, span) in steps {
            now = now.wrapping_add(span);
            let state = EntityState::task(
                weight,
                !matches!(kind, Step::Sleep),
                matches!(kind, Step::Run),
            );
            if state.on_rq {
                avg.update(&kernel, PeltTime(now), &state);
            } else {
                avg.update_blocked(&kernel, PeltTime(now), &state);
            }
            assert_in_bounds(&avg, weight);
            // Who runs is runnable, and who is runnable is on the queue. Each sum is truncated on
            // its own, and the running one keeps ten more bits.
            prop_assert!(u64::from(avg.util_sum) >> 10 <= avg.load_sum + 33);
            if kernel.has(Feature::RUNNABLE_AVG) {
                prop_assert!(u64::from(avg.util_sum) <= avg.runnable_sum);
            }
        }
    }

    #[test]
    fn sleep_only_lowers_and_more_sleep_lowers_more(
        kernel in release(),
        ran in 1..500_u64,
        spans in prop::collection::vec(0..50 * MS, 1..50),
    ) {
        let mut avg = SchedAvg::default();
        let mut now = run(&kernel, &mut avg, running(), 0, MS, ran);
        let awake = avg;
        for span in spans {
            now += span;
            let before = avg;
            avg.update_blocked(&kernel, PeltTime(now), &sleeping());
            prop_assert!(avg.load_sum <= before.load_sum);
            prop_assert!(avg.util_sum <= before.util_sum);
            prop_assert!(avg.runnable_sum <= before.runnable_sum);
            // The average may rise once: that of before is as old as the last period's end.
            prop_assert!(avg.util_avg <= u64::from(before.util_sum / MIN_DIVIDER));
            // One long sleep against several short ones: truncated once instead of often.
            let mut at_once = awake;
            at_once.update_blocked(&kernel, PeltTime(now), &sleeping());
            prop_assert!(avg.util_sum <= at_once.util_sum + 1);
        }
    }

    #[test]
    fn running_only_raises_the_sum_of_a_full_period(
        kernel in release(),
        ran in 0..500_u64,
    ) {
        let mut avg = SchedAvg::default();
        let mut now = run(&kernel, &mut avg, running(), 0, 1 << 20, ran);
        let mut before = avg.util_avg;
        for _ in 0..40 {
            now = run(&kernel, &mut avg, running(), now, 1 << 20, 1);
            prop_assert!(avg.util_avg >= before);
            before = avg.util_avg;
        }
    }

    #[test]
    fn cutting_an_update_changes_the_sums_by_its_truncations_only(
        kernel in release(),
        first in 1..400 * MS,
        second in 1..400 * MS,
        ran in 0..100_u64,
    ) {
        let mut whole = SchedAvg::default();
        let from = run(&kernel, &mut whole, running(), 0, MS, ran);
        let mut cut = whole;
        cut.update(&kernel, PeltTime(from + first), &running());
        cut.update(&kernel, PeltTime(from + first + second), &running());
        whole.update(&kernel, PeltTime(from + first + second), &running());
        prop_assert_eq!(cut.last_update_time, whole.last_update_time);
        prop_assert_eq!(cut.period_contrib, whole.period_contrib);
        // Every update truncates a few terms once more.
        prop_assert!(cut.load_sum.abs_diff(whole.load_sum) <= 4);
        prop_assert!(cut.util_sum.abs_diff(whole.util_sum) <= 4 << 10);
    }

    #[test]
    fn time_below_a_unit_is_never_lost(
        kernel in release(),
        spans in prop::collection::vec(0..3000_u64, 1..200),
    ) {
        let mut avg = SchedAvg::default();
        let mut now = 0;
        for span in spans {
            now += span;
            avg.update(&kernel, PeltTime(now), &running());
            prop_assert!(now - avg.last_update_time.0 < 1024);
            prop_assert_eq!(avg.last_update_time.0 % 1024, 0);
        }
    }

    #[test]
    fn a_queue_never_shows_less_than_nothing(
        kernel in release(),
        steps in prop::collection::vec((0..6_u8, 0..4_usize, 0..20 * MS, weight()), 1..120),
    ) {
        let mut queue = QueueAvg::default();
        let mut tasks = [(SchedAvg::default(), NICE_0, false); 4];
        let mut now = MS;
        for (kind, index, span, weight) in steps {
            now += span;
            let attached: u64 = tasks.iter().filter(|t| t.2).map(|t| t.1).sum();
            let state = QueueState {
                weight: attached,
                runnable_weight: attached,
                h_nr_runnable: tasks.iter().filter(|t| t.2).count() as u64,
                has_curr: attached > 0,
            };
            queue.update(&kernel, PeltTime(now), &state);
            let (avg, task_weight, is_attached) = &mut tasks[index];
            let entity = EntityState::task(*task_weight, *is_attached, false);
            match (kind, *is_attached) {
                (0 | 1, false) => {
                    *avg = SchedAvg::new_task(&kernel, &entity);
                    avg.init_util(&kernel, &entity, &queue.avg, 1024);
                    queue.attach(&kernel, avg, &entity);
                    *is_attached = true;
                }
                (0 | 1, true) => {
                    avg.update(&kernel, PeltTime(now), &entity);
                    queue.detach(&kernel, avg, &entity);
                    *is_attached = false;
                }
                (2, true) => {
                    queue.remove(&kernel, avg, &entity);
                    *is_attached = false;
                }
                (3, true) => {
                    let new = EntityState::task(weight, true, false);
                    avg.update(&kernel, PeltTime(now), &entity);
                    queue.reweight(&kernel, avg, &entity, &new);
                    *task_weight = weight;
                }
                (_, true) => {
                    avg.update(&kernel, PeltTime(now), &entity);
                }
                (_, false) => {}
            }
            if kernel.has(Feature::PELT_MIN_DIVIDER) && !kernel.has(Feature::PELT_SUB_32BIT) {
                let least = u64::from(MIN_DIVIDER);
                prop_assert!(u64::from(queue.avg.util_sum) >= queue.avg.util_avg * least);
            }
            // Sums that went below zero would show as enormous averages.
            prop_assert!(queue.avg.load_avg < 1 << 32, "{:?}", queue.avg);
            prop_assert!(queue.avg.util_avg < 8 * 1024, "{:?}", queue.avg);
            if kernel.has(Feature::RUNNABLE_AVG) {
                prop_assert!(queue.avg.runnable_avg < 16 * 1024, "{:?}", queue.avg);
            }
        }
    }
}
