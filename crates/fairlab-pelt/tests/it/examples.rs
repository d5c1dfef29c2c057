//! The worked examples A to K of the specification of load tracking.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_pelt::{
    CpuUtil, EntityState, PeltClock, PeltTime, QueueAvg, QueueState, SchedAvg, Speed, TaskUtil,
    UtilEst, capacity_greater, cpu_util_without, cpu_util_without_call, decay, fits_capacity,
    scale_irq_capacity, segments,
};
use fairlab_units::CpuId;

use crate::{MS, NICE_0, kernels, kernels_with, kernels_without, run, running, sleeping};

#[test]
fn a_decay() {
    let table = [
        (0, 47741, 1023, 999_999),
        (1, 46718, 1002, 978_572),
        (2, 45717, 980, 957_603),
        (31, 24393, 523, 510_948),
        (32, 23870, 511, 499_999),
        (33, 23359, 501, 489_286),
        (63, 12196, 261, 255_474),
        (64, 11934, 255, 249_999),
        (100, 5471, 117, 114_625),
        (320, 45, 0, 975),
        (2016, 0, 0, 0),
        (2017, 0, 0, 0),
    ];
    for (n, max, period, million) in table {
        assert_eq!(decay(47742, n), max, "n {n}");
        assert_eq!(decay(1024, n), period, "n {n}");
        assert_eq!(decay(1_000_000, n), million, "n {n}");
    }
}

#[test]
fn b_segments() {
    let table = [
        (1, 1024, 0, 1002),
        (1, 500, 300, 789),
        (2, 500, 300, 1779),
        (3, 1024, 1023, 3962),
        (33, 24, 512, 23882),
        (345, 1024, 0, 46692),
        (2016, 1024, 0, 46718),
        (3000, 1024, 0, 46718),
    ];
    for (periods, first, last, gathered) in table {
        assert_eq!(segments(periods, first, last), gathered);
    }
}

/// Example C up to `ms`: runs all the time, updated every millisecond.
fn ran_for(kernel: &Kernel, ms: u64) -> SchedAvg {
    let mut avg = SchedAvg::default();
    run(kernel, &mut avg, running(), 0, MS, ms);
    avg
}

#[test]
fn c_an_entity_that_always_runs() {
    // ms, last update, open units, load sum, running sum, load, utilization
    let table = [
        (1, 999_424, 976, 976, 999_424, 0, 0),
        (2, 1_999_872, 929, 1930, 1_976_408, 41, 41),
        (3, 2_999_296, 881, 2861, 2_930_409, 61, 61),
        (4, 3_999_744, 834, 3772, 3_863_968, 81, 81),
        (8, 7_999_488, 644, 7215, 7_390_418, 155, 156),
        (16, 16_000_000, 265, 13221, 13_544_229, 288, 288),
        (32, 32_000_000, 530, 22851, 23_410_391, 495, 495),
        (64, 64_000_000, 36, 34287, 35_128_087, 750, 751),
        (100, 99_999_744, 376, 41128, 42_135_012, 894, 894),
        (200, 199_999_488, 752, 46709, 47_852_288, 1007, 1008),
        (345, 344_999_936, 18, 46695, 47_840_778, 1023, 1023),
        (400, 400_000_000, 481, 47182, 48_341_291, 1023, 1024),
    ];
    for kernel in kernels() {
        let mut avg = SchedAvg::default();
        let mut now = 0;
        for (ms, last_update, contrib, load_sum, util_sum, load, util) in table {
            now = run(&kernel, &mut avg, running(), now, MS, ms - now / MS);
            let release = kernel.release;
            assert_eq!(avg.last_update_time, PeltTime(last_update), "{release}");
            assert_eq!(avg.period_contrib, contrib);
            assert_eq!(avg.load_sum, load_sum, "{release} {ms} ms");
            assert_eq!(avg.util_sum, util_sum);
            assert_eq!((avg.load_avg, avg.util_avg), (load, util));
            if kernel.has(Feature::RUNNABLE_AVG) {
                assert_eq!(avg.runnable_sum, u64::from(util_sum));
                assert_eq!(avg.runnable_avg, util);
            } else {
                assert_eq!(avg.runnable_sum, load_sum);
                assert_eq!(avg.runnable_avg, load);
            }
        }
        // One update says "crossed" when a period has ended, and only then.
        let mut avg = SchedAvg::default();
        assert!(!avg.update(&kernel, PeltTime(MS), &running()));
        assert!(avg.update(&kernel, PeltTime(2 * MS), &running()));
    }
}

#[test]
fn c_one_long_update_differs_from_many_short_ones() {
    for kernel in kernels() {
        let mut avg = SchedAvg::default();
        avg.update(&kernel, PeltTime(400 * MS), &running());
        assert_eq!((avg.load_sum, avg.util_sum), (47187, 48_319_488));
        assert_eq!((avg.load_avg, avg.util_avg), (1023, 1023));
        assert_eq!(avg.period_contrib, 481);
    }
}

#[test]
fn d_sleep_after_running() {
    let table = [
        (1, 1003, 1002, 47_305_436),
        (8, 868, 867, 40_650_018),
        (16, 735, 735, 34_930_952),
        (32, 528, 528, 25_240_771),
        (33, 518, 517, 24_699_913),
        (64, 273, 272, 12_896_735),
        (100, 129, 129, 6_174_978),
        (345, 0, 0, 38_846),
    ];
    for kernel in kernels() {
        let awake = ran_for(&kernel, 400);
        for (ms, util, load, util_sum) in table {
            let mut avg = awake;
            avg.update_blocked(&kernel, PeltTime((400 + ms) * MS), &sleeping());
            assert_eq!((avg.util_avg, avg.load_avg), (util, load), "{ms} ms");
            assert_eq!(avg.util_sum, util_sum);
        }
    }
}

#[test]
fn e_waiting_loads_but_does_not_use() {
    let waiting = EntityState::task(NICE_0, true, false);
    for kernel in kernels_with(Feature::RUNNABLE_AVG) {
        let mut avg = SchedAvg::default();
        run(&kernel, &mut avg, waiting, 0, MS, 100);
        assert_eq!(
            (avg.load_avg, avg.runnable_avg, avg.util_avg),
            (894, 894, 0)
        );
    }
}

#[test]
fn e_half_time_running_settles_around_half() {
    for kernel in kernels() {
        let mut avg = SchedAvg::default();
        let mut now = 0;
        let mut after = Vec::new();
        for _ in 0..20 {
            now = run(&kernel, &mut avg, running(), now, MS, 10);
            let ran = avg.util_avg;
            now += 10 * MS;
            avg.update_blocked(&kernel, PeltTime(now), &sleeping());
            after.push((ran, avg.util_avg));
        }
        assert_eq!(after[..3], [(191, 155), (317, 258), (401, 326)]);
        assert_eq!(after[19], (564, 459));
    }
}

#[test]
fn f_a_queue_of_two_and_a_nice_task() {
    for kernel in kernels_with(Feature::RUNNABLE_AVG) {
        let state = QueueState {
            weight: 2 * NICE_0,
            runnable_weight: 2 * NICE_0,
            h_nr_runnable: 2,
            has_curr: true,
        };
        let mut queue = QueueAvg::default();
        for ms in 1..=1000 {
            queue.update(&kernel, PeltTime(ms * MS), &state);
            let avg = &queue.avg;
            if ms == 100 {
                assert_eq!(
                    (avg.load_avg, avg.runnable_avg, avg.util_avg),
                    (1789, 1789, 894)
                );
            }
        }
        let avg = &queue.avg;
        assert_eq!(
            (avg.load_avg, avg.runnable_avg, avg.util_avg),
            (2049, 2049, 1024)
        );
        assert_eq!((avg.load_sum, avg.util_sum), (97_139_478, 48_569_730));

        let mut nice_5 = SchedAvg::default();
        run(
            &kernel,
            &mut nice_5,
            EntityState::task(335 << 10, true, true),
            0,
            MS,
            1000,
        );
        assert_eq!(
            (nice_5.load_avg, nice_5.load_sum, nice_5.util_avg),
            (334, 47407, 1024)
        );
    }
}

#[test]
fn g_time_below_a_unit_is_kept() {
    for kernel in kernels() {
        let mut avg = SchedAvg::default();
        let mut update = |ns| {
            let crossed = avg.update(&kernel, PeltTime(ns), &running());
            (crossed, avg)
        };
        assert_eq!(update(1023), (false, SchedAvg::default()));
        let (_, avg) = update(1024);
        assert_eq!(
            (avg.last_update_time, avg.period_contrib, avg.load_sum),
            (PeltTime(1024), 1, 1)
        );
        assert_eq!(update(512_000).1.period_contrib, 500);
        let (crossed, avg) = update(1_048_575);
        assert!(!crossed);
        assert_eq!(
            (avg.period_contrib, avg.last_update_time),
            (1023, PeltTime(1_047_552))
        );
        assert_eq!((avg.load_avg, avg.util_avg), (0, 0));
        let (crossed, avg) = update(1_048_576);
        assert!(crossed);
        assert_eq!(
            (avg.period_contrib, avg.load_sum, avg.util_sum),
            (0, 1001, 1_025_105)
        );
        assert_eq!((avg.load_avg, avg.util_avg), (21, 21));
        // A clock that went back.
        let (crossed, back) = update(500);
        assert!(!crossed);
        assert_eq!(
            back,
            SchedAvg {
                last_update_time: PeltTime(500),
                ..avg
            }
        );
    }
}

#[test]
fn g_a_slow_cpu_that_is_always_busy() {
    let half = Speed {
        cpu_scale: 512,
        ..Speed::FULL
    };
    for kernel in kernels() {
        let mut clock = PeltClock::default();
        let mut avg = SchedAvg::default();
        for ms in 1..=400 {
            clock.advance(ms * MS, ms * MS, &half, false);
            avg.update(&kernel, clock.now(), &running());
        }
        assert_eq!(avg.util_avg, 1007);
        assert_eq!(avg.util_sum, 47_849_823);

        // Saturated: its idle time is owed, so PELT time stands where it was.
        let before = clock.now();
        let (rt, dl) = (SchedAvg::default(), SchedAvg::default());
        clock.enter_idle(400 * MS, &avg, &rt, &dl);
        assert_eq!(clock.now(), before);
        assert_eq!(clock.lost_idle_time, 200 * MS);
    }
}

#[test]
fn g_saturation_begins_at_the_threshold() {
    let half = Speed {
        cpu_scale: 512,
        ..Speed::FULL
    };
    for (util_sum, lost) in [(47_791_489, 0), (47_791_490, 5 * MS)] {
        let mut clock = PeltClock::default();
        clock.advance(10 * MS, 10 * MS, &half, false);
        assert_eq!(clock.clock_pelt, 5 * MS);
        // The classes count together.
        let part = |util_sum| SchedAvg {
            util_sum,
            ..SchedAvg::default()
        };
        clock.enter_idle(10 * MS, &part(util_sum - 300), &part(200), &part(100));
        assert_eq!(clock.lost_idle_time, lost);
        assert_eq!(clock.clock_pelt, 10 * MS);
    }
}

/// The pair stored after a sample, with the mark taken off, or `None`.
fn estimate_after(
    kernel: &Kernel,
    (enqueued, ewma): (u32, u32),
    util_avg: u64,
    runnable_avg: u64,
) -> Option<(u32, u32)> {
    let mark = if kernel.has(Feature::UTIL_EST_HIGH_BIT) {
        1 << 31
    } else {
        1
    };
    let mut avg = SchedAvg {
        util_avg,
        runnable_avg,
        util_est: UtilEst { enqueued, ewma },
        ..SchedAvg::default()
    };
    let stored = avg.update_util_est(kernel, 1024);
    assert_eq!(
        stored,
        avg.util_est.enqueued & mark != 0,
        "the mark says that it was stored"
    );
    if stored {
        // Until averages are recomputed, the next sleep has nothing new to say.
        let before = avg;
        assert!(!avg.update_util_est(kernel, 1024));
        assert_eq!(avg, before);
    }
    stored.then_some((avg.util_est.enqueued & !mark, avg.util_est.ewma))
}

#[test]
fn h_the_estimate_as_a_single_value() {
    let table = [
        (400, 500, 500, 500),
        (400, 395, 395, 400),
        (400, 391, 391, 400),
        (400, 390, 390, 397),
        (400, 200, 200, 350),
        (400, 200, 210, 350),
        (400, 200, 211, 400),
        (400, 200, 300, 400),
    ];
    for kernel in kernels_with(Feature::UTIL_EST_SINGLE) {
        for (estimate, util, runnable, stored) in table {
            let after = estimate_after(&kernel, (estimate, 0), util, runnable);
            assert_eq!(after, Some((stored, 0)), "{estimate} {util} {runnable}");
        }
    }
}

#[test]
fn i_the_estimate_as_a_pair() {
    for kernel in kernels_without(Feature::UTIL_EST_SINGLE) {
        // To v5.12 the mark is bit 0, so estimates there are even here.
        let check = |pair, util, after| {
            assert_eq!(
                estimate_after(&kernel, pair, util, util),
                after,
                "{}",
                kernel.release
            );
        };
        if kernel.has(Feature::UTIL_EST_FASTUP) {
            check((400, 400), 500, Some((500, 500)));
        } else {
            check((400, 400), 500, Some((500, 425)));
        }
        check((400, 400), 396, None);
        if kernel.has(Feature::UTIL_EST_HIGH_BIT) {
            check((400, 400), 395, None);
            check((300, 400), 395, Some((395, 400)));
        } else {
            check((300, 400), 395, None);
        }
        check((400, 400), 200, Some((200, 350)));
        // The average itself is no rise; whether the sample is news is asked of the last one.
        check((400, 400), 400, None);
        check((392, 400), 400, None);
        let stores_samples = kernel.has(Feature::UTIL_EST_LAST_ENQUEUED);
        check((390, 400), 400, stores_samples.then_some((400, 400)));
    }
}

#[test]
fn i_fast_ramp_up_is_a_switch() {
    for kernel in kernels_without(Feature::UTIL_EST_SINGLE) {
        let kernel = kernel.with(Feature::UTIL_EST_FASTUP, false);
        assert_eq!(
            estimate_after(&kernel, (400, 400), 500, 500),
            Some((500, 425))
        );
    }
}

#[test]
fn j_the_first_utilization_of_a_task() {
    // capacity, utilization and load of the queue, first utilization
    let table = [
        (1024, 0, 0, 512),
        (1024, 512, 1024, 256),
        (1024, 300, 2048, 149),
        (1024, 768, 700, 128),
        (1024, 1030, 2000, 0),
        (512, 100, 1024, 99),
    ];
    for kernel in kernels() {
        for (cpu_scale, util_avg, load_avg, first) in table {
            let queue = SchedAvg {
                util_avg,
                load_avg,
                ..SchedAvg::default()
            };
            let mut task = SchedAvg::new_task(&kernel, &running());
            task.init_util(&kernel, &running(), &queue, cpu_scale);
            // With the unshifted weight the limit decides in all of these.
            let first = if kernel.has(Feature::PELT_FORK_WEIGHT_UNSCALED) {
                first
            } else {
                cpu_scale.saturating_sub(util_avg) / 2
            };
            assert_eq!(
                task.util_avg, first,
                "{} {cpu_scale} {util_avg}",
                kernel.release
            );
            assert_eq!(task.load_avg, 1024);
            let runnable = if kernel.has(Feature::RUNNABLE_AVG) {
                first
            } else {
                1024
            };
            assert_eq!(task.runnable_avg, runnable);
        }
    }
}

#[test]
fn k_margins() {
    let fits = [(819, 1024), (409, 512), (799, 1000)];
    for (util, capacity) in fits {
        assert!(fits_capacity(util, capacity));
        assert!(!fits_capacity(util + 1, capacity));
    }
    assert!(capacity_greater(1024, 972));
    assert!(!capacity_greater(1024, 973));
    assert!(!capacity_greater(1078, 1024));
    assert!(capacity_greater(1079, 1024));
    assert_eq!(scale_irq_capacity(800, 100, 1024), 721);
    assert_eq!(scale_irq_capacity(1024, 24, 1024), 1000);
    assert_eq!(scale_irq_capacity(500, 512, 1024), 250);
}

#[test]
fn k_utilization_without_a_task() {
    let here = CpuId(3);
    let cpu = CpuUtil {
        cpu: here,
        util_avg: 600,
        runnable_avg: 0,
        util_est: 500,
        capacity_orig: 1024,
    };
    let asleep = TaskUtil {
        cpu: here,
        util_avg: 250,
        runnable_avg: 250,
        util_est: 300,
        is_counted: false,
        is_new: false,
    };
    for kernel in kernels() {
        let check = |task: TaskUtil, util| {
            assert_eq!(
                cpu_util_without(&kernel, &cpu, &task),
                util,
                "{}",
                kernel.release
            );
            assert_eq!(cpu_util_without_call::<0>(&kernel, &cpu, &task), util);
        };
        check(asleep, 500);
        check(
            TaskUtil {
                is_counted: true,
                ..asleep
            },
            350,
        );
        check(
            TaskUtil {
                is_new: true,
                ..asleep
            },
            600,
        );
        check(
            TaskUtil {
                cpu: CpuId(4),
                ..asleep
            },
            600,
        );
    }
    assert_eq!(Release::ALL.len(), kernels().count());
}
