//! What happened, kept for those who draw it: who ran where, who waited how long, what moved.
//!
//! An audit that keeps its history ([`crate::AuditOptions::history`]) needs memory for every switch,
//! so its length is limited; the findings are about all events in any case.

use fairlab_event::{EventKind, SchedEvent, SwitchState};
use fairlab_units::{CpuId, TaskId, Timestamp};

use crate::delay::LongWait;
use crate::idleness::Episode;
use crate::track::Current;

/// A stretch of time of a CPU in which it did not idle. Time between stretches was idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its begin.
    pub from: Timestamp,
    /// Its end.
    pub to: Timestamp,
    /// The CPU.
    pub cpu: CpuId,
    /// What ran; `None` when it is not known what the CPU did.
    pub task: Option<TaskId>,
    /// Why it ended; unknown where no switch told.
    pub stop: SwitchState,
}

/// A task was moved between CPUs, as `sched_migrate_task` tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// When.
    pub time: Timestamp,
    /// The task.
    pub task: TaskId,
    /// From here.
    pub from: CpuId,
    /// To here.
    pub to: CpuId,
}

/// What happened.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// By the time of their ends.
    pub stretches: Vec<Stretch>,
    /// Every wait that ended in running, by the time of their ends.
    pub waits: Vec<LongWait>,
    /// By time.
    pub moves: Vec<Move>,
    /// Every episode of waiting beside idle CPUs, by time.
    pub episodes: Vec<Episode>,
    /// From here on nothing was kept, because the limit was reached.
    pub cut: Option<Timestamp>,
    most: usize,
    /// What the present event says of why a stretch ends.
    stop: Option<(CpuId, SwitchState)>,
}

impl History {
    /// Keeps at most `most` stretches, waits, moves and episodes in all.
    pub(crate) fn keeping(most: usize) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    const fn is_wanted(&self) -> bool {
        self.most > 0 && self.cut.is_none()
    }

    /// An event comes in; what it ends is told by the calls that follow.
    pub(crate) fn event(&mut self, event: &SchedEvent) {
        if !self.is_wanted() {
            return;
        }
        let kept = self.stretches.len() + self.waits.len() + self.moves.len() + self.episodes.len();
        if kept >= self.most {
            self.cut = Some(event.time);
            return;
        }
        self.stop = match event.kind {
            EventKind::Switch { prev_state, .. } => Some((event.cpu, prev_state)),
            _ => None,
        };
        if let EventKind::Migrate { task, from, to } = event.kind {
            self.moves.push(Move {
                time: event.time,
                task,
                from,
                to,
            });
        }
    }

    /// No event ends what comes now.
    pub(crate) const fn end(&mut self) {
        self.stop = None;
    }

    /// `cpu` did `current` from `from` to `to`.
    pub(crate) fn passed(&mut self, cpu: CpuId, from: Timestamp, to: Timestamp, current: Current) {
        let task = match current {
            Current::Idle => return,
            Current::Unknown => None,
            Current::Task(task) => Some(task),
        };
        // What began before the cut ends there. A task that begins at the last moment ran, too.
        let to = self.cut.map_or(to, |cut| to.min(cut));
        if self.most == 0 || to < from || (to == from && task.is_none()) {
            return;
        }
        self.stretches.push(Stretch {
            from,
            to,
            cpu,
            task,
            stop: match self.stop {
                Some((of, state)) if of == cpu => state,
                _ => SwitchState::Unknown,
            },
        });
    }

    /// An episode of waiting beside idle CPUs is over.
    pub(crate) fn episode(&mut self, episode: Episode) {
        if self.is_wanted() {
            self.episodes.push(episode);
        }
    }

    /// A task runs after it has waited.
    pub(crate) fn waited(&mut self, wait: LongWait) {
        if self.is_wanted() {
            self.waits.push(wait);
        }
    }
}
