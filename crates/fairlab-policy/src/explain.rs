//! Watching a decision being made.

mod story;

use fairlab_topology::domains::DomainId;
use fairlab_units::{CpuId, CpuMask};

use crate::{Affine, GroupStats};

pub use story::Story;

/// Receives what a decision looks at. [`NoExplain`] costs nothing.
pub trait Explain {
    /// One step of the decision.
    fn note(&mut self, event: Event<'_>);
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoExplain;

impl Explain for NoExplain {
    #[inline(always)]
    fn note(&mut self, _event: Event<'_>) {}
}

/// The part of a decision in which a CPU was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Step {
    /// The idle part of `wake_affine`.
    WakeAffine,
    /// The target itself.
    Target,
    /// The previous CPU.
    Prev,
    /// The recently used CPU.
    Recent,
    /// The SMT siblings of a CPU.
    Smt,
    /// The search for an idle core.
    Core,
    /// The cluster of the target.
    Cluster,
    /// The scan of the LLC.
    Scan,
    /// The scan for a CPU of fitting capacity.
    Capacity,
    /// The other threads of a core whose thread was found.
    CoreMates,
    /// Group statistics and the CPUs of a group in the slow path.
    Group,
}

impl Step {
    /// The part in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WakeAffine => "waking and previous CPU",
            Self::Target => "target",
            Self::Prev => "previous CPU",
            Self::Recent => "recent CPU",
            Self::Smt => "SMT siblings",
            Self::Core => "search for an idle core",
            Self::Cluster => "scan of the cluster",
            Self::Scan => "scan of the LLC",
            Self::Capacity => "scan for capacity",
            Self::CoreMates => "rest of the core",
            Self::Group => "CPUs of the group",
        }
    }
}

/// What a look at a CPU showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProbeState {
    /// Not usable.
    Busy,
    /// Idle and available.
    Idle,
    /// Running only SCHED_IDLE tasks, where that counts as usable.
    SchedIdle,
}

impl ProbeState {
    pub(crate) const fn idle_or_busy(idle: bool) -> Self {
        if idle { Self::Idle } else { Self::Busy }
    }
}

/// One step of a decision.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The idle state of a CPU was read.
    Probe {
        /// In which part.
        step: Step,
        /// The CPU.
        cpu: CpuId,
        /// What was seen.
        state: ProbeState,
    },
    /// `wake_wide` compared wake counts.
    WakeWide {
        /// `wakee_flips` of the waker.
        waker_flips: u32,
        /// `wakee_flips` of the wakee.
        wakee_flips: u32,
        /// `sd_llc_size` of the waking CPU.
        llc_size: u32,
        /// The answer.
        is_wide: bool,
    },
    /// The weight part of `wake_affine` compared loads; the waking CPU wins when its is smaller.
    Weight {
        /// Scaled load of the waking CPU.
        this: i64,
        /// Scaled load of the previous CPU.
        prev: i64,
    },
    /// The CPU to search around was chosen.
    Affine {
        /// How.
        how: Affine,
        /// The CPU.
        target: CpuId,
    },
    /// A scan may visit `nr - 1` CPUs; none is no limit.
    Budget {
        /// The budget.
        nr: Option<i32>,
        /// True when a core is searched, which the budget does not limit.
        has_idle_core: bool,
    },
    /// An idle CPU in another cluster was kept as a fallback.
    Remembered {
        /// In which part.
        step: Step,
        /// The CPU.
        cpu: CpuId,
    },
    /// Energy-aware placement computed what the task would cost on a CPU.
    Energy {
        /// The CPU.
        cpu: CpuId,
        /// Energy added by the task, in the unit of the energy model.
        delta: u64,
    },
    /// The slow path gathered the statistics of a group (v5.5 on).
    Group {
        /// The domain.
        domain: DomainId,
        /// The CPUs of the group.
        span: &'a CpuMask,
        /// Does it hold the CPU from which the choice is made?
        is_local: bool,
        /// What was gathered.
        stats: &'a GroupStats,
    },
    /// The slow path chose among the groups of a domain.
    GroupChosen {
        /// The domain.
        domain: DomainId,
        /// The CPU from which the choice was made.
        cpu: CpuId,
        /// The chosen group; none stays with the local one.
        group: Option<&'a CpuMask>,
    },
}
