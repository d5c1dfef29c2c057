//! The worked examples of the runqueue specification.

use alloc::string::String;
use alloc::vec::Vec;

use fairlab_kernel::{Kernel, Release};
use fairlab_units::{Nanos, Timestamp};

use crate::restore::EntityState;
use crate::{
    DequeueFlags, Dequeued, EnqueueFlags, Entities, EntityId, FairRq, Policy, RqConfig, Vruntime,
    Weight, group_shares,
};

const CFS: [Release; 4] = [Release::V5_4, Release::V5_6, Release::V5_15, Release::V6_1];
const EEVDF: [Release; 3] = [Release::V6_6, Release::V6_12, Release::V7_2];
const LATE: [Release; 2] = [Release::V6_12, Release::V7_2];

fn config(release: Release) -> RqConfig {
    RqConfig::new(&Kernel::of(release), 8)
}

/// A configuration with a base slice of 2.8 ms, as the examples have.
fn config_2800us(release: Release) -> RqConfig {
    let mut kernel = Kernel::of(release);
    kernel.tunables.base_slice_ns = 700_000;
    RqConfig::new(&kernel, 8)
}

fn queue_with(cfg: RqConfig, tasks: &[(i8, i64)]) -> (Entities, FairRq, Vec<EntityId>) {
    let mut ents = Entities::new();
    let mut rq = FairRq::new(cfg);
    rq.set_zero_vruntime(Vruntime(0));
    let ids = tasks
        .iter()
        .map(|(nice, v)| {
            let mut state = EntityState {
                weight: Weight::of_nice(*nice),
                vruntime: Vruntime(*v as u64),
                slice: cfg.base_slice(),
                ..EntityState::default()
            };
            let id = ents.add_restored(&state);
            state.deadline = state.vruntime.plus(cfg.fair(cfg.base_slice, &ents[id]));
            ents.set_state(id, &state);
            rq.insert_restored(&mut ents, id, false);
            id
        })
        .collect();
    (ents, rq, ids)
}

#[test]
fn a_fair_time_of_one_and_four_milliseconds() {
    let table = [
        (-20, 11536, 46146),
        (-10, 107_247, 428_990),
        (-5, 328_099, 1_312_399),
        (-1, 801_879, 3_207_517),
        (0, 1_000_000, 4_000_000),
        (1, 1_248_780, 4_995_121),
        (5, 3_056_716, 12_226_865),
        (10, 9_309_090, 37_236_363),
        (19, 68_266_666, 273_066_666),
    ];
    for release in Release::ALL {
        let cfg = config(release);
        let mut ents = Entities::new();
        for (nice, one, four) in table {
            let id = ents.add_task(nice, Policy::Normal);
            assert_eq!(cfg.fair(1_000_000, &ents[id]), one, "{release} nice {nice}");
            assert_eq!(
                cfg.fair(4_000_000, &ents[id]),
                four,
                "{release} nice {nice}"
            );
        }
        let idle = ents.add_task(0, Policy::Idle);
        assert_eq!(cfg.fair(1_000_000, &ents[idle]), 341_333_333, "{release}");
        let five = ents.add_task(5, Policy::Normal);
        let expected = 8_558_806 - u64::from(release == Release::V7_2);
        assert_eq!(cfg.fair(2_800_000, &ents[five]), expected, "{release}");
    }
}

#[test]
fn b_cfs_slices() {
    let cases: [(&[i8], u64, u64); 8] = [
        (&[0], 23_999_994, 23_999_994),
        (&[0, 0], 11_999_994, 11_999_994),
        (&[0, 0, 0], 7_999_998, 7_999_998),
        (&[0, 5], 18_083_885, 18_083_885),
        (&[-5, 0], 18_070_923, 18_070_923),
        (&[0; 8], 2_999_994, 3_000_000),
        (&[0; 9], 2_999_994, 3_000_000),
        (&[0; 12], 2_999_997, 3_000_000),
    ];
    for release in CFS {
        let has_base_slice = release >= Release::V5_15;
        for (tasks, before, after) in cases {
            let tasks: Vec<_> = tasks.iter().map(|nice| (*nice, 0)).collect();
            let (ents, rq, ids) = queue_with(config(release), &tasks);
            let expected = if has_base_slice { after } else { before };
            assert_eq!(rq.slice(&ents, ids[0]), expected, "{release} {tasks:?}");
        }
        let (ents, rq, ids) = queue_with(config(release), &[(0, 0), (5, 0)]);
        assert_eq!(rq.slice(&ents, ids[1]), 5_916_114, "{release}");
        assert_eq!(rq.cfg.fair(5_916_114, &ents[ids[1]]), 18_083_882);
        let (ents, rq, ids) = queue_with(config(release), &[(-5, 0), (0, 0)]);
        assert_eq!(rq.cfg.fair(18_070_923, &ents[ids[0]]), 5_929_069);
        assert_eq!(rq.slice(&ents, ids[1]), 5_929_069, "{release}");
    }
}

#[test]
fn b_periods_and_wakeup_granularity() {
    for release in CFS {
        let cfg = config(release);
        let periods = [1, 8, 9, 12].map(|nr| cfg.period(nr));
        assert_eq!(periods, [24_000_000, 24_000_000, 27_000_000, 36_000_000]);
        let mut ents = Entities::new();
        for (nice, lead) in [(-5, 1_312_399), (0, 4_000_000), (5, 12_226_865)] {
            let id = ents.add_task(nice, Policy::Normal);
            assert_eq!(
                cfg.fair(cfg.wakeup_granularity, &ents[id]),
                lead,
                "{release}"
            );
        }
    }
}

#[test]
fn b_a_sleeper_is_at_most_its_credit_behind() {
    for release in CFS {
        for (slept_at, wakes_at) in [(50_000_000, 88_000_000), (95_000_000, 95_000_000)] {
            let mut ents = Entities::new();
            let mut rq = FairRq::new(config(release));
            rq.set_zero_vruntime(Vruntime(100_000_000));
            let id = ents.add_restored(&EntityState {
                vruntime: Vruntime(slept_at),
                ..EntityState::default()
            });
            let _ = rq.enqueue(&mut ents, id, EnqueueFlags::WAKEUP, Timestamp(1_000));
            assert_eq!(ents[id].vruntime(), Vruntime(wakes_at), "{release}");
        }
    }
}

#[test]
fn c_eevdf_basics() {
    for release in LATE {
        let cfg = config_2800us(release);
        let (ents, mut rq, ids) = queue_with(cfg, &[(0, 0), (0, 1_000_000), (5, 4_000_000)]);
        if release == Release::V7_2 {
            assert_eq!(rq.root().sum_weight(), 2_440_192);
        }
        assert_eq!(rq.avg_vruntime(&ents), Vruntime(992_026), "{release}");
        let eligible: Vec<_> = ids.iter().map(|id| rq.is_eligible(&ents, *id)).collect();
        assert_eq!(eligible, [true, false, false]);
        let rounding = u64::from(release != Release::V7_2);
        let deadlines: Vec<_> = ids.iter().map(|id| ents[*id].deadline().0).collect();
        assert_eq!(deadlines, [2_800_000, 3_800_000, 12_558_805 + rounding]);
        assert_eq!(rq.pick_only(&ents, true), Some(ids[0]));
        let limits = if release == Release::V7_2 {
            [6_800_000, 6_800_000, 20_785_671]
        } else {
            [5_600_000, 5_600_000, 17_117_612]
        };
        let lags = [992_026, -7_974, -3_007_974];
        for ((id, lag), limit) in ids.iter().zip(lags).zip(limits) {
            assert_eq!(rq.queues[0].clamped_lag(&cfg, &ents, *id), lag, "{release}");
            assert_eq!(rq.queues[0].lag_limit(&cfg, &ents, *id), limit, "{release}");
        }
    }
}

#[test]
fn c_the_average_is_rounded_down_and_eligibility_is_not() {
    for release in EEVDF {
        let (ents, rq, ids) = queue_with(config(release), &[(0, -1), (0, 0)]);
        assert_eq!(rq.avg_vruntime(&ents), Vruntime(u64::MAX));
        assert!(rq.is_eligible(&ents, ids[0]));
        assert!(!rq.is_eligible(&ents, ids[1]));
    }
}

#[test]
fn d_placement() {
    // nice, vlag, vruntime, deadline, average after, lag after, eligible
    let table = [
        (
            0, 1_000_000, 9_500_000, 12_300_000, 10_500_000, 1_000_000, true,
        ),
        (
            0, -1_000_000, 12_500_000, 15_300_000, 11_500_000, -1_000_000, false,
        ),
        (0, 0, 11_000_000, 13_800_000, 11_000_000, 0, true),
        (
            5, 1_000_000, 9_836_426, 18_395_231, 10_836_425, 999_999, true,
        ),
        (
            5, -1_000_000, 12_163_574, 20_722_379, 11_163_574, -1_000_000, false,
        ),
        (
            -5, 1_000_000, 8_476_075, 9_394_754, 9_476_074, 999_999, true,
        ),
        (
            -5, -1_000_000, 13_523_925, 14_442_604, 12_523_925, -1_000_000, false,
        ),
    ];
    for release in LATE {
        for (nice, vlag, vruntime, deadline, average, lag, eligible) in table {
            let cfg = config_2800us(release);
            let (mut ents, mut rq, _) = queue_with(cfg, &[(0, 10_000_000), (0, 12_000_000)]);
            let id = ents.add_restored(&EntityState {
                weight: Weight::of_nice(nice),
                vlag,
                ..EntityState::default()
            });
            let _ = rq.enqueue(&mut ents, id, EnqueueFlags::WAKEUP, Timestamp(1));
            let context = alloc::format!("{release} nice {nice} vlag {vlag}");
            let rounding = u64::from(release != Release::V7_2 && nice == 5);
            assert_eq!(ents[id].vruntime(), Vruntime(vruntime), "{context}");
            assert_eq!(
                ents[id].deadline(),
                Vruntime(deadline + rounding),
                "{context}"
            );
            assert_eq!(rq.avg_vruntime(&ents), Vruntime(average), "{context}");
            assert_eq!(rq.queues[0].clamped_lag(&cfg, &ents, id), lag, "{context}");
            assert_eq!(rq.is_eligible(&ents, id), eligible, "{context}");
        }
    }
}

#[test]
fn d_a_new_task_starts_with_half_a_slice() {
    for release in LATE {
        let cfg = config_2800us(release);
        let (mut ents, mut rq, _) = queue_with(cfg, &[(0, 10_000_000), (0, 12_000_000)]);
        let id = ents.add_task(0, Policy::Normal);
        let _ = rq.enqueue(&mut ents, id, EnqueueFlags::NEW, Timestamp(1));
        assert_eq!(ents[id].vruntime(), Vruntime(11_000_000));
        assert_eq!(ents[id].deadline(), Vruntime(12_400_000));
    }
}

/// Runs the queue for `ms` milliseconds, accounting at each and picking where that asks for it; one
/// letter per millisecond.
fn run(ents: &mut Entities, rq: &mut FairRq, ids: &[EntityId], ms: u64) -> String {
    let mut order = String::new();
    for t in 0..ms {
        let now = Timestamp(t * 1_000_000 + 1);
        let mut curr = rq.curr(ents);
        if curr.is_none() || rq.update_curr(ents, now).is_requested() {
            let pick = rq.pick_next(ents, now).unwrap();
            if curr != Some(pick) {
                if let Some(curr) = curr {
                    rq.put_prev(ents, curr, now);
                }
                rq.set_next(ents, pick, now);
            }
            curr = Some(pick);
        }
        let letter = ids.iter().position(|id| Some(*id) == curr).unwrap();
        order.push((b'A' + letter as u8) as char);
    }
    order
}

#[test]
fn e_run_order() {
    for release in LATE {
        let cfg = config_2800us(release);
        let (mut ents, mut rq, ids) = queue_with(cfg, &[(0, 0), (0, 0), (5, 0)]);
        let order = run(&mut ents, &mut rq, &ids, 40);
        assert_eq!(
            order, "AAABBBCCCAAABBBAAABBBAAABBBCCCAAABBBAAAB",
            "{release}"
        );
        let _ = rq.update_curr(&mut ents, Timestamp(40_000_001));
        assert_eq!(rq.curr(&ents), Some(ids[1]));
        let state = |i: usize| (ents[ids[i]].vruntime().0, ents[ids[i]].deadline().0);
        let rounding = u64::from(release != Release::V7_2);
        assert_eq!(state(0), (18_000_000, 20_800_000), "{release}");
        assert_eq!(state(1), (16_000_000, 17_800_000), "{release}");
        assert_eq!(state(2), (18_340_296, 26_899_101 + rounding), "{release}");
    }
}

#[test]
fn f_lag_at_sleep() {
    for release in LATE {
        let cfg = config_2800us(release);
        let (mut ents, mut rq, ids) = queue_with(cfg, &[(0, 0), (0, 0)]);
        rq.set_next(&mut ents, ids[0], Timestamp(1));
        let now = Timestamp(2_000_001);
        let (dequeued, _) = rq.dequeue(&mut ents, ids[0], DequeueFlags::SLEEP, now);
        assert_eq!(dequeued, Dequeued::Delayed, "{release}");
        assert_eq!(rq.avg_vruntime(&ents), Vruntime(1_000_000));
        assert_eq!((rq.h_nr_queued(), rq.h_nr_runnable()), (2, 1));
        if release == Release::V7_2 {
            assert_eq!(ents[ids[0]].vlag(), -1_000_000);
        }

        let (mut ents, mut rq, ids) = queue_with(cfg, &[(0, 0), (0, 0)]);
        rq.set_next(&mut ents, ids[0], Timestamp(1));
        let _ = rq.update_curr(&mut ents, Timestamp(20_000_001));
        assert_eq!(rq.avg_vruntime(&ents), Vruntime(10_000_000));
        let limited = if release == Release::V7_2 {
            -6_800_000
        } else {
            -5_600_000
        };
        assert_eq!(rq.queues[0].clamped_lag(&cfg, &ents, ids[0]), limited);
    }
}

#[test]
fn g_shares() {
    let table = [
        (1024, 4096, 1024, 262_144),
        (2048, 2048, 1024, 699_050),
        (0, 4096, 0, 2),
        (1024, 0, 0, 1_048_576),
    ];
    for (load, tg_load, contrib, share) in table {
        let share_of = |queue: u32, load_avg| {
            group_shares(
                Weight::NICE_0,
                Weight::from_unscaled(queue),
                load_avg,
                tg_load,
                contrib,
            )
        };
        assert_eq!(share_of(load, 0), Weight(share));
        assert_eq!(share_of(0, u64::from(load)), Weight(share));
    }
}

#[test]
fn tunables_are_scaled_by_the_number_of_cpus() {
    let one = RqConfig::new(&Kernel::of(Release::V7_2), 1);
    assert_eq!(one.base_slice(), Nanos(700_000));
    let eight = RqConfig::new(&Kernel::of(Release::V6_6), 8);
    assert_eq!(eight.base_slice(), Nanos(3_000_000));
    let cfs = config(Release::V6_1);
    assert_eq!(
        (cfs.latency, cfs.min_granularity, cfs.nr_latency),
        (24_000_000, 3_000_000, 8)
    );
}

#[test]
fn a_new_weight_keeps_lag_and_deadline_of_a_queued_entity_in_real_time() {
    for release in LATE {
        let cfg = config_2800us(release);
        let (mut ents, mut rq, ids) = queue_with(cfg, &[(0, 10_000_000), (0, 12_000_000)]);
        // Average 11 ms; lag 1 ms, deadline 1.8 ms after the average.
        let half = Weight::from_unscaled(512);
        rq.queues[0].reweight_queued(&cfg, &mut ents, ids[0], half);
        assert_eq!(ents[ids[0]].vruntime(), Vruntime(9_000_000), "{release}");
        assert_eq!(ents[ids[0]].deadline(), Vruntime(14_600_000), "{release}");
        assert_eq!(rq.load(), half + Weight::NICE_0, "{release}");
        // (9 * 512 + 12 * 1024) / 1536: the average stays.
        assert_eq!(rq.avg_vruntime(&ents), Vruntime(11_000_000), "{release}");
    }
}

#[test]
fn the_first_form_of_eevdf_keeps_vruntime_at_a_new_weight() {
    let cfg = config_2800us(Release::V6_6);
    let (mut ents, mut rq, ids) = queue_with(cfg, &[(0, 10_000_000), (0, 12_000_000)]);
    let half = Weight::from_unscaled(512);
    rq.queues[0].reweight_queued(&cfg, &mut ents, ids[0], half);
    assert_eq!(ents[ids[0]].vruntime(), Vruntime(10_000_000));
    assert_eq!(ents[ids[0]].deadline(), Vruntime(15_600_000));
}

#[test]
fn sums_beyond_64_bits_are_exact() {
    for release in EEVDF {
        let cfg = config(release);
        let far = 1i64 << 50;
        let (ents, rq, ids) = queue_with(cfg, &[(-20, -far), (-20, far), (-20, far), (-20, far)]);
        assert_eq!(
            rq.avg_vruntime(&ents),
            Vruntime((far / 2) as u64),
            "{release}"
        );
        assert_eq!(rq.pick_only(&ents, true), Some(ids[0]), "{release}");
    }
}

#[test]
fn yield_gives_up_what_the_release_says() {
    for release in EEVDF {
        let cfg = config_2800us(release);
        let (mut ents, mut rq, ids) = queue_with(cfg, &[(0, 0), (0, 0)]);
        rq.set_next(&mut ents, ids[0], Timestamp(1));
        let _ = rq.yield_task(&mut ents, Timestamp(1));
        let entity = &ents[ids[0]];
        let (vruntime, deadline) = if release == Release::V6_6 {
            (0, 5_600_000)
        } else {
            (2_800_000, 5_600_000)
        };
        assert_eq!(entity.vruntime(), Vruntime(vruntime), "{release}");
        assert_eq!(entity.deadline(), Vruntime(deadline), "{release}");
        assert_eq!(
            rq.pick_next(&mut ents, Timestamp(1)),
            Some(ids[1]),
            "{release}"
        );
    }
}
