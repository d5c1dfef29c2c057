//! The fair class of one CPU of the run, and the count of its tasks by where they want to be.

use std::ops::{Deref, DerefMut};

use fairlab_runqueue::{
    Change, DequeueFlags, Dequeued, EnqueueFlags, Entities, FairClass, GroupId, Resched,
};
use fairlab_units::Timestamp;

use crate::census::Census;
use crate::task::Task;

/// The fair class of one CPU.
#[derive(Clone, Debug)]
pub(crate) struct FairQueue {
    class: FairClass,
    pub(crate) census: Census,
}

impl Deref for FairQueue {
    type Target = FairClass;

    #[inline]
    fn deref(&self) -> &FairClass {
        &self.class
    }
}

impl DerefMut for FairQueue {
    #[inline]
    fn deref_mut(&mut self) -> &mut FairClass {
        &mut self.class
    }
}

impl FairQueue {
    pub(crate) const fn new(class: FairClass, census: Census) -> Self {
        Self { class, census }
    }

    /// Adds a task, or wakes a delayed one.
    pub(crate) fn enqueue(
        &mut self,
        ents: &mut Entities,
        task: &mut Task,
        flags: EnqueueFlags,
        now: Timestamp,
    ) -> Resched {
        let resched = self
            .class
            .enqueue(ents, task.entity, &mut task.avg, flags, now);
        self.census.add(task);
        resched
    }

    /// Takes a task off.
    pub(crate) fn dequeue(
        &mut self,
        ents: &mut Entities,
        task: &mut Task,
        flags: DequeueFlags,
        now: Timestamp,
    ) -> (Dequeued, Resched) {
        let left = self
            .class
            .dequeue(ents, task.entity, &mut task.avg, flags, now);
        if left.0 == Dequeued::Done {
            self.census.remove(task);
        }
        left
    }

    /// Changes a task of this CPU, see [`FairClass::change`].
    pub(crate) fn change(
        &mut self,
        ents: &mut Entities,
        task: &mut Task,
        change: Change,
        now: Timestamp,
    ) -> Resched {
        self.class
            .change(ents, task.entity, &mut task.avg, change, now)
    }

    /// See [`FairClass::sync`].
    pub(crate) fn sync(&self, ents: &Entities, task: &mut Task) {
        self.class.sync(ents, task.entity, &mut task.avg);
    }

    /// See [`FairClass::remove`].
    pub(crate) fn remove(&mut self, ents: &Entities, task: &mut Task) {
        self.class.remove(ents, task.entity, &mut task.avg);
    }

    /// See [`FairClass::detach`].
    pub(crate) fn detach(&mut self, ents: &mut Entities, task: &mut Task, now: Timestamp) {
        self.class.detach(ents, task.entity, &mut task.avg, now);
    }

    /// See [`FairClass::move_to_group`].
    pub(crate) fn move_to_group(
        &mut self,
        ents: &mut Entities,
        task: &mut Task,
        group: GroupId,
        is_relative: bool,
        now: Timestamp,
    ) -> Resched {
        self.class
            .move_to_group(ents, task.entity, &mut task.avg, group, is_relative, now)
    }

    /// Takes a task off whose group is throttled, see [`FairClass::throttle_task`].
    pub(crate) fn throttle_task(
        &mut self,
        ents: &mut Entities,
        task: &mut Task,
        now: Timestamp,
    ) -> bool {
        let left = self
            .class
            .throttle_task(ents, task.entity, &mut task.avg, now);
        if left {
            self.census.remove(task);
        }
        left
    }

    /// See [`FairClass::set_next`].
    pub(crate) fn set_next(&mut self, ents: &mut Entities, task: &mut Task, now: Timestamp) {
        self.class.set_next(ents, task.entity, &mut task.avg, now);
    }

    /// See [`FairClass::put_prev`].
    pub(crate) fn put_prev(&mut self, ents: &mut Entities, task: &mut Task, now: Timestamp) {
        self.class.put_prev(ents, task.entity, &mut task.avg, now);
    }

    /// See [`FairClass::tick`].
    pub(crate) fn tick(&mut self, ents: &mut Entities, task: &mut Task, now: Timestamp) -> Resched {
        self.class.tick(ents, task.entity, &mut task.avg, now)
    }
}
