//! Balancing: when the policy's passes run, and how they move tasks.
//!
//! A pass sees and changes queues through [`Ops`]; what it has to tell others (moves, requests to
//! reschedule, stoppers to start) is collected and carried out when it is over.

use fairlab_kernel::Kernel;
use fairlab_policy::balance::{
    Attempt, BalanceCost, BalanceOps, BalanceState, BalanceTask, BalanceView, Balancer,
    CapacityLoss, IdleKind, Kick, NumaFaults, interval::balance_interval,
};
use fairlab_policy::numa::{Choice, Faults, NumaView, choose_cpu};
use fairlab_rng::Rng;
use fairlab_runqueue::{Policy, Resched};
use fairlab_topology::domains::DomainId;
use fairlab_topology::{Distance, Domains};
use fairlab_units::{CpuId, CpuMask, Nanos, TaskId, Timestamp};

use crate::costs::CostTable;
use crate::engine::Engine;
use crate::event_queue::Due;
use crate::task::Phase;
use crate::world::World;

/// What a pass leaves to be done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// A task has been moved.
    Moved {
        task: TaskId,
        from: CpuId,
        to: CpuId,
        resched: Resched,
    },
    /// The stopper of a CPU is to push its running task.
    Stop { cpu: CpuId },
}

/// The machine as a pass sees and changes it.
struct Ops<'e, 'a> {
    world: &'e mut World<'a>,
    now: Timestamp,
    costs: &'e CostTable,
    rng: &'e mut Rng,
    actions: &'e mut Vec<Action>,
    searches: &'e mut u64,
}

impl BalanceView for Ops<'_, '_> {
    fn active(&self) -> &CpuMask {
        &self.world.active
    }

    fn jiffies(&self) -> u64 {
        self.world.jiffies
    }

    #[inline]
    fn is_idle(&self, cpu: CpuId) -> bool {
        self.world.cpus[cpu].is_idle()
    }

    fn has_pending_wakeup(&self, cpu: CpuId) -> bool {
        !self.world.cpus[cpu].wake_list.is_empty()
    }

    fn is_sched_idle(&self, cpu: CpuId) -> bool {
        self.world.cpus[cpu].is_sched_idle()
    }

    fn nr_running(&self, cpu: CpuId) -> u32 {
        self.world.cpus[cpu].nr_running()
    }

    fn h_nr_queued(&self, cpu: CpuId) -> u32 {
        self.world.cpus[cpu].queue.rq.h_nr_queued()
    }

    fn h_nr_runnable(&self, cpu: CpuId) -> u32 {
        self.world.cpus[cpu].queue.rq.h_nr_runnable()
    }

    fn load_avg(&self, cpu: CpuId) -> u64 {
        self.world.cpus[cpu].queue.avg.avg.load_avg
    }

    fn runnable_load_avg(&self, cpu: CpuId) -> u64 {
        self.world.cpus[cpu].queue.avg.avg.runnable_avg
    }

    fn runnable_avg(&self, cpu: CpuId) -> u64 {
        self.world.cpus[cpu].queue.avg.avg.runnable_avg
    }

    fn util_avg(&self, cpu: CpuId) -> u64 {
        self.world.cpus[cpu].queue.avg.avg.util_avg
    }

    fn util_est(&self, cpu: CpuId) -> u64 {
        u64::from(self.world.cpus[cpu].queue.avg.avg.util_est.enqueued)
    }

    fn capacity_loss(&self, cpu: CpuId) -> CapacityLoss {
        CapacityLoss {
            rt: self.world.cpus[cpu].queue.higher.util_avg,
            ..CapacityLoss::default()
        }
    }

    fn misfit_load(&self, cpu: CpuId) -> u64 {
        let capacity = u64::from(self.world.domains.capacity_orig(cpu));
        match self.world.cpus[cpu].curr {
            Some(task) if self.world.domains.switches().asym_cpucapacity => {
                let fits = fairlab_pelt::fits_capacity(self.task_util_est(task), capacity);
                if fits {
                    0
                } else {
                    self.task_h_load(task).max(1)
                }
            }
            _ => 0,
        }
    }

    fn avg_idle(&self, cpu: CpuId) -> u64 {
        self.world.cpus[cpu].avg_idle
    }

    fn clock_task(&self, _cpu: CpuId) -> u64 {
        self.now.0
    }

    fn current(&self, cpu: CpuId) -> Option<TaskId> {
        let c = &self.world.cpus[cpu];
        c.curr.filter(|_| c.curr_higher.is_none())
    }

    fn current_may_run(&self, src: CpuId, cpu: CpuId) -> bool {
        let curr = self.world.cpus[src].curr;
        curr.is_none_or(|id| {
            let allowed = self.world.tasks[id.index()].allowed;
            self.world.mask(allowed).test(cpu)
        })
    }

    fn task(&self, id: TaskId) -> BalanceTask<'_> {
        let task = &self.world.tasks[id.index()];
        let entity = &self.world.ents[task.entity];
        BalanceTask {
            allowed: self.world.mask(task.allowed),
            is_running: task.phase == Phase::Running,
            is_delayed: entity.is_delayed(),
            is_fair: true,
            is_sched_idle: entity.policy() == Policy::Idle,
            is_per_cpu_kthread: self.world.is_per_cpu_kthread(task),
            is_blocked_donor: false,
            is_buddy: false,
            exec_start: entity.exec_start().0,
            preferred_llc: task.wish.llc,
        }
    }

    fn task_h_load(&self, id: TaskId) -> u64 {
        let task = &self.world.tasks[id.index()];
        let queue = &self.world.cpus[task.cpu].queue;
        queue.task_h_load(self.world.group_of(id), task.avg.load_avg)
    }

    fn task_util(&self, id: TaskId) -> u64 {
        self.world.tasks[id.index()].avg.util_avg
    }

    fn task_util_est(&self, id: TaskId) -> u64 {
        self.world.tasks[id.index()]
            .avg
            .task_util_est(&self.world.kernel)
    }

    fn is_throttled(&self, id: TaskId, cpu: CpuId) -> bool {
        self.world.is_throttled(id, cpu)
    }

    fn is_eligible(&self, id: TaskId) -> bool {
        let task = &self.world.tasks[id.index()];
        self.world.cpus[task.cpu]
            .queue
            .rq
            .is_eligible(&self.world.ents, task.entity)
    }

    fn need_resched(&self, cpu: CpuId) -> bool {
        self.world.cpus[cpu].need_resched
    }

    fn is_energy_aware(&self) -> bool {
        !self.world.perf.is_empty()
    }

    fn nr_numa_running(&self, cpu: CpuId) -> u32 {
        self.world.cpus[cpu].queue.census.with_node
    }

    fn nr_preferred_running(&self, cpu: CpuId) -> u32 {
        self.world.cpus[cpu].queue.census.on_node
    }

    fn nr_preferring_llc(&self, cpu: CpuId, llc: u32) -> u32 {
        self.world.cpus[cpu].queue.census.preferring(llc)
    }

    fn nr_in_preferred_llc(&self, cpu: CpuId) -> u32 {
        self.world.cpus[cpu].queue.census.in_llc
    }

    fn numa_faults(&self, task: TaskId, src: CpuId, dst: CpuId) -> Option<NumaFaults> {
        let faults = NumaView::faults(self, task).filter(|faults| !faults.is_empty())?;
        let (src, dst) = (self.world.nodes[src], self.world.nodes[dst]);
        if src == dst {
            return None;
        }
        let topology = self.world.domains.numa();
        let limit = self.distance(src, dst);
        let weight = |node| {
            faults
                .weight(node, limit, topology, |a, b| self.distance(a, b))
                .cast_unsigned()
        };
        let preferred = self.preferred_node(task);
        Some(NumaFaults {
            src_is_preferred: preferred == Some(src),
            dst_is_preferred: preferred == Some(dst),
            src_weight: weight(src),
            dst_weight: weight(dst),
        })
    }
}

impl NumaView for Ops<'_, '_> {
    fn nr_nodes(&self) -> usize {
        self.world.nr_nodes()
    }

    fn node_cpus(&self, node: usize) -> &CpuMask {
        &self.world.node_cpus[node]
    }

    fn distance(&self, a: usize, b: usize) -> u32 {
        self.world.node_distances[a][b]
    }

    fn preferred_node(&self, task: TaskId) -> Option<usize> {
        self.world.tasks[task.index()].wish.node
    }

    fn faults(&self, task: TaskId) -> Option<&Faults> {
        self.world.tasks[task.index()]
            .numa
            .as_ref()
            .map(|numa| &numa.faults)
    }
}

impl BalanceOps for Ops<'_, '_> {
    fn task_from_tail(&self, src: CpuId, nth: usize) -> Option<TaskId> {
        let entity = self.world.cpus[src]
            .queue
            .rq
            .iter_oldest(&self.world.ents)
            .nth(nth)?;
        Some(self.world.task_of(entity))
    }

    fn move_to_front(&mut self, src: CpuId, task: TaskId) {
        let entity = self.world.tasks[task.index()].entity;
        self.world.cpus[src]
            .queue
            .rq
            .move_to_newest(&mut self.world.ents, entity);
    }

    fn detach(&mut self, id: TaskId, src: CpuId, dst: CpuId) {
        self.world.detach(id, src, dst, self.now);
        self.actions.push(Action::Moved {
            task: id,
            from: src,
            to: dst,
            resched: Resched::None,
        });
    }

    fn attach(&mut self, id: TaskId, dst: CpuId) {
        let request = self.world.attach(id, dst, self.now);
        let moved = self
            .actions
            .iter_mut()
            .rev()
            .find_map(|action| match action {
                Action::Moved { task, resched, .. } if *task == id => Some(resched),
                _ => None,
            });
        if let Some(resched) = moved {
            *resched = request;
        }
    }

    fn start_active_balance(&mut self, src: CpuId, _dst: CpuId) {
        self.actions.push(Action::Stop { cpu: src });
    }

    fn update_blocked(&mut self, cpu: CpuId) -> bool {
        let queue = &mut self.world.cpus[cpu].queue;
        queue.update_blocked(&mut self.world.ents, self.now);
        let avg = &queue.avg.avg;
        avg.load_avg != 0 || avg.util_avg != 0
    }

    fn clock_ns(&self, cost: &BalanceCost) -> u64 {
        self.now.0 + balance_time(self.costs, cost).0
    }

    fn take_changed(&mut self, changed: &mut CpuMask) -> bool {
        self.world.cpus.take_touched(changed);
        true
    }

    fn random(&mut self) -> u32 {
        self.rng.below(1 << 32) as u32
    }

    fn attempt_ended(&mut self, _cpu: CpuId, _idle: IdleKind, attempt: &Attempt) {
        *self.searches += u64::from(attempt.found.is_some());
    }
}

/// Puts the last attempt of every domain at some moment of its past interval.
///
/// Domains that were all built at one moment would all be due in one jiffy: every idle CPU would
/// use its turn in the pass in which only the first idle CPU of a node may pull, and tasks would
/// cross nodes once per interval. On a machine that has been up, where each CPU was busy at other
/// times, the turns are spread.
pub(crate) fn scatter(state: &mut BalanceState, domains: &Domains, kernel: &Kernel, seed: u64) {
    let mut rng = Rng::stream(seed, "balance turns");
    for id in (0..domains.domains().len()).map(|i| DomainId(i as u32)) {
        let interval = balance_interval(
            kernel,
            domains.domain(id),
            state.domain(id),
            false,
            state.max_interval,
        );
        let domain = state.domain_mut(id);
        domain.last_balance -= rng.below(interval);
    }
}

/// Time that a pass took.
fn balance_time(costs: &CostTable, cost: &BalanceCost) -> Nanos {
    let probe = costs.probe[Distance::SameNode as usize].0;
    Nanos(
        u64::from(cost.idle_tests) * probe
            + u64::from(cost.group_cpus + cost.queue_cpus) * (probe + costs.group_cpu.0)
            + u64::from(cost.tasks) * costs.migrate_task.0
            + u64::from(cost.blocked_updates) * (probe + costs.group_cpu.0),
    )
}

impl Engine<'_> {
    /// Lets `pass` run, and carries out what it leaves to be done, on behalf of `cpu`.
    fn balance<T>(
        &mut self,
        cpu: CpuId,
        pass: impl FnOnce(&mut Balancer<'_>, &mut Ops<'_, '_>) -> (T, BalanceCost),
    ) -> T {
        self.counts.balance_passes += 1;
        let kernel = self.world.kernel;
        let domains = self.world.domains;
        let mut ops = Ops {
            world: &mut self.world,
            now: self.now,
            costs: &self.costs,
            rng: &mut self.newidle_rng,
            actions: &mut self.balance_actions,
            searches: &mut self.counts.balance_found,
        };
        let mut balancer = Balancer {
            kernel: &kernel,
            domains,
            state: &mut self.balance,
            scratch: &mut self.balance_scratch,
        };
        let (answer, cost) = pass(&mut balancer, &mut ops);
        self.charge(cpu, balance_time(&self.costs, &cost));
        let mut actions = std::mem::take(&mut self.balance_actions);
        for action in actions.drain(..) {
            match action {
                Action::Moved {
                    task,
                    from,
                    to,
                    resched,
                } => {
                    self.counts.balance_moves += 1;
                    self.take_lock(from, cpu);
                    self.note_migration(cpu, task, from, to);
                    self.collect_left(from);
                    self.note_idle(to);
                    self.request(to, cpu, resched);
                }
                Action::Stop { cpu: src } => {
                    let delay = self.costs.ipi[self.distances.between(cpu, src) as usize];
                    self.queue
                        .push(self.now + delay, Due::ActiveBalance { cpu: src });
                }
            }
        }
        self.balance_actions = actions;
        answer
    }

    /// Where the running task of `cpu`, on `node`, should go to be near its memory.
    pub(crate) fn choose_numa_cpu(&mut self, id: TaskId, cpu: CpuId, node: usize) -> Choice {
        let kernel = self.world.kernel;
        let domains = self.world.domains;
        let view = Ops {
            world: &mut self.world,
            now: self.now,
            costs: &self.costs,
            rng: &mut self.newidle_rng,
            actions: &mut self.balance_actions,
            searches: &mut self.counts.balance_found,
        };
        choose_cpu(&kernel, domains, &view, &self.balance, id, cpu, node)
    }

    /// `cpu` has nothing to run: can it pull a task? True when it has one now.
    pub(crate) fn newidle_balance(&mut self, cpu: CpuId) -> bool {
        self.world.cpus[cpu].idle_stamp = self.now.0.max(1);
        let pulled = self.balance(cpu, |balancer, ops| {
            let outcome = balancer.newidle_balance(ops, cpu);
            (outcome.result.has_task(), outcome.cost)
        });
        self.world.cpus[cpu].max_idle_balance_cost = self.balance.cpus[cpu].max_idle_balance_cost;
        if pulled {
            self.world.cpus[cpu].idle_stamp = 0;
        }
        pulled
    }

    /// The balancing part of the tick of a busy CPU.
    pub(crate) fn tick_balance(&mut self, cpu: CpuId) {
        let due = self.world.domains.base(cpu).is_some()
            && self.world.jiffies >= self.balance.cpus[cpu].next_balance;
        if due {
            self.balance(cpu, |balancer, ops| {
                let outcome = balancer.rebalance_domains(ops, cpu, IdleKind::NotIdle);
                ((), outcome.cost)
            });
            self.world.cpus[cpu].max_idle_balance_cost =
                self.balance.cpus[cpu].max_idle_balance_cost;
        }
        let kick: Option<Kick> = self.balance(cpu, |balancer, ops| {
            (balancer.nohz_kick(ops, cpu), BalanceCost::default())
        });
        if let Some(kick) = kick {
            let delay = self.costs.ipi[self.distances.between(cpu, kick.target) as usize];
            self.queue
                .push(self.now + delay, Due::NohzBalance { cpu: kick.target });
        }
    }

    /// An idle CPU balances for all idle CPUs.
    pub(crate) fn nohz_balance(&mut self, cpu: CpuId) {
        self.balance(cpu, |balancer, ops| {
            let outcome = balancer.nohz_idle_balance(ops, cpu);
            ((), outcome.cost)
        });
    }

    /// The tick of an idle CPU stops.
    pub(crate) fn stop_tick(&mut self, cpu: CpuId) {
        self.balance(cpu, |balancer, ops| {
            balancer.nohz_enter_idle(ops, cpu);
            ((), BalanceCost::default())
        });
    }

    /// The stopper of `cpu` takes the CPU from whoever runs, and pushes a task away.
    pub(crate) fn active_balance(&mut self, cpu: CpuId) {
        self.stop_current(cpu);
        self.balance(cpu, |balancer, ops| {
            let outcome = balancer.active_balance(ops, cpu);
            ((), outcome.cost)
        });
        self.restart(cpu);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fairlab_kernel::Release;
    use fairlab_topology::domains::{BuildOptions, DomainFlags, build};
    use fairlab_topology::{Arch, Cpu, MachineBuilder, Node};
    use fairlab_units::NodeId;

    use super::*;

    #[test]
    fn turns_of_one_level_lie_anywhere_in_the_past_interval() {
        let cpus = (0..64u32)
            .map(|n| Cpu {
                core: n,
                llc: Some(n / 32),
                node: NodeId(n / 32),
                ..Cpu::new(CpuId(n))
            })
            .collect();
        let node = |id, distances: [u32; 2]| Node {
            id: NodeId(id),
            memory_kb: None,
            distances: distances.into(),
        };
        let builder = MachineBuilder {
            name: "two nodes".into(),
            arch: Arch::X86,
            cpus,
            nodes: vec![node(0, [10, 20]), node(1, [20, 10])],
            ..MachineBuilder::default()
        };
        let machine = builder.build().unwrap();
        let kernel = Kernel::of(Release::V6_12);
        let domains = build(&machine, &kernel, &BuildOptions::default()).unwrap();
        let start = 10_000;
        let mut state = BalanceState::new(&domains, &kernel, start, 64);
        scatter(&mut state, &domains, &kernel, 1);
        let mut turns = BTreeSet::new();
        for (index, domain) in domains.domains().iter().enumerate() {
            let since = start - state.domain(DomainId(index as u32)).last_balance;
            let interval = u64::from(domain.min_interval) * kernel.tunables.hz / 1_000;
            assert!(since < interval, "{since} of {interval}");
            if domain.flags.has(DomainFlags::NUMA) {
                turns.insert(since);
            }
        }
        // 64 draws from 16 jiffies: a jiffy stays empty with a probability of 16 * (15/16)^64 < 0.3.
        assert!(turns.len() > 10, "{turns:?}");
    }
}
