//! What is missing from a recording, and what is odd about it.

use fairlab_units::{CpuId, Timestamp};

use crate::counts::Counts;

/// What a recording lost and where it is in disorder. Complete once all events have been read.
///
/// Lists are cut at [`Ledger::LONGEST`] entries, so that a broken file cannot fill memory; the totals
/// beside them go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    losses: Vec<Loss>,
    nr_losses: u64,
    lost_events: u64,
    has_uncounted_loss: bool,
    jumps: Vec<Jump>,
    nr_jumps: u64,
    late_events: u64,
    unparsed: Vec<(u64, String)>,
    nr_unparsed: u64,
    idle_wakeups: u64,
    overruns: Vec<(CpuId, u64)>,
    notes: Vec<String>,
    problems: Vec<Problem>,
    nr_problems: u64,
}

/// Events that were lost at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// When the recording goes on.
    pub time: Timestamp,
    /// On which CPU; `None` where the recording does not say.
    pub cpu: Option<CpuId>,
    /// How many; `None` where the recording does not say.
    pub count: Option<u64>,
}

/// A clock that went back, or implausibly far ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jump {
    /// The CPU whose events show it.
    pub cpu: CpuId,
    /// The last time before.
    pub from: Timestamp,
    /// The first time after, as recorded.
    pub to: Timestamp,
}

/// A place in a file that could not be read as it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where: a file and an offset or line, as far as known.
    pub place: String,
    /// What is wrong, and what was done about it.
    pub what: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// A kind of event that a full picture needs and the recording does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingKind {
    /// The tracepoint.
    pub name: &'static str,
    /// What cannot be known without it.
    pub consequence: &'static str,
}

const WANTED: &[MissingKind] = &[
    MissingKind {
        name: "sched_switch",
        consequence: "who ran where and when is unknown",
    },
    MissingKind {
        name: "sched_waking",
        consequence: "the CPU before a wakeup is only known from earlier events",
    },
    MissingKind {
        name: "sched_wakeup",
        consequence: "the chosen CPU is only known from the next switch, and delays start at sched_waking",
    },
    MissingKind {
        name: "sched_wakeup_new",
        consequence: "the chosen CPU of a new task is only known from its first switch",
    },
    MissingKind {
        name: "sched_migrate_task",
        consequence: "moves between wakeups are only seen when the task runs again",
    },
    MissingKind {
        name: "sched_process_fork",
        consequence: "new tasks have no parent",
    },
    MissingKind {
        name: "sched_process_exit",
        consequence: "a task that is not seen again may have ended",
    },
];

impl Ledger {
    /// Most entries that each list keeps.
    pub const LONGEST: usize = 100_000;

    /// Is nothing lost, late, unparsed or broken?
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.nr_losses == 0
            && self.nr_jumps == 0
            && self.late_events == 0
            && self.nr_unparsed == 0
            && self.nr_problems == 0
    }

    /// The places where events were lost, in time order within a CPU.
    #[must_use]
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// How many such places there are.
    #[must_use]
    pub const fn nr_losses(&self) -> u64 {
        self.nr_losses
    }

    /// How many events were lost at least, and whether places without a count add to that.
    #[must_use]
    pub const fn lost_events(&self) -> (u64, bool) {
        (self.lost_events, self.has_uncounted_loss)
    }

    /// Clocks that jumped.
    #[must_use]
    pub fn jumps(&self) -> &[Jump] {
        &self.jumps
    }

    /// How often clocks jumped.
    #[must_use]
    pub const fn nr_jumps(&self) -> u64 {
        self.nr_jumps
    }

    /// Events that came too late to be put in order; they were delivered with the time of the event
    /// before them.
    #[must_use]
    pub const fn late_events(&self) -> u64 {
        self.late_events
    }

    /// Lines of text that look like an event and cannot be read: number (the first is 1) and text.
    #[must_use]
    pub fn unparsed(&self) -> &[(u64, String)] {
        &self.unparsed
    }

    /// How many such lines there are.
    #[must_use]
    pub const fn nr_unparsed(&self) -> u64 {
        self.nr_unparsed
    }

    /// Wakeups of old kernels that say `success=0`: the task was not asleep. They are counted, but
    /// give no event.
    #[must_use]
    pub const fn idle_wakeups(&self) -> u64 {
        self.idle_wakeups
    }

    /// Events that the kernel's own statistics call overwritten or dropped, by CPU, over the whole
    /// recording. May contain what [`Ledger::losses`] has.
    #[must_use]
    pub fn overruns(&self) -> &[(CpuId, u64)] {
        &self.overruns
    }

    /// What the reader decided and a user should know; no damage.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Damage of the file, and what was made of it.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many problems there are.
    #[must_use]
    pub const fn nr_problems(&self) -> u64 {
        self.nr_problems
    }

    /// The kinds of events that a full picture needs and of which `counts` has none. Ask when all
    /// events have been read.
    pub fn missing(counts: &Counts) -> impl Iterator<Item = MissingKind> {
        WANTED
            .iter()
            .copied()
            .filter(|kind| counts.get(kind.name) == 0)
    }

    pub(crate) fn loss(&mut self, loss: Loss) {
        self.nr_losses += 1;
        match loss.count {
            Some(count) => self.lost_events = self.lost_events.saturating_add(count),
            None => self.has_uncounted_loss = true,
        }
        push(&mut self.losses, Self::LONGEST, || loss);
    }

    pub(crate) fn jump(&mut self, jump: Jump) {
        self.nr_jumps += 1;
        push(&mut self.jumps, Self::LONGEST, || jump);
    }

    pub(crate) fn late(&mut self) {
        self.late_events += 1;
    }

    pub(crate) fn idle_wakeup(&mut self) {
        self.idle_wakeups += 1;
    }

    pub(crate) fn unparsed_line(&mut self, number: u64, line: &[u8]) {
        self.nr_unparsed += 1;
        push(&mut self.unparsed, 1000, || {
            let line = line.get(..200).unwrap_or(line);
            (number, String::from_utf8_lossy(line).into_owned())
        });
    }

    pub(crate) fn overrun(&mut self, cpu: u32, count: u64) {
        push(&mut self.overruns, Self::LONGEST, || (CpuId(cpu), count));
    }

    pub(crate) fn note(&mut self, what: impl Into<String>) {
        push(&mut self.notes, 1000, || what.into());
    }

    pub(crate) fn problem(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.nr_problems += 1;
        push(&mut self.problems, 1000, || Problem {
            place: place.into(),
            what: what.into(),
        });
    }
}

fn push<T>(list: &mut Vec<T>, longest: usize, item: impl FnOnce() -> T) {
    if list.len() < longest {
        list.push(item());
    }
}
