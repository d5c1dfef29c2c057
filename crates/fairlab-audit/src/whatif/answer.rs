//! What comes of asking: agreement, and differences by what they are.

use std::collections::BTreeMap;

use fairlab_kernel::Kernel;
use fairlab_policy::Reason;
use fairlab_stats::LatencyHistogram as Histogram;
use fairlab_units::{CpuId, TaskId, Timestamp};

use super::doubt::{Doubt, Doubts};
use super::sync::SyncFlags;
use crate::reconstruct::{Asked, Picks};

/// How often the answer was where the task went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Placements that were asked.
    pub asked: u64,
    /// Of these: to the CPU where the task went.
    pub same: u64,
    /// Of these: whatever is left open were otherwise.
    pub same_sure: u64,
    /// Not to that CPU, but it would be if something were otherwise that the recording leaves open;
    /// by [`Doubt`].
    pub same_if: [u64; Doubt::ALL.len()],
    /// Elsewhere, and the answer hangs on something that is open, though none of it leads to the CPU
    /// where the task went.
    pub other_unsure: u64,
    /// Elsewhere, whatever is left open.
    pub other_sure: u64,
}

impl Agreement {
    /// Not the same, but possible.
    #[must_use]
    pub fn possible(&self) -> u64 {
        self.same_if.iter().sum()
    }

    /// All that is not the same.
    #[must_use]
    pub const fn differs(&self) -> u64 {
        self.asked - self.same
    }

    pub(super) fn count(&mut self, doubts: Doubts, outcome: Verdict) {
        self.asked += 1;
        match outcome {
            Verdict::Same => {
                self.same += 1;
                self.same_sure += u64::from(doubts.is_empty());
            }
            Verdict::SameIf(doubt) => self.same_if[doubt as usize] += 1,
            Verdict::Other if doubts.is_empty() => self.other_sure += 1,
            Verdict::Other => self.other_unsure += 1,
        }
    }
}

impl std::ops::AddAssign for Agreement {
    fn add_assign(&mut self, other: Self) {
        self.asked += other.asked;
        self.same += other.same;
        self.same_sure += other.same_sure;
        for (sum, part) in self.same_if.iter_mut().zip(other.same_if) {
            *sum += part;
        }
        self.other_unsure += other.other_unsure;
        self.other_sure += other.other_sure;
    }
}

/// How one answer compares with what was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Same,
    SameIf(Doubt),
    Other,
}

/// Why the asked kernel goes where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// The policy's reason.
    Policy(Reason),
    /// The sleeper was still queued, because its dequeue was delayed: no placement.
    StillQueued,
}

impl Why {
    /// As tables call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Policy(reason) => reason.name(),
            Self::StillQueued => "still queued",
        }
    }
}

/// What the recorded CPU is to the placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// Where the task last ran; at a fork or exec where it was asked for.
    Prev,
    /// The waking CPU.
    Waking,
    /// Another CPU in the LLC of the previous one.
    InPrevLlc,
    /// Another CPU in the LLC of the waking one.
    InWakingLlc,
    /// None of these.
    Elsewhere,
}

impl Relation {
    /// As tables call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prev => "previous CPU",
            Self::Waking => "waking CPU",
            Self::InPrevLlc => "LLC of previous CPU",
            Self::InWakingLlc => "LLC of waking CPU",
            Self::Elsewhere => "elsewhere",
        }
    }
}

/// What a task meets on a CPU at the moment of its placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Met {
    /// Idle, and its siblings too.
    IdleCore,
    /// Idle.
    IdleCpu,
    /// Something runs there or is on its way.
    Busy,
    /// Not known.
    Unknown,
}

impl Met {
    /// As tables call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::IdleCore => "idle core",
            Self::IdleCpu => "idle",
            Self::Busy => "busy",
            Self::Unknown => "unknown",
        }
    }
}

/// Differences of one sort.
#[derive(Clone, Debug)]
pub struct Difference {
    /// What was placed.
    pub kind: Asked,
    /// What the recorded CPU is to the placement.
    pub recorded: Relation,
    /// What the task met there.
    pub recorded_met: Met,
    /// Why the asked kernel goes elsewhere.
    pub why: Why,
    /// What the task would have met there.
    pub asked_met: Met,
    /// How many.
    pub count: u64,
    /// Of these: whatever is left open.
    pub sure: u64,
    /// Of these: possible, if what is open were otherwise; by [`Doubt`].
    pub same_if: [u64; Doubt::ALL.len()],
    /// From the placement to the first instruction, in ns, as recorded.
    pub delay: Histogram,
    /// Tasks that were queued on the CPU that was asked for, in sum.
    pub queued: u64,
    /// Until the CPU that was asked for was free to run another task, in ns: 0 when it idled, else
    /// until its next switch. What the task would have waited at least, had nothing else changed.
    pub free_after: Histogram,
    /// The first ones.
    pub examples: Vec<Example>,
}

/// One difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// When.
    pub time: Timestamp,
    /// Who.
    pub task: TaskId,
    /// Where the task was.
    pub prev: CpuId,
    /// Who placed it.
    pub waking: CpuId,
    /// Where it went.
    pub recorded: CpuId,
    /// Where the asked kernel would have let it go.
    pub asked: CpuId,
    /// What the answer hangs on.
    pub doubts: Doubts,
}

/// Placements that were not asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Of tasks that may run on one CPU only.
    pub bound: u64,
    /// Of tasks of the classes above the fair one.
    pub higher: u64,
    /// Whose end was not recorded.
    pub open: u64,
}

/// What one kernel would have done.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The kernel.
    pub kernel: Kernel,
    /// By what was placed and why the asked kernel goes where it goes.
    pub by_why: BTreeMap<(Asked, Why), Agreement>,
    /// Most frequent first.
    pub differences: Vec<Difference>,
    /// What was not asked.
    pub skipped: Skipped,
    /// Wakeups of which only the end was recorded (`sched_wakeup` without `sched_waking`): asked in a
    /// state that is a little later than that of the decision.
    pub untimed: u64,
    /// Wakeups of which only the begin was recorded (`sched_waking` without `sched_wakeup`): taken to have
    /// gone where the tasks ran next.
    pub untold: u64,
    /// How often the rebuilt queues foresaw who runs next.
    pub picks: Picks,
    /// Events that contradict those before.
    pub contradictions: u64,
    /// What was learned about synchronous wakeups.
    pub sync: SyncFlags,
}

impl Answer {
    /// Agreement over all placements of these sorts.
    #[must_use]
    pub fn agreement(&self, is: impl Fn(Asked) -> bool) -> Agreement {
        let mut sum = Agreement::default();
        for ((kind, _), agreement) in &self.by_why {
            if is(*kind) {
                sum += *agreement;
            }
        }
        sum
    }
}
