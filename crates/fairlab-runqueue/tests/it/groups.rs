//! Groups: counts, idle groups and bandwidth.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_runqueue::{
    Bandwidth, DequeueFlags, EnqueueFlags, Entities, EntityId, FairRq, GroupId, Policy, RqConfig,
    WakeFlags, Weight,
};
use fairlab_units::{CpuId, Nanos, Timestamp};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

struct Cpu {
    ents: Entities,
    rq: FairRq,
    now: u64,
    tick: u64,
    throttles_at_exit: bool,
}

impl Cpu {
    fn new(release: Release) -> Self {
        let kernel = Kernel::of(release);
        Self {
            ents: Entities::new(),
            rq: FairRq::on_cpu(RqConfig::new(&kernel, 8), CpuId(0)),
            now: 1_000,
            tick: kernel.tunables.tick_ns(),
            throttles_at_exit: kernel.has(Feature::THROTTLE_AT_EXIT),
        }
    }

    fn at(&self) -> Timestamp {
        Timestamp(self.now)
    }

    fn add(&mut self, group: GroupId, policy: Policy) -> EntityId {
        let id = self.ents.add_task(0, policy);
        self.rq.set_group(&mut self.ents, id, group);
        id
    }

    fn wake(&mut self, id: EntityId) {
        let now = self.at();
        let _ = self
            .rq
            .enqueue(&mut self.ents, id, EnqueueFlags::WAKEUP, now);
        let _ = self
            .rq
            .check_preempt_wakeup(&mut self.ents, id, WakeFlags::default(), now);
    }

    /// Picks and switches. A task of a throttled group leaves at once, as in user mode.
    fn schedule(&mut self) {
        let now = self.at();
        loop {
            let curr = self.rq.curr(&self.ents);
            let pick = self.rq.pick_next(&mut self.ents, now);
            while self.rq.pop_left(&mut self.ents).is_some() {}
            if pick != curr || pick.is_none() {
                if let Some(curr) = curr {
                    self.rq.put_prev(&mut self.ents, curr, now);
                }
                if let Some(pick) = pick {
                    self.rq.set_next(&mut self.ents, pick, now);
                }
            }
            let leaves = self.throttles_at_exit
                && pick.is_some_and(|id| self.rq.throttle_task(&mut self.ents, id, now));
            if !leaves {
                return;
            }
        }
    }

    fn period(&mut self, group: GroupId) {
        self.ents.start_period(group);
        let now = self.at();
        while let Some(cpu) = self.ents.next_throttled(group) {
            assert_eq!(cpu, CpuId(0));
            let _ = self.rq.unthrottle(&mut self.ents, group, now);
        }
    }

    /// Runs all tasks without sleep for `ms`; a period starts every 100 ms.
    fn run(&mut self, ms: u64, group: GroupId) {
        let end = self.now + ms * MS;
        let mut next_period = self.now;
        while self.now < end {
            if self.now >= next_period {
                self.period(group);
                next_period += 100 * MS;
            }
            let now = self.at();
            let resched = self.rq.tick(&mut self.ents, now);
            if resched.is_requested() || self.rq.curr(&self.ents).is_none() {
                self.schedule();
            }
            self.now += self.tick;
        }
        let now = self.at();
        let _ = self.rq.update_curr(&mut self.ents, now);
    }

    fn limit(&mut self, group: GroupId, quota_ms: u64, burst_ms: u64) {
        let limits = Bandwidth {
            quota: Nanos::from_millis(quota_ms),
            period: Nanos::from_millis(100),
            burst: Nanos::from_millis(burst_ms),
        };
        let cfg = *self.rq.config();
        self.ents.set_bandwidth(&cfg, group, Some(limits), 1);
    }

    fn ran(&self, id: EntityId) -> u64 {
        self.ents[id].sum_exec().0
    }
}

#[test]
fn a_quota_of_50_of_100_ms_gives_half_a_cpu() {
    for release in Release::ALL {
        let mut cpu = Cpu::new(release);
        let group = cpu.rq.add_group(&mut cpu.ents, GroupId::ROOT);
        cpu.limit(group, 50, 0);
        let tasks = [0, 1].map(|_| cpu.add(group, Policy::Normal));
        for id in tasks {
            cpu.wake(id);
        }
        cpu.run(20_000, group);
        let ran = tasks.map(|id| cpu.ran(id)).iter().sum::<u64>();
        let off = ran.abs_diff(10_000 * MS);
        assert!(off <= 100 * MS, "{release}: ran {ran} of 10 s");
        assert!(cpu.ents.nr_throttled(group) >= 150, "{release}");
        for id in tasks {
            assert!(
                cpu.ran(id).abs_diff(ran / 2) <= ran / 50,
                "{release}: equal within"
            );
        }
    }
}

#[test]
fn the_rest_of_the_cpu_goes_to_others() {
    for release in Release::ALL {
        let mut cpu = Cpu::new(release);
        let group = cpu.rq.add_group(&mut cpu.ents, GroupId::ROOT);
        cpu.limit(group, 20, 0);
        let inside = cpu.add(group, Policy::Normal);
        let outside = cpu.add(GroupId::ROOT, Policy::Normal);
        cpu.wake(inside);
        cpu.wake(outside);
        cpu.run(20_000, group);
        let (a, b) = (cpu.ran(inside), cpu.ran(outside));
        assert!(a.abs_diff(4_000 * MS) <= 40 * MS, "{release}: {a} of 4 s");
        assert!(b.abs_diff(16_000 * MS) <= 40 * MS, "{release}: {b} of 16 s");
    }
}

#[test]
fn burst_keeps_what_was_not_used() {
    for release in Release::ALL {
        let keeps = Kernel::of(release).has(Feature::CFS_BANDWIDTH_BURST);
        let mut cpu = Cpu::new(release);
        let group = cpu.rq.add_group(&mut cpu.ents, GroupId::ROOT);
        cpu.limit(group, 20, 40);
        let id = cpu.add(group, Policy::Normal);
        // Two periods pass unused.
        cpu.period(group);
        cpu.period(group);
        cpu.wake(id);
        cpu.run(100, group);
        let expected = if keeps { 60 } else { 20 };
        let ran = cpu.ran(id);
        assert!(
            ran.abs_diff(expected * MS) <= 2 * cpu.tick,
            "{release}: {ran}"
        );
    }
}

#[test]
fn a_throttled_group_takes_its_tasks_out_of_the_counts() {
    for release in Release::ALL {
        let mut cpu = Cpu::new(release);
        let group = cpu.rq.add_group(&mut cpu.ents, GroupId::ROOT);
        cpu.limit(group, 1, 0);
        let ids = [0, 1, 2].map(|_| cpu.add(group, Policy::Normal));
        for id in ids {
            cpu.wake(id);
        }
        assert_eq!(cpu.rq.h_nr_queued(), 3, "{release}");
        cpu.schedule();
        for _ in 0..3 {
            cpu.now += 8 * MS;
            let now = cpu.at();
            let _ = cpu.rq.tick(&mut cpu.ents, now);
            cpu.schedule();
        }
        assert_eq!(cpu.rq.h_nr_queued(), 0, "{release}");
        assert_eq!(cpu.rq.load(), Weight::ZERO, "{release}");
        assert_eq!(cpu.rq.curr(&cpu.ents), None, "{release}");
        for _ in 0..100 {
            cpu.period(group);
        }
        assert_eq!(cpu.rq.h_nr_queued(), 3, "{release}");
        assert_eq!(cpu.rq.root().nr_queued(), 1, "{release}");
    }
}

#[test]
fn tasks_of_an_idle_group_count_as_idle_above_it() {
    for release in Release::ALL {
        let mut cpu = Cpu::new(release);
        let group = cpu.rq.add_group(&mut cpu.ents, GroupId::ROOT);
        let ids = [0, 1].map(|_| cpu.add(group, Policy::Normal));
        cpu.wake(ids[0]);
        let now = cpu.at();
        cpu.rq.set_idle(&mut cpu.ents, group, true, now);
        cpu.wake(ids[1]);
        let exists = Kernel::of(release).has(Feature::GROUP_IDLE);
        assert_eq!(cpu.rq.h_nr_idle(), if exists { 2 } else { 0 }, "{release}");
        let entity = cpu.rq.group_entity(group).unwrap();
        let weight = if exists { Weight::IDLE } else { Weight::NICE_0 };
        assert_eq!(cpu.ents[entity].weight(), weight, "{release}");
        cpu.rq.set_idle(&mut cpu.ents, group, false, now);
        assert_eq!(cpu.rq.h_nr_idle(), 0, "{release}");
    }
}

/// Something that happens; numbers are taken modulo what there is.
#[derive(Clone, Debug)]
enum Op {
    Wake(usize),
    Sleep(bool),
    MoveAway(usize),
    Tick,
    Period(usize),
    Shares(usize, u32),
    Idle(usize, bool),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (0usize..16).prop_map(Op::Wake),
        5 => prop::bool::weighted(0.1).prop_map(Op::Sleep),
        1 => (0usize..16).prop_map(Op::MoveAway),
        8 => Just(Op::Tick),
        2 => (1usize..5).prop_map(Op::Period),
        1 => (1usize..5, 2u32..10_000).prop_map(|(g, w)| Op::Shares(g, w)),
        1 => (1usize..5, any::<bool>()).prop_map(|(g, idle)| Op::Idle(g, idle)),
    ]
}

/// Four groups: two below the root, two below the first of them. Two are limited.
fn check_hierarchy(release: Release, ops: &[(u64, Op)]) {
    let mut cpu = Cpu::new(release);
    let a = cpu.rq.add_group(&mut cpu.ents, GroupId::ROOT);
    let b = cpu.rq.add_group(&mut cpu.ents, GroupId::ROOT);
    let c = cpu.rq.add_group(&mut cpu.ents, a);
    let d = cpu.rq.add_group(&mut cpu.ents, a);
    let parents = [None, Some(0u32), Some(0), Some(a.0), Some(a.0)];
    cpu.limit(a, 30, 10);
    cpu.limit(c, 10, 0);
    let homes = [GroupId::ROOT, a, b, c, d];
    let ids: Vec<_> = (0..16)
        .map(|i| {
            let policy = if i % 7 == 3 {
                Policy::Idle
            } else {
                Policy::Normal
            };
            cpu.add(homes[i % 5], policy)
        })
        .collect();
    let mut limbo: Vec<EntityId> = Vec::new();
    for (delta, op) in ops {
        cpu.now += delta;
        let now = cpu.at();
        let queued = |cpu: &Cpu, id: EntityId| cpu.ents[id].is_on_rq();
        match op {
            Op::Wake(which) => {
                let id = ids[which % ids.len()];
                let is_ready = queued(&cpu, id) && !cpu.ents[id].is_delayed();
                if !is_ready && !limbo.contains(&id) {
                    cpu.wake(id);
                }
            }
            Op::Sleep(special) => {
                if let Some(curr) = cpu.rq.curr(&cpu.ents)
                    && queued(&cpu, curr)
                    && !cpu.ents[curr].is_delayed()
                {
                    let flags = if *special {
                        DequeueFlags::SPECIAL
                    } else {
                        DequeueFlags::SLEEP
                    };
                    let _ = cpu.rq.dequeue(&mut cpu.ents, curr, flags, now);
                }
            }
            Op::MoveAway(which) => {
                let id = ids[which % ids.len()];
                if queued(&cpu, id) && cpu.rq.curr(&cpu.ents) != Some(id) {
                    let flags = DequeueFlags::MOVE;
                    let _ = cpu.rq.dequeue(&mut cpu.ents, id, flags, now);
                    let flags = EnqueueFlags::MOVED;
                    let _ = cpu.rq.enqueue(&mut cpu.ents, id, flags, now);
                }
            }
            Op::Tick => {
                let _ = cpu.rq.tick(&mut cpu.ents, now);
            }
            Op::Period(which) => cpu.period(homes[*which]),
            Op::Shares(which, weight) => {
                let shares = Weight::from_unscaled(*weight);
                cpu.rq.set_shares(&mut cpu.ents, homes[*which], shares, now);
            }
            Op::Idle(which, idle) => {
                cpu.rq.set_idle(&mut cpu.ents, homes[*which], *idle, now);
            }
        }
        check_counts(&cpu, &ids, &parents);
        cpu.schedule();
        check_counts(&cpu, &ids, &parents);
        if cpu.throttles_at_exit {
            // Those that a throttled group took off and that did not go to sleep themselves.
            limbo = ids
                .iter()
                .copied()
                .filter(|id| !queued(&cpu, *id) && cpu.rq.is_throttled(&cpu.ents, *id))
                .collect();
        }
    }
}

fn check_counts(cpu: &Cpu, ids: &[EntityId], parents: &[Option<u32>; 5]) {
    let at_once = !cpu.throttles_at_exit;
    let queue = |g: usize| cpu.rq.queue(GroupId(g as u32)).unwrap();
    for g in 0..5 {
        let (mut nr, mut queued, mut runnable) = (0, 0, 0);
        let mut load = 0;
        for id in ids {
            let entity = &cpu.ents[*id];
            if entity.is_on_rq() && cpu.rq.group_of(&cpu.ents, *id) == GroupId(g as u32) {
                nr += 1;
                queued += 1;
                runnable += u32::from(!entity.is_delayed());
                load += entity.weight().0;
            }
        }
        for (child, parent) in parents.iter().enumerate() {
            if *parent != Some(g as u32) {
                continue;
            }
            let entity = cpu.rq.group_entity(GroupId(child as u32)).unwrap();
            let entity = &cpu.ents[entity];
            if entity.is_on_rq() {
                nr += 1;
                load += entity.weight().0;
            }
            let is_cut = at_once && queue(child).is_throttled();
            let has_tasks = queue(child).nr_queued() > 0 && !is_cut;
            let stays = entity.is_on_rq() && (has_tasks || entity.is_delayed());
            assert_eq!(
                entity.is_on_rq(),
                has_tasks || stays,
                "entity of group {child}"
            );
            if !is_cut {
                queued += queue(child).h_nr_queued();
                runnable += queue(child).h_nr_runnable();
            }
        }
        assert_eq!(queue(g).nr_queued(), nr, "entities of group {g}");
        assert_eq!(queue(g).h_nr_queued(), queued, "tasks of group {g}");
        assert_eq!(
            queue(g).h_nr_runnable(),
            runnable,
            "runnable tasks of group {g}"
        );
        assert_eq!(queue(g).load().0, load, "load of group {g}");
        assert!(queue(g).h_nr_idle() <= queued, "idle tasks of group {g}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn counts_of_a_hierarchy_add_up(
        which in 0usize..7,
        ops in prop::collection::vec((prop_oneof![Just(0u64), 1u64..6_000_000], op()), 1..150),
    ) {
        check_hierarchy(Release::ALL[which], &ops);
    }
}
