//! Every event from its own recorded inputs.

use fairlab_runqueue::{Entities, EntityId, FairRq, Resched, RqConfig, WakeFlags};
use fairlab_units::Timestamp;

use super::Tally;
use super::record::{
    Cfs, Ent, Event, Record, difference, is_initial, need_resched_bits, sums_difference,
};

const MODE: &str = "alone";

pub fn compare(cfg: RqConfig, records: &[Record], tally: &mut Tally) {
    for (at, record) in records.iter().enumerate() {
        let (event, result) = match record.ev {
            Event::Pick => ("pick", pick(cfg, record)),
            Event::Place => ("place", place(cfg, record)),
            Event::UpdateCurr => ("update_curr", update_curr(cfg, record)),
            Event::WakeupPreempt => ("wakeup_preempt", preempt(cfg, &records[..at], record)),
            Event::Switch | Event::Wakeup => continue,
        };
        tally.add(MODE, event, record.seq, result);
    }
}

/// A queue whose entities are all known.
struct Known {
    ents: Entities,
    rq: FairRq,
    ids: Vec<(u32, EntityId)>,
}

impl Known {
    /// `entities` newest first, as recorded.
    fn new(cfg: RqConfig, cfs: &Cfs, entities: &[Ent]) -> Self {
        let mut known = Self {
            ents: Entities::new(),
            rq: FairRq::new(cfg),
            ids: Vec::new(),
        };
        known.rq.set_zero_vruntime(cfs.sums().zero_vruntime);
        for entity in entities.iter().rev() {
            let id = known.ents.add_restored(&entity.state());
            known.ids.push((entity.pid(), id));
            if entity.on_rq() {
                let delayed = entity.is_delayed();
                known.rq.insert_restored(&mut known.ents, id, delayed);
            }
            if entity.is_curr() {
                known.rq.set_curr_restored(&mut known.ents, id);
            }
        }
        known
    }

    fn pid(&self, id: Option<EntityId>) -> u32 {
        let found = self.ids.iter().find(|(_, known)| Some(*known) == id);
        found.map_or(0, |(pid, _)| *pid)
    }

    fn id(&self, pid: u32) -> Option<EntityId> {
        let found = self.ids.iter().find(|(known, _)| *known == pid);
        found.map(|(_, id)| *id)
    }
}

fn pick(cfg: RqConfig, record: &Record) -> Option<String> {
    let known = Known::new(cfg, &record.cfs, &record.ents);
    let protect = record.flags != 0 || !cfg.kernel().has(fairlab_kernel::Feature::SLICE_VPROT);
    let pick = known.pid(known.rq.pick_only(&known.ents, protect));
    let sums = sums_difference(&known.rq.sums(), &record.cfs.sums());
    let wrong = (pick != record.ret).then(|| format!("{pick} here, {} there", record.ret));
    wrong.or(sums)
}

/// A queue of which only the sums and the running entity are known.
fn summed(cfg: RqConfig, record: &Record) -> (Entities, FairRq, Option<EntityId>) {
    let mut ents = Entities::new();
    let mut rq = FairRq::new(cfg);
    let curr = record.curr.map(|curr| {
        let id = ents.add_restored(&curr.state());
        if curr.on_rq() {
            rq.insert_restored(&mut ents, id, curr.is_delayed());
        }
        rq.set_curr_restored(&mut ents, id);
        id
    });
    rq.set_sums(&record.cfs.sums());
    (ents, rq, curr)
}

fn place(cfg: RqConfig, record: &Record) -> Option<String> {
    let (mut ents, mut rq, curr) = summed(cfg, record);
    let (Some(se), Some(after)) = (record.se, record.se_after) else {
        return Some("the record lacks the entity".into());
    };
    // The running task can be placed itself.
    let id = match curr {
        Some(curr) if record.pid == record.curr.map_or(0, |c| c.pid()) => curr,
        _ => ents.add_restored(&se.state()),
    };
    rq.place_only(&mut ents, id, is_initial(&cfg, record.flags));
    let sums = record.cfs_after.map(|cfs| cfs.sums());
    difference(&ents.state(id), &after.state())
        .or_else(|| sums_difference(&rq.sums(), &sums.unwrap_or_default()))
}

/// What the thread flags should be after a request.
pub fn flags_after(cfg: &RqConfig, before: u64, request: Resched) -> u64 {
    let (now, lazy) = need_resched_bits(cfg);
    match request {
        Resched::None => before,
        // A lazy request adds nothing to an immediate one.
        Resched::Lazy if before & now != 0 => before,
        Resched::Lazy => before | lazy,
        Resched::Now => before | now,
    }
}

/// The request that is pending according to the thread flags.
pub fn pending(cfg: &RqConfig, flags: u64) -> Resched {
    let (now, lazy) = need_resched_bits(cfg);
    if flags & now != 0 {
        Resched::Now
    } else if flags & lazy != 0 {
        Resched::Lazy
    } else {
        Resched::None
    }
}

fn update_curr(cfg: RqConfig, record: &Record) -> Option<String> {
    let (mut ents, mut rq, curr) = summed(cfg, record);
    let (Some(id), Some(after)) = (curr, record.curr_after) else {
        return Some("the record lacks the entity".into());
    };
    let request = rq.update_curr(&mut ents, Timestamp(record.clock_task));
    let sums = record.cfs_after.map(|cfs| cfs.sums());
    let expected = flags_after(&cfg, record.ti[0], request);
    difference(&ents.state(id), &after.state())
        .or_else(|| sums_difference(&rq.sums(), &sums.unwrap_or_default()))
        .or_else(|| (expected != record.ti[1]).then(|| format!("{request:?}, ti {:?}", record.ti)))
}

/// The records inside the call that `record` shows: written before it, entered after it.
pub fn nested<'a>(before: &'a [Record], record: &Record) -> Vec<&'a Record> {
    let inner = before
        .iter()
        .rev()
        .filter(|r| r.cpu == record.cpu)
        .take_while(|r| r.t > record.t);
    let mut inner: Vec<_> = inner.collect();
    inner.reverse();
    inner
}

fn preempt(cfg: RqConfig, before: &[Record], record: &Record) -> Option<String> {
    let Some(curr) = record.curr else {
        // The running task is not of the fair class: its class decides.
        return None;
    };
    let se = record.se?;
    let inner = nested(before, record);
    let first_pick = inner.iter().find(|r| r.ev == Event::Pick);
    let mut known = match first_pick {
        Some(pick) => {
            let mut ents = pick.ents.clone();
            match ents.iter_mut().find(|e| e.pid() == curr.pid()) {
                Some(ent) => *ent = curr,
                // A running task that has left the queue is not among those recorded.
                None => ents.push(curr),
            }
            Known::new(cfg, &record.cfs, &ents)
        }
        None => Known::new(cfg, &record.cfs, &[curr, se]),
    };
    let (Some(curr_id), Some(se_id)) = (known.id(curr.pid()), known.id(se.pid())) else {
        return Some("the record lacks an entity".into());
    };
    if first_pick.is_none() {
        known.rq.set_sums(&record.cfs.sums());
    }
    let flags = WakeFlags {
        fork: record.flags & 4 != 0,
        pending: pending(&cfg, record.ti[0]),
    };
    let now = Timestamp(record.clock_task);
    let request = known
        .rq
        .check_preempt_wakeup(&mut known.ents, se_id, flags, now);
    let expected = flags_after(&cfg, record.ti[0], request);
    let after = record.curr_after?;
    difference(&known.ents.state(curr_id), &after.state())
        .or_else(|| (expected != record.ti[1]).then(|| format!("{request:?}, ti {:?}", record.ti)))
}
