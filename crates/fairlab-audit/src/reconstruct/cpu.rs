//! A CPU of the rebuilt state.

use fairlab_policy::{WakerUpdate, update_avg};
use fairlab_runqueue::{FairClass, Resched};
use fairlab_units::{TaskId, Timestamp};

use super::task::Slot;

/// What a CPU runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Curr {
    /// No event said it yet, or events were lost.
    Unknown,
    Idle,
    Task(Slot),
}

/// What the idle task keeps as a waker: interrupts wake tasks on its behalf.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdleTask {
    pub wakee_flips: u32,
    pub wakee_flip_decay_ts: u64,
    pub last_wakee: Option<TaskId>,
}

impl IdleTask {
    pub fn apply(&mut self, update: &WakerUpdate, wakee: TaskId) {
        self.wakee_flips = update.wakee_flips;
        self.wakee_flip_decay_ts = update.wakee_flip_decay_ts;
        if update.is_new_wakee {
            self.last_wakee = Some(wakee);
        }
    }
}

/// A CPU.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    pub class: FairClass,
    pub curr: Curr,
    /// Does it run a task of a class above the fair one?
    pub curr_is_higher: bool,
    /// Tasks of such classes that wait.
    pub higher_waiting: Vec<Slot>,
    /// Tasks whose wakeup has begun and that were not queued yet (`ttwu_pending`).
    pub pending: Vec<Slot>,
    /// The request to reschedule that has been made since the last switch.
    pub resched: Resched,
    /// When it has chosen, at the latest.
    pub chooses_at: Timestamp,
    /// The place of its next tick among those of all CPUs; none when the tick is stopped.
    pub tick: Option<u64>,
    /// Since when it is known what it runs.
    pub known_since: Option<Timestamp>,
    /// Since when it has not idled.
    pub busy_since: Option<Timestamp>,
    pub idle_task: IdleTask,
    pub idle_stamp: u64,
    pub avg_idle: u64,
    pub max_idle_balance_cost: u64,
    pub wake_avg_idle: (u64, u64),
}

impl Cpu {
    pub fn new(class: FairClass, migration_cost_ns: u64) -> Self {
        Self {
            class,
            curr: Curr::Unknown,
            curr_is_higher: false,
            higher_waiting: Vec::new(),
            pending: Vec::new(),
            resched: Resched::None,
            chooses_at: Timestamp::ZERO,
            tick: None,
            known_since: None,
            busy_since: None,
            idle_task: IdleTask::default(),
            // Every CPU went idle once while booting; zero would mean that it never did.
            idle_stamp: 1,
            avg_idle: 2 * migration_cost_ns,
            max_idle_balance_cost: migration_cost_ns,
            wake_avg_idle: (0, 0),
        }
    }

    /// `rq->nr_running`.
    pub fn nr_running(&self) -> u32 {
        self.class.nr_running() + self.higher_waiting.len() as u32 + u32::from(self.curr_is_higher)
    }

    /// `idle_cpu`.
    pub fn is_idle(&self) -> bool {
        self.curr == Curr::Idle && self.nr_running() == 0 && self.pending.is_empty()
    }

    /// `sched_idle_cpu`.
    pub fn is_sched_idle(&self) -> bool {
        self.class.is_sched_idle() && self.nr_running() == self.class.nr_running()
    }

    /// A request to reschedule is made, which reaches the CPU by `chooses_at`. Says whether it is a new one
    /// to do so at once.
    pub fn request(&mut self, resched: Resched, chooses_at: Timestamp) -> bool {
        let is_new = resched == Resched::Now && self.resched != Resched::Now;
        if is_new {
            self.chooses_at = chooses_at;
        }
        self.resched = self.resched.or(resched);
        is_new
    }

    /// The first wakeup on an idle CPU ends its idle period, whose length goes into the average.
    pub fn end_idle_period(&mut self, now: Timestamp, jiffies: u64) {
        if self.idle_stamp == 0 {
            return;
        }
        let idle = now.0.saturating_sub(self.idle_stamp);
        let most = self.max_idle_balance_cost.saturating_mul(2);
        self.avg_idle = update_avg(self.avg_idle, idle).min(most);
        self.wake_avg_idle = (jiffies, self.avg_idle / 2);
        self.idle_stamp = 0;
    }
}
