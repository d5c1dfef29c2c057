//! The list of a CPU's tasks by time of running, and that of sleepers which have now left.

use crate::entity::{Entities, Entity, EntityId};
use crate::rq::FairRq;

impl FairRq {
    /// All tasks of the CPU, groups included, most recently enqueued or run first (`cfs_tasks`).
    ///
    /// The balancer of the kernel examines them from the other end: see [`Self::iter_oldest`].
    #[doc(alias = "cfs_tasks")]
    pub fn iter_newest<'a>(&self, ents: &'a Entities) -> impl Iterator<Item = EntityId> + 'a {
        core::iter::successors(self.newest.some(), |id| ents[*id].older.some())
    }

    /// Puts a task to the front of the list, as the balancer does with tasks that it examined and
    /// left where they are.
    pub fn move_to_newest(&mut self, ents: &mut Entities, id: EntityId) {
        debug_assert!(ents[id].on_rq, "only queued tasks are listed");
        self.unlink(ents, id);
        self.push_newest(ents, id);
    }

    /// All tasks of the CPU, groups included, least recently enqueued or run first.
    pub fn iter_oldest<'a>(&self, ents: &'a Entities) -> impl Iterator<Item = EntityId> + 'a {
        core::iter::successors(self.oldest.some(), |id| ents[*id].newer.some())
    }

    /// A task whose delayed dequeue was completed by one of the calls since the last report.
    pub fn pop_left(&mut self, ents: &mut Entities) -> Option<EntityId> {
        let id = self.left.some()?;
        self.left = ents[id].older;
        ents.at(id).older = EntityId::NONE;
        Some(id)
    }

    pub(crate) fn push_newest(&mut self, ents: &mut Entities, id: EntityId) {
        let old = self.newest;
        let entity = ents.at(id);
        entity.newer = EntityId::NONE;
        entity.older = old;
        self.newest = id;
        if old == EntityId::NONE {
            self.oldest = id;
        } else {
            ents.at(old).newer = id;
        }
    }

    pub(crate) fn unlink(&mut self, ents: &mut Entities, id: EntityId) {
        let Entity { newer, older, .. } = ents[id];
        if newer == EntityId::NONE {
            self.newest = older;
        } else {
            ents.at(newer).older = older;
        }
        if older == EntityId::NONE {
            self.oldest = newer;
        } else {
            ents.at(older).newer = newer;
        }
        let entity = ents.at(id);
        entity.newer = EntityId::NONE;
        entity.older = EntityId::NONE;
    }

    /// Remembers a task whose delayed dequeue was completed.
    pub(crate) fn push_left(&mut self, ents: &mut Entities, id: EntityId) {
        ents.at(id).older = self.left;
        self.left = id;
    }
}
