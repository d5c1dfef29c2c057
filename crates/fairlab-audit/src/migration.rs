//! Moves between CPUs: how far, why, and whether they were worth it.

use std::collections::BTreeMap;

use fairlab_units::{CpuId, TaskId, Timestamp};

use crate::map::Level;

/// What moved a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Its wakeup chose another CPU.
    Wakeup,
    /// It was moved while it was runnable: by a balancer, an affinity, or at exec.
    Runnable,
    /// The move itself was not recorded: the task ran elsewhere than it was last seen.
    Unrecorded,
}

/// A task that went back and forth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PingPong {
    /// How often it was moved back, while runnable, to where it had been moved from.
    pub returns: u64,
    /// When it last happened.
    pub last: Timestamp,
}

/// All moves.
#[derive(Clone, Debug, Default)]
pub struct Migrations {
    /// By cause and distance.
    pub counts: BTreeMap<(Cause, Level), u64>,
    /// Moves of waiting tasks after which the CPU that they had left idled before they ran: staying
    /// would have been as quick.
    pub useless: u64,
    /// By task.
    pub ping_pong: BTreeMap<TaskId, PingPong>,
    /// The last move of each task while runnable.
    last: BTreeMap<TaskId, (Timestamp, CpuId, CpuId)>,
}

impl Migrations {
    pub(crate) fn moved(&mut self, cause: Cause, level: Level) {
        *self.counts.entry((cause, level)).or_default() += 1;
    }

    /// A runnable task moves; it goes back and forth if it returns within `window_ns`.
    pub(crate) fn moved_runnable(
        &mut self,
        task: TaskId,
        time: Timestamp,
        from: CpuId,
        to: CpuId,
        window_ns: u64,
    ) {
        if let Some(&(before, was_from, was_to)) = self.last.get(&task)
            && (was_from, was_to) == (to, from)
            && time.0.saturating_sub(before.0) <= window_ns
        {
            let entry = self.ping_pong.entry(task).or_default();
            entry.returns += 1;
            entry.last = time;
        }
        self.last.insert(task, (time, from, to));
    }

    /// All moves.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Moves of one cause.
    #[must_use]
    pub fn of(&self, cause: Cause) -> u64 {
        self.counts
            .iter()
            .filter(|((of, _), _)| *of == cause)
            .map(|(_, count)| count)
            .sum()
    }
}
