//! Delays from a wakeup to the first instruction: by task, by CPU, by waker and wakee.

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
#[derive(Clone, Debug, Default)]
pub struct DelayRow {
    /// In ns.
    pub delay: Histogram,
    /// When the longest began.
    pub longest_from: Timestamp,
    longest: u64,
}

impl DelayRow {
    fn record(&mut self, from: Timestamp, delay: u64) {
        self.delay.record(delay);
        if delay > self.longest || self.delay.count() == 1 {
            self.longest = delay;
            self.longest_from = from;
        }
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
    /// By the CPU on which the task ran.
    pub by_cpu: BTreeMap<CpuId, DelayRow>,
    /// By waker and wakee.
    pub by_pair: BTreeMap<Pair, (u64, u64, u64)>,
    worst: Vec<LongWait>,
    keep: usize,
}

/// Keeps the `keep` largest values by `key`, in no order.
pub(crate) fn keep_longest<T, K: Ord>(
    list: &mut Vec<T>,
    value: T,
    keep: usize,
    key: impl Fn(&T) -> K,
) {
    if list.len() < keep {
        list.push(value);
    } else if let Some(least) = list.iter_mut().min_by_key(|kept| key(kept))
        && key(&value) > key(least)
    {
        *least = value;
    }
}

impl Delays {
    pub(crate) fn keeping(keep: usize) -> Self {
        Self {
            keep,
            ..Self::default()
        }
    }

    /// `task` runs on `cpu` after it had been runnable since `from`.
    pub(crate) fn ran(
        &mut self,
        task: TaskId,
        cpu: CpuId,
        waker: Option<Option<TaskId>>,
        wait: LongWait,
    ) {
        if wait.is_woken {
            self.all.record(wait.from, wait.ns);
            self.by_task
                .entry(task)
                .or_default()
                .record(wait.from, wait.ns);
            self.by_cpu
                .entry(cpu)
                .or_default()
                .record(wait.from, wait.ns);
            if let Some(waker) = waker {
                let pair = Pair { waker, wakee: task };
                let (count, sum, max) = self.by_pair.entry(pair).or_default();
                *count += 1;
                *sum += wait.ns;
                *max = (*max).max(wait.ns);
            }
        }
        keep_longest(&mut self.worst, wait, self.keep, |wait| {
            (wait.ns, std::cmp::Reverse(wait.from))
        });
    }

    /// The longest waits, longest first; preempted tasks included.
    #[must_use]
    pub fn worst(&self) -> Vec<LongWait> {
        let mut worst = self.worst.clone();
        worst.sort_by_key(|wait| (std::cmp::Reverse(wait.ns), wait.from));
        worst
    }
}
