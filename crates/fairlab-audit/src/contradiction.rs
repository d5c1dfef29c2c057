//! Events that cannot be true after those before them.

use fairlab_units::{CpuId, TaskId, Timestamp};

/// An event that contradicts those before: something between was not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// When.
    pub time: Timestamp,
    /// The CPU of the event.
    pub cpu: CpuId,
    /// What is contradicted.
    pub conflict: Conflict,
}

/// What an event says, and what those before it said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// `told` runs on the CPU (none: it idles), where `known` was before.
    Current {
        /// Who, by the event.
        told: Option<TaskId>,
        /// Who, by those before.
        known: Option<TaskId>,
    },
    /// The task begins to run, and was not seen to leave another CPU.
    Elsewhere {
        /// The task.
        task: TaskId,
        /// Where it ran before.
        on: CpuId,
    },
    /// The task leaves the CPU, and was last seen waiting for one.
    Waited {
        /// The task.
        task: TaskId,
    },
    /// The machine has no such CPU.
    NoCpu {
        /// The CPU.
        cpu: CpuId,
    },
}

/// All of them: how many, and the first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contradictions {
    pub(crate) count: u64,
    pub(crate) first: Option<Contradiction>,
    /// Tasks that were not seen to leave a CPU of which no event has come since. A recorder stops its
    /// CPUs one after the other, so such a CPU may just have been the first.
    unsettled: Vec<Contradiction>,
}

impl Contradictions {
    pub(crate) fn add(&mut self, contradiction: Contradiction) {
        match contradiction.conflict {
            Conflict::Elsewhere { .. } => self.unsettled.push(contradiction),
            _ => self.count(contradiction),
        }
    }

    fn count(&mut self, contradiction: Contradiction) {
        self.count += 1;
        let is_first = self
            .first
            .is_none_or(|first| contradiction.time < first.time);
        if is_first {
            self.first = Some(contradiction);
        }
    }

    /// An event of `cpu`: it is still being recorded, so what was missed before was missed indeed.
    #[inline]
    pub(crate) fn heard_of(&mut self, cpu: CpuId) {
        if !self.unsettled.is_empty() {
            self.settle(cpu);
        }
    }

    #[cold]
    fn settle(&mut self, cpu: CpuId) {
        let is_about = |conflict| matches!(conflict, Conflict::Elsewhere { on, .. } if on == cpu);
        let told = self.unsettled.extract_if(.., |one| is_about(one.conflict));
        for contradiction in told.collect::<Vec<_>>() {
            self.count(contradiction);
        }
    }
}
