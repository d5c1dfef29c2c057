//! Keeps what was asked until it is known where the task went, and counts.

use std::collections::BTreeMap;

use fairlab_policy::{Outcome, only_cpu};
use fairlab_stats::LatencyHistogram as Histogram;
use fairlab_topology::Machine;
use fairlab_units::{CpuId, CpuMask, TaskId, Timestamp};

use super::answer::{Agreement, Answer, Difference, Example, Met, Relation, Skipped, Verdict, Why};
use super::doubt::{Doubt, Weighed, Weigher};
use super::sync::SyncFlags;
use crate::map::Map;
use crate::reconstruct::{Asked, Asker, Question, Reconstruction, Slot};

/// What was asked and where it went is not known yet.
#[derive(Clone, Debug)]
struct Open {
    question: Question,
    why: Why,
    weighed: Option<Weighed>,
    cpu: CpuId,
    /// Waker and wakee.
    pair: Option<(TaskId, TaskId)>,
    /// What idled at that moment.
    idle: CpuMask,
    queued: u32,
}

/// The sort of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sort {
    kind: Asked,
    recorded: Relation,
    recorded_met: Met,
    why: Why,
    asked_met: Met,
}

#[derive(Debug)]
pub(super) struct Log {
    map: Map,
    weigher: Weigher,
    sync: SyncFlags,
    /// By kind and task.
    open: BTreeMap<(Asked, Slot), Open>,
    by_why: BTreeMap<(Asked, Why), Agreement>,
    differences: BTreeMap<Sort, Difference>,
    /// Differences whose task has not run yet.
    to_run: BTreeMap<Slot, (Sort, Timestamp)>,
    /// By CPU: differences that wait for its next switch.
    to_switch: Vec<Vec<(Sort, Timestamp)>>,
    skipped: Skipped,
    untimed: u64,
    keep: usize,
}

impl Log {
    pub fn new(machine: &Machine, keep: usize, sync: SyncFlags) -> Self {
        let nr_cpus = machine.nr_cpu_ids();
        Self {
            map: Map::of(machine),
            weigher: Weigher::new(nr_cpus),
            sync,
            open: BTreeMap::new(),
            by_why: BTreeMap::new(),
            differences: BTreeMap::new(),
            to_run: BTreeMap::new(),
            to_switch: vec![Vec::new(); nr_cpus],
            skipped: Skipped::default(),
            untimed: 0,
            keep,
        }
    }

    pub fn finish(mut self, state: &Reconstruction<'_>) -> Answer {
        self.skipped.open += self.open.len() as u64;
        let mut differences: Vec<Difference> = self.differences.into_values().collect();
        differences.sort_by_key(|difference| std::cmp::Reverse(difference.count));
        Answer {
            kernel: *state.kernel(),
            by_why: self.by_why,
            differences,
            skipped: self.skipped,
            untimed: self.untimed,
            untold: state.untold(),
            picks: state.picks(),
            contradictions: state.contradictions(),
            sync: self.sync,
        }
    }

    /// What a task meets on `cpu` when `idle` idles.
    fn met(&self, state: &Reconstruction<'_>, idle: &CpuMask, cpu: CpuId) -> Met {
        if idle.test(cpu) {
            let core = &self.map.cores[self.map.core_of(cpu)].cpus;
            if core.is_subset(idle) {
                Met::IdleCore
            } else {
                Met::IdleCpu
            }
        } else if state.is_known(cpu) {
            Met::Busy
        } else {
            Met::Unknown
        }
    }

    fn relation(&self, question: &Question, cpu: CpuId) -> Relation {
        let llc = self.map.llc_of(cpu);
        if cpu == question.prev_cpu {
            Relation::Prev
        } else if cpu == question.this_cpu {
            Relation::Waking
        } else if llc == self.map.llc_of(question.prev_cpu) {
            Relation::InPrevLlc
        } else if llc == self.map.llc_of(question.this_cpu) {
            Relation::InWakingLlc
        } else {
            Relation::Elsewhere
        }
    }

    /// Counts that `open` went to `cpu`.
    fn judge(&mut self, state: &Reconstruction<'_>, open: &Open, cpu: CpuId) {
        let Open {
            question,
            why,
            weighed,
            ..
        } = open;
        let doubts = weighed.as_ref().map(Weighed::doubts).unwrap_or_default();
        let verdict = if open.cpu == cpu {
            Verdict::Same
        } else {
            let doubt = weighed.as_ref().and_then(|weighed| weighed.explains(cpu));
            doubt.map_or(Verdict::Other, Verdict::SameIf)
        };
        let is_wakeup = question.kind == Asked::Wakeup;
        self.untimed += u64::from(is_wakeup && !question.is_timed);
        let agreement = self.by_why.entry((question.kind, *why)).or_default();
        agreement.count(doubts, verdict);
        if verdict == Verdict::Same {
            return;
        }
        let sort = Sort {
            kind: question.kind,
            recorded: self.relation(question, cpu),
            recorded_met: self.met(state, &open.idle, cpu),
            why: *why,
            asked_met: self.met(state, &open.idle, open.cpu),
        };
        let keep = self.keep;
        let difference = self.differences.entry(sort).or_insert_with(|| Difference {
            kind: sort.kind,
            recorded: sort.recorded,
            recorded_met: sort.recorded_met,
            why: sort.why,
            asked_met: sort.asked_met,
            count: 0,
            sure: 0,
            same_if: [0; Doubt::ALL.len()],
            delay: Histogram::default(),
            queued: 0,
            free_after: Histogram::default(),
            examples: Vec::new(),
        });
        difference.count += 1;
        difference.sure += u64::from(doubts.is_empty());
        difference.queued += u64::from(open.queued);
        if let Verdict::SameIf(doubt) = verdict {
            difference.same_if[doubt as usize] += 1;
        }
        if difference.examples.len() < keep {
            difference.examples.push(Example {
                time: question.time,
                task: state.id(question.slot),
                prev: question.prev_cpu,
                waking: question.this_cpu,
                recorded: cpu,
                asked: open.cpu,
                doubts,
            });
        }
        match sort.asked_met {
            Met::IdleCore | Met::IdleCpu => difference.free_after.record(0),
            Met::Busy => self.to_switch[open.cpu.index()].push((sort, question.time)),
            Met::Unknown => {}
        }
        self.to_run.insert(question.slot, (sort, question.time));
    }
}

impl Asker for Log {
    fn ask(&mut self, state: &Reconstruction<'_>, question: &Question) -> Option<Outcome> {
        let slot = question.slot;
        let task = state.task(slot);
        if task.is_higher {
            self.skipped.higher += u64::from(question.kind != Asked::Exec);
            return None;
        }
        if only_cpu(&state.task_view(slot), false).is_some() {
            self.skipped.bound += u64::from(question.kind != Asked::Exec);
            return None;
        }
        let waker = state.running_on(question.this_cpu);
        let pair = waker.map(|waker| (state.id(waker), state.id(slot)));
        let is_sync = question.kind == Asked::Wakeup
            && pair.is_some_and(|(waker, wakee)| self.sync.guess(waker, wakee));
        let mut open = Open {
            question: *question,
            why: Why::StillQueued,
            weighed: None,
            cpu: question.prev_cpu,
            pair,
            idle: state.idle_cpus(),
            queued: state.nr_queued(question.prev_cpu),
        };
        let mut outcome = None;
        let mut weighed = self.weigher.weigh(state, question, is_sync);
        if question.is_delayed {
            weighed.stays(question.prev_cpu);
            open.weighed = Some(weighed);
        } else {
            outcome = Some(weighed.outcome);
            open.why = Why::Policy(weighed.outcome.decision.reason);
            open.cpu = weighed.cpu;
            open.queued = state.nr_queued(weighed.cpu);
            open.weighed = Some(weighed);
        }
        self.open.insert((question.kind, slot), open);
        outcome
    }

    fn settle(&mut self, state: &Reconstruction<'_>, slot: Slot, kind: Asked, cpu: CpuId) {
        let Some(open) = self.open.remove(&(kind, slot)) else {
            return;
        };
        if let Some(weighed) = &open.weighed
            && let Some((waker, wakee)) = open.pair
            && let Some((_, other)) = weighed
                .others
                .iter()
                .find(|(doubt, _)| *doubt == Doubt::Sync)
        {
            let time = open.question.time;
            if weighed.cpu == cpu {
                self.sync.learn(time, waker, wakee, weighed.is_sync);
            } else if *other == cpu {
                self.sync.learn(time, waker, wakee, !weighed.is_sync);
            }
        }
        self.judge(state, &open, cpu);
    }

    fn withdraw(&mut self, slot: Slot, kind: Asked) {
        self.open.remove(&(kind, slot));
    }

    fn switched(&mut self, cpu: CpuId, time: Timestamp) {
        for (sort, from) in self.to_switch[cpu.index()].drain(..) {
            if let Some(difference) = self.differences.get_mut(&sort) {
                difference.free_after.record(time.saturating_since(from).0);
            }
        }
    }

    fn ran(&mut self, slot: Slot, _cpu: CpuId, time: Timestamp) {
        if let Some((sort, from)) = self.to_run.remove(&slot)
            && let Some(difference) = self.differences.get_mut(&sort)
        {
            difference.delay.record(time.saturating_since(from).0);
        }
    }
}
