//! Virtual time.

use fairlab_live_policy::{QueueClock, TaskClock, weight_of_nice};

const SLICE: u64 = 3_000_000;

fn of(weight: u64) -> TaskClock {
    TaskClock {
        weight,
        ..TaskClock::default()
    }
}

#[test]
fn weights_are_those_of_the_nice_table() {
    assert_eq!(weight_of_nice(120, false), 1024);
    assert_eq!(weight_of_nice(100, false), 88761);
    assert_eq!(weight_of_nice(139, false), 15);
    assert_eq!(weight_of_nice(120, true), 15, "SCHED_IDLE as nice 19");
    // Realtime priorities have no place in the table.
    assert_eq!(weight_of_nice(99, false), 15);
}

#[test]
fn a_task_keeps_its_lag_while_it_sleeps() {
    let mut task = of(1024);
    let mut queue = QueueClock {
        vtime: 1_000_000_000,
        weights: 2048,
    };
    task.join(queue.vtime, SLICE);
    assert_eq!(task.vruntime, 1_000_000_000);
    queue.vtime += task.run(&queue, 1_000_000, SLICE);
    // It has run a millisecond, and its queue went on by half of that: it owes the other half.
    let half = 500_000 << 4;
    assert_eq!(queue.vtime, 1_000_000_000 + half);
    task.leave(queue.vtime, SLICE);
    assert_eq!(task.lag, -(half as i64));
    task.join(5_000_000_000, SLICE);
    assert_eq!(task.vruntime, 5_000_000_000 + half);
}

#[test]
fn lag_has_a_limit_of_two_slices() {
    let mut task = of(2048);
    task.join(0, SLICE);
    task.leave(u64::MAX / 4, SLICE);
    assert_eq!(task.lag, ((2 * SLICE) << 4) as i64 / 2);
}

/// Who is due earliest runs for a slice; nobody sleeps.
#[test]
fn shares_follow_weights() {
    let weights = [1024, 335, 3121, 655, 15];
    let mut queue = QueueClock {
        vtime: 0,
        weights: weights.iter().sum(),
    };
    let mut tasks = weights.map(of);
    for task in &mut tasks {
        task.join(0, SLICE);
    }
    let mut ran = [0u64; 5];
    for _ in 0..200_000 {
        let next = (0..5).min_by_key(|n| tasks[*n].deadline).unwrap();
        queue.vtime += tasks[next].run(&queue, SLICE, SLICE);
        ran[next] += SLICE;
    }
    let all: u64 = ran.iter().sum();
    for (weight, ran) in weights.iter().zip(ran) {
        let due = u128::from(all) * u128::from(*weight) / u128::from(queue.weights);
        let off = due.abs_diff(u128::from(ran));
        // Never further than a few slices, and they are short against the whole.
        assert!(
            off <= u128::from(4 * SLICE),
            "weight {weight}: {ran} of {due}"
        );
    }
}

/// The one of `tasks` that is due first, on a CPU that is theirs alone, runs for a slice.
fn serve(queue: &mut QueueClock, tasks: &mut [TaskClock]) -> usize {
    let first = (0..tasks.len()).min_by_key(|n| tasks[*n].deadline).unwrap();
    queue.vtime += tasks[first].run(queue, SLICE, SLICE);
    first
}

/// One CPU cannot give it its share, however long it runs.
#[test]
fn a_task_that_is_heavier_than_its_cpu_lets_others_have_their_turn() {
    // Eight CPUs with one queue: two tasks share the first.
    let mut shared = [of(9548), of(1024)];
    let mut alone = [(); 7].map(|()| [of(1024)]);
    let mut queue = QueueClock {
        vtime: 0,
        weights: 9548 + 8 * 1024,
    };
    for task in shared.iter_mut().chain(alone.as_flattened_mut()) {
        task.join(0, SLICE);
    }
    let mut waited = 0;
    for _ in 0..10_000 {
        let ran = serve(&mut queue, &mut shared);
        waited = if ran == 0 { waited + 1 } else { 0 };
        assert!(waited < 20, "slices behind a heavy task: {waited}");
        for task in &mut alone {
            serve(&mut queue, task);
        }
    }
}

/// A heavy task has one of two CPUs, and cannot use more.
#[test]
fn time_keeps_up_with_those_that_have_their_share() {
    let weights = [1024, 1024, 110];
    let (mut heavy, mut tasks) = ([of(9548)], weights.map(of));
    let mut queue = QueueClock {
        vtime: 0,
        weights: 9548 + 2158,
    };
    for task in heavy.iter_mut().chain(&mut tasks) {
        task.join(0, SLICE);
    }
    let mut ran = [0u64; 3];
    for _ in 0..100_000 {
        serve(&mut queue, &mut heavy);
        ran[serve(&mut queue, &mut tasks)] += 1;
        // Who comes now begins at the queue's time, and so goes before these by as much as they are ahead: a slice of
        // the lightest, for which that waits.
        for task in &tasks {
            let ahead = task.vruntime.wrapping_sub(queue.vtime) as i64;
            let limit = ((SLICE << 4) * 1024 / 110) as i64;
            assert!(ahead <= limit, "{ahead} of {limit}");
        }
    }
    for (weight, ran) in weights.iter().zip(ran) {
        let due = 100_000 * weight / 2158;
        assert!(due.abs_diff(ran) <= 4, "weight {weight}: {ran} of {due}");
    }
}

/// It has had a CPU to itself for a minute. Then others want that, too.
#[test]
fn a_light_task_is_not_made_to_wait_for_what_nobody_else_wanted() {
    let (mut light, mut others) = ([of(15)], [of(1024), of(1024)]);
    let mut queue = QueueClock {
        vtime: 0,
        weights: 15 + 1024,
    };
    for task in light.iter_mut().chain(&mut others) {
        task.join(0, SLICE);
    }
    for _ in 0..20_000 {
        serve(&mut queue, &mut light);
        serve(&mut queue, &mut others[..1]);
    }
    queue.weights += 1024;
    let [light] = light;
    let [one, mut other] = others;
    other.join(queue.vtime, SLICE);
    let mut all = [light, one, other];
    // One CPU is left for the three. The light one's turn comes once the others have had, for each slice of its own
    // that it may be ahead and the next, as much for their weight.
    let turns = 3 * (15 + 2048) / 15;
    let waited = (0..)
        .take_while(|_| serve(&mut queue, &mut all) != 0)
        .count();
    assert!(waited <= turns, "{waited} slices of {turns}");
}
