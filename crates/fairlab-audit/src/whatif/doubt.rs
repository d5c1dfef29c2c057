//! What a recording leaves open, and whether an answer hangs on it.

use fairlab_kernel::Feature;
use fairlab_policy::{
    Context, Outcome, Reason, Scratch, WakeFlags, fallback_cpu, select_task_rq_fair,
};
use fairlab_units::CpuId;

use crate::reconstruct::{Asked, Bend, Question, Reconstruction, Scan};

/// Something that the recording does not tell and the policy reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Doubt {
    /// Whether the wakeup was synchronous (`WF_SYNC`).
    Sync,
    /// Whether a sleeper was still queued because its dequeue was delayed.
    Delayed,
    /// Load averages: what was before the recording, and when idle CPUs' averages were last aged.
    Load,
    /// How many CPUs the wakeup might scan.
    Budget,
    /// The hint that a core of the LLC is idle.
    Hint,
    /// What CPUs do and who waits there: no event told of it yet, events were lost, or the moment is not known.
    Unknown,
    /// Which idle states CPUs are in: new tasks go where it is left soonest.
    IdleState,
}

impl Doubt {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Sync,
        Self::Delayed,
        Self::Load,
        Self::Budget,
        Self::Hint,
        Self::Unknown,
        Self::IdleState,
    ];

    /// As tables call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync flag",
            Self::Delayed => "delayed dequeue",
            Self::Load => "load averages",
            Self::Budget => "scan budget",
            Self::Hint => "idle-core hint",
            Self::Unknown => "unknown CPUs",
            Self::IdleState => "idle states",
        }
    }

    /// One sentence on what it means.
    #[must_use]
    pub const fn doc(self) -> &'static str {
        match self {
            Self::Sync => "recordings do not tell whether a wakeup was synchronous",
            Self::Delayed => {
                "whether a sleeper had left its queue hangs on lags that the recording does not show"
            }
            Self::Load => {
                "what was before the recording is not known, nor when idle CPUs were aged"
            }
            Self::Budget => {
                "the number of CPUs to scan comes from balancing passes or scan times that are not recorded"
            }
            Self::Hint => "the hint of idle cores is not recorded",
            Self::Unknown => {
                "what some CPUs did is not known: no event told of it yet, events were lost, or the moment of an exec is not recorded"
            }
            Self::IdleState => "the idle states of CPUs are not recorded",
        }
    }
}

/// A set of doubts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Doubts(u8);

impl Doubts {
    pub(super) fn add(&mut self, doubt: Doubt) {
        self.0 |= 1 << doubt as u8;
    }

    /// Is it among them?
    #[must_use]
    pub const fn has(self, doubt: Doubt) -> bool {
        self.0 >> doubt as u8 & 1 != 0
    }

    /// Nothing is doubtful.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those that are in it.
    pub fn iter(self) -> impl Iterator<Item = Doubt> {
        Doubt::ALL.into_iter().filter(move |doubt| self.has(*doubt))
    }
}

/// An answer, and what it would be if what is open were otherwise.
#[derive(Clone, Debug)]
pub(super) struct Weighed {
    pub outcome: Outcome,
    pub cpu: CpuId,
    /// Was the wakeup taken to be synchronous?
    pub is_sync: bool,
    /// Is it not known what waited where: because events were lost, or because it is not known when?
    pub is_shaken: bool,
    /// Other answers. Few, since most doubts change nothing.
    pub others: Vec<(Doubt, CpuId)>,
}

impl Weighed {
    /// What the answer hangs on.
    pub fn doubts(&self) -> Doubts {
        let mut doubts = Doubts::default();
        for (doubt, _) in &self.others {
            doubts.add(*doubt);
        }
        if self.is_shaken {
            doubts.add(Doubt::Unknown);
        }
        doubts
    }

    /// The task is still queued on `cpu` and stays, unless its lag is otherwise.
    pub fn stays(&mut self, cpu: CpuId) {
        let policy = self.cpu;
        let mut others: Vec<_> = self.others.iter().map(|(_, other)| *other).collect();
        others.insert(0, policy);
        others.retain(|other| *other != cpu);
        self.others = others
            .into_iter()
            .map(|cpu| (Doubt::Delayed, cpu))
            .collect();
        self.cpu = cpu;
    }

    /// The doubt that the recorded CPU speaks for.
    pub fn explains(&self, recorded: CpuId) -> Option<Doubt> {
        let mut others = self.others.iter();
        others.find_map(|(doubt, cpu)| (*cpu == recorded).then_some(*doubt))
    }
}

/// Asks the policy, and asks it again.
#[derive(Debug)]
pub(super) struct Weigher {
    scratch: Scratch,
}

impl Weigher {
    pub fn new(nr_cpus: usize) -> Self {
        Self {
            scratch: Scratch::new(nr_cpus),
        }
    }

    /// Asks with `is_sync`, and with everything that is open otherwise.
    pub fn weigh(
        &mut self,
        state: &Reconstruction<'_>,
        question: &Question,
        is_sync: bool,
    ) -> Weighed {
        let base = Bend::default();
        let (outcome, cpu) = self.ask(state, question, is_sync, base);
        let mut others = Vec::new();
        let mut other = |doubt, answer: CpuId| {
            if answer != cpu {
                others.push((doubt, answer));
            }
        };
        let is_wakeup = question.kind == Asked::Wakeup;
        if is_wakeup && state.running_on(question.this_cpu).is_some() {
            other(Doubt::Sync, self.ask(state, question, !is_sync, base).1);
        }
        let per_mille = state.load_doubt(question.slot, [question.this_cpu, question.prev_cpu]);
        for of in [question.this_cpu, question.prev_cpu] {
            let lower = Bend {
                lower: Some((of, per_mille)),
                ..base
            };
            other(Doubt::Load, self.ask(state, question, is_sync, lower).1);
            let higher = Bend {
                higher: Some((of, per_mille)),
                ..base
            };
            other(Doubt::Load, self.ask(state, question, is_sync, higher).1);
        }
        if is_wakeup {
            let scans = [Scan::None, Scan::Less, Scan::More].map(|scan| Bend {
                scan: Some(scan),
                ..base
            });
            for bend in scans {
                other(Doubt::Budget, self.ask(state, question, is_sync, bend).1);
            }
            if state.domains().switches().smt_present {
                // Hints and budgets go wrong together: both come from what balancing passes find.
                for bend in [base, scans[0], scans[2]] {
                    let bend = Bend {
                        flips_hints: true,
                        ..bend
                    };
                    other(Doubt::Hint, self.ask(state, question, is_sync, bend).1);
                }
            }
            if state.kernel().has(Feature::DELAY_DEQUEUE) && state.may_be_delayed(question.slot) {
                other(Doubt::Delayed, question.prev_cpu);
            }
        }
        if state.has_unknown_cpus() {
            let bend = Bend {
                unknown_idles: true,
                ..base
            };
            other(Doubt::Unknown, self.ask(state, question, is_sync, bend).1);
        }
        if outcome.decision.reason == Reason::SlowIdle {
            let domains = state.domains();
            for idle in state
                .idle_cpus()
                .iter()
                .filter(|idle| domains.share_cache(cpu, *idle))
            {
                if state.task(question.slot).may_run(idle) {
                    other(Doubt::IdleState, idle);
                }
            }
        }
        Weighed {
            outcome,
            cpu,
            is_sync,
            // Until an exec is recorded the program has been loaded, and much may have changed.
            is_shaken: state.is_shaken_for(question.slot)
                || question.kind == Asked::Exec && !question.is_timed,
            others,
        }
    }

    fn ask(
        &mut self,
        state: &Reconstruction<'_>,
        question: &Question,
        is_sync: bool,
        bend: Bend,
    ) -> (Outcome, CpuId) {
        let flags = match question.kind {
            Asked::Wakeup if is_sync => WakeFlags::TTWU | WakeFlags::SYNC,
            Asked::Wakeup => WakeFlags::TTWU,
            Asked::Fork => WakeFlags::FORK,
            Asked::Exec => WakeFlags::EXEC,
        };
        let ctx = Context {
            this_cpu: question.this_cpu,
            prev_cpu: question.prev_cpu,
            flags: WakeFlags(flags),
            in_task: state.running_on(question.this_cpu).is_some(),
        };
        let p = state.task_view(question.slot);
        let current = state.current_view(question.this_cpu);
        let view = state.view(bend);
        let kernel = state.kernel();
        let outcome = select_task_rq_fair(&view, kernel, &ctx, &p, &current, &mut self.scratch);
        let cpu = outcome.decision.cpu;
        let fallback = fallback_cpu(&view, &p, cpu, state.active());
        (outcome, fallback.map_or(cpu, |(cpu, _)| cpu))
    }
}
