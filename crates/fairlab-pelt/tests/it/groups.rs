//! Task groups: propagation, global load, shares, hierarchical load.

use fairlab_kernel::Feature;
use fairlab_pelt::{
    EntityMut, EntityState, MIN_DIVIDER, PeltTime, QueueAvg, QueueState, SchedAvg, UpdateFlags,
};

use crate::{MS, NICE_0, kernels, kernels_with, kernels_without, running};

fn group(runnable: u64) -> EntityState {
    EntityState::group(NICE_0, true, runnable, true)
}

#[test]
fn a_task_attached_below_shows_at_the_root() {
    for kernel in kernels() {
        let now = PeltTime(50 * MS);
        let one = QueueState {
            weight: NICE_0,
            runnable_weight: NICE_0,
            h_nr_runnable: 1,
            has_curr: true,
        };
        let (mut root, mut child) = (QueueAvg::default(), QueueAvg::default());
        let mut entity = SchedAvg::new_group();
        let mut task = SchedAvg::new_task(&kernel, &running());
        task.init_util(&kernel, &running(), &child.avg, 1024);
        // The queues know the time before the task comes.
        root.update(&kernel, now, &QueueState::default());
        child.update(&kernel, now, &QueueState::default());
        entity.last_update_time = root.avg.last_update_time;
        entity.period_contrib = root.avg.period_contrib;

        let part = EntityMut::task(&mut task, running());
        child.update_load_avg(&kernel, now, &one, part, UpdateFlags::DO_ATTACH);
        assert!(child.propagate);
        let part = EntityMut {
            avg: &mut entity,
            state: group(1),
            group: Some((&mut child, NICE_0)),
        };
        let update = root.update_load_avg(&kernel, now, &one, part, UpdateFlags::UPDATE_TG);
        assert!(update.decayed && update.wants_group_load);

        assert_eq!((entity.util_avg, root.avg.util_avg), (512, 512));
        assert_eq!(root.avg.util_sum, entity.util_sum);
        assert_eq!(
            u64::from(entity.util_sum),
            512 * u64::from(root.avg.divider())
        );
        assert_eq!((entity.load_avg, root.avg.load_avg), (1024, 1024));
        if kernel.has(Feature::RUNNABLE_AVG) {
            assert_eq!((entity.runnable_avg, root.avg.runnable_avg), (512, 512));
        } else {
            assert_eq!((entity.runnable_avg, root.avg.runnable_avg), (1024, 1024));
        }
        // Passed on for a level above, and not again.
        assert!(root.propagate && !child.propagate);
        assert_eq!(root.prop_runnable_sum, task.load_sum.cast_signed());
        assert_eq!(child.prop_runnable_sum, 0);
        let before = root;
        assert!(!root.propagate_from(&kernel, &mut entity, &group(1), &mut child, NICE_0));
        assert_eq!(root, before);
    }
}

#[test]
fn more_tasks_do_not_make_a_group_more_than_always_there() {
    for kernel in kernels() {
        let (mut root, mut child) = (QueueAvg::default(), QueueAvg::default());
        let mut entity = SchedAvg::new_group();
        for _ in 0..3 {
            let mut task = SchedAvg::new_task(&kernel, &running());
            child.attach(&kernel, &mut task, &running());
        }
        assert_eq!(child.prop_runnable_sum, 3 * i64::from(MIN_DIVIDER));
        root.propagate_from(&kernel, &mut entity, &group(3), &mut child, 3 * NICE_0);
        assert_eq!(entity.load_sum, u64::from(MIN_DIVIDER));
        assert_eq!(
            entity.load_avg, 1024,
            "the group's weight, not the sum of its tasks'"
        );
    }
}

#[test]
fn a_leaving_task_takes_the_group_down_to_what_is_left() {
    for kernel in kernels_with(Feature::PELT_MIN_DIVIDER) {
        let mut child = QueueAvg::default();
        child.avg.load_sum = 1024 * 20_000;
        child.propagate = true;
        child.prop_runnable_sum = -5;
        let check = |child_weight, util_sum, load_sum| {
            let mut child = child;
            let mut root = QueueAvg::default();
            let mut entity = SchedAvg {
                load_sum: 40_000,
                load_avg: 1024 * 40_000 / u64::from(MIN_DIVIDER),
                util_sum,
                ..SchedAvg::default()
            };
            root.avg.load_avg = entity.load_avg;
            root.avg.load_sum = 1024 * entity.load_sum;
            root.propagate_from(&kernel, &mut entity, &group(0), &mut child, child_weight);
            assert_eq!(entity.load_sum, load_sum);
            assert_eq!(entity.load_avg, 1024 * load_sum / u64::from(MIN_DIVIDER));
            assert_eq!(root.avg.load_avg, entity.load_avg);
            assert_eq!(root.avg.load_sum, 1024 * load_sum);
        };
        // One task left: the average of the child's load.
        check(NICE_0, 0, 20_000);
        // Many: the average may be lower, never higher than what it was.
        check(4 * NICE_0, 0, 5_000);
        check(NICE_0 / 4, 0, 40_000);
        // It was there at least while it ran, even when nothing is left.
        check(NICE_0, 30_000 << 10, 30_000);
        check(0, 7 << 10, 7);
        check(0, 0, 0);
    }
}

#[test]
fn group_load_is_reported_when_it_changed_by_a_64th() {
    for kernel in kernels() {
        let mut queue = QueueAvg::default();
        let mut total = 10_000;
        queue.avg.load_avg = 6400;
        queue.update_group_load(&kernel, 10 * MS, &mut total);
        assert_eq!((total, queue.tg_load_avg_contrib), (16_400, 6400));
        queue.avg.load_avg = 6300;
        queue.update_group_load(&kernel, 20 * MS, &mut total);
        assert_eq!(total, 16_400, "exactly a 64th is not enough");
        queue.avg.load_avg = 6299;
        queue.update_group_load(&kernel, 30 * MS, &mut total);
        assert_eq!((total, queue.tg_load_avg_contrib), (16_299, 6299));
    }
}

#[test]
fn group_load_is_reported_at_most_once_per_millisecond_in_late_releases() {
    for kernel in kernels() {
        let mut queue = QueueAvg::default();
        let mut total = 0;
        let mut report = |load_avg, wall_ns| {
            queue.avg.load_avg = load_avg;
            queue.update_group_load(&kernel, wall_ns, &mut total);
            total
        };
        assert_eq!(report(1000, 5 * MS), 1000);
        let limited = kernel.has(Feature::PELT_TG_RATE_LIMIT);
        assert_eq!(report(2000, 6 * MS - 1), if limited { 1000 } else { 2000 });
        assert_eq!(report(3000, 6 * MS), 3000);
    }
}

#[test]
fn shares_follow_the_example_of_the_runqueue_specification() {
    let table = [
        (1024, 4096, 1024, 262_144),
        (2048, 2048, 1024, 699_050),
        (0, 4096, 0, 2),
        (1024, 0, 0, 1_048_576),
    ];
    for (load, tg_load, contrib, share) in table {
        let mut queue = QueueAvg {
            tg_load_avg_contrib: contrib,
            ..QueueAvg::default()
        };
        assert_eq!(queue.shares(load << 10, tg_load, 1_048_576), share);
        // Blocked load counts like queued weight, whichever is more.
        queue.avg.load_avg = load;
        assert_eq!(queue.shares(0, tg_load, 1_048_576), share);
    }
}

#[test]
fn hierarchical_load_is_computed_once_per_jiffy() {
    let (mut root, mut child) = (QueueAvg::default(), QueueAvg::default());
    root.avg.load_avg = 2047;
    child.avg.load_avg = 511;
    assert_eq!(root.refresh_root_h_load(7), 2047);
    assert_eq!(child.refresh_h_load(7, &root, 1024), 2047 * 1024 / 2048);
    assert_eq!(child.task_h_load(256), 256 * 1023 / 512);

    // In the same jiffy the stored share counts, but the load in the quotient is the present one.
    root.avg.load_avg = 100;
    child.avg.load_avg = 1023;
    assert_eq!(root.refresh_root_h_load(7), 2047);
    assert_eq!(child.refresh_h_load(7, &root, 1), 1023);
    assert_eq!(child.task_h_load(256), 256 * 1023 / 1024);

    assert_eq!(root.refresh_root_h_load(8), 100);
    assert_eq!(child.refresh_h_load(8, &root, 50), 100 * 50 / 101);
    // At the root a task's share is its load but for the rounding.
    assert_eq!(root.task_h_load(60), 60 * 100 / 101);
}

#[test]
fn runnable_load_of_a_group_is_that_of_its_queued_time() {
    for kernel in kernels_without(Feature::RUNNABLE_AVG) {
        let (mut root, mut child) = (QueueAvg::default(), QueueAvg::default());
        let mut entity = SchedAvg::new_group();
        let mut task = SchedAvg::new_task(&kernel, &running());
        child.attach(&kernel, &mut task, &running());
        let off_rq = EntityState::group(NICE_0, false, 0, false);
        root.propagate_from(&kernel, &mut entity, &off_rq, &mut child, NICE_0);
        assert_eq!((root.avg.load_avg, root.avg.runnable_avg), (1024, 0));
        assert_eq!(entity.runnable_avg, 1024);
    }
}
