//! Enqueue, dequeue and pick allocate nothing. A binary of its own: the counter is global.

use fairlab_kernel::{Kernel, Release};
use fairlab_runqueue::{
    Bandwidth, Change, DequeueFlags, EnqueueFlags, Entities, EntityId, FairRq, GroupId, Policy,
    RqConfig, WakeFlags,
};
use fairlab_units::{CpuId, Nanos, Timestamp};

/// One round of everything that happens on a CPU.
fn round(ents: &mut Entities, rq: &mut FairRq, tasks: &[EntityId], now: &mut u64) {
    for (i, id) in tasks.iter().enumerate() {
        *now += 700_000;
        let at = Timestamp(*now);
        if !ents[*id].is_on_rq() || ents[*id].is_delayed() {
            let _ = rq.enqueue(ents, *id, EnqueueFlags::WAKEUP, at);
            let _ = rq.check_preempt_wakeup(ents, *id, WakeFlags::default(), at);
        }
        let _ = rq.tick(ents, at);
        match i % 8 {
            0 => {
                let _ = rq.yield_task(ents, at);
            }
            1 => {
                let _ = rq.change(ents, *id, Change::Nice((i % 5) as i8), at);
            }
            _ => {}
        }
        let sleeper = rq.curr(ents).filter(|_| i % 2 == 0);
        if let Some(curr) = sleeper
            && ents[curr].is_on_rq()
            && !ents[curr].is_delayed()
        {
            let _ = rq.dequeue(ents, curr, DequeueFlags::SLEEP, at);
        }
        let curr = rq.curr(ents);
        let pick = rq.pick_next(ents, at);
        while rq.pop_left(ents).is_some() {}
        if pick != curr {
            if let Some(curr) = curr {
                rq.put_prev(ents, curr, at);
            }
            if let Some(pick) = pick {
                rq.set_next(ents, pick, at);
            }
        }
    }
}

#[test]
fn hot_paths_allocate_nothing() {
    for release in Release::ALL {
        let cfg = RqConfig::new(&Kernel::of(release), 8);
        let mut ents = Entities::new();
        let mut rq = FairRq::on_cpu(cfg, CpuId(0));
        let group = rq.add_group(&mut ents, GroupId::ROOT);
        let limits = Bandwidth {
            quota: Nanos::from_micros(100),
            period: Nanos::from_millis(10),
            burst: Nanos::ZERO,
        };
        ents.set_bandwidth(&cfg, group, Some(limits), 1);
        let tasks: Vec<_> = (0..100)
            .map(|i| {
                let id = ents.add_task(0, Policy::Normal);
                let home = if i % 3 == 0 { group } else { GroupId::ROOT };
                rq.set_group(&mut ents, id, home);
                id
            })
            .collect();
        let mut now = 1;
        let counted = allocation_counter::measure(|| {
            for _ in 0..50 {
                round(&mut ents, &mut rq, &tasks, &mut now);
                ents.start_period(group);
                while let Some(cpu) = ents.next_throttled(group) {
                    assert_eq!(cpu, CpuId(0));
                    let _ = rq.unthrottle(&mut ents, group, Timestamp(now));
                }
            }
        });
        assert_eq!(counted.count_total, 0, "{release}");
        assert!(
            ents.nr_throttled(group) > 0,
            "{release}: the limit was reached"
        );
    }
}
