//! Wakeups and forks: what the task got, and what it could have had at that moment.
//!
//! The moment is that of `sched_waking` (of `sched_wakeup` where the former was not recorded): what
//! idles then is what the kernel could have seen. Where the task went is told later, by
//! `sched_migrate_task` or `sched_wakeup`, so the picture of the moment is kept until then.
//!
//! "Better" is judged in the LLC of the CPU that was chosen, because the kernel's fast path looks no
//! further; that an idle CPU existed elsewhere is told apart.

use std::collections::BTreeMap;

use fairlab_stats::LatencyHistogram as Histogram;
use fairlab_units::{CpuId, CpuMask, TaskId, Timestamp};

use crate::map::Map;

/// What was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A task that slept.
    Wakeup,
    /// A new task.
    Fork,
}

/// What the task got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Found {
    /// A CPU whose siblings idled too, or that has none.
    IdleCore,
    /// An idle CPU with a busy sibling.
    IdleCpu,
    /// A CPU that ran something, or where something waited.
    Busy,
}

/// The best thing that it could have had instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Missed {
    /// Nothing better.
    Nothing,
    /// An idle core in the LLC.
    IdleCore,
    /// An idle CPU in the LLC, but no idle core.
    IdleCpu,
    /// An idle CPU, but in another LLC.
    Elsewhere,
}

/// How far a verdict can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// All that the verdict rests on was recorded.
    Sure,
    /// The state of a CPU was not known, or events were lost.
    Unsure,
}

/// A placement whose outcome is open: the picture of its moment.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) time: Timestamp,
    /// The CPU that places.
    pub(crate) by: CpuId,
    pub(crate) kind: Kind,
    /// Where the task was before.
    pub(crate) prev_cpu: Option<CpuId>,
    /// The begin was recorded, or cannot be.
    pub(crate) is_sure: bool,
    pub(crate) picture: Picture,
}

/// What idled at a moment.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) idle: CpuMask,
    /// CPUs of which it is not known whether they idled.
    pub(crate) unsure: CpuMask,
}

/// The judgement of a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) time: Timestamp,
    pub(crate) kind: Kind,
    pub(crate) found: Found,
    pub(crate) missed: Missed,
    /// A CPU that would have been better.
    pub(crate) better: Option<CpuId>,
    pub(crate) cpu: CpuId,
    pub(crate) certainty: Certainty,
    /// Its place in [`Placements::every`].
    pub(crate) index: Option<u32>,
}

impl Picture {
    fn is_idle_core(&self, map: &Map, cpu: CpuId) -> bool {
        map.cores[map.core_of(cpu)].cpus.is_subset(&self.idle)
    }

    /// Judges that a task that may run on `allowed` (everywhere if `None`) went to `cpu`.
    pub(crate) fn judge(
        &self,
        map: &Map,
        allowed: Option<&CpuMask>,
        cpu: CpuId,
    ) -> (Found, Missed, Option<CpuId>, Certainty) {
        let may = |other: CpuId| allowed.is_none_or(|allowed| allowed.test(other));
        let found = if !self.idle.test(cpu) {
            Found::Busy
        } else if self.is_idle_core(map, cpu) {
            Found::IdleCore
        } else {
            Found::IdleCpu
        };
        let llc = &map.llcs[map.llc_of(cpu)].cpus;
        let core = &map.cores[map.core_of(cpu)].cpus;
        if found == Found::IdleCore {
            let certainty = self.certainty(core);
            return (found, Missed::Nothing, None, certainty);
        }
        let mut idle_cpu = None;
        for other in llc.iter() {
            if !self.idle.test(other) || !may(other) {
                continue;
            }
            if self.is_idle_core(map, other) {
                return (found, Missed::IdleCore, Some(other), self.certainty(llc));
            }
            idle_cpu = idle_cpu.or(Some(other));
        }
        if found == Found::IdleCpu {
            return (found, Missed::Nothing, None, self.certainty(llc));
        }
        if idle_cpu.is_some() {
            return (found, Missed::IdleCpu, idle_cpu, self.certainty(llc));
        }
        let elsewhere = self.idle.iter().find(|&other| may(other));
        let missed = if elsewhere.is_some() {
            Missed::Elsewhere
        } else {
            Missed::Nothing
        };
        (found, missed, elsewhere, self.certainty(&map.online))
    }

    fn certainty(&self, scope: &CpuMask) -> Certainty {
        if self.unsure.intersects(scope) {
            Certainty::Unsure
        } else {
            Certainty::Sure
        }
    }
}

/// Placements of one sort, and the delays that followed.
#[derive(Clone, Debug)]
pub struct PlacementRow {
    /// What was placed.
    pub kind: Kind,
    /// What it got.
    pub found: Found,
    /// What it missed.
    pub missed: Missed,
    /// Is it sure?
    pub certainty: Certainty,
    /// How many.
    pub count: u64,
    /// From the wakeup to the first instruction, in ns; of those that ran before the end.
    pub delay: Histogram,
}

/// One placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// When.
    pub time: Timestamp,
    /// The task.
    pub task: TaskId,
    /// What was placed.
    pub kind: Kind,
    /// Where it went.
    pub cpu: CpuId,
    /// What it got.
    pub found: Found,
    /// What it missed.
    pub missed: Missed,
    /// A CPU that would have been better.
    pub better: Option<CpuId>,
    /// The delay that followed, in ns; 0 until the task has run.
    pub delay_ns: u64,
    /// Is it sure?
    pub certainty: Certainty,
}

/// All placements.
#[derive(Clone, Debug, Default)]
pub struct Placements {
    /// Wakeups that left their cluster for an idle CPU although one idled in the cluster.
    pub cluster_misses: u64,
    rows: BTreeMap<(Kind, Found, Missed, Certainty), (u64, Histogram)>,
    worst: Vec<Placed>,
    /// All of them, in the order in which they were judged, where that was asked for
    /// ([`crate::AuditOptions::every_placement`]).
    pub every: Vec<Placed>,
    keep: usize,
    keep_every: bool,
}

impl Verdict {
    fn placed(&self, task: TaskId, delay_ns: u64) -> Placed {
        Placed {
            time: self.time,
            task,
            kind: self.kind,
            cpu: self.cpu,
            found: self.found,
            missed: self.missed,
            better: self.better,
            delay_ns,
            certainty: self.certainty,
        }
    }
}

impl Placements {
    pub(crate) fn keeping(keep: usize, keep_every: bool) -> Self {
        Self {
            keep,
            keep_every,
            ..Self::default()
        }
    }

    pub(crate) fn judged(&mut self, task: TaskId, verdict: &mut Verdict) {
        self.row(verdict).0 += 1;
        if self.keep_every {
            verdict.index = u32::try_from(self.every.len()).ok();
            self.every.push(verdict.placed(task, 0));
        }
    }

    fn row(&mut self, v: &Verdict) -> &mut (u64, Histogram) {
        self.rows
            .entry((v.kind, v.found, v.missed, v.certainty))
            .or_default()
    }

    /// The task of a verdict runs, `delay_ns` after.
    pub(crate) fn ran(&mut self, task: TaskId, v: &Verdict, delay_ns: u64) {
        self.row(v).1.record(delay_ns);
        if let Some(placed) = v.index.and_then(|index| self.every.get_mut(index as usize)) {
            placed.delay_ns = delay_ns;
        }
        if v.missed != Missed::Nothing {
            let placed = v.placed(task, delay_ns);
            crate::delay::keep_longest(&mut self.worst, placed, self.keep, |placed| {
                (placed.delay_ns, std::cmp::Reverse(placed.time))
            });
        }
    }

    /// All sorts that occurred, in a fixed order.
    pub fn rows(&self) -> impl Iterator<Item = PlacementRow> + '_ {
        self.rows.iter().map(
            |(&(kind, found, missed, certainty), (count, delay))| PlacementRow {
                kind,
                found,
                missed,
                certainty,
                count: *count,
                delay: delay.clone(),
            },
        )
    }

    /// How many placements are of this sort.
    pub fn count(&self, is: impl Fn(Kind, Found, Missed, Certainty) -> bool) -> u64 {
        self.rows
            .iter()
            .filter(|&(&(kind, found, missed, certainty), _)| is(kind, found, missed, certainty))
            .map(|(_, (count, _))| count)
            .sum()
    }

    /// Those with the longest delays among those that missed something, longest first.
    #[must_use]
    pub fn worst(&self) -> Vec<Placed> {
        let mut worst = self.worst.clone();
        worst.sort_by_key(|miss| (std::cmp::Reverse(miss.delay_ns), miss.time));
        worst
    }
}
