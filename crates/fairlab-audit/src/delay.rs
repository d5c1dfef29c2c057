//! Delays from a wakeup to the first instruction: by task, by waker and wakee.

use std::borrow::Cow;
use std::collections::BTreeMap;

use fairlab_stats::LatencyHistogram as Histogram;
use fairlab_units::{CpuId, TaskId, Timestamp};

/// Who woke whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The waker; `None` is the idle task, on whose behalf interrupts wake.
    pub waker: Option<TaskId>,
    /// The wakee.
    pub wakee: TaskId,
}

/// Delays of one sort.
///
/// There is one for each task, and most tasks of a long recording wait only a few times, so the first
/// delays are kept as they are.
#[derive(Clone, Debug, Default)]
pub struct DelayRow {
    few: Vec<u64>,
    /// All of them, once they are many.
    many: Histogram,
    /// When the longest began.
    pub longest_from: Timestamp,
    longest: u64,
}

/// Delays up to which they are kept one by one. A histogram takes as much memory as thousands of them.
const FEW: usize = 32;

impl DelayRow {
    fn record(&mut self, from: Timestamp, delay: u64) {
        if delay > self.longest || self.count() == 0 {
            self.longest = delay;
            self.longest_from = from;
        }
        if !self.many.is_empty() {
            self.many.record(delay);
        } else if self.few.len() < FEW {
            self.few.push(delay);
        } else {
            for few in std::mem::take(&mut self.few) {
                self.many.record(few);
            }
            self.many.record(delay);
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.many.count() + self.few.len() as u64
    }

    /// The longest, in ns; 0 without any.
    #[must_use]
    pub const fn longest(&self) -> u64 {
        self.longest
    }

    /// The delays, in ns.
    #[must_use]
    pub fn delay(&self) -> Cow<'_, Histogram> {
        if self.few.is_empty() {
            return Cow::Borrowed(&self.many);
        }
        let mut all = self.many.clone();
        self.few.iter().for_each(|delay| all.record(*delay));
        Cow::Owned(all)
    }
}

/// What a task has waited, and who woke it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskDelays {
    row: DelayRow,
    /// Some of those who woke it, those who do it most before others.
    wakers: Vec<(Option<TaskId>, Sums)>,
    /// The others.
    more: BTreeMap<Option<TaskId>, Sums>,
}

/// How often, how long in all, how long at most.
type Sums = (u64, u64, u64);

/// Wakers of one task that are looked for one after the other.
const AT_HAND: usize = 16;

impl TaskDelays {
    fn woken(&mut self, waker: Option<TaskId>, ns: u64) {
        let at = self.wakers.iter().position(|(other, _)| *other == waker);
        let (count, sum, longest) = match at {
            Some(at) => {
                // Wakers come in runs: whoever wakes often gets to the front.
                self.wakers.swap(at, at / 2);
                &mut self.wakers[at / 2].1
            }
            None if self.wakers.len() < AT_HAND => {
                self.wakers.push((waker, Sums::default()));
                let last = self.wakers.len() - 1;
                &mut self.wakers[last].1
            }
            None => self.more.entry(waker).or_default(),
        };
        *count += 1;
        *sum += ns;
        *longest = (*longest).max(ns);
    }
}

/// One long wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongWait {
    /// Since when the task was runnable.
    pub from: Timestamp,
    /// For how long, in ns.
    pub ns: u64,
    /// The task.
    pub task: TaskId,
    /// Where it ran at last.
    pub cpu: CpuId,
    /// Had it been woken or forked (and not preempted)?
    pub is_woken: bool,
}

/// All delays.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// All wakeups and forks together.
    pub all: DelayRow,
    /// By task.
    pub by_task: BTreeMap<TaskId, DelayRow>,
    /// By waker and wakee.
    pub by_pair: BTreeMap<Pair, (u64, u64, u64)>,
    /// Waits in which events were lost. The task may have run meanwhile, so they are left out everywhere
    /// else.
    pub across_losses: u64,
    worst: Vec<LongWait>,
    keep: usize,
}

/// Keeps the `keep` largest values by `key`, largest first.
pub(crate) fn keep_longest<T, K: Ord>(
    list: &mut Vec<T>,
    value: T,
    keep: usize,
    key: impl Fn(&T) -> K,
) {
    if list.len() >= keep {
        // Nearly all values end here.
        match list.last() {
            Some(least) if key(&value) > key(least) => list.pop(),
            _ => return,
        };
    }
    let at = list.partition_point(|kept| key(kept) >= key(&value));
    list.insert(at, value);
}

impl Delays {
    pub(crate) fn keeping(keep: usize) -> Self {
        Self {
            keep,
            ..Self::default()
        }
    }

    /// A task runs after it had been runnable for a while; `of_task` are its delays, `waker` who woke it.
    pub(crate) fn ran(
        &mut self,
        of_task: &mut TaskDelays,
        waker: Option<Option<TaskId>>,
        wait: LongWait,
    ) {
        if wait.is_woken {
            self.all.record(wait.from, wait.ns);
            of_task.row.record(wait.from, wait.ns);
            if let Some(waker) = waker {
                of_task.woken(waker, wait.ns);
            }
        }
        keep_longest(&mut self.worst, wait, self.keep, |wait| {
            (wait.ns, std::cmp::Reverse(wait.from))
        });
    }

    /// Takes over what a task has waited.
    pub(crate) fn collect(&mut self, wakee: TaskId, delays: TaskDelays) {
        if delays.row.count() > 0 {
            self.by_task.insert(wakee, delays.row);
        }
        for (waker, sums) in delays.wakers.into_iter().chain(delays.more) {
            self.by_pair.insert(Pair { waker, wakee }, sums);
        }
    }

    /// The longest waits, longest first; preempted tasks included.
    #[must_use]
    pub fn worst(&self) -> Vec<LongWait> {
        let mut worst = self.worst.clone();
        worst.sort_by_key(|wait| (std::cmp::Reverse(wait.ns), wait.from));
        worst
    }
}
