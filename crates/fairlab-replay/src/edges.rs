//! Who wakes whom: what is seen of it in a first pass over the events.

use std::collections::BTreeMap;

use fairlab_event::{EventKind, SchedEvent};
use fairlab_units::{CpuId, TaskId};

/// How often a task wakes another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pair {
    /// While the waker ran on the CPU where the wakee had slept.
    here: u64,
    /// While it ran elsewhere.
    elsewhere: u64,
}

/// The pairs of waker and wakee. Hand it all events in time order.
#[derive(Clone, Debug, Default)]
pub struct Edges {
    running: BTreeMap<CpuId, TaskId>,
    pairs: BTreeMap<(TaskId, TaskId), Pair>,
    /// Wakeups of each task.
    wakeups: BTreeMap<TaskId, u64>,
}

impl Edges {
    /// No pairs yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an event in.
    pub fn event(&mut self, event: &SchedEvent) {
        match event.kind {
            EventKind::Switch { next, .. } => match next {
                Some(task) => {
                    self.running.insert(event.cpu, task);
                }
                None => {
                    self.running.remove(&event.cpu);
                }
            },
            EventKind::Waking { task, prev_cpu } => {
                *self.wakeups.entry(task).or_default() += 1;
                if let Some(&waker) = self.running.get(&event.cpu)
                    && waker != task
                {
                    let pair = self.pairs.entry((waker, task)).or_default();
                    if event.cpu == prev_cpu {
                        pair.here += 1;
                    } else {
                        pair.elsewhere += 1;
                    }
                }
            }
            _ => {}
        }
    }

    /// Is a wakeup of `wakee` on the CPU `on`, where `waker` runs, that task's doing? `slept` is the
    /// CPU where the wakee slept.
    #[must_use]
    pub fn is_by_task(&self, waker: TaskId, wakee: TaskId, on: CpuId, slept: CpuId) -> bool {
        if waker == wakee {
            return false;
        }
        if on != slept {
            return true;
        }
        let pair = self.pairs.get(&(waker, wakee)).copied();
        let pair = pair.unwrap_or_default();
        let wakeups = self.wakeups.get(&wakee).copied().unwrap_or(0);
        pair.elsewhere > 0 || pair.here >= 2 && pair.here * 2 > wakeups
    }
}
