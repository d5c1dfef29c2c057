//! A whole file, replayed by queues that carry their own state.
//!
//! Inputs are the clocks, wakeups, the flags of placements, a task's state when it is first seen,
//! changed weights and policies. What was not recorded is inferred from the next record of the
//! CPU: that a task went to sleep, that a waiting task was moved, that a delayed task was woken
//! where it was.

use std::collections::{BTreeMap, BTreeSet};

use fairlab_runqueue::{
    Change, DequeueFlags, EnqueueFlags, Entities, EntityId, FairRq, RqConfig, WakeFlags,
};
use fairlab_units::Timestamp;

use super::Tally;
use super::alone::{flags_after, nested, pending};
use super::record::{Ent, Event, Record, difference, is_initial, is_migrated, sums_difference};

const MODE: &str = "whole";

/// States of a previous task that forbid a delayed dequeue: stopped, traced, parked, dead, frozen.
const SPECIAL_STATES: u64 = 0x4 | 0x8 | 0x40 | 0x80 | 0x8000;

pub fn compare(cfg: RqConfig, records: &[Record], tally: &mut Tally) {
    let nr_cpus = records.iter().map(|r| r.cpu + 1).max().unwrap_or(0);
    let mut replay = Replay {
        cfg,
        records,
        ents: Entities::new(),
        ids: BTreeMap::new(),
        cpus: (0..nr_cpus).map(|_| Cpu::new(cfg)).collect(),
        homes: BTreeMap::new(),
    };
    // Entry order: a record is written at the exit of its function.
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|at| (records[*at].t, records[*at].seq));
    let mut done = BTreeSet::new();
    for at in order {
        let record = &records[at];
        if !done.insert(record.seq) {
            continue;
        }
        let inner = match record.ev {
            Event::WakeupPreempt => nested(&records[..at], record),
            _ => Vec::new(),
        };
        done.extend(inner.iter().map(|r| r.seq));
        replay.step(record, &inner, tally);
    }
}

struct Cpu {
    rq: FairRq,
    started: bool,
    /// A pick has shown all entities of the queue.
    known: bool,
    /// A delayed task that a pick has hit; it leaves after the accounting that follows.
    leaving: Option<EntityId>,
    /// The balancer of another CPU has worked on the list of tasks since it was last compared.
    balanced: bool,
}

impl Cpu {
    fn new(cfg: RqConfig) -> Self {
        Self {
            rq: FairRq::new(cfg),
            started: false,
            known: false,
            leaving: None,
            balanced: false,
        }
    }
}

struct Replay<'a> {
    cfg: RqConfig,
    records: &'a [Record],
    ents: Entities,
    ids: BTreeMap<u32, EntityId>,
    cpus: Vec<Cpu>,
    /// The CPU on whose queue an entity is or was last.
    homes: BTreeMap<EntityId, usize>,
}

/// No time: an operation at it charges nobody.
const NEVER: Timestamp = Timestamp(0);

impl Replay<'_> {
    fn step(&mut self, record: &Record, inner: &[&Record], tally: &mut Tally) {
        let c = record.cpu as usize;
        if !self.cpus[c].started {
            self.start(record);
        }
        let unknown = !self.cpus[c].known
            && self.cpus[c].rq.root().nr_queued() < record.cfs.nr()
            && record.ev != Event::Switch;
        if record.ev == Event::Pick {
            self.cpus[c].known = true;
        }
        let mut results = Vec::new();
        match record.ev {
            Event::Pick => results.push(("pick", self.pick(record))),
            Event::Place => results.push(("place", self.place(record))),
            Event::UpdateCurr => results.push(("update_curr", self.update_curr(record))),
            Event::WakeupPreempt => self.preempt(record, inner, &mut results),
            Event::Switch => results.push(("switch", self.switch(record))),
            Event::Wakeup => results.push(("wakeup", self.wakeup(record))),
        }
        for (event, result) in results {
            if result.is_some() && unknown {
                tally.explain(MODE, event);
            } else {
                tally.add(MODE, event, record.seq, result);
            }
        }
    }

    fn id(&self, pid: u32) -> Option<EntityId> {
        self.ids.get(&pid).copied()
    }

    fn pid(&self, id: Option<EntityId>) -> u32 {
        let found = self.ids.iter().find(|(_, known)| Some(**known) == id);
        found.map_or(0, |(pid, _)| *pid)
    }

    /// The entity of a task, in the recorded state if it was not seen before.
    fn meet(&mut self, ent: &Ent) -> EntityId {
        match self.id(ent.pid()) {
            Some(id) => id,
            None => {
                let id = self.ents.add_restored(&ent.state());
                self.ids.insert(ent.pid(), id);
                id
            }
        }
    }

    /// Takes over the queue as it is at the first record of a CPU.
    fn start(&mut self, record: &Record) {
        let c = record.cpu as usize;
        self.cpus[c].started = true;
        self.cpus[c]
            .rq
            .set_zero_vruntime(record.cfs.sums().zero_vruntime);
        let later = self.records.iter().filter(|r| r.cpu == record.cpu);
        let first_pick = later.clone().find(|r| r.ev == Event::Pick);
        let placed_before: BTreeSet<u32> = later
            .take_while(|r| r.ev != Event::Pick)
            .filter(|r| r.ev == Event::Place)
            .map(|r| r.pid)
            .collect();
        let curr = match record.ev {
            Event::Switch => record.prev,
            Event::Pick => record.ents.iter().find(|e| e.is_curr()).copied(),
            _ => record.curr,
        };
        let waiting: Vec<Ent> = first_pick
            .map_or(&[][..], |r| &r.ents)
            .iter()
            .rev()
            .filter(|e| !e.is_curr() && !placed_before.contains(&e.pid()))
            .filter(|e| curr.is_none_or(|c| c.pid() != e.pid()))
            .copied()
            .collect();
        let expected = record.cfs.nr() - u32::from(curr.is_some_and(|c| c.on_rq()));
        for ent in waiting.into_iter().take(expected as usize) {
            if self.id(ent.pid()).is_none() {
                let id = self.meet(&ent);
                let rq = &mut self.cpus[c].rq;
                rq.insert_restored(&mut self.ents, id, ent.is_delayed());
                self.homes.insert(id, c);
            }
        }
        if let Some(curr) = curr
            && curr.is_curr()
        {
            let id = self.meet(&curr);
            let rq = &mut self.cpus[c].rq;
            if curr.on_rq() {
                rq.insert_restored(&mut self.ents, id, curr.is_delayed());
            }
            rq.set_curr_restored(&mut self.ents, id);
            self.homes.insert(id, c);
        }
    }

    /// Does what happened unseen before this record.
    fn infer(&mut self, record: &Record) {
        let c = record.cpu as usize;
        self.complete(c);
        let shown_curr = match record.ev {
            Event::Pick => record.ents.iter().find(|e| e.is_curr()).copied(),
            Event::Switch => record.prev,
            _ => record.curr,
        };
        let curr = self.cpus[c].rq.curr(&self.ents);
        if let Some(curr) = curr {
            let is_shown = shown_curr.filter(|e| self.id(e.pid()) == Some(curr));
            let (on_rq, delayed) = match is_shown {
                Some(ent) => (ent.on_rq(), ent.is_delayed()),
                // A pick shows queued entities only.
                None if record.ev == Event::Pick => (false, false),
                None => (self.ents[curr].is_on_rq(), self.ents[curr].is_delayed()),
            };
            let was_running = self.ents[curr].is_on_rq() && !self.ents[curr].is_delayed();
            if was_running && (!on_rq || delayed) {
                let special = self.is_special_sleep(record);
                let flags = if special {
                    DequeueFlags::SPECIAL
                } else {
                    DequeueFlags::SLEEP
                };
                let rq = &mut self.cpus[c].rq;
                let _ = rq.dequeue(&mut self.ents, curr, flags, NEVER);
            }
        }
        let shown = record.ents.iter().chain(&shown_curr).chain(&record.se);
        for ent in shown {
            if let Some(id) = self.id(ent.pid())
                && self.ents[id].is_delayed()
                && self.ents[id].is_on_rq()
                && ent.on_rq()
                && !ent.is_delayed()
            {
                let rq = &mut self.cpus[c].rq;
                let _ = rq.enqueue(&mut self.ents, id, EnqueueFlags::WAKEUP, NEVER);
            }
        }
        if record.ev != Event::Switch {
            self.infer_departures(record);
        }
    }

    /// The state of the running task at its next switch says why it left.
    fn is_special_sleep(&self, record: &Record) -> bool {
        let switch = self
            .records
            .iter()
            .find(|r| r.cpu == record.cpu && r.ev == Event::Switch && r.t >= record.t);
        switch.is_some_and(|r| r.flags & 0x7fff_ffff & SPECIAL_STATES != 0)
    }

    /// Waiting tasks that were moved away: found by the sums.
    fn infer_departures(&mut self, record: &Record) {
        let c = record.cpu as usize;
        // The placement of a queued delayed task finds it taken out of the count.
        let own = record
            .se
            .filter(|_| record.ev == Event::Place)
            .and_then(|se| self.id(se.pid()))
            .filter(|id| self.ents[*id].is_on_rq() && self.homes.get(id) == Some(&c));
        let expected = record.cfs.nr() + u32::from(own.is_some());
        if self.cpus[c].rq.root().nr_queued() <= expected || own.is_some() {
            return;
        }
        let waiting: Vec<_> = self.cpus[c].rq.iter(&self.ents).collect();
        for id in waiting {
            let (mut ents, mut rq) = (self.ents.clone(), self.cpus[c].rq.clone());
            let _ = rq.dequeue(&mut ents, id, DequeueFlags::MOVE, NEVER);
            if rq.sums() == record.cfs.sums() {
                self.ents = ents;
                self.cpus[c].rq = rq;
                self.cpus[c].balanced = true;
                return;
            }
        }
    }

    fn sums(&self, record: &Record) -> Option<String> {
        let c = record.cpu as usize;
        sums_difference(&self.cpus[c].rq.sums(), &record.cfs.sums())
    }

    fn state(&self, ent: Option<&Ent>) -> Option<String> {
        let ent = ent?;
        let Some(id) = self.id(ent.pid()) else {
            return Some(format!("pid {} is not known here", ent.pid()));
        };
        let entity = &self.ents[id];
        let ours = (entity.is_on_rq(), entity.is_delayed());
        let theirs = (ent.on_rq(), ent.is_delayed());
        if ours != theirs {
            return Some(format!(
                "pid {}: queued and delayed {ours:?} here, {theirs:?} there",
                ent.pid()
            ));
        }
        difference(&self.ents.state(id), &ent.state()).map(|d| format!("pid {}: {d}", ent.pid()))
    }

    /// Completes the delayed dequeue that an earlier pick began.
    fn complete(&mut self, c: usize) {
        let cpu = &mut self.cpus[c];
        if let Some(id) = cpu.leaving.take() {
            cpu.rq.complete_only(&mut self.ents, id, NEVER);
            while cpu.rq.pop_left(&mut self.ents).is_some() {}
        }
    }

    fn update_curr(&mut self, record: &Record) -> Option<String> {
        let c = record.cpu as usize;
        let leaves_after = self.cpus[c].rq.root().nr_queued() == record.cfs.nr();
        let leaving = self.cpus[c].leaving.take_if(|_| leaves_after);
        let result = self.charge(record);
        if leaving.is_some() {
            self.cpus[c].leaving = leaving;
            self.complete(c);
        }
        result
    }

    fn charge(&mut self, record: &Record) -> Option<String> {
        self.infer(record);
        let c = record.cpu as usize;
        let before = self
            .state(record.curr.as_ref())
            .or_else(|| self.sums(record));
        let now = Timestamp(record.clock_task);
        let request = self.cpus[c].rq.update_curr(&mut self.ents, now);
        let after = record.cfs_after.map(|cfs| cfs.sums()).unwrap_or_default();
        let expected = flags_after(&self.cfg, record.ti[0], request);
        before
            .map(|d| format!("before: {d}"))
            .or_else(|| self.state(record.curr_after.as_ref()))
            .or_else(|| sums_difference(&self.cpus[c].rq.sums(), &after))
            .or_else(|| {
                (expected != record.ti[1]).then(|| format!("{request:?}, ti {:?}", record.ti))
            })
    }

    /// Compares the order of the tasks, and takes over where the balancer has changed it: it puts
    /// tasks that it examined and left to the front.
    fn task_list(&mut self, record: &Record) -> Option<String> {
        let cpu = &mut self.cpus[record.cpu as usize];
        let list = |rq: &FairRq, ents: &Entities, ids: &BTreeMap<u32, EntityId>| -> Vec<u32> {
            let pid = |id| {
                ids.iter()
                    .find(|(_, known)| **known == id)
                    .map(|(pid, _)| *pid)
            };
            rq.iter_newest(ents).filter_map(pid).collect()
        };
        let theirs: Vec<_> = record.ents.iter().map(Ent::pid).collect();
        let ours = list(&cpu.rq, &self.ents, &self.ids);
        let same_tasks = ours.len() == theirs.len() && theirs.iter().all(|p| ours.contains(p));
        if cpu.balanced && same_tasks && ours != theirs {
            for pid in theirs.iter().rev() {
                cpu.rq.move_to_newest(&mut self.ents, self.ids[pid]);
            }
        }
        cpu.balanced = false;
        let ours = list(&cpu.rq, &self.ents, &self.ids);
        (ours != theirs).then(|| format!("tasks {ours:?} here, {theirs:?} there"))
    }

    fn pick(&mut self, record: &Record) -> Option<String> {
        self.infer(record);
        let c = record.cpu as usize;
        let list = self.task_list(record);
        let states = record.ents.iter().find_map(|ent| self.state(Some(ent)));
        let sums = self.sums(record);
        let protect =
            record.flags != 0 || !self.cfg.kernel().has(fairlab_kernel::Feature::SLICE_VPROT);
        let rq = &mut self.cpus[c].rq;
        let pick = rq.pick_only(&self.ents, protect);
        let mut again = pick;
        match pick {
            Some(id) if self.ents[id].is_delayed() => {
                let completes = record.in_wakeup_preempt == 0
                    || self.cfg.kernel().has(fairlab_kernel::Feature::SLICE_VPROT);
                if completes {
                    self.cpus[c].leaving = Some(id);
                }
            }
            _ if record.in_wakeup_preempt == 0 => again = rq.pick_next(&mut self.ents, NEVER),
            _ => {}
        }
        let (pick, again) = (self.pid(pick), self.pid(again));
        list.or(states).or(sums).or_else(|| {
            (pick != record.ret || again != record.ret)
                .then(|| format!("{pick} and {again} here, {} there", record.ret))
        })
    }

    fn place(&mut self, record: &Record) -> Option<String> {
        let c = record.cpu as usize;
        let (Some(se), Some(se_after)) = (record.se, record.se_after) else {
            return Some("the record lacks the entity".into());
        };
        let id = self.meet(&se);
        let home = self.homes.get(&id).copied();
        if self.ents[id].is_on_rq() && home != Some(c) {
            let home = home.unwrap_or(c);
            let rq = &mut self.cpus[home].rq;
            let _ = rq.dequeue(&mut self.ents, id, DequeueFlags::MOVE, NEVER);
            self.cpus[home].balanced = true;
        }
        self.homes.insert(id, c);
        self.infer(record);
        let now = Timestamp(record.clock_task);
        let rq = &mut self.cpus[c].rq;
        let mut before = None;
        if self.ents[id].is_on_rq() && !self.ents[id].is_delayed() {
            let (ours, theirs) = (self.ents.state(id), se.state());
            let change = if ours.policy != theirs.policy {
                Change::Policy(theirs.policy)
            } else if ours.weight != theirs.weight {
                Change::Nice(nice_of(&theirs.weight))
            } else {
                Change::Affinity
            };
            let _ = rq.change(&mut self.ents, id, change, now);
            // The record lies in the middle of the change: only what the change leaves alone from
            // there on can be compared.
            let entity = &self.ents[id];
            let after = se_after.state();
            if entity.vruntime() != after.vruntime || entity.deadline() != after.deadline {
                before = Some(format!(
                    "changed: {:?} here, {after:?} there",
                    self.ents.state(id)
                ));
            }
            return before;
        }
        if !self.ents[id].is_on_rq() {
            before = self.state(Some(&se)).map(|d| format!("before: {d}"));
        }
        let flags = EnqueueFlags {
            wakeup: record.flags & 1 != 0,
            new: is_initial(&self.cfg, record.flags),
            migrated: is_migrated(&self.cfg, record.flags),
        };
        let rq = &mut self.cpus[c].rq;
        let _ = rq.enqueue(&mut self.ents, id, flags, now);
        let mut ours = self.ents.state(id);
        if flags.migrated {
            // Cleared after the record.
            ours.exec_start = se_after.state().exec_start;
        }
        let zero = record.cfs_after.map(|cfs| cfs.sums().zero_vruntime);
        let ours_zero = self.cpus[c].rq.sums().zero_vruntime;
        before
            .or_else(|| difference(&ours, &se_after.state()))
            .or_else(|| {
                (Some(ours_zero) != zero)
                    .then(|| format!("zero {ours_zero:?} here, {zero:?} there"))
            })
    }

    fn preempt(
        &mut self,
        record: &Record,
        inner: &[&Record],
        results: &mut Vec<(&'static str, Option<String>)>,
    ) {
        let c = record.cpu as usize;
        self.infer(record);
        let before = self
            .state(record.curr.as_ref())
            .or_else(|| self.state(record.se.as_ref()))
            .or_else(|| self.sums(record));
        if record.curr.is_none() {
            results.push(("wakeup_preempt", before));
            return;
        }
        // The accounting inside comes first, so its request is part of the recorded answer.
        let mut charged = fairlab_runqueue::Resched::None;
        for record in inner {
            let result = match record.ev {
                Event::UpdateCurr => ("update_curr", self.update_curr(record)),
                Event::Pick => ("pick", self.pick(record)),
                _ => continue,
            };
            let request = pending(&self.cfg, record.ti[1] & !record.ti[0]);
            charged = charged.or(request);
            results.push(result);
        }
        let Some(wakee) = record.se.and_then(|se| self.id(se.pid())) else {
            results.push(("wakeup_preempt", Some("the wakee is not known here".into())));
            return;
        };
        let flags = WakeFlags {
            fork: record.flags & 4 != 0,
            pending: pending(&self.cfg, record.ti[0]),
        };
        self.complete(c);
        let rq = &mut self.cpus[c].rq;
        let request = rq
            .check_preempt_wakeup(&mut self.ents, wakee, flags, Timestamp(record.clock_task))
            .or(charged);
        let expected = flags_after(&self.cfg, record.ti[0], request);
        let result = before
            .map(|d| format!("before: {d}"))
            .or_else(|| self.state(record.curr_after.as_ref()))
            .or_else(|| {
                (expected != record.ti[1]).then(|| format!("{request:?}, ti {:?}", record.ti))
            });
        results.push(("wakeup_preempt", result));
    }

    fn switch(&mut self, record: &Record) -> Option<String> {
        self.infer(record);
        let c = record.cpu as usize;
        let now = Timestamp(record.clock_task);
        let (Some(prev), Some(next)) = (record.prev, record.next) else {
            return Some("the record lacks an entity".into());
        };
        let mut checks = Vec::new();
        let rq = &mut self.cpus[c].rq;
        if let Some(curr) = rq.curr(&self.ents) {
            rq.put_prev(&mut self.ents, curr, now);
            checks.push(prev);
        }
        if next.is_curr() {
            match self.id(next.pid()) {
                Some(id) if self.ents[id].is_on_rq() => {
                    self.cpus[c].rq.set_next(&mut self.ents, id, now);
                }
                _ => return Some(format!("pid {} is not queued here", next.pid())),
            }
            checks.push(next);
        }
        let states = checks.iter().find_map(|ent| self.state(Some(ent)));
        states.or_else(|| self.sums(record))
    }

    fn wakeup(&mut self, record: &Record) -> Option<String> {
        self.infer(record);
        let c = record.cpu as usize;
        let Some(se) = record.se else {
            return Some("the record lacks the entity".into());
        };
        let Some(id) = self.id(se.pid()) else {
            // A task of another class.
            return None;
        };
        if self.homes.get(&id) != Some(&c) {
            return Some(format!("pid {} is on another CPU here", se.pid()));
        }
        self.state(Some(&se)).or_else(|| self.sums(record))
    }
}

fn nice_of(weight: &fairlab_runqueue::Weight) -> i8 {
    let found = (-20..20).find(|nice| fairlab_runqueue::Weight::of_nice(*nice) == *weight);
    found.unwrap_or(0)
}
