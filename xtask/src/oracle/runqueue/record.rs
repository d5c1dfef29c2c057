//! One line of a recording.

use fairlab_runqueue::{EntityState, Policy, QueueSums, RqConfig, Vruntime, Weight};
use fairlab_units::{Nanos, Timestamp};
use serde::Deserialize;

/// What was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Pick,
    Place,
    UpdateCurr,
    WakeupPreempt,
    Switch,
    Wakeup,
}

/// An entity: `pid`, `flags`, `weight`, `vruntime`, `deadline`, `vlag`, `slice`, `min_vruntime`,
/// `vprot`, `min_slice`, `max_slice`, `exec_start`, `sum_exec`, `prev_sum_exec`, `load_avg`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[allow(
    dead_code,
    reason = "the columns of the tree and of load averages are not compared"
)]
pub struct Ent(
    pub u32,
    u64,
    u64,
    u64,
    u64,
    i64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
);

impl Ent {
    pub fn pid(&self) -> u32 {
        self.0
    }
    pub fn is_curr(&self) -> bool {
        self.1 & 1 != 0
    }
    pub fn on_rq(&self) -> bool {
        self.1 & 2 != 0
    }
    pub fn is_delayed(&self) -> bool {
        self.1 & 4 != 0
    }
    pub fn rel_deadline(&self) -> bool {
        self.1 & 16 != 0
    }
    pub fn policy(&self) -> Policy {
        match self.1 & 192 {
            64 => Policy::Idle,
            128 => Policy::Batch,
            _ => Policy::Normal,
        }
    }
    pub fn state(&self) -> EntityState {
        EntityState {
            weight: Weight(self.2),
            policy: self.policy(),
            vruntime: Vruntime(self.3),
            deadline: Vruntime(self.4),
            vlag: self.5,
            vprot: Vruntime(self.8),
            slice: Nanos(self.6),
            custom_slice: self.1 & 8 != 0,
            rel_deadline: self.rel_deadline(),
            exec_start: Timestamp(self.11),
            sum_exec: Nanos(self.12),
            prev_sum_exec: Nanos(self.13),
        }
    }
}

/// A queue: `avg_vruntime`, `avg_load`, `zero_vruntime`, `load_weight`, `nr`, `h_nr`, `sum_shift`,
/// `h_nr_delayed`, `curr_pid`, `next_pid`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[allow(
    dead_code,
    reason = "columns that follow from the others are not compared"
)]
pub struct Cfs(
    i64,
    u64,
    u64,
    u64,
    pub u32,
    u32,
    u64,
    pub u32,
    pub u32,
    pub u32,
);

impl Cfs {
    pub fn nr(&self) -> u32 {
        self.4
    }
    pub fn sums(&self) -> QueueSums {
        QueueSums {
            zero_vruntime: Vruntime(self.2),
            sum_w_vruntime: i128::from(self.0),
            sum_weight: self.1,
            load: Weight(self.3),
            nr_queued: self.4,
        }
    }
}

/// One line.
#[derive(Clone, Debug, Deserialize)]
pub struct Record {
    pub seq: u64,
    pub ev: Event,
    pub cpu: u32,
    pub t: u64,
    pub clock_task: u64,
    pub flags: u64,
    #[serde(default)]
    pub pid: u32,
    pub cfs: Cfs,
    pub cfs_after: Option<Cfs>,
    pub curr: Option<Ent>,
    pub curr_after: Option<Ent>,
    pub se: Option<Ent>,
    pub se_after: Option<Ent>,
    #[serde(default)]
    pub ents: Vec<Ent>,
    #[serde(default)]
    pub ret: u32,
    #[serde(default)]
    pub in_wakeup_preempt: u32,
    pub prev: Option<Ent>,
    pub next: Option<Ent>,
    #[serde(default)]
    pub ti: [u64; 2],
}

/// The bits of the thread flags that ask for a reschedule: at once, and lazily.
pub fn need_resched_bits(cfg: &RqConfig) -> (u64, u64) {
    if cfg.kernel().has(fairlab_kernel::Feature::RESCHED_LAZY) {
        (1 << 4, 1 << 5)
    } else {
        (1 << 3, 0)
    }
}

/// Is this the flag of `place_entity()` for a new task?
pub fn is_initial(cfg: &RqConfig, flags: u64) -> bool {
    let bit = if cfg.kernel().has(fairlab_kernel::Feature::SLICE_VPROT) {
        0x80000
    } else {
        0x80
    };
    flags & bit != 0
}

/// Is this the flag of `place_entity()` for a task from another CPU?
pub fn is_migrated(cfg: &RqConfig, flags: u64) -> bool {
    let bit = if cfg.kernel().has(fairlab_kernel::Feature::SLICE_VPROT) {
        0x40000
    } else {
        0x40
    };
    flags & bit != 0
}

/// What differs between two states, or nothing.
pub fn difference(ours: &EntityState, theirs: &EntityState) -> Option<String> {
    if ours == theirs {
        return None;
    }
    let (ours, theirs) = (format!("{ours:?}"), format!("{theirs:?}"));
    let fields = ours.split(", ").zip(theirs.split(", "));
    let differing: Vec<_> = fields
        .filter(|(a, b)| a != b)
        .map(|(a, b)| format!("{a} here, {b} there"))
        .collect();
    Some(differing.join("; "))
}

/// What differs between the sums of two queues, or nothing.
pub fn sums_difference(ours: &QueueSums, theirs: &QueueSums) -> Option<String> {
    (ours != theirs).then(|| format!("{ours:?} here, {theirs:?} there"))
}
