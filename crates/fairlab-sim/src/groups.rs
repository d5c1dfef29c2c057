//! Task groups of the run: shares, limits, and tasks that move between groups.
//!
//! Each group has a queue on every CPU (`fairlab-runqueue`); this is where the workload's groups are
//! made, where periods of limited ones begin, and where their CPU time is added up.
//!
//! Differs from Linux: all periods count from the start of the run; unused runtime of a CPU stays
//! there; a task of a throttled group leaves its CPU at the next choice, as if it were in user mode
//! (v6.18 on).

use fairlab_runqueue::{Bandwidth, EnqueueFlags, Entities, GroupId, Resched, RqConfig, Weight};
use fairlab_units::{CpuId, Nanos, PerCpu, TaskId};
use fairlab_workload::{TaskGroup, TaskGroupId, Who, Workload};

use crate::cpu::Cpu;
use crate::engine::Engine;
use crate::event_queue::Due;
use crate::metrics::GroupTime;
use crate::task::Phase;
use crate::world::World;

/// Number of a group of the workload on the runqueues; none is the root.
pub(crate) const fn group_id(group: Option<TaskGroupId>) -> GroupId {
    match group {
        Some(group) => GroupId(group.0 + 1),
        None => GroupId::ROOT,
    }
}

/// Makes the groups of `workload` on all CPUs. Comes before all tasks.
pub(crate) fn add_groups(
    workload: &Workload,
    config: &RqConfig,
    nr_online: usize,
    cpus: &mut PerCpu<Cpu>,
    ents: &mut Entities,
) {
    let start = fairlab_units::Timestamp::ZERO;
    for group in &workload.groups {
        let mut id = GroupId::ROOT;
        let shares = Weight(u64::from(group.shares.clamp(2, 1 << 18)) << 10);
        for (_, cpu) in cpus.iter_mut() {
            id = cpu.queue.add_group(ents, group_id(group.parent));
            cpu.queue.set_shares(ents, id, shares, start);
            if group.is_idle {
                cpu.queue.set_idle(ents, id, true, start);
            }
        }
        if let Some(max) = group.max {
            let limits = Bandwidth {
                quota: max.quota,
                period: max.period,
                burst: max.burst,
            };
            ents.set_bandwidth(config, id, Some(limits), nr_online);
        }
    }
}

impl World<'_> {
    /// The task's group on the runqueues.
    pub(crate) fn group_of(&self, task: TaskId) -> GroupId {
        let task = &self.tasks[task.index()];
        self.cpus[task.cpu]
            .queue
            .rq
            .group_of(&self.ents, task.entity)
    }

    /// Is the group of `task`, or one around it, throttled on `cpu`?
    pub(crate) fn is_throttled(&self, task: TaskId, cpu: CpuId) -> bool {
        let group = self.group_of(task);
        group != GroupId::ROOT
            && self.cpus[cpu]
                .queue
                .rq
                .is_group_throttled(&self.ents, group)
    }
}

impl Engine<'_> {
    /// Lets the first periods of limited groups end in time.
    pub(crate) fn start_periods(&mut self) {
        for (index, group) in self.workload.groups.iter().enumerate() {
            if let Some(max) = group.max {
                let group = TaskGroupId(index as u32);
                self.queue
                    .push(self.now + max.period, Due::Period { group });
                self.nr_periods += 1;
            }
        }
    }

    /// A new period of `group` begins: it gets its quota, and what it throttled runs again.
    #[doc(alias = "do_sched_cfs_period_timer")]
    pub(crate) fn begin_period(&mut self, group: TaskGroupId) {
        let now = self.now;
        let id = group_id(Some(group));
        self.world.ents.start_period(id);
        while let Some(cpu) = self.world.ents.next_throttled(id) {
            let queue = &mut self.world.cpus[cpu].queue;
            let mut resched = queue.unthrottle(&mut self.world.ents, id, now);
            while let Some(entity) = self.world.cpus[cpu]
                .queue
                .pop_released(&mut self.world.ents)
            {
                let task = self.world.task_of(entity);
                let task = &mut self.world.tasks[task.index()];
                task.is_parked = false;
                let queue = &mut self.world.cpus[cpu].queue;
                let flags = EnqueueFlags::WAKEUP;
                resched = resched.or(queue.enqueue(&mut self.world.ents, task, flags, now));
            }
            let c = &self.world.cpus[cpu];
            if c.curr.is_none() && c.nr_running() > 0 {
                resched = Resched::Now;
            }
            self.collect_left(cpu);
            self.request(cpu, cpu, resched);
        }
        // When nothing else is due and all sleep, nothing will ever be: the run is over or stuck.
        let is_alone = self.queue.len() < self.nr_periods;
        let sleeps = |phase| matches!(phase, Phase::Sleeping | Phase::Dead);
        if is_alone && self.world.tasks.iter().all(|task| sleeps(task.phase)) {
            self.nr_periods -= 1;
            return;
        }
        if let Some(max) = self.workload.groups[group.index()].max {
            self.queue.push(now + max.period, Due::Period { group });
        }
    }

    /// Takes a task off `cpu` that was picked although its group is throttled (v6.18 on).
    pub(crate) fn parks(&mut self, cpu: CpuId, id: TaskId) -> bool {
        if self.workload.groups.is_empty() {
            return false;
        }
        let task = &mut self.world.tasks[id.index()];
        let queue = &mut self.world.cpus[cpu].queue;
        task.is_parked = queue.throttle_task(&mut self.world.ents, task, self.now);
        task.is_parked
    }

    /// Moves tasks to another group, on behalf of `me`, which runs on `this`.
    pub(crate) fn set_group(
        &mut self,
        this: CpuId,
        me: TaskId,
        who: Who,
        group: Option<TaskGroupId>,
    ) {
        for id in self.tasks_of(who, me) {
            self.charge(this, self.costs.set_attribute);
            self.book_group_time(id);
            self.regroup(this, id, group_id(group));
        }
    }

    fn regroup(&mut self, this: CpuId, id: TaskId, group: GroupId) {
        let now = self.now;
        if self.world.group_of(id) == group {
            return;
        }
        let task = &mut self.world.tasks[id.index()];
        let cpu = task.cpu;
        let queue = &mut self.world.cpus[cpu].queue;
        let ents = &mut self.world.ents;
        let was_parked =
            std::mem::take(&mut task.is_parked) && queue.leave_limbo(ents, task.entity);
        let is_relative = task.higher.is_some()
            || was_parked
            || task.phase == Phase::Waking && self.moved[id.index()];
        let mut resched = queue.move_to_group(ents, task, group, is_relative, now);
        if was_parked {
            resched = resched.or(queue.enqueue(ents, task, EnqueueFlags::RESTORED, now));
        }
        let is_current = self.world.cpus[cpu].curr == Some(id);
        self.collect_left(cpu);
        // The running task may owe its place to the group that it left.
        let resched = if is_current { Resched::Now } else { resched };
        if self.world.cpus[cpu].curr.is_some() {
            self.request(cpu, this, resched);
        } else if self.world.cpus[cpu].nr_running() > 0 {
            self.request(cpu, this, Resched::Now);
        }
    }

    /// Adds what the task has run since the last time to its group.
    fn book_group_time(&mut self, id: TaskId) {
        let group = self.world.group_of(id);
        let now = self.now;
        let task = &mut self.world.tasks[id.index()];
        task.enter(task.phase, now);
        let span = task.time.running.saturating_sub(task.group_booked);
        task.group_booked = task.time.running;
        if let Some(index) = group.0.checked_sub(1) {
            self.group_cpu[index as usize] += span;
        }
    }

    /// Time of the groups at the end of the run.
    pub(crate) fn group_times(&mut self) -> Vec<GroupTime> {
        if self.workload.groups.is_empty() {
            return Vec::new();
        }
        for index in 0..self.world.tasks.len() {
            self.book_group_time(TaskId::from_index(index));
        }
        let groups: &[TaskGroup] = &self.workload.groups;
        let mut times: Vec<GroupTime> = (0..groups.len() as u32)
            .map(|index| {
                let id = group_id(Some(TaskGroupId(index)));
                let throttled = |cpu: &Cpu| cpu.queue.throttled_time(id, self.now);
                GroupTime {
                    cpu: self.group_cpu[index as usize],
                    throttled: self
                        .world
                        .cpus
                        .iter()
                        .map(|(_, cpu)| throttled(cpu))
                        .fold(Nanos::ZERO, |sum, time| sum + time),
                    nr_throttled: self.world.ents.nr_throttled(id),
                }
            })
            .collect();
        // A group's time includes that of the groups in it, which come later.
        for index in (0..groups.len()).rev() {
            if let Some(parent) = groups[index].parent {
                let inner = times[index].cpu;
                times[parent.index()].cpu += inner;
            }
        }
        times
    }
}
