//! Attaching, detaching, removing and reweighting.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_pelt::{
    EntityMut, EntityState, MIN_DIVIDER, PeltTime, QueueAvg, QueueState, SchedAvg, UpdateFlags,
};

use crate::{MS, NICE_0, kernels, kernels_with, kernels_without, run, running, sleeping};

const ONE: QueueState = QueueState {
    weight: NICE_0,
    runnable_weight: NICE_0,
    h_nr_runnable: 1,
    has_curr: true,
};

/// A queue where a nice-0 task has run for 100 ms, and that task.
fn busy_queue(kernel: &Kernel) -> (QueueAvg, SchedAvg) {
    let mut queue = QueueAvg::default();
    let mut task = SchedAvg::default();
    for ms in 1..=100 {
        let entity = EntityMut::task(&mut task, running());
        queue.update_load_avg(
            kernel,
            PeltTime(ms * MS),
            &ONE,
            entity,
            UpdateFlags::DO_ATTACH,
        );
    }
    (queue, task)
}

fn task_with(load_avg: u64, util_avg: u64) -> SchedAvg {
    SchedAvg {
        load_avg,
        util_avg,
        runnable_avg: util_avg,
        ..SchedAvg::default()
    }
}

#[test]
fn attaching_fits_the_sums_to_the_queue() {
    for kernel in kernels() {
        let (mut queue, _) = busy_queue(&kernel);
        let before = queue;
        let divider = u64::from(MIN_DIVIDER + before.avg.period_contrib);
        let state = EntityState::task(335 << 10, true, false);
        let mut task = task_with(200, 512);
        queue.attach(&kernel, &mut task, &state);

        assert_eq!(task.last_update_time, before.avg.last_update_time);
        assert_eq!(task.period_contrib, before.avg.period_contrib);
        assert_eq!(task.load_sum, 200 * divider / 335);
        assert_eq!(u64::from(task.util_sum), 512 * divider);
        assert_eq!(queue.avg.load_avg, before.avg.load_avg + 200);
        assert_eq!(queue.avg.util_avg, before.avg.util_avg + 512);
        assert_eq!(queue.avg.util_sum, before.avg.util_sum + task.util_sum);
        assert_eq!(
            queue.avg.load_sum,
            before.avg.load_sum + 335 * task.load_sum
        );
        if kernel.has(Feature::RUNNABLE_AVG) {
            assert_eq!(task.runnable_sum, 512 * divider);
            assert_eq!(queue.avg.runnable_avg, before.avg.runnable_avg + 512);
            assert_eq!(
                queue.avg.runnable_sum,
                before.avg.runnable_sum + 512 * divider
            );
        } else {
            assert_eq!(task.runnable_sum, task.load_sum);
            assert_eq!(queue.avg.runnable_sum, before.avg.runnable_sum);
        }
        assert!(queue.propagate);
        let came = queue.prop_runnable_sum - before.prop_runnable_sum;
        assert_eq!(came, task.load_sum.cast_signed());
    }
}

#[test]
fn an_attached_entity_has_some_load() {
    for kernel in kernels() {
        let mut queue = QueueAvg::default();
        // The largest weight and the smallest load: 46718 / 88761 rounds to nothing.
        let mut task = task_with(1, 0);
        queue.attach(
            &kernel,
            &mut task,
            &EntityState::task(88_761 << 10, true, false),
        );
        let floor = u64::from(kernel.has(Feature::PELT_ATTACH_LOAD_FLOOR));
        assert_eq!(task.load_sum, floor);
    }
}

#[test]
fn added_load_keeps_the_least_sum_where_the_release_says_so() {
    for kernel in kernels() {
        let mut queue = QueueAvg::default();
        // 19 * 46718 = 887642, but 866 * 1024 = 886784 only.
        queue.attach(&kernel, &mut task_with(19, 0), &running());
        let sum = if kernel.has(Feature::PELT_ADD_MIN_DIVIDER) {
            887_642
        } else {
            886_784
        };
        assert_eq!(queue.avg.load_sum, sum, "{}", kernel.release);
    }
}

#[test]
fn detaching_takes_out_what_attaching_put_in() {
    for kernel in kernels() {
        let (mut queue, _) = busy_queue(&kernel);
        let before = queue;
        let state = EntityState::task(NICE_0, true, false);
        let mut task = task_with(700, 300);
        queue.attach(&kernel, &mut task, &state);
        queue.detach(&kernel, &task, &state);
        let averages = |queue: &QueueAvg| {
            (
                queue.avg.load_avg,
                queue.avg.runnable_avg,
                queue.avg.util_avg,
            )
        };
        assert_eq!(averages(&queue), averages(&before));
        assert_eq!(queue.prop_runnable_sum, before.prop_runnable_sum);
        if kernel.has(Feature::PELT_MIN_DIVIDER) {
            assert_eq!(queue.avg.util_sum, before.avg.util_sum);
            assert_eq!(queue.avg.load_sum, before.avg.load_sum);
        } else {
            let divider = u64::from(MIN_DIVIDER + before.avg.period_contrib);
            assert_eq!(u64::from(queue.avg.util_sum), before.avg.util_avg * divider);
        }
    }
}

#[test]
fn nothing_goes_below_zero_and_sums_keep_their_least() {
    for kernel in kernels_with(Feature::PELT_MIN_DIVIDER) {
        let mut queue = QueueAvg::default();
        queue.avg.util_avg = 100;
        queue.avg.util_sum = 100 * MIN_DIVIDER + 5;
        queue.avg.load_avg = 100;
        queue.avg.load_sum = 100 * u64::from(MIN_DIVIDER);
        let task = SchedAvg {
            util_sum: 50 * 47_741,
            load_sum: 46_800,
            ..task_with(101, 50)
        };
        queue.detach(&kernel, &task, &running());
        assert_eq!(
            (queue.avg.util_avg, queue.avg.util_sum),
            (50, 50 * MIN_DIVIDER)
        );
        assert_eq!((queue.avg.load_avg, queue.avg.load_sum), (0, 0));
    }
}

#[test]
fn large_sums_lose_their_high_half_between_v6_1_and_v6_12() {
    // Two tasks of nice -20 and one of nice 0, which leaves.
    let heavy = 2 * 88_761;
    for kernel in kernels_with(Feature::PELT_MIN_DIVIDER) {
        let mut queue = QueueAvg::default();
        let light = SchedAvg {
            load_sum: 47_000,
            ..task_with(1024, 0)
        };
        queue.avg.load_avg = heavy + 1024;
        queue.avg.load_sum = (heavy + 1024) * 47_000;
        assert!(queue.avg.load_sum > 1 << 32);
        queue.detach(&kernel, &light, &running());
        assert_eq!(queue.avg.load_avg, heavy);
        let full = heavy * 47_000;
        let left = if kernel.has(Feature::PELT_SUB_32BIT) {
            full - (1 << 32)
        } else {
            full
        };
        assert_eq!(queue.avg.load_sum, left, "{}", kernel.release);

        // The average follows at the next update.
        let state = QueueState {
            weight: heavy << 10,
            ..ONE
        };
        queue.update(&kernel, PeltTime(2 << 20), &state);
        let is_cut = kernel.has(Feature::PELT_SUB_32BIT);
        assert_eq!(
            queue.avg.load_avg < heavy * 9 / 10,
            is_cut,
            "{:?}",
            queue.avg
        );
    }
    assert!(kernels_with(Feature::PELT_SUB_32BIT).count() == 3);
    assert!(!Kernel::of(Release::V7_2).has(Feature::PELT_SUB_32BIT));
}

#[test]
fn the_least_sum_is_looked_at_after_the_cut() {
    for kernel in kernels_with(Feature::PELT_MIN_DIVIDER) {
        let mut queue = QueueAvg::default();
        queue.avg.load_avg = 1024 + 1;
        queue.avg.load_sum = (1 << 32) + 10 + 1024 * 47_000;
        let light = SchedAvg {
            load_sum: 47_000,
            ..task_with(1024, 0)
        };
        queue.detach(&kernel, &light, &running());
        let left = if kernel.has(Feature::PELT_SUB_32BIT) {
            u64::from(MIN_DIVIDER)
        } else {
            (1 << 32) + 10
        };
        assert_eq!(queue.avg.load_sum, left, "{}", kernel.release);
    }
}

#[test]
fn removed_entities_leave_at_the_next_update() {
    for kernel in kernels() {
        let (mut queue, mut task) = busy_queue(&kernel);
        queue.avg.load_avg += 5;
        let before = queue;
        let last_update = queue.avg.last_update_time;
        queue.remove(&kernel, &mut task, &sleeping());
        assert_eq!(queue.avg, before.avg, "the lock of the queue is not held");
        assert_eq!(queue.removed.nr, 1);
        assert_eq!(queue.removed.load_avg, task.load_avg);
        assert_eq!(task.last_update_time, last_update);

        // No period has ended, but the queue has changed.
        let empty = QueueState::default();
        assert!(queue.update(&kernel, last_update, &empty));
        assert_eq!(queue.removed.nr, 0);
        assert_eq!(queue.avg.load_avg, before.avg.load_avg - task.load_avg);
        assert_eq!(queue.avg.util_avg, before.avg.util_avg - task.util_avg);
        let gone = queue.prop_runnable_sum - before.prop_runnable_sum;
        if kernel.has(Feature::RUNNABLE_AVG) {
            assert_eq!(
                queue.avg.runnable_avg,
                before.avg.runnable_avg - task.runnable_avg
            );
            let divider = i64::from(MIN_DIVIDER + before.avg.period_contrib);
            assert_eq!(gone, (-(task.runnable_avg.cast_signed() * divider)) >> 10);
        } else {
            assert_eq!(gone, -task.load_sum.cast_signed());
        }
        assert!(!queue.update(&kernel, last_update, &empty), "once only");
    }
}

#[test]
fn removing_decays_the_sleeper_to_its_queue_first() {
    for kernel in kernels() {
        let (mut queue, mut task) = busy_queue(&kernel);
        queue.update(&kernel, PeltTime(150 * MS), &QueueState::default());
        let mut decayed = task;
        decayed.update_blocked(&kernel, queue.avg.last_update_time, &sleeping());
        queue.remove(&kernel, &mut task, &sleeping());
        assert_eq!(task, decayed);
        assert!(task.util_avg < 400);
        assert_eq!(queue.removed.util_avg, task.util_avg);

        let mut synced = busy_queue(&kernel).1;
        queue.sync(&kernel, &mut synced, &sleeping());
        assert_eq!(synced, decayed);
    }
}

#[test]
fn a_new_weight_changes_load_and_nothing_else() {
    for kernel in kernels() {
        let (mut queue, mut task) = busy_queue(&kernel);
        let old = (queue, task);
        let new = EntityState::task(3 * NICE_0, true, true);
        queue.reweight(&kernel, &mut task, &running(), &new);

        let divider = u64::from(task.divider());
        assert_eq!(task.load_sum, old.1.load_sum);
        assert_eq!(task.load_avg, 3072 * task.load_sum / divider);
        assert_eq!(
            queue.avg.load_avg,
            old.0.avg.load_avg - old.1.load_avg + task.load_avg
        );
        assert_eq!(task.util_avg, old.1.util_avg);
        assert_eq!(queue.avg.util_sum, old.0.avg.util_sum);
        if kernel.has(Feature::RUNNABLE_AVG) {
            assert_eq!(queue.avg.runnable_avg, old.0.avg.runnable_avg);
            assert_eq!(task.runnable_avg, old.1.runnable_avg);
        } else {
            assert_eq!(task.runnable_avg, 3072 * task.runnable_sum / divider);
        }
    }
}

#[test]
fn a_new_weight_changes_the_runnable_load_of_queued_entities_only() {
    for kernel in kernels_without(Feature::RUNNABLE_AVG) {
        for on_rq in [true, false] {
            let state = |weight| EntityState::task(weight, on_rq, false);
            let mut queue = QueueAvg::default();
            let mut task = SchedAvg::new_task(&kernel, &state(NICE_0));
            queue.attach(&kernel, &mut task, &state(NICE_0));
            if on_rq {
                queue.add_runnable_load(&kernel, &task, &state(NICE_0));
            }
            queue.reweight(&kernel, &mut task, &state(NICE_0), &state(2 * NICE_0));
            assert_eq!(queue.avg.load_avg, 2048);
            assert_eq!(queue.avg.runnable_avg, if on_rq { 2048 } else { 0 });
        }
    }
}

#[test]
fn runnable_load_is_that_of_queued_entities() {
    for kernel in kernels_without(Feature::RUNNABLE_AVG) {
        let mut queue = QueueAvg::default();
        let mut task = SchedAvg::new_task(&kernel, &running());
        queue.attach(&kernel, &mut task, &running());
        assert_eq!((queue.avg.load_avg, queue.avg.runnable_avg), (1024, 0));
        queue.add_runnable_load(&kernel, &task, &running());
        assert_eq!(queue.avg.runnable_avg, 1024);
        assert_eq!(queue.avg.runnable_sum, 1024 * task.load_sum);
        let load = if kernel.has(Feature::LOAD_RUNNABLE_LOAD) {
            queue.avg.runnable_avg
        } else {
            queue.avg.load_avg
        };
        assert_eq!(queue.load(&kernel), load);
        queue.subtract_runnable_load(&kernel, &task, &running());
        assert_eq!((queue.avg.runnable_avg, queue.avg.runnable_sum), (0, 0));
        assert_eq!(queue.avg.load_avg, 1024, "blocked load stays");
    }
}

#[test]
fn an_update_attaches_and_detaches_when_told_to() {
    for kernel in kernels() {
        let now = PeltTime(100 * MS);
        let empty = QueueState::default();
        let mut queue = QueueAvg::default();
        let mut task = SchedAvg::new_task(&kernel, &running());
        let waiting = EntityState::task(NICE_0, false, false);

        let entity = EntityMut::task(&mut task, waiting);
        let update = queue.update_load_avg(&kernel, now, &empty, entity, UpdateFlags::NONE);
        assert!(update.decayed && update.wants_frequency && !update.wants_group_load);
        assert!(
            task.last_update_time.is_never(),
            "not aged: it belongs to no queue"
        );
        assert_eq!(queue.avg.load_avg, 0);

        let entity = EntityMut::task(&mut task, waiting);
        let update = queue.update_load_avg(&kernel, now, &empty, entity, UpdateFlags::DO_ATTACH);
        assert!(!update.decayed && update.wants_frequency && update.wants_group_load);
        assert_eq!(task.last_update_time, queue.avg.last_update_time);
        assert_eq!(queue.avg.load_avg, 1024);

        // Attached once: the flag alone does nothing more.
        let entity = EntityMut::task(&mut task, waiting);
        let flags = UpdateFlags::DO_ATTACH.and(UpdateFlags::UPDATE_TG);
        let update = queue.update_load_avg(&kernel, now, &empty, entity, flags);
        assert!(!update.decayed && !update.wants_group_load && !update.wants_frequency);
        assert_eq!(queue.avg.load_avg, 1024);

        let later = PeltTime(110 * MS);
        let entity = EntityMut::task(&mut task, waiting);
        let update = queue.update_load_avg(&kernel, later, &empty, entity, flags);
        assert!(update.decayed && update.wants_group_load);

        let entity = EntityMut::task(&mut task, waiting);
        queue.update_load_avg(&kernel, later, &empty, entity, UpdateFlags::DO_DETACH);
        assert_eq!(queue.avg.load_avg, 0);
        task.forget_queue();
        assert!(task.last_update_time.is_never());
        assert!(task.load_avg > 0, "it takes its averages along");
    }
}

#[test]
fn ageing_before_an_attachment_is_a_switch() {
    for kernel in kernels() {
        assert_eq!(UpdateFlags::before_attach(&kernel), UpdateFlags::NONE);
        let kernel = kernel.with(Feature::ATTACH_AGE_LOAD, false);
        let flags = UpdateFlags::before_attach(&kernel);
        let mut queue = QueueAvg::default();
        let mut task = SchedAvg::default();
        run(&kernel, &mut task, running(), 0, MS, 50);
        let before = task;
        let entity = EntityMut::task(&mut task, sleeping());
        queue.update_load_avg(&kernel, PeltTime(90 * MS), &ONE, entity, flags);
        assert_eq!(task, before);
    }
}

#[test]
fn a_queue_sums_the_estimates_of_its_tasks() {
    for kernel in kernels() {
        let mut queue = QueueAvg::default();
        let mut tasks = [task_with(0, 101), task_with(0, 401)];
        for task in &mut tasks {
            task.update_util_est(&kernel, 1024);
            queue.add_util_est(&kernel, task);
        }
        let fast = kernel.has(Feature::UTIL_EST_FASTUP);
        // Without the fast ramp the first estimate is a quarter of the sample, but the sample
        // itself counts too.
        assert_eq!(
            queue.avg.util_est.enqueued, 502,
            "{} {fast}",
            kernel.release
        );
        queue.subtract_util_est(&kernel, &tasks[0]);
        assert_eq!(queue.avg.util_est.enqueued, 401);
        queue.subtract_util_est(&kernel, &tasks[1]);
        queue.subtract_util_est(&kernel, &tasks[1]);
        assert_eq!(queue.avg.util_est.enqueued, 0);

        let off = kernel.with(Feature::UTIL_EST, false);
        queue.add_util_est(&off, &tasks[0]);
        assert_eq!(queue.avg.util_est.enqueued, 0);
        assert_eq!(tasks[0].task_util_est(&off), 101);
        tasks[0].util_avg = 7;
        assert_eq!(tasks[0].task_util_est(&kernel), 101);
    }
}

#[test]
fn estimates_to_v5_12_are_odd() {
    for kernel in kernels() {
        let mut task = task_with(0, 100);
        task.update_util_est(&kernel, 1024);
        let odd = !kernel.has(Feature::UTIL_EST_HIGH_BIT);
        assert_eq!(task.util_est.of_task(&kernel), 100 + u64::from(odd));
    }
}

#[test]
fn the_estimate_at_sleep_sees_the_last_run_except_in_v6_12() {
    for kernel in kernels() {
        let mut task = SchedAvg::default();
        let now = run(&kernel, &mut task, running(), 0, MS, 32);
        let util_before = task.util_avg;
        assert!(task.go_to_sleep(&kernel, PeltTime(now + 3 * MS), &running(), 1024));
        assert!(task.util_avg > util_before);
        let seen = if kernel.has(Feature::UTIL_EST_EARLY) {
            util_before
        } else {
            task.util_avg
        };
        let odd = u64::from(!kernel.has(Feature::UTIL_EST_HIGH_BIT));
        assert_eq!(
            task.util_est.of_task(&kernel),
            seen | odd,
            "{}",
            kernel.release
        );
        // The mark is gone where averages moved after the store.
        let slept_again = task.update_util_est(&kernel, 1024);
        assert_eq!(slept_again, kernel.has(Feature::UTIL_EST_EARLY));
    }
}

#[test]
fn an_estimate_is_not_lowered_to_a_sample_beyond_the_cpu() {
    for kernel in kernels() {
        let limited = kernel.has(Feature::UTIL_EST_CAPACITY_LIMIT);
        for (capacity, stores) in [(549, !limited), (550, true)] {
            let mut task = task_with(0, 550);
            task.util_est.enqueued = 600;
            task.util_est.ewma = 600;
            assert_eq!(
                task.update_util_est(&kernel, capacity),
                stores,
                "{}",
                kernel.release
            );
        }
    }
}
