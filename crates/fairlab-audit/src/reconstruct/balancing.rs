//! The balancer's own numbers: its passes are made, and move what the recording says was moved.

use fairlab_event::EventKind;
use fairlab_kernel::Kernel;
use fairlab_pelt::{SchedAvg, fits_capacity};
use fairlab_policy::balance::capacity::note_overutilized;
use fairlab_policy::balance::interval::balance_interval;
use fairlab_policy::balance::{
    BalanceCost, BalanceOps, BalanceState, BalanceTask, BalanceView, Balancer, CapacityLoss,
};
use fairlab_runqueue::{DequeueFlags, EnqueueFlags, Entities, GroupId, Policy, Resched, WakeFlags};
use fairlab_topology::Domains;
use fairlab_topology::domains::DomainId;
use fairlab_units::{CpuId, CpuMask, Nanos, PerCpu, TaskId, Timestamp};

use super::cpu::{Cpu, Curr};
use super::task::{Phase, Slot, Task};
use super::{Assumed, Reconstruction};

/// A pass that begins now has made its moves after this time.
pub(crate) const SOON: Nanos = Nanos(5_000);

/// The state as a pass sees it.
struct Onlooker<'r> {
    cpus: &'r mut PerCpu<Cpu>,
    tasks: &'r mut [Task],
    ents: &'r mut Entities,
    domains: &'r Domains,
    kernel: &'r Kernel,
    active: &'r CpuMask,
    is_energy_aware: bool,
    assumed: Assumed,
    now: Timestamp,
    jiffies: u64,
    /// CPUs whose running task a stopper was to push.
    pushes: Vec<CpuId>,
    /// Tasks that the pass would have moved: it must not take them again.
    taken: Vec<TaskId>,
    /// Moves that the recording tells of soon: these are made.
    told: Vec<Told>,
    asked: &'r mut Vec<CpuId>,
}

/// A move of a task that events tell of soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    task: TaskId,
    from: CpuId,
    to: CpuId,
}

impl Reconstruction<'_> {
    /// The balancer of a machine that has idled for long, and has found its LLCs empty.
    pub(super) fn begin_balancing(&mut self) {
        let online = self.active.weight();
        self.balance = BalanceState::new(self.domains, &self.kernel, self.jiffies, online);
        // When a domain was last looked at is not known: half of its interval ago, on average.
        for id in (0..self.domains.domains().len()).map(|index| DomainId(index as u32)) {
            let domain = self.domains.domain(id);
            let most = self.balance.max_interval;
            let state = self.balance.domain_mut(id);
            let interval = balance_interval(&self.kernel, domain, state, false, most);
            state.last_balance = state.last_balance.saturating_sub(interval / 2);
        }
        for cpu in &self.active {
            let cached = self.domains.cached(cpu);
            if let Some(id) = cached.llc_shared {
                self.balance.shared_mut(id).nr_idle_scan = cached.llc_size;
            }
        }
        for cpu in &self.active.clone() {
            self.look_around(|balancer, ops| balancer.nohz_enter_idle(ops, cpu));
        }
    }

    /// Makes a pass that begins now, and the moves that the recording tells of soon.
    pub(super) fn look_around<T>(
        &mut self,
        pass: impl FnOnce(&mut Balancer<'_>, &mut dyn BalanceOps) -> T,
    ) -> T {
        let told = self.moves_soon();
        self.make_pass(told, pass)
    }

    /// Makes a pass that is over: what it has moved is recorded already, and what is recorded soon was moved
    /// by others.
    pub(super) fn look_back<T>(
        &mut self,
        pass: impl FnOnce(&mut Balancer<'_>, &mut dyn BalanceOps) -> T,
    ) -> T {
        self.make_pass(Vec::new(), pass)
    }

    fn make_pass<T>(
        &mut self,
        told: Vec<Told>,
        pass: impl FnOnce(&mut Balancer<'_>, &mut dyn BalanceOps) -> T,
    ) -> T {
        let mut ops = Onlooker {
            told,
            asked: &mut self.asked,
            cpus: &mut self.cpus,
            tasks: &mut self.tasks,
            ents: &mut self.ents,
            domains: self.domains,
            kernel: &self.kernel,
            active: &self.active,
            is_energy_aware: !self.perf.is_empty(),
            assumed: self.assumed,
            now: self.now,
            jiffies: self.jiffies,
            pushes: Vec::new(),
            taken: Vec::new(),
        };
        let mut balancer = Balancer {
            kernel: &self.kernel,
            domains: self.domains,
            state: &mut self.balance,
            scratch: &mut self.balance_scratch,
        };
        let answer = pass(&mut balancer, &mut ops);
        // Whether a task was pushed is told by the recording; the mark must not stay.
        for cpu in std::mem::take(&mut ops.pushes) {
            balancer.active_balance(&mut ops, cpu);
        }
        answer
    }

    /// Moves of queued tasks that the next events tell of.
    fn moves_soon(&self) -> Vec<Told> {
        let soon = self
            .soon
            .iter()
            .take_while(|event| event.time <= self.now + SOON);
        soon.filter_map(|event| match event.kind {
            EventKind::Migrate { task, from, to } => {
                let slot = self.slots.get(task).copied()?;
                let known = self.tasks.get(slot.index())?;
                (known.phase == Phase::Queued && known.cpu == from && !known.is_higher).then_some(
                    Told {
                        task: slot.number(),
                        from,
                        to,
                    },
                )
            }
            _ => None,
        })
        .collect()
    }

    /// Takes over what a pass on `cpu` has found out about its own length.
    pub(super) fn keep_balance_cost(&mut self, cpu: CpuId) {
        self.cpus[cpu].max_idle_balance_cost = self.balance.cpus[cpu].max_idle_balance_cost;
    }

    /// Sets the root domain's flag when `cpu` has more to do than it can.
    pub(super) fn note_overutilized(&mut self, cpu: CpuId) {
        if !self.perf.is_empty() {
            let avg = &self.cpus[cpu].class.avg.avg;
            note_overutilized(&self.kernel, self.domains, &mut self.balance, cpu, avg);
        }
    }
}

impl Onlooker<'_> {
    fn avg(&self, cpu: CpuId) -> &SchedAvg {
        &self.cpus[cpu].class.avg.avg
    }

    fn of(&self, task: TaskId) -> &Task {
        &self.tasks[Slot::of_number(task).index()]
    }
}

impl BalanceView for Onlooker<'_> {
    fn active(&self) -> &CpuMask {
        self.active
    }

    fn jiffies(&self) -> u64 {
        self.jiffies
    }

    fn is_idle(&self, cpu: CpuId) -> bool {
        self.cpus[cpu].is_idle()
    }

    fn has_pending_wakeup(&self, cpu: CpuId) -> bool {
        !self.cpus[cpu].pending.is_empty()
    }

    fn is_sched_idle(&self, cpu: CpuId) -> bool {
        self.cpus[cpu].is_sched_idle()
    }

    fn nr_running(&self, cpu: CpuId) -> u32 {
        self.cpus[cpu].nr_running()
    }

    fn h_nr_queued(&self, cpu: CpuId) -> u32 {
        self.cpus[cpu].class.rq.h_nr_queued()
    }

    fn h_nr_runnable(&self, cpu: CpuId) -> u32 {
        self.cpus[cpu].class.rq.h_nr_runnable()
    }

    fn load_avg(&self, cpu: CpuId) -> u64 {
        self.avg(cpu).load_avg
    }

    fn runnable_load_avg(&self, cpu: CpuId) -> u64 {
        self.avg(cpu).runnable_avg
    }

    fn runnable_avg(&self, cpu: CpuId) -> u64 {
        self.avg(cpu).runnable_avg
    }

    fn util_avg(&self, cpu: CpuId) -> u64 {
        self.avg(cpu).util_avg
    }

    fn util_est(&self, cpu: CpuId) -> u64 {
        u64::from(self.avg(cpu).util_est.enqueued)
    }

    fn capacity_loss(&self, cpu: CpuId) -> CapacityLoss {
        CapacityLoss {
            rt: self.cpus[cpu].class.higher.util_avg,
            ..CapacityLoss::default()
        }
    }

    fn misfit_load(&self, cpu: CpuId) -> u64 {
        let Curr::Task(slot) = self.cpus[cpu].curr else {
            return 0;
        };
        let capacity = u64::from(self.domains.capacity_orig(cpu));
        let task = slot.number();
        if !self.domains.switches().asym_cpucapacity
            || fits_capacity(self.task_util_est(task), capacity)
        {
            return 0;
        }
        self.task_h_load(task).max(1)
    }

    fn avg_idle(&self, cpu: CpuId) -> u64 {
        self.cpus[cpu].avg_idle
    }

    fn clock_task(&self, _cpu: CpuId) -> u64 {
        self.now.0
    }

    fn current(&self, cpu: CpuId) -> Option<TaskId> {
        let c = &self.cpus[cpu];
        match c.curr {
            Curr::Task(slot) if !c.curr_is_higher => Some(slot.number()),
            _ => None,
        }
    }

    fn current_may_run(&self, src: CpuId, cpu: CpuId) -> bool {
        match self.cpus[src].curr {
            Curr::Task(slot) => self.tasks[slot.index()].may_run(cpu),
            _ => true,
        }
    }

    fn task(&self, task: TaskId) -> BalanceTask<'_> {
        let entity = &self.ents[Slot::of_number(task).entity()];
        let task = self.of(task);
        BalanceTask {
            allowed: task.allowed.as_ref().unwrap_or(self.active),
            is_running: task.phase == Phase::Running,
            is_delayed: entity.is_delayed(),
            is_fair: true,
            is_sched_idle: entity.policy() == Policy::Idle,
            is_per_cpu_kthread: task.is_bound_kthread,
            is_blocked_donor: false,
            is_buddy: false,
            exec_start: entity.exec_start().0,
            preferred_llc: None,
        }
    }

    fn task_h_load(&self, task: TaskId) -> u64 {
        let task = self.of(task);
        let class = &self.cpus[task.cpu].class;
        class.task_h_load(GroupId::ROOT, task.avg.load_avg)
    }

    fn task_util(&self, task: TaskId) -> u64 {
        self.of(task).avg.util_avg
    }

    fn task_util_est(&self, task: TaskId) -> u64 {
        self.of(task).avg.task_util_est(self.kernel)
    }

    fn is_eligible(&self, task: TaskId) -> bool {
        let rq = &self.cpus[self.of(task).cpu].class.rq;
        rq.is_eligible(self.ents, Slot::of_number(task).entity())
    }

    fn is_energy_aware(&self) -> bool {
        self.is_energy_aware
    }

    fn need_resched(&self, cpu: CpuId) -> bool {
        self.cpus[cpu].resched == Resched::Now
    }
}

impl BalanceOps for Onlooker<'_> {
    fn task_from_tail(&self, src: CpuId, nth: usize) -> Option<TaskId> {
        // Tasks of which the recording tells that they were taken come first.
        let left = || {
            let queued = self.cpus[src].class.rq.iter_oldest(self.ents);
            queued
                .map(|entity| Slot::of_entity(entity).number())
                .filter(|task| !self.taken.contains(task))
        };
        let is_told = |task: &TaskId| {
            let mut told = self.told.iter();
            told.any(|told| told.task == *task && told.from == src)
        };
        let told = left().filter(is_told);
        told.chain(left().filter(|task| !is_told(task))).nth(nth)
    }

    fn move_to_front(&mut self, src: CpuId, task: TaskId) {
        let entity = Slot::of_number(task).entity();
        let rq = &mut self.cpus[src].class.rq;
        rq.move_to_newest(self.ents, entity);
    }

    fn detach(&mut self, id: TaskId, src: CpuId, dst: CpuId) {
        self.taken.push(id);
        let told = Told {
            task: id,
            from: src,
            to: dst,
        };
        if !self.told.contains(&told) {
            return;
        }
        let slot = Slot::of_number(id);
        let task = &mut self.tasks[slot.index()];
        let (class, entity) = (&mut self.cpus[src].class, slot.entity());
        let flags = DequeueFlags::MOVE;
        // The request of the source's last accounting is moot: its running task stays.
        let _ = class.dequeue(self.ents, entity, &mut task.avg, flags, self.now);
        class.detach(self.ents, entity, &mut task.avg, self.now);
        task.cpu = dst;
    }

    fn attach(&mut self, id: TaskId, dst: CpuId) {
        let slot = Slot::of_number(id);
        let task = &mut self.tasks[slot.index()];
        let entity = slot.entity();
        if self.ents[entity].is_on_rq() || task.cpu != dst {
            return;
        }
        let c = &mut self.cpus[dst];
        let flags = EnqueueFlags::MOVED;
        let resched = c
            .class
            .enqueue(self.ents, entity, &mut task.avg, flags, self.now);
        if matches!(c.curr, Curr::Task(_)) && !c.curr_is_higher {
            let flags = WakeFlags {
                fork: false,
                pending: c.resched,
            };
            let wants = c.class.check_preempt(self.ents, entity, flags, self.now);
            if c.request(resched.or(wants), self.now + self.assumed.resched) {
                self.asked.push(dst);
            }
        }
    }

    fn start_active_balance(&mut self, src: CpuId, _dst: CpuId) {
        self.pushes.push(src);
    }

    fn update_blocked(&mut self, cpu: CpuId) -> bool {
        let class = &mut self.cpus[cpu].class;
        class.update_queue(self.now);
        class.avg.avg.load_avg != 0 || class.avg.avg.util_avg != 0
    }

    fn clock_ns(&self, cost: &BalanceCost) -> u64 {
        let cpus = cost.idle_tests + cost.group_cpus + cost.queue_cpus + cost.blocked_updates;
        self.now.0 + u64::from(cpus) * self.assumed.balance_cpu.0
    }

    fn random(&mut self) -> u32 {
        // Every domain is looked at: a pass that moves nothing changes little.
        0
    }
}
