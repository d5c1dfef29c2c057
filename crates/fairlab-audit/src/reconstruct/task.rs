//! A task of the rebuilt state.

use fairlab_pelt::{EntityState, SchedAvg};
use fairlab_policy::Signals;
use fairlab_runqueue::{EntityId, Policy};
use fairlab_units::{CpuId, CpuMask, TaskId, Timestamp};

use super::Reconstruction;

/// Position of a task in the order in which tasks turned up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot(u32);

impl Default for Slot {
    /// Of a task that has not turned up.
    fn default() -> Self {
        Self(u32::MAX)
    }
}

impl Slot {
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Entities are made in the order of tasks and never removed.
    pub const fn entity(self) -> EntityId {
        EntityId(self.0)
    }

    pub const fn of_entity(entity: EntityId) -> Self {
        Self(entity.0)
    }

    /// The number under which the policy knows the task.
    pub const fn number(self) -> TaskId {
        TaskId(self.0)
    }

    pub const fn of_number(task: TaskId) -> Self {
        Self(task.0)
    }
}

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No event said it.
    Unknown,
    Sleeping,
    /// Woken, on its way to a queue.
    Waking,
    Queued,
    Running,
    Dead,
}

/// A task.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub id: TaskId,
    pub phase: Phase,
    /// Where it is or last was.
    pub cpu: CpuId,
    /// Where it may run; everywhere when not told.
    pub allowed: Option<CpuMask>,
    pub avg: SchedAvg,
    /// Is it of a class above the fair one?
    pub is_higher: bool,
    /// Is it a CPU's stopper?
    pub is_stopper: bool,
    /// Is it a kernel thread that serves one CPU?
    pub is_bound_kthread: bool,
    pub is_exiting: bool,
    /// Did its wakeup move it?
    pub moved: bool,
    /// Since when it is followed; new tasks from their birth.
    pub known_since: Option<Timestamp>,
    /// When it last went to sleep.
    pub slept_at: Option<Timestamp>,
    /// Its load average holds what was before the recording, which nobody knows.
    pub is_from_before: bool,
    /// It may have left its CPU to go to another at an exec: asked, and open.
    pub may_exec: bool,
    pub recent_used_cpu: CpuId,
    pub wakee_flips: u32,
    pub wakee_flip_decay_ts: u64,
    pub last_wakee: Option<TaskId>,
}

impl Task {
    /// May it run on `cpu`, as far as is known?
    pub fn may_run(&self, cpu: CpuId) -> bool {
        self.allowed
            .as_ref()
            .is_none_or(|allowed| allowed.test(cpu))
    }
}

impl Reconstruction<'_> {
    /// The place of `task`; a new one, asleep, if it has not turned up.
    pub(super) fn slot(&mut self, task: TaskId) -> Slot {
        let known = *self.slots.get_mut(task);
        if known != Slot::default() {
            return known;
        }
        let entity = self.ents.add_task(0, Policy::Normal);
        let slot = Slot::of_entity(entity);
        *self.slots.get_mut(task) = slot;
        let first = self.active.first().unwrap_or_default();
        let avg = self.new_avg(slot);
        self.tasks.push(Task {
            id: task,
            phase: Phase::Unknown,
            cpu: first,
            allowed: None,
            avg,
            is_higher: false,
            is_stopper: false,
            is_bound_kthread: false,
            is_exiting: false,
            moved: false,
            known_since: None,
            slept_at: None,
            is_from_before: true,
            may_exec: false,
            recent_used_cpu: first,
            wakee_flips: 0,
            wakee_flip_decay_ts: 0,
            last_wakee: None,
        });
        slot
    }

    /// The load averages of a task that has just been made.
    pub(super) fn new_avg(&self, slot: Slot) -> SchedAvg {
        let weight = self.ents[slot.entity()].weight().0;
        SchedAvg::new_task(&self.kernel, &EntityState::task(weight, false, false))
    }

    /// The task at `slot`.
    pub(crate) fn task(&self, slot: Slot) -> &Task {
        &self.tasks[slot.index()]
    }

    /// Is it asleep but still queued?
    pub(super) fn is_delayed(&self, slot: Slot) -> bool {
        self.ents[slot.entity()].is_delayed()
    }

    pub(super) fn signals(&self, slot: Slot) -> Signals {
        let avg = &self.tasks[slot.index()].avg;
        Signals {
            load_avg: avg.load_avg,
            runnable_avg: avg.runnable_avg,
            util_avg: avg.util_avg,
            util_est: avg.util_est.of_task(&self.kernel),
        }
    }
}
