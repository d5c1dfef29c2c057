//! What passes with time: idleness beside waiting, shared cores, losses that begin.

use fairlab_units::{CpuId, Nanos, Timestamp};

use super::Auditor;
use crate::placement::Certainty;
use crate::track::Current;

impl Auditor {
    /// Time goes on to `time`.
    pub(super) fn advance(&mut self, time: Timestamp) {
        if !self.has_begun {
            self.has_begun = true;
            self.totals.from = time;
            self.totals.to = time;
            self.cpu_since.fill(time);
            self.last_event.fill(time);
        }
        let ns = time.0.saturating_sub(self.totals.to.0);
        if ns > 0 {
            if self.idleness.is_open() {
                let certainty = if self.track.unknown.is_empty()
                    && self.shaky.is_empty()
                    && self.lossy.is_empty()
                {
                    Certainty::Sure
                } else {
                    Certainty::Unsure
                };
                let matched = self.matched();
                self.idleness.pass(ns, matched, certainty);
            }
            self.stacking.pass(ns);
            self.totals.to = time;
        }
        while let Some(loss) = self.options.losses.get(self.next_loss)
            && loss.from <= time
        {
            if loss.to > time && self.map.is_online(loss.cpu) {
                self.last_loss = Some(time);
                self.lossy.set(loss.cpu);
                self.shaky.copy_from(&self.map.online);
            }
            self.next_loss += 1;
        }
    }

    /// How many waiting tasks could run on idle CPUs.
    fn matched(&self) -> u64 {
        let mut waiting = self.track.left_waiting;
        for &task in &self.restricted {
            let can_move = self
                .track
                .tasks
                .get(task)
                .and_then(|task| task.allowed.as_ref())
                .is_none_or(|allowed| allowed.intersects(&self.track.idle));
            if !can_move {
                waiting = waiting.saturating_sub(1);
            }
        }
        waiting.min(self.track.nr_idle)
    }

    /// Begins or ends an episode after the state has changed.
    pub(super) fn review_idleness(&mut self, time: Timestamp) {
        let is_beside = self.track.left_waiting > 0 && self.track.nr_idle > 0 && self.matched() > 0;
        if is_beside == self.idleness.is_open() {
            return;
        }
        if !is_beside {
            self.end_episode();
            return;
        }
        if let (Some(idle), Some(busy)) = (self.track.idle.first(), self.track.crowded.first())
            && let Some(&task) = self.track.cpus[busy.index()].waiting.last()
        {
            self.idleness.begin(time, idle, busy, task);
        }
    }

    pub(super) fn end_episode(&mut self) {
        if let Some(episode) = self.idleness.end() {
            self.history.episode(episode);
        }
    }

    pub(super) fn account_cpu(&mut self, time: Timestamp, cpu: CpuId) {
        let since = &mut self.cpu_since[cpu.index()];
        let ns = Nanos(time.0.saturating_sub(since.0));
        let current = self.track.cpus[cpu.index()].current;
        self.history.passed(cpu, *since, time, current);
        *since = time;
        let totals = &mut self.cpu_totals[cpu.index()];
        let part = match current {
            Current::Unknown => &mut totals.unknown,
            Current::Idle => &mut totals.idle,
            Current::Task(_) => &mut totals.busy,
        };
        part.0 += ns.0;
    }
}
