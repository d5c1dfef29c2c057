//! The queue against the model, under random operations, for every release.

use fairlab_kernel::{Feature, Kernel, Release};
use fairlab_runqueue::{
    Change, DequeueFlags, Dequeued, EnqueueFlags, Entities, EntityId, FairRq, Policy, Resched,
    RqConfig, Vruntime, WakeFlags,
};
use fairlab_units::{Nanos, Timestamp};
use proptest::prelude::*;

use crate::model::{Model, Task};

/// Something that happens on a CPU. A task number is taken modulo the tasks that qualify.
#[derive(Clone, Debug)]
enum Op {
    New { nice: i8, policy: Policy },
    Wake { which: usize, migrated: bool },
    Sleep { special: bool },
    Move { which: usize },
    Nice { which: usize, nice: i8 },
    Policy { which: usize, policy: Policy },
    Slice { which: usize, us: u64 },
    Yield,
    Tick,
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![
        6 => Just(Policy::Normal),
        1 => Just(Policy::Batch),
        1 => Just(Policy::Idle),
    ]
}

fn nice() -> impl Strategy<Value = i8> {
    prop_oneof![3 => Just(0i8), 2 => -20i8..20]
}

fn op() -> impl Strategy<Value = Op> {
    let which = 0usize..64;
    prop_oneof![
        2 => (nice(), policy()).prop_map(|(nice, policy)| Op::New { nice, policy }),
        8 => (which.clone(), any::<bool>()).prop_map(|(which, m)| Op::Wake { which, migrated: m }),
        6 => prop::bool::weighted(0.1).prop_map(|special| Op::Sleep { special }),
        1 => which.clone().prop_map(|which| Op::Move { which }),
        1 => (which.clone(), nice()).prop_map(|(which, nice)| Op::Nice { which, nice }),
        1 => (which.clone(), policy()).prop_map(|(which, policy)| Op::Policy { which, policy }),
        1 => (which, prop_oneof![Just(0u64), 50u64..20_000])
            .prop_map(|(which, us)| Op::Slice { which, us }),
        1 => Just(Op::Yield),
        8 => Just(Op::Tick),
    ]
}

/// Time before an operation; short and round ones make ties.
fn delta() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0u64),
        Just(1_000_000),
        Just(4_000_000),
        1u64..20_000_000
    ]
}

/// The queue and the model side by side.
struct Pair {
    ents: Entities,
    rq: FairRq,
    ids: Vec<EntityId>,
    model: Model,
    now: u64,
    eevdf: bool,
}

impl Pair {
    fn new(kernel: &Kernel) -> Self {
        Self {
            ents: Entities::new(),
            rq: FairRq::new(RqConfig::new(kernel, 4)),
            ids: Vec::new(),
            model: Model::new(kernel, 4),
            now: 1_000,
            eevdf: kernel.has(Feature::EEVDF),
        }
    }

    fn at(&self) -> Timestamp {
        Timestamp(self.now)
    }

    /// The number of the `which`th task that qualifies.
    fn choose(&self, which: usize, qualifies: impl Fn(&Task) -> bool) -> Option<usize> {
        let found: Vec<_> = (0..self.model.tasks.len())
            .filter(|t| qualifies(&self.model.tasks[*t]))
            .collect();
        (!found.is_empty()).then(|| found[which % found.len()])
    }

    fn apply(&mut self, op: &Op) {
        let now = self.at();
        let resched = match op {
            Op::New { nice, policy } => {
                if self.ids.len() >= 24 {
                    return;
                }
                let id = self.ents.add_task(*nice, *policy);
                let t = self.ids.len();
                self.ids.push(id);
                self.model.tasks.push(Task::new(*nice, *policy));
                let _ = self.rq.fork(&mut self.ents, id, now);
                self.model.fork(t, self.now);
                self.join(t, EnqueueFlags::NEW)
            }
            Op::Wake { which, migrated } => {
                let Some(t) = self.choose(*which, |t| !t.on_rq || t.delayed) else {
                    return;
                };
                let mut flags = EnqueueFlags::WAKEUP;
                if *migrated && !self.model.tasks[t].on_rq {
                    self.rq.migrate_wakeup(&mut self.ents, self.ids[t]);
                    self.model.migrate_wakeup(t);
                    flags = EnqueueFlags::WAKEUP_MIGRATED;
                }
                self.join(t, flags)
            }
            Op::Sleep { special } => {
                let Some(t) = self.model.curr else { return };
                if !self.model.tasks[t].on_rq || self.model.tasks[t].delayed {
                    return;
                }
                let flags = if *special {
                    DequeueFlags::SPECIAL
                } else {
                    DequeueFlags::SLEEP
                };
                let ours = self.rq.dequeue(&mut self.ents, self.ids[t], flags, now);
                let theirs = self.model.dequeue(t, true, *special, self.now);
                assert_eq!((ours.0 == Dequeued::Done, ours.1), theirs);
                Resched::Now
            }
            Op::Move { which } => {
                let curr = self.model.curr;
                // A delayed task is moved, too, and stays delayed.
                let Some(t) = self
                    .choose(*which, |t| t.on_rq)
                    .filter(|t| Some(*t) != curr)
                else {
                    return;
                };
                let ours = self
                    .rq
                    .dequeue(&mut self.ents, self.ids[t], DequeueFlags::MOVE, now);
                let theirs = self.model.dequeue(t, false, false, self.now);
                assert_eq!((ours.0 == Dequeued::Done, ours.1), theirs);
                self.check();
                theirs.1.or(self.join(t, EnqueueFlags::MOVED))
            }
            Op::Nice { which, nice } => self.change(*which, Change::Nice(*nice)),
            Op::Policy { which, policy } => self.change(*which, Change::Policy(*policy)),
            Op::Slice { which, us } => self.change(*which, Change::Slice(Nanos::from_micros(*us))),
            Op::Yield => {
                let ours = self.rq.yield_task(&mut self.ents, now);
                assert_eq!(ours, self.model.yield_task(self.now));
                Resched::Now
            }
            Op::Tick => {
                let ours = self.rq.tick(&mut self.ents, now);
                assert_eq!(ours, self.model.tick(self.now));
                ours
            }
        };
        self.check();
        let curr_left = self.model.curr.is_none_or(|t| !self.model.tasks[t].on_rq);
        if resched.is_requested() || curr_left {
            self.schedule();
        }
    }

    fn join(&mut self, t: usize, flags: EnqueueFlags) -> Resched {
        let (id, now) = (self.ids[t], self.at());
        let ours = self.rq.enqueue(&mut self.ents, id, flags, now);
        let theirs = self
            .model
            .enqueue(t, flags.wakeup, flags.new, flags.migrated, self.now);
        assert_eq!(ours, theirs);
        self.check();
        let wake = WakeFlags {
            fork: flags.new,
            pending: Resched::None,
        };
        let preempts = self.rq.check_preempt_wakeup(&mut self.ents, id, wake, now);
        assert_eq!(preempts, self.model.preempt(t, flags.new, self.now));
        self.drain();
        ours.or(preempts)
    }

    fn change(&mut self, which: usize, change: Change) -> Resched {
        if self.ids.is_empty() {
            return Resched::None;
        }
        let t = which % self.ids.len();
        let task = &self.model.tasks[t];
        let (mut nice, mut policy, mut slice) = (task.nice, task.policy, None);
        match change {
            Change::Nice(n) => nice = n,
            Change::Policy(p) => policy = p,
            Change::Slice(s) if self.rq.config().kernel().has(Feature::CUSTOM_SLICE) => {
                slice = Some(match s.0 {
                    0 => 0,
                    ns => i128::from(ns.clamp(100_000, 100_000_000)),
                });
            }
            _ => {}
        }
        let now = self.at();
        let ours = self.rq.change(&mut self.ents, self.ids[t], change, now);
        assert_eq!(ours, self.model.change(t, nice, policy, slice, self.now));
        self.drain();
        ours
    }

    fn schedule(&mut self) {
        let now = self.at();
        let ours = self.rq.pick_next(&mut self.ents, now);
        let theirs = self.model.pick_next(self.now);
        assert_eq!(ours, theirs.map(|t| self.ids[t]), "picks");
        self.drain();
        self.check();
        if theirs.is_some() && theirs == self.model.curr {
            return;
        }
        if let Some(curr) = self.model.curr {
            self.rq.put_prev(&mut self.ents, self.ids[curr], now);
            self.model.put_prev(curr, self.now);
        }
        if let Some(t) = theirs {
            self.rq.set_next(&mut self.ents, self.ids[t], now);
            self.model.set_next(t, self.now, true);
        }
        self.check();
    }

    /// Tasks that have left for good must be those that the model let go.
    fn drain(&mut self) {
        while let Some(id) = self.rq.pop_left(&mut self.ents) {
            let t = self.ids.iter().position(|i| *i == id).unwrap();
            assert!(!self.model.tasks[t].on_rq);
        }
    }

    fn check(&self) {
        let root = self.rq.root();
        let queued = self.model.queued();
        assert_eq!(root.nr_queued() as usize, queued.len());
        assert_eq!(self.rq.h_nr_queued() as usize, queued.len());
        let runnable = queued.iter().filter(|t| !self.model.tasks[**t].delayed);
        assert_eq!(self.rq.h_nr_runnable() as usize, runnable.count());
        let idle = queued
            .iter()
            .filter(|t| self.model.tasks[**t].policy == Policy::Idle);
        assert_eq!(self.rq.h_nr_idle() as usize, idle.count());
        let load: u64 = queued
            .iter()
            .map(|t| self.ents[self.ids[*t]].weight().0)
            .sum();
        assert_eq!(self.rq.load().0, load);
        for (id, task) in self.ids.iter().zip(&self.model.tasks) {
            let entity = &self.ents[*id];
            assert_eq!(entity.is_on_rq(), task.on_rq);
            assert_eq!(entity.is_delayed(), task.delayed);
            assert_eq!(
                entity.vruntime(),
                Vruntime(task.v as u64),
                "{entity:?} {task:?}"
            );
            assert_eq!(
                entity.deadline(),
                Vruntime(task.deadline as u64),
                "{entity:?}"
            );
            assert_eq!(entity.sum_exec().0, task.sum_exec);
        }
        let waiting: Vec<_> = self.model.waiting().iter().map(|t| self.ids[*t]).collect();
        let ours: Vec<_> = self.rq.iter(&self.ents).collect();
        assert_eq!(ours, waiting, "order of the tree");
        let listed = self.rq.iter_newest(&self.ents).count();
        assert_eq!(listed, queued.len());
        assert_eq!(self.rq.iter_oldest(&self.ents).count(), listed);
        if self.eevdf {
            self.check_lags(&queued);
        }
    }

    /// The weighted lags of a queue sum to zero, but for the rounding of the average.
    fn check_lags(&self, queued: &[usize]) {
        let average = self.rq.avg_vruntime(&self.ents);
        assert_eq!(average, Vruntime(self.model.average() as u64));
        let (mut sum, mut weights) = (0i128, 0i128);
        for t in queued {
            let entity = &self.ents[self.ids[*t]];
            let weight = i128::from(entity.weight().0);
            sum += i128::from(average.since(entity.vruntime())) * weight;
            weights += weight;
            assert_eq!(
                self.rq.is_eligible(&self.ents, self.ids[*t]),
                self.model.eligible(*t)
            );
        }
        assert!(sum <= 0 && -sum < weights.max(1), "{sum} of {weights}");
    }
}

fn run(release: Release, features: &[(Feature, bool)], ops: &[(u64, Op)]) {
    let mut kernel = Kernel::of(release);
    for (feature, on) in features {
        kernel = kernel.with(*feature, *on);
    }
    let mut pair = Pair::new(&kernel);
    for (delta, op) in ops {
        pair.now += delta;
        pair.apply(op);
    }
}

fn ops() -> impl Strategy<Value = Vec<(u64, Op)>> {
    prop::collection::vec((delta(), op()), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn v5_4_does_what_the_model_does(ops in ops()) {
        run(Release::V5_4, &[], &ops);
    }

    #[test]
    fn v5_6_does_what_the_model_does(ops in ops()) {
        run(Release::V5_6, &[], &ops);
    }

    #[test]
    fn v5_15_does_what_the_model_does(ops in ops()) {
        run(Release::V5_15, &[], &ops);
    }

    #[test]
    fn v6_1_does_what_the_model_does(ops in ops()) {
        run(Release::V6_1, &[], &ops);
    }

    #[test]
    fn v6_6_does_what_the_model_does(ops in ops()) {
        run(Release::V6_6, &[], &ops);
    }

    #[test]
    fn v6_12_does_what_the_model_does(ops in ops()) {
        run(Release::V6_12, &[], &ops);
    }

    #[test]
    fn v7_2_does_what_the_model_does(ops in ops()) {
        run(Release::V7_2, &[], &ops);
    }

    #[test]
    fn switched_features_do_what_the_model_does(
        ops in ops(),
        parity in any::<bool>(),
        short in any::<bool>(),
        delay in any::<bool>(),
        zero in any::<bool>(),
        late in any::<bool>(),
    ) {
        let features = [
            (Feature::RUN_TO_PARITY, parity),
            (Feature::PREEMPT_SHORT, short),
            (Feature::DELAY_DEQUEUE, delay),
            (Feature::DELAY_ZERO, zero),
        ];
        let release = if late { Release::V7_2 } else { Release::V6_12 };
        run(release, &features, &ops);
    }

    /// While nobody yields and no weight changes, a task's vruntime does not go back while it is
    /// queued, but for a delayed one that is placed again.
    #[test]
    fn vruntime_of_a_queued_task_never_goes_back(ops in ops(), which in 0usize..7) {
        let kernel = Kernel::of(Release::ALL[which]);
        let mut pair = Pair::new(&kernel);
        let mut last: Vec<Option<Vruntime>> = Vec::new();
        for (delta, op) in &ops {
            if matches!(op, Op::Nice { .. } | Op::Policy { .. } | Op::Slice { .. } | Op::Move { .. }) {
                continue;
            }
            pair.now += delta;
            pair.apply(op);
            last.resize(pair.ids.len(), None);
            for (id, last) in pair.ids.iter().zip(&mut last) {
                let entity = &pair.ents[*id];
                let now = (entity.is_on_rq() && !entity.is_delayed()).then(|| entity.vruntime());
                if let (Some(before), Some(now)) = (*last, now) {
                    prop_assert!(!now.is_before(before));
                }
                *last = now;
            }
        }
    }
}
