//! Queues that go on under another kernel.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_runqueue::{
    DequeueFlags, Dequeued, EnqueueFlags, Entities, EntityId, FairRq, Policy, RqConfig,
};
use fairlab_units::Timestamp;

const NICE: [i8; 5] = [0, 5, -5, 0, 10];

fn config(release: Release) -> RqConfig {
    RqConfig::new(&Kernel::of(release), 8)
}

fn at(us: u64) -> Timestamp {
    Timestamp(1_000_000_000 + us * 1_000)
}

/// A CPU with five hogs that has run for 40 ms, one of them running.
fn busy(release: Release) -> (Entities, FairRq, Vec<EntityId>, EntityId) {
    let mut ents = Entities::new();
    let mut rq = FairRq::new(config(release));
    let ids: Vec<EntityId> = NICE
        .iter()
        .map(|nice| ents.add_task(*nice, Policy::Normal))
        .collect();
    for id in &ids {
        let _ = rq.enqueue(&mut ents, *id, EnqueueFlags::NEW, at(0));
    }
    let mut running = rq.pick_next(&mut ents, at(0)).unwrap();
    rq.set_next(&mut ents, running, at(0));
    for ms in 1..=40 {
        running = turn_round(&mut rq, &mut ents, running, at(ms * 1_000));
    }
    (ents, rq, ids, running)
}

/// A tick, and a switch if another task should run.
fn turn_round(rq: &mut FairRq, ents: &mut Entities, running: EntityId, now: Timestamp) -> EntityId {
    let _ = rq.tick(ents, now);
    let next = rq.pick_next(ents, now).unwrap();
    if next != running {
        rq.put_prev(ents, running, now);
        rq.set_next(ents, next, now);
    }
    next
}

/// Distances of all vruntimes from that of the first.
fn distances(ents: &Entities, ids: &[EntityId]) -> Vec<i64> {
    let first = ents[ids[0]].vruntime();
    ids.iter()
        .map(|id| ents[*id].vruntime().since(first))
        .collect()
}

#[test]
fn what_queued_tasks_are_owed_stays_under_every_other_kernel() {
    for from in Release::ALL {
        for to in Release::ALL {
            let (mut ents, mut rq, ids, running) = busy(from);
            let _ = rq.update_curr(&mut ents, at(40_300));
            let before = distances(&ents, &ids);
            let load = rq.load();
            let _ = rq.turn(&mut ents, config(to), at(40_300));
            // Hogs that took turns for a while are within the limit of lag of every kernel.
            assert_eq!(distances(&ents, &ids), before, "{from} to {to}");
            assert_eq!(rq.load(), load, "{from} to {to}");
            assert_eq!(rq.h_nr_queued(), 5, "{from} to {to}");
            assert_eq!(rq.h_nr_runnable(), 5, "{from} to {to}");
            assert_eq!(rq.curr(&ents), Some(running), "{from} to {to}");
            // The sums are those of the entities: an average weighed by hand is within rounding.
            if Kernel::of(to).has(Feature::EEVDF) {
                let first = ents[ids[0]].vruntime();
                let weigh = |id: &EntityId| i128::from(ents[*id].weight().0);
                let sum: i128 = ids
                    .iter()
                    .zip(&before)
                    .map(|(id, d)| weigh(id) * i128::from(*d))
                    .sum();
                let by_hand = sum.div_euclid(ids.iter().map(weigh).sum()) as i64;
                let average = rq.avg_vruntime(&ents).since(first);
                assert!(
                    (average - by_hand).abs() <= 1,
                    "{from} to {to}: {average} {by_hand}"
                );
            }
        }
    }
}

#[test]
fn shares_follow_the_weights_after_the_turn() {
    for from in Release::ALL {
        for to in Release::ALL {
            let (mut ents, mut rq, ids, mut running) = busy(from);
            let _ = rq.turn(&mut ents, config(to), at(40_000));
            let before: Vec<u64> = ids.iter().map(|id| ents[*id].sum_exec().0).collect();
            for ms in 41..=4_040 {
                running = turn_round(&mut rq, &mut ents, running, at(ms * 1_000));
            }
            let total: u64 = ids.iter().map(|id| ents[*id].weight().0).sum();
            for (id, before) in ids.iter().zip(before) {
                let got = (ents[*id].sum_exec().0 - before) as f64 / 4_000e6;
                let due = ents[*id].weight().0 as f64 / total as f64;
                // One round of slices of five tasks, of four seconds.
                assert!((got - due).abs() < 0.01, "{from} to {to}: {got} {due}");
            }
        }
    }
}

#[test]
fn a_sleeper_wakes_up_with_the_lag_that_it_had() {
    for from in Release::ALL {
        for to in Release::ALL {
            let (was_eevdf, is_eevdf) = (
                Kernel::of(from).has(Feature::EEVDF),
                Kernel::of(to).has(Feature::EEVDF),
            );
            if was_eevdf == is_eevdf {
                continue;
            }
            let (mut ents, mut rq, ids, running) = busy(from);
            let sleeper = *ids.iter().find(|id| **id != running).unwrap();
            // A special dequeue is never delayed.
            let (left, _) = rq.dequeue(&mut ents, sleeper, DequeueFlags::SPECIAL, at(40_000));
            assert_eq!(left, Dequeued::Done);
            let owed = if was_eevdf {
                ents[sleeper].vlag()
            } else {
                let others: Vec<EntityId> =
                    ids.iter().copied().filter(|id| *id != sleeper).collect();
                let own = ents[sleeper].vruntime();
                let weigh = |id: &EntityId| i128::from(ents[*id].weight().0);
                let sum: i128 = others
                    .iter()
                    .map(|id| weigh(id) * i128::from(ents[*id].vruntime().since(own)))
                    .sum();
                sum.div_euclid(others.iter().map(weigh).sum()) as i64
            };
            let turned = rq.turn(&mut ents, config(to), at(40_000));
            rq.turn_sleeper(&mut ents, sleeper, &turned, false);
            let kept = if is_eevdf {
                ents[sleeper].vlag()
            } else {
                // What lies before the average of those that are queued.
                let queued: Vec<EntityId> =
                    ids.iter().copied().filter(|id| *id != sleeper).collect();
                let own = ents[sleeper].vruntime();
                let weigh = |id: &EntityId| i128::from(ents[*id].weight().0);
                let sum: i128 = queued
                    .iter()
                    .map(|id| weigh(id) * i128::from(ents[*id].vruntime().since(own)))
                    .sum();
                sum.div_euclid(queued.iter().map(weigh).sum()) as i64
            };
            assert!((kept - owed).abs() <= 1, "{from} to {to}: {kept} {owed}");
        }
    }
}

#[test]
fn a_delayed_sleeper_leaves_where_dequeues_are_not_delayed() {
    let (mut ents, mut rq, ids, mut running) = busy(Release::V6_12);
    // Run on until the running task is in debt, which is when its sleep is delayed.
    let mut ms = 41;
    while rq.is_eligible(&ents, running) {
        let _ = rq.tick(&mut ents, at(ms * 1_000));
        ms += 1;
        assert!(ms < 100, "a hog comes into debt");
    }
    let now = at(ms * 1_000);
    let (left, _) = rq.dequeue(&mut ents, running, DequeueFlags::SLEEP, now);
    assert_eq!(left, Dequeued::Delayed);
    rq.put_prev(&mut ents, running, now);
    let sleeper = running;
    running = rq.pick_next(&mut ents, now).unwrap();
    rq.set_next(&mut ents, running, now);
    assert!(ents[sleeper].is_delayed());

    let (mut stays, mut stays_rq) = (ents.clone(), rq.clone());
    let _ = stays_rq.turn(&mut stays, config(Release::V7_2), now);
    assert!(stays[sleeper].is_delayed());
    assert_eq!(stays_rq.h_nr_queued(), 5);
    assert_eq!(stays_rq.h_nr_runnable(), 4);

    let _ = rq.turn(&mut ents, config(Release::V6_1), now);
    assert!(!ents[sleeper].is_on_rq());
    assert_eq!(rq.pop_left(&mut ents), Some(sleeper));
    assert_eq!(rq.h_nr_queued(), 4);
    assert_eq!(ids.len(), 5);
}
