//! What happens between the records of a file: attaching entities, and first utilizations.
//!
//! Neither is recorded. An attachment shows as the difference between a queue's state after one
//! update and before the next, when an entity that was not there appears in between with the
//! queue's update time and exactly the missing averages. Its sums and the queue's new totals must
//! then follow.

use std::collections::BTreeMap;

use fairlab_kernel::Kernel;
use fairlab_pelt::{EntityState, PeltTime, QueueAvg, SchedAvg, UtilEst};
use fairlab_units::CAPACITY_SCALE;

use super::{Count, Record};

/// The state of a queue around its last recorded update, and who appeared since.
struct Queue {
    before: SchedAvg,
    after: SchedAvg,
    arrivals: Vec<Arrival>,
}

struct Arrival {
    avg: SchedAvg,
    state: EntityState,
    /// Never seen in this file, and nothing in its signals says that it has run.
    looks_new: bool,
}

/// One file's objects.
#[derive(Default)]
pub(super) struct Follower {
    queues: BTreeMap<i64, Queue>,
    /// Last known update time of each entity.
    entities: BTreeMap<i64, PeltTime>,
    pub(super) attachments: Count,
    pub(super) first_utils: Count,
}

impl Follower {
    /// Takes the next record of the file; answers a description of an attachment that does not
    /// follow.
    pub(super) fn take(&mut self, kernel: &Kernel, record: &Record<'_>) -> Option<String> {
        if record.function == "cfs_rq" {
            return self.take_queue(kernel, record);
        }
        let avg = record.before.avg();
        let known = self
            .entities
            .insert(record.se, record.after.avg().last_update_time);
        if record.function == "se"
            && known != Some(avg.last_update_time)
            && let Some(queue) = self.queues.get_mut(&record.cfs_rq)
            && queue.after.last_update_time == avg.last_update_time
            && queue.after.period_contrib == avg.period_contrib
        {
            let state = record.entity();
            let start = SchedAvg::new_task(kernel, &state);
            queue.arrivals.push(Arrival {
                avg,
                state,
                looks_new: known.is_none()
                    && avg.load_avg == start.load_avg
                    && avg.util_avg == avg.runnable_avg
                    && avg.util_est == UtilEst::default(),
            });
        }
        None
    }

    fn take_queue(&mut self, kernel: &Kernel, record: &Record<'_>) -> Option<String> {
        let fresh = Queue {
            before: record.before.avg(),
            after: record.after.avg(),
            arrivals: Vec::new(),
        };
        let now = fresh.before;
        let old = self.queues.insert(record.cfs_rq, fresh)?;
        let arrival = only_source(&old, &now)?;

        let mut entity = SchedAvg {
            util_sum: 0,
            runnable_sum: 0,
            load_sum: 0,
            ..arrival.avg
        };
        let mut queue = QueueAvg {
            avg: old.after,
            ..QueueAvg::default()
        };
        queue.attach(kernel, &mut entity, &arrival.state);
        // Sums of estimates change with every enqueue and dequeue.
        queue.avg.util_est = now.util_est;
        let agrees = self
            .attachments
            .add(entity == arrival.avg && queue.avg == now);

        if arrival.looks_new {
            let mut guess = SchedAvg::new_task(kernel, &arrival.state);
            // At the fork the queue was as before the update that preceded the attachment.
            guess.init_util(kernel, &arrival.state, &old.before, CAPACITY_SCALE);
            self.first_utils.add(guess.util_avg == arrival.avg.util_avg);
        }
        (!agrees).then(|| {
            format!(
                "attachment before seq {}:\n  recorded {:?} {now:?}\n  computed {entity:?} {:?}",
                record.seq, arrival.avg, queue.avg
            )
        })
    }
}

/// The arrival whose averages, and no others, came between two states of a queue.
fn only_source<'a>(old: &'a Queue, now: &SchedAvg) -> Option<&'a Arrival> {
    let [arrival] = old.arrivals.as_slice() else {
        return None;
    };
    let came = |now: u64, old: u64, part: u64| now.checked_sub(old) == Some(part);
    let explains = now.last_update_time == old.after.last_update_time
        && came(now.load_avg, old.after.load_avg, arrival.avg.load_avg)
        && came(now.util_avg, old.after.util_avg, arrival.avg.util_avg)
        && came(
            now.runnable_avg,
            old.after.runnable_avg,
            arrival.avg.runnable_avg,
        );
    // An arrival without averages explains nothing: it may have been there all along.
    (explains && arrival.avg.load_avg + arrival.avg.util_avg + arrival.avg.runnable_avg > 0)
        .then_some(arrival)
}
