//! Tasks that wait while CPUs that they may use idle: work is not conserved.
//!
//! A task whose own CPU idles does not count, since the switch to it is under way. Of several
//! waiting tasks and idle CPUs, as many count as could be matched, but for affinities, of which only
//! one side is looked at: a waiting task counts when it may use some idle CPU.

use fairlab_units::{CpuId, TaskId, Timestamp};

use crate::delay::keep_longest;
use crate::placement::Certainty;

/// A stretch of time in which at least one task waited beside an idle CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Episode {
    /// Its begin.
    pub from: Timestamp,
    /// Its length in ns.
    pub ns: u64,
    /// CPU time that was lost, in ns: for each moment, the lesser of waiting tasks and idle CPUs.
    pub lost_ns: u64,
    /// A CPU that idled at the begin.
    pub idle_cpu: CpuId,
    /// A CPU on which a task waited at the begin.
    pub busy_cpu: CpuId,
    /// That task.
    pub task: TaskId,
    /// Is it sure?
    pub certainty: Certainty,
}

/// Work that was not conserved.
#[derive(Clone, Debug, Default)]
pub struct Idleness {
    /// Time with waiting tasks beside idle CPUs, in ns.
    pub beside_ns: u64,
    /// CPU time that was lost, in ns.
    pub lost_ns: u64,
    /// Of [`Self::lost_ns`], what is not sure.
    pub unsure_ns: u64,
    /// How many episodes.
    pub episodes: u64,
    longest: Vec<Episode>,
    open: Option<Episode>,
    keep: usize,
}

impl Idleness {
    pub(crate) fn keeping(keep: usize) -> Self {
        Self {
            keep,
            ..Self::default()
        }
    }

    pub(crate) const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// `ns` have passed in which `matched` tasks could have run on idle CPUs.
    pub(crate) fn pass(&mut self, ns: u64, matched: u64, certainty: Certainty) {
        let Some(open) = &mut self.open else { return };
        let lost = matched.saturating_mul(ns);
        open.ns += ns;
        open.lost_ns += lost;
        self.beside_ns += ns;
        self.lost_ns += lost;
        if certainty == Certainty::Unsure {
            self.unsure_ns += lost;
            open.certainty = Certainty::Unsure;
        }
    }

    pub(crate) fn begin(
        &mut self,
        from: Timestamp,
        idle_cpu: CpuId,
        busy_cpu: CpuId,
        task: TaskId,
    ) {
        self.open = Some(Episode {
            from,
            ns: 0,
            lost_ns: 0,
            idle_cpu,
            busy_cpu,
            task,
            certainty: Certainty::Sure,
        });
    }

    /// Ends the open episode, if there is one that counts, and gives it.
    pub(crate) fn end(&mut self) -> Option<Episode> {
        // What begins and ends at one moment is a switch under way.
        let episode = self.open.take().filter(|episode| episode.ns > 0)?;
        self.episodes += 1;
        keep_longest(&mut self.longest, episode, self.keep, |episode| {
            (episode.lost_ns, std::cmp::Reverse(episode.from))
        });
        Some(episode)
    }

    /// The episodes that lost most, worst first.
    #[must_use]
    pub fn longest(&self) -> Vec<Episode> {
        let mut longest = self.longest.clone();
        longest.sort_by_key(|episode| (std::cmp::Reverse(episode.lost_ns), episode.from));
        longest
    }
}
