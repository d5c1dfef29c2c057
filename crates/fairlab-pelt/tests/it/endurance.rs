//! Millions of updates: nothing drifts, nothing overflows.
//!
//! The number of steps is 1 000 000, or that in the environment variable `FAIRLAB_PELT_STEPS`.

use fairlab_kernel::{Kernel, Release};
use fairlab_pelt::{EntityState, PeltTime, QueueAvg, QueueState, SchedAvg};

use crate::properties::assert_in_bounds;
use crate::{NICE_0, kernels};

fn steps() -> u64 {
    match std::env::var("FAIRLAB_PELT_STEPS") {
        Ok(steps) => steps.parse().expect("FAIRLAB_PELT_STEPS is a number"),
        Err(_) => 1_000_000,
    }
}

/// A small generator of spans, so that every run is the same.
struct Spans(u64);

impl Spans {
    fn next(&mut self) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

#[test]
fn averages_stay_within_bounds_over_many_steps() {
    let starts = [0, (1 << 63) - (1 << 40), u64::MAX - (1 << 40)];
    for kernel in [Release::V5_4, Release::V7_2].map(Kernel::of) {
        for weight in [2, 15 << 10, NICE_0, 88_761 << 10, 1 << 28] {
            for start in starts {
                let mut spans = Spans(weight + start + 1);
                let mut avg = SchedAvg {
                    last_update_time: PeltTime(start),
                    ..SchedAvg::default()
                };
                let mut now = start;
                for _ in 0..steps() / 30 {
                    let random = spans.next();
                    now = now.wrapping_add((random >> 20) >> (20 + random % 24));
                    let state = EntityState::task(
                        weight,
                        random & 1 << 60 != 0,
                        random & 3 << 60 == 3 << 60,
                    );
                    avg.update(&kernel, PeltTime(now), &state);
                    assert_in_bounds(&avg, weight);
                }
            }
        }
    }
}

#[test]
fn a_periodic_task_comes_back_to_the_same_values() {
    // 3 ms of running in 8.
    let (run, sleep) = (3 << 20, 5 << 20);
    for kernel in kernels() {
        let start = (1 << 63) - (1 << 45);
        let mut avg = SchedAvg {
            last_update_time: PeltTime(start),
            ..SchedAvg::default()
        };
        let mut now = start;
        let mut cycle = |avg: &mut SchedAvg| {
            now += run;
            avg.update(
                &kernel,
                PeltTime(now),
                &EntityState::task(NICE_0, true, true),
            );
            now += sleep;
            avg.update_blocked(
                &kernel,
                PeltTime(now),
                &EntityState::task(NICE_0, false, false),
            );
            SchedAvg {
                last_update_time: PeltTime::NEVER,
                ..*avg
            }
        };
        let settled = (0..1000).map(|_| cycle(&mut avg)).last();
        for _ in 0..steps() / 14 {
            assert_eq!(Some(cycle(&mut avg)), settled);
        }
    }
}

#[test]
fn a_full_queue_neither_drifts_nor_overflows() {
    // Forty thousand tasks of the largest weight.
    let state = QueueState {
        weight: 40_000 * (88_761 << 10),
        runnable_weight: 40_000 * (88_761 << 10),
        h_nr_runnable: 40_000,
        has_curr: true,
    };
    for kernel in kernels() {
        let mut queue = QueueAvg::default();
        let mut spans = Spans(7);
        let mut now = 0;
        for _ in 0..steps() / 14 {
            now += spans.next() >> 42;
            queue.update(&kernel, PeltTime(now), &state);
            let full = state.weight >> 10;
            assert!(queue.avg.load_avg <= full + full / 1000, "{:?}", queue.avg);
        }
        let full = state.weight >> 10;
        assert!(queue.avg.load_avg >= full - full / 500, "{:?}", queue.avg);
        assert!(queue.avg.util_avg.abs_diff(1024) <= 1);
    }
}
