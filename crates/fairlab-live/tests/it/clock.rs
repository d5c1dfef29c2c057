//! Virtual time.

use fairlab_live_policy::{QueueClock, TaskClock, weight_of_nice};

const SLICE: u64 = 3_000_000;

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
    let mut task = TaskClock {
        weight: 1024,
        ..TaskClock::default()
    };
    task.join(1_000_000_000, SLICE);
    assert_eq!(task.vruntime, 1_000_000_000);
    task.run(1_000_000, SLICE);
    // It has run a millisecond, and its queue went on by half of that: it owes the other half.
    let half = 500_000 << 4;
    task.leave(1_000_000_000 + half, SLICE);
    assert_eq!(task.lag, -(half as i64));
    task.join(5_000_000_000, SLICE);
    assert_eq!(task.vruntime, 5_000_000_000 + half);
}

#[test]
fn lag_has_a_limit_of_two_slices() {
    let mut task = TaskClock {
        weight: 2048,
        ..TaskClock::default()
    };
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
    let mut tasks = weights.map(|weight| TaskClock {
        weight,
        ..TaskClock::default()
    });
    for task in &mut tasks {
        task.join(0, SLICE);
    }
    let mut ran = [0u64; 5];
    for _ in 0..200_000 {
        let next = (0..5).min_by_key(|n| tasks[*n].deadline).unwrap();
        tasks[next].run(SLICE, SLICE);
        queue.vtime += queue.advance_of(SLICE);
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

/// One CPU cannot give it its share, however long it runs.
#[test]
fn a_task_that_is_heavier_than_its_cpu_lets_others_have_their_turn() {
    let (mut queue, mut heavy, mut other) = (
        QueueClock::default(),
        TaskClock {
            weight: 9548,
            ..TaskClock::default()
        },
        TaskClock {
            weight: 1024,
            ..TaskClock::default()
        },
    );
    // Eight CPUs advance the time of the queue; both of these share one of them.
    queue.weights = 9548 + 8 * 1024;
    heavy.join(0, SLICE);
    other.join(0, SLICE);
    let mut waited = 0;
    for _ in 0..10_000 {
        let runs = if heavy.deadline <= other.deadline {
            waited += 1;
            &mut heavy
        } else {
            waited = 0;
            &mut other
        };
        assert!(waited < 20, "slices behind a heavy task: {waited}");
        runs.run(SLICE, SLICE);
        runs.limit_lag(queue.vtime, SLICE);
        queue.vtime += queue.advance_of(8 * SLICE);
    }
}
