//! Whether wakeups are synchronous, by who wakes whom.

use std::collections::BTreeMap;

use fairlab_units::{TaskId, Timestamp};

/// What was learned about the sync flag, which no recording tells.
///
/// Where the flag decides between two CPUs and the task went to one of them, the flag is known for
/// once. It belongs to a line of code in the waker, so it is remembered for the pair of waker and
/// wakee; pairs of which nothing is known are taken to be as the waker's others, or as everybody's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncFlags {
    pairs: BTreeMap<(TaskId, TaskId), i8>,
    wakers: BTreeMap<TaskId, i8>,
    all: i8,
    /// Each case in which the flag was known, by time and wakee, if they are kept.
    cases: Option<BTreeMap<(Timestamp, TaskId), bool>>,
}

impl SyncFlags {
    /// So many cases at most are to be outvoted.
    const MOST: i8 = 8;

    /// Does `waker` wake `wakee` synchronously? A guess where nothing is known of the two.
    pub(super) fn guess(&self, waker: TaskId, wakee: TaskId) -> bool {
        let of = |sum: Option<&i8>| sum.copied().filter(|sum| *sum != 0);
        of(self.pairs.get(&(waker, wakee)))
            .or_else(|| of(self.wakers.get(&waker)))
            .unwrap_or(self.all)
            > 0
    }

    /// Flags of which nothing is known yet, that keep each case in which one is known.
    #[must_use]
    pub fn of_each_wakeup() -> Self {
        Self {
            cases: Some(BTreeMap::new()),
            ..Self::default()
        }
    }

    /// Was the wakeup of `wakee` by `waker` at `time` synchronous? Where it decided nothing, or its case was not
    /// kept: a guess from what else the waker, and others, did.
    #[must_use]
    pub fn of_wakeup(&self, time: Timestamp, waker: TaskId, wakee: TaskId) -> bool {
        let known = self
            .cases
            .as_ref()
            .and_then(|cases| cases.get(&(time, wakee)));
        known.copied().unwrap_or_else(|| self.guess(waker, wakee))
    }

    pub(super) fn learn(&mut self, time: Timestamp, waker: TaskId, wakee: TaskId, is_sync: bool) {
        if let Some(cases) = &mut self.cases {
            cases.insert((time, wakee), is_sync);
        }
        let step = if is_sync { 1 } else { -1 };
        for sum in [
            self.pairs.entry((waker, wakee)).or_default(),
            self.wakers.entry(waker).or_default(),
            &mut self.all,
        ] {
            *sum = (*sum + step).clamp(-Self::MOST, Self::MOST);
        }
    }

    /// Pairs of waker and wakee about which something is known, and how many of them wake
    /// synchronously.
    #[must_use]
    pub fn pairs(&self) -> (usize, usize) {
        let sync = self.pairs.values().filter(|sum| **sum > 0).count();
        (self.pairs.len(), sync)
    }
}
