//! Tasks that answer notes: which part of its program a task goes on with.

use std::collections::VecDeque;

use fairlab_policy::WakeFlags;
use fairlab_units::{CpuId, TaskId};
use fairlab_workload::{Part, ProgramId};

use crate::engine::Engine;
use crate::ops::Step;

/// The notes to the task of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inbox {
    /// Who sent those that are not answered yet.
    notes: VecDeque<ProgramId>,
    waiting: Option<TaskId>,
}

/// Which parts of its program a task has behind it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// All before this are done.
    first: usize,
    /// Of those from there on.
    done: VecDeque<bool>,
}

impl Progress {
    /// The first part that is left, without a look at what it answers.
    fn first<'a>(&self, parts: &'a [Part]) -> Option<&'a Part> {
        parts.get(self.first)
    }

    /// Takes the first part that is left for `sender`, or for anybody where none is.
    fn answer(&mut self, parts: &[Part], sender: ProgramId) -> Option<u32> {
        let left = || {
            let from = parts.iter().enumerate().skip(self.first);
            from.filter(|(at, part)| part.answers.is_some() && !self.is_done(*at))
        };
        let of_sender = left().find(|(_, part)| part.answers == Some(sender));
        let (at, part) = of_sender.or_else(|| left().next())?;
        self.take(at);
        Some(part.at)
    }

    fn is_done(&self, at: usize) -> bool {
        let after = at.checked_sub(self.first);
        after.is_none_or(|after| self.done.get(after).copied().unwrap_or(false))
    }

    fn take(&mut self, at: usize) {
        let after = at - self.first;
        if self.done.len() <= after {
            self.done.resize(after + 1, false);
        }
        self.done[after] = true;
        while self.done.front() == Some(&true) {
            self.done.pop_front();
            self.first += 1;
        }
    }
}

impl Engine<'_> {
    /// Sends a note from the running task of `cpu`.
    pub(crate) fn send(&mut self, cpu: CpuId, id: TaskId, to: ProgramId, sync: bool) {
        let from = self.world.tasks[id.index()].program;
        let inbox = &mut self.resources.inboxes[to.index()];
        inbox.notes.push_back(from);
        if let Some(waiter) = inbox.waiting.take() {
            let flags = if sync { WakeFlags::SYNC } else { 0 };
            self.grant(cpu, waiter, flags);
        }
    }

    /// Lets a task go on with the part that is next.
    pub(crate) fn next_part(&mut self, cpu: CpuId, id: TaskId) -> Step {
        let task = &mut self.world.tasks[id.index()];
        task.granted = false;
        let program = task.program;
        let parts = &self.workload.programs[program.index()].parts;
        let progress = task.parts.get_or_insert_default();
        let Some(first) = progress.first(parts) else {
            return self.exit(cpu, id);
        };
        let at = if first.answers.is_none() {
            let at = first.at;
            progress.take(progress.first);
            at
        } else {
            let inbox = &mut self.resources.inboxes[program.index()];
            let Some(sender) = inbox.notes.pop_front() else {
                inbox.waiting = Some(id);
                return Step::Sleep;
            };
            match progress.answer(parts, sender) {
                Some(at) => at,
                None => return self.exit(cpu, id),
            }
        };
        // The usual step to the next operation lands there.
        task.pc = (at as usize).wrapping_sub(1);
        Step::Next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Option<ProgramId> = Some(ProgramId(1));
    const B: Option<ProgramId> = Some(ProgramId(2));

    #[test]
    fn each_sender_gets_its_own_answers_in_order() {
        let parts: Vec<Part> = (0..)
            .zip([A, B, A, B])
            .map(|(at, answers)| Part { at, answers })
            .collect();
        let mut progress = Progress::default();
        let mut of = |sender| progress.answer(&parts, ProgramId(sender));
        assert_eq!([of(2), of(2), of(1)], [Some(1), Some(3), Some(0)]);
        assert_eq!(
            [of(7), of(1)],
            [Some(2), None],
            "an unknown sender gets what is left"
        );
    }

    #[test]
    fn what_answers_nobody_waits_for_all_before_it() {
        let parts: Vec<Part> = (0..)
            .zip([A, None, B])
            .map(|(at, answers)| Part { at, answers })
            .collect();
        let mut progress = Progress::default();
        assert_eq!(progress.answer(&parts, ProgramId(2)), Some(2));
        assert_eq!(progress.first(&parts).map(|p| p.at), Some(0));
        assert_eq!(progress.answer(&parts, ProgramId(1)), Some(0));
        assert_eq!(progress.first(&parts).map(|p| p.at), Some(1));
        progress.take(1);
        assert_eq!(progress.first(&parts), None);
    }
}
