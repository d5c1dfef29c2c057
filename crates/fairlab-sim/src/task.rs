//! A task of the run: where it is in its program, and what the scheduler knows of it.

use fairlab_pelt::SchedAvg;
use fairlab_rng::Rng;
use fairlab_runqueue::{EntityId, HigherClass};
use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};
use fairlab_workload::{Class, ProgramBuilder, ProgramId};

use crate::census::Wish;
use crate::loops::LoopRow;
use crate::memory::TaskMemory;
use crate::metrics::TaskTime;
use crate::numa::NumaTask;
use crate::parts::Progress;
use crate::warmth::Warmth;
use crate::world::AllowedId;

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// On a CPU.
    Running,
    /// Queued.
    Runnable,
    /// Woken, on its way to a queue (on a wakeup list).
    Waking,
    /// Asleep.
    Sleeping,
    /// Gone.
    Dead,
}

/// A task.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) id: TaskId,
    pub(crate) entity: EntityId,
    /// Its class, if that is above the fair one. Then `entity` is never queued.
    pub(crate) higher: Option<HigherClass>,
    pub(crate) program: ProgramId,
    /// Where it may run.
    pub(crate) allowed: AllowedId,
    pub(crate) is_kthread: bool,
    /// What its class is, or was to be before it was changed.
    pub(crate) class: Class,
    /// Next operation.
    pub(crate) pc: usize,
    /// Loops that are under way: position of the `Repeat`, passes left.
    pub(crate) loops: [(u32, u32); ProgramBuilder::MAX_LOOPS],
    pub(crate) depth: usize,
    pub(crate) phase: Phase,
    /// The phase that it enters when it leaves its CPU.
    pub(crate) phase_after: Phase,
    /// Since when it is in this phase.
    pub(crate) since: Timestamp,
    /// CPU where it is or last was.
    pub(crate) cpu: CpuId,
    /// Kernel work to be done before the program goes on; not slowed down by SMT siblings.
    pub(crate) overhead: Nanos,
    /// Kernel work done so far.
    pub(crate) overhead_done: Nanos,
    /// How often it has gone to sleep.
    pub(crate) sleeps: u32,
    /// CPU time left of the present `Run`, at full speed.
    pub(crate) work: Nanos,
    /// The futex, pipe or barrier operation it slept in may complete.
    pub(crate) granted: bool,
    /// When the wakeup that granted it was asked for.
    pub(crate) granted_at: Timestamp,
    /// When it was last made runnable, until it runs.
    pub(crate) woken_at: Option<Timestamp>,
    /// Starts of the measured stretches that are under way.
    pub(crate) begun: Vec<(u32, Timestamp)>,
    /// The kernel work of its fork or exit is done, and what it is for comes next.
    pub(crate) has_paid: bool,
    /// It computes for an [`Op::Stretch`](fairlab_workload::Op::Stretch).
    pub(crate) in_stretch: bool,
    /// It was or is in the list of a condition, and has not taken the mutex again.
    pub(crate) in_cond_wait: bool,
    /// When the timer that it last waited for was to fire.
    pub(crate) timer_due: Timestamp,
    /// Last firing of its own timers.
    timers: Vec<(u32, Option<Timestamp>)>,
    /// It computes until this time, whatever the speed.
    pub(crate) spin_until: Option<Timestamp>,
    pub(crate) parent: Option<TaskId>,
    /// Children that are alive.
    pub(crate) children: u32,
    /// It sleeps until it has no more children than that.
    pub(crate) waits_for_children: Option<u32>,
    /// Least and largest utilization that the scheduler takes it for.
    pub(crate) clamp: (u16, u16),
    /// The pass of a loop that is under way, where the workload logs them.
    pub(crate) loop_log: Option<Box<LoopRow>>,
    /// The parts of its program that it has behind it, where its program has parts.
    pub(crate) parts: Option<Box<Progress>>,
    /// Since when it computes, for the log.
    pub(crate) logged_since: Option<Timestamp>,
    pub(crate) avg: SchedAvg,
    /// The memory that it uses.
    pub(crate) memory: Option<Box<TaskMemory>>,
    /// Its speed by where that memory is, and by who else moves memory, in 1024ths.
    pub(crate) speed: u32,
    pub(crate) pressed_speed: u32,
    /// What it moves to and from memory, MiB per ms.
    pub(crate) traffic: u32,
    /// What of it is in caches.
    pub(crate) warmth: Warmth,
    /// Number of its process; kernel threads have none, and borrow that of whoever ran before.
    pub(crate) process: Option<u64>,
    /// What NUMA balancing keeps of it.
    pub(crate) numa: Option<Box<NumaTask>>,
    /// Running time up to which cache-aware scheduling has booked it.
    pub(crate) cache_booked: Nanos,
    /// Where it wants to be, and the wish under which its queue counts it.
    pub(crate) wish: Wish,
    pub(crate) counted: Option<Wish>,
    pub(crate) recent_used_cpu: CpuId,
    pub(crate) wakee_flips: u32,
    pub(crate) wakee_flip_decay_ts: u64,
    pub(crate) last_wakee: Option<TaskId>,
    pub(crate) time: TaskTime,
    /// Its group is throttled, so that it is on no queue although it is runnable (v6.18 on).
    pub(crate) is_parked: bool,
    /// Running time that has been added to that of its group.
    pub(crate) group_booked: Nanos,
    pub(crate) rng: Rng,
}

impl Task {
    /// A task that sleeps since `now`, at the start of its program, and belongs to `cpu`.
    pub(crate) fn new(
        id: TaskId,
        entity: EntityId,
        program: ProgramId,
        cpu: CpuId,
        now: Timestamp,
        avg: SchedAvg,
        rng: Rng,
    ) -> Self {
        Self {
            id,
            entity,
            higher: None,
            program,
            allowed: AllowedId::ALL,
            is_kthread: false,
            class: Class::Fair,
            pc: 0,
            loops: [(0, 0); ProgramBuilder::MAX_LOOPS],
            depth: 0,
            phase: Phase::Sleeping,
            phase_after: Phase::Sleeping,
            since: now,
            cpu,
            overhead: Nanos::ZERO,
            overhead_done: Nanos::ZERO,
            sleeps: 0,
            work: Nanos::ZERO,
            granted: false,
            granted_at: now,
            woken_at: None,
            begun: Vec::new(),
            has_paid: false,
            in_stretch: false,
            in_cond_wait: false,
            timer_due: now,
            timers: Vec::new(),
            spin_until: None,
            parent: None,
            children: 0,
            waits_for_children: None,
            clamp: (0, 1024),
            loop_log: None,
            parts: None,
            logged_since: None,
            avg,
            memory: None,
            speed: 1024,
            pressed_speed: 1024,
            traffic: 0,
            warmth: Warmth::default(),
            process: None,
            numa: None,
            cache_booked: Nanos::ZERO,
            wish: Wish::default(),
            counted: None,
            recent_used_cpu: cpu,
            wakee_flips: 0,
            wakee_flip_decay_ts: 0,
            last_wakee: None,
            time: TaskTime::default(),
            is_parked: false,
            group_booked: Nanos::ZERO,
            rng,
        }
    }

    /// Enters `phase` at `now`, and books the time of the phase that ends.
    pub(crate) fn enter(&mut self, phase: Phase, now: Timestamp) {
        let span = now - self.since;
        match self.phase {
            Phase::Running => self.time.running += span,
            Phase::Runnable | Phase::Waking => self.time.waiting += span,
            Phase::Sleeping => self.time.sleeping += span,
            Phase::Dead => {}
        }
        self.phase = phase;
        self.since = now;
    }
}

impl Task {
    /// Last firing of the task's own timer of this number.
    pub(crate) fn timer(&mut self, timer: u32) -> &mut Option<Timestamp> {
        let known = self.timers.iter().position(|(number, _)| *number == timer);
        let at = known.unwrap_or_else(|| {
            self.timers.push((timer, None));
            self.timers.len() - 1
        });
        &mut self.timers[at].1
    }

    /// Goes back to `to` for another of `times` passes, or leaves the loop. `pc` is set so that the
    /// usual step to the next operation lands right.
    pub(crate) fn repeat(&mut self, to: u32, times: u32) {
        let here = self.pc as u32;
        let back = |task: &mut Self| task.pc = (to as usize).wrapping_sub(1);
        if times == 0 {
            return back(self);
        }
        let is_running = self.depth > 0 && self.loops[self.depth - 1].0 == here;
        if !is_running {
            self.loops[self.depth] = (here, times);
            self.depth += 1;
        }
        let left = &mut self.loops[self.depth - 1].1;
        *left -= 1;
        if *left > 0 {
            back(self);
        } else {
            self.depth -= 1;
        }
    }
}
