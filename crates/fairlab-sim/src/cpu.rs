//! A CPU of the run.

use fairlab_runqueue::{HigherClass, HigherQueue};
use fairlab_units::{Nanos, TaskId, Timestamp};

use crate::fair_queue::FairQueue;
use crate::idle::Governor;
use crate::lock::Lock;
use crate::metrics::CpuTime;
use crate::misses::{Found, Missed};
use crate::task::Task;

/// A wakeup on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) task: TaskId,
    /// What the task gets and misses, to be counted when it gets there; none for one that moves: its
    /// migration told where it goes, and was counted.
    pub(crate) found: Option<(Found, Missed)>,
}

/// What those who look at many CPUs know of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Noted {
    /// More than one task is runnable.
    pub(crate) crowded: bool,
    /// See [`Cpu::is_idle`].
    pub(crate) idle: bool,
    /// Nothing but SCHED_IDLE work is queued in the fair class.
    pub(crate) sched_idle: bool,
    /// See [`Cpu::has_sleepers_only`].
    pub(crate) asleep: bool,
}

/// A CPU: its queue, what runs on it, and how far that has come.
#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    pub(crate) queue: FairQueue,
    /// Waiting tasks of the classes above the fair one.
    pub(crate) higher: HigherQueue,
    /// The class of the running task, if it is above the fair one.
    pub(crate) curr_higher: Option<HigherClass>,
    /// Its round-robin slice is used up.
    pub(crate) slice_over: bool,
    pub(crate) curr: Option<TaskId>,
    pub(crate) online: bool,
    /// Its stopper runs: nobody else does, and the CPU is not idle.
    pub(crate) stopper: bool,
    /// A reschedule is due as soon as the CPU looks.
    pub(crate) need_resched: bool,
    /// A lazy request: it becomes due at the next tick.
    pub(crate) lazy_resched: bool,
    /// A `Resched` is on its way.
    pub(crate) resched_sent: bool,
    /// Wakeups on their way to this CPU (`ttwu_pending`).
    pub(crate) wake_list: Vec<Arrival>,
    /// What the masks of idle CPUs and the balancer know of it.
    pub(crate) noted: Noted,
    /// Progress of the running task is booked up to here.
    pub(crate) booked: Timestamp,
    /// Capacity of the hardware, whatever the kernel takes it for.
    pub(crate) capacity: u32,
    /// Speed by the number of busy siblings, and by frequency, in 1024ths.
    pub(crate) smt_speed: u32,
    pub(crate) frequency: u32,
    /// Speed of this thread, by these two and its capacity, in 1024ths.
    pub(crate) speed: u32,
    /// The lock of its queue.
    pub(crate) lock: Lock,
    /// Its idle states.
    pub(crate) idle: Governor,
    /// The process that it last ran, see [`crate::task::Task::process`].
    pub(crate) process: u64,
    /// Kernel work that the next task to run pays for.
    pub(crate) debt: Nanos,
    /// Since when busy or idle.
    pub(crate) since: Timestamp,
    pub(crate) time: CpuTime,
    pub(crate) tick_pending: bool,
    /// When it last became idle.
    pub(crate) idle_since: Timestamp,
    /// `rq->idle_stamp`: when it went idle; 0 while busy or after newidle balancing pulled.
    pub(crate) idle_stamp: u64,
    /// `rq->avg_idle` in ns.
    pub(crate) avg_idle: u64,
    /// `rq->max_idle_balance_cost` in ns.
    pub(crate) max_idle_balance_cost: u64,
    /// `rq->wake_stamp` in jiffies and `rq->wake_avg_idle` in ns (SIS_PROP).
    pub(crate) wake_avg_idle: (u64, u64),
}

impl Cpu {
    /// `rq->nr_running`: tasks of all classes, delayed sleepers included.
    #[inline]
    pub(crate) fn nr_running(&self) -> u32 {
        let higher = self.higher.len() as u32 + u32::from(self.curr_higher.is_some());
        self.queue.nr_running() + higher
    }

    /// Is nothing but SCHED_IDLE work runnable?
    #[inline]
    pub(crate) fn is_sched_idle(&self) -> bool {
        self.queue.is_sched_idle() && self.nr_running() == self.queue.nr_running()
    }

    /// `idle_cpu`: nothing runs, nothing is queued, no wakeup is on its way.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.runs_nothing() && self.nr_running() == 0
    }

    /// What there is to be known of it.
    #[inline]
    pub(crate) fn to_note(&self) -> Noted {
        let told = Noted {
            crowded: self.nr_running() > 1,
            sched_idle: self.queue.is_sched_idle(),
            ..Noted::default()
        };
        if !self.runs_nothing() {
            return told;
        }
        Noted {
            idle: self.is_idle(),
            asleep: self.has_sleepers_only(),
            ..told
        }
    }

    /// Does nothing run on it, or come to it?
    #[inline]
    fn runs_nothing(&self) -> bool {
        self.online && self.curr.is_none() && !self.stopper && self.wake_list.is_empty()
    }

    /// Has it nothing but sleepers, whose dequeue is delayed? The balancer may leave one alone on an
    /// idle CPU, which the kernel takes for busy until it looks.
    pub(crate) fn has_sleepers_only(&self) -> bool {
        self.queue.nr_running() > 0
            && self.queue.rq.h_nr_runnable() == 0
            && self.nr_running() == self.queue.nr_running()
            && self.runs_nothing()
    }

    /// Books the time since the last change between busy and idle.
    pub(crate) fn book_time(&mut self, now: Timestamp) {
        let span = now - self.since;
        if self.curr.is_some() {
            self.time.busy += span;
        } else {
            self.time.idle += span;
        }
        self.since = now;
    }

    /// Wall time until the overhead and then the work (CPU time at full speed) of `task` are done.
    pub(crate) fn wall_time(&self, task: &Task) -> Nanos {
        let work = Nanos((task.work.0 * 1024).div_ceil(self.speed_of(task)));
        task.overhead + task.warmth.stretch(work)
    }

    /// Speed of `task` on this CPU, in 1024ths: that of the thread, less what its memory takes.
    pub(crate) fn speed_of(&self, task: &Task) -> u64 {
        let own = u64::from(task.speed) * u64::from(task.pressed_speed);
        ((u64::from(self.speed) * own) >> 20).max(1)
    }
}
