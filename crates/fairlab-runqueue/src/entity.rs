//! Entities, and the arena that holds those of all CPUs.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Index;

use fairlab_units::{Nanos, Timestamp};

use crate::Vruntime;
use crate::bandwidth::Pool;
use crate::timeline::{NIL, Node};
use crate::weight::{self, Weight};

/// An entity, numbered by its arena in the order of creation (numbers of removed ones are reused).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct EntityId(pub u32);

impl EntityId {
    pub(crate) const NONE: Self = Self(NIL);

    /// The number as an index.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    #[inline]
    pub(crate) const fn some(self) -> Option<Self> {
        if self.0 == NIL { None } else { Some(self) }
    }
}

impl fmt::Debug for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.some() {
            Some(id) => write!(f, "entity{}", id.0),
            None => f.write_str("none"),
        }
    }
}

/// The policies of the fair class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Policy {
    /// All rules (`SCHED_NORMAL`).
    #[default]
    #[doc(alias = "SCHED_NORMAL")]
    #[doc(alias = "SCHED_OTHER")]
    Normal,
    /// Never preempts at wakeup (`SCHED_BATCH`).
    #[doc(alias = "SCHED_BATCH")]
    Batch,
    /// The least weight; yields to everyone (`SCHED_IDLE`).
    #[doc(alias = "SCHED_IDLE")]
    Idle,
}

/// What a queue knows about one task, or about one group on one CPU.
///
/// # Source
/// Linux v5.4 to v7.2 `include/linux/sched.h`, `struct sched_entity`.
#[derive(Clone, Copy, Debug)]
#[doc(alias = "sched_entity")]
pub struct Entity {
    pub(crate) vruntime: Vruntime,
    pub(crate) deadline: Vruntime,
    pub(crate) vlag: i64,
    pub(crate) vprot: Vruntime,
    pub(crate) slice: u64,
    pub(crate) weight: Weight,
    pub(crate) inverse: u32,
    pub(crate) policy: Policy,
    pub(crate) on_rq: bool,
    pub(crate) delayed: bool,
    pub(crate) custom_slice: bool,
    pub(crate) rel_deadline: bool,
    pub(crate) nice: i8,
    pub(crate) exec_start: Timestamp,
    pub(crate) sum_exec: Nanos,
    pub(crate) prev_sum_exec: Nanos,
    /// The queue this entity is on or was last on: an index into the queues of one CPU.
    pub(crate) queue: u32,
    /// The queue this entity stands for, `NIL` for a task.
    pub(crate) my_queue: u32,
    /// The entity of the group above, or none.
    pub(crate) parent: EntityId,
    pub(crate) depth: u32,
    /// Neighbours in the list of recently run tasks.
    pub(crate) newer: EntityId,
    pub(crate) older: EntityId,
}

impl Entity {
    fn task(nice: i8, policy: Policy) -> Self {
        let mut entity = Self {
            vruntime: Vruntime(0),
            deadline: Vruntime(0),
            vlag: 0,
            vprot: Vruntime(0),
            slice: 0,
            weight: Weight::ZERO,
            inverse: 0,
            policy,
            on_rq: false,
            delayed: false,
            custom_slice: false,
            rel_deadline: false,
            nice,
            exec_start: Timestamp::ZERO,
            sum_exec: Nanos::ZERO,
            prev_sum_exec: Nanos::ZERO,
            queue: 0,
            my_queue: NIL,
            parent: EntityId::NONE,
            depth: 0,
            newer: EntityId::NONE,
            older: EntityId::NONE,
        };
        entity.set_task_weight();
        entity
    }

    pub(crate) fn group(my_queue: u32, weight: Weight) -> Self {
        let mut entity = Self::task(0, Policy::Normal);
        entity.my_queue = my_queue;
        entity.weight = weight;
        entity.inverse = weight.sum_inverse();
        entity
    }

    /// Sets weight and inverse from nice value and policy.
    pub(crate) fn set_task_weight(&mut self) {
        if self.policy == Policy::Idle {
            self.weight = Weight::IDLE;
            self.inverse = weight::IDLE_WMULT;
        } else {
            self.weight = Weight::of_nice(self.nice);
            self.inverse = weight::NICE_TO_WMULT[weight::nice_index(self.nice)];
        }
    }

    /// Virtual run time.
    #[must_use]
    pub const fn vruntime(&self) -> Vruntime {
        self.vruntime
    }

    /// Virtual deadline; relative to vruntime while [`Self::has_relative_deadline`].
    #[must_use]
    pub const fn deadline(&self) -> Vruntime {
        self.deadline
    }

    /// Lag in virtual ns as kept when the entity left a queue. While an entity runs, v6.6 and v6.12
    /// keep the protected deadline here.
    #[must_use]
    pub const fn vlag(&self) -> i64 {
        self.vlag
    }

    /// Virtual time until which the running entity is protected (v7.2).
    #[must_use]
    pub const fn vprot(&self) -> Vruntime {
        self.vprot
    }

    /// The slice that the deadline was made from, in ns (0 before the first placement).
    #[must_use]
    pub const fn slice(&self) -> Nanos {
        Nanos(self.slice)
    }

    /// The load weight, scaled.
    #[must_use]
    pub const fn weight(&self) -> Weight {
        self.weight
    }

    /// The nice value.
    #[must_use]
    pub const fn nice(&self) -> i8 {
        self.nice
    }

    /// The policy.
    #[must_use]
    pub const fn policy(&self) -> Policy {
        self.policy
    }

    /// In a queue, waiting or running; also while its dequeue is delayed.
    #[must_use]
    pub const fn is_on_rq(&self) -> bool {
        self.on_rq
    }

    /// Asleep, but still in the queue until its lag is paid (v6.12 on).
    #[must_use]
    #[doc(alias = "sched_delayed")]
    pub const fn is_delayed(&self) -> bool {
        self.delayed
    }

    /// Was the slice set by the task itself?
    #[must_use]
    pub const fn has_custom_slice(&self) -> bool {
        self.custom_slice
    }

    /// Is the deadline kept relative to vruntime until the next placement?
    #[must_use]
    pub const fn has_relative_deadline(&self) -> bool {
        self.rel_deadline
    }

    /// When its current stretch of running was last accounted (clock_task).
    #[must_use]
    pub const fn exec_start(&self) -> Timestamp {
        self.exec_start
    }

    /// Run time so far.
    #[must_use]
    #[doc(alias = "sum_exec_runtime")]
    pub const fn sum_exec(&self) -> Nanos {
        self.sum_exec
    }

    /// Run time at the last start of running.
    #[must_use]
    #[doc(alias = "prev_sum_exec_runtime")]
    pub const fn prev_sum_exec(&self) -> Nanos {
        self.prev_sum_exec
    }

    /// A task, and not a group on one CPU?
    #[inline]
    #[must_use]
    pub const fn is_task(&self) -> bool {
        self.my_queue == NIL
    }

    /// Has it ever been placed or run? A task that never was is asleep since creation.
    #[must_use]
    pub const fn has_run(&self) -> bool {
        self.sum_exec.0 != 0
    }
}

/// The entities of all tasks and groups, on all CPUs.
///
/// Queues hold only numbers into this arena; whoever owns the tasks owns it.
#[derive(Clone, Debug, Default)]
pub struct Entities {
    pub(crate) entities: Vec<Entity>,
    pub(crate) nodes: Vec<Node>,
    free: Vec<u32>,
    /// Runtime of the groups, which all CPUs share; by group number.
    pub(crate) pools: Vec<Pool>,
    /// Load of the groups on all CPUs (`tg->load_avg`); by group number.
    pub(crate) group_loads: Vec<u64>,
}

impl Entities {
    /// An empty arena.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entities: Vec::new(),
            nodes: Vec::new(),
            free: Vec::new(),
            pools: Vec::new(),
            group_loads: Vec::new(),
        }
    }

    /// An empty arena with room for `capacity` entities.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            entities: Vec::with_capacity(capacity),
            nodes: Vec::with_capacity(capacity),
            free: Vec::new(),
            pools: Vec::new(),
            group_loads: Vec::new(),
        }
    }

    /// Adds a task that sleeps and has never run.
    ///
    /// # Panics
    /// When there are `2^32 - 1` entities already.
    pub fn add_task(&mut self, nice: i8, policy: Policy) -> EntityId {
        self.add(Entity::task(nice, policy))
    }

    pub(crate) fn add(&mut self, entity: Entity) -> EntityId {
        if let Some(id) = self.free.pop() {
            self.entities[id as usize] = entity;
            return EntityId(id);
        }
        let id = self.entities.len();
        assert!(id < NIL as usize, "an arena holds fewer than 2^32 entities");
        let id = id as u32;
        self.entities.push(entity);
        self.nodes.push(Node::new(id));
        EntityId(id)
    }

    /// Removes a task that is on no queue; its number may be given out again.
    ///
    /// # Panics
    /// When it is still on a queue.
    pub fn remove(&mut self, id: EntityId) {
        assert!(
            !self[id].on_rq,
            "dequeue an entity before its removal from the arena"
        );
        self.free.push(id.0);
    }

    /// The entity, for writing.
    #[inline]
    pub(crate) fn at(&mut self, id: EntityId) -> &mut Entity {
        &mut self.entities[id.index()]
    }

    /// Number of slots, those of removed entities included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entities.len()
    }

    /// True when no entity was ever added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// The entity, or nothing when there was never one with this number.
    #[must_use]
    pub fn get(&self, id: EntityId) -> Option<&Entity> {
        self.entities.get(id.index())
    }
}

impl Index<EntityId> for Entities {
    type Output = Entity;
    #[inline]
    fn index(&self, id: EntityId) -> &Entity {
        &self.entities[id.index()]
    }
}
