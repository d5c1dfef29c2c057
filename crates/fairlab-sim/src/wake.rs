//! Wakeups and forks: from the request to the queue of the chosen CPU.

use fairlab_event::EventKind;
use fairlab_kernel::Feature;
use fairlab_policy::{
    Outcome, Story, WakeFlags, explain_task_rq_fair, fallback_cpu, fast_task_rq_fair, only_cpu,
    select_task_rq_fair,
};
use fairlab_runqueue::{EnqueueFlags, Resched};
use fairlab_topology::Distance;
use fairlab_units::{CpuId, Nanos, TaskId};
use fairlab_workload::ProgramId;

use crate::cpu::Arrival;
use crate::engine::Engine;
use crate::event_queue::Due;
use crate::observer::{Asked, Placement};
use crate::task::Phase;
use crate::world::{View, context};

impl Engine<'_> {
    /// Wakes `id` on behalf of what runs on `this` (`try_to_wake_up`). `in_task` is false in an
    /// interrupt.
    pub(crate) fn wake_up(&mut self, id: TaskId, this: CpuId, flags: u32, in_task: bool) {
        if self.world.tasks[id.index()].phase == Phase::Sleeping {
            self.wake_sleeper(id, this, flags, in_task);
        }
        self.before_ipi = Nanos::ZERO;
    }

    fn wake_sleeper(&mut self, id: TaskId, this: CpuId, flags: u32, in_task: bool) {
        let prev = self.world.tasks[id.index()].cpu;
        self.counts.wakeups += 1;
        self.emit(
            this,
            EventKind::Waking {
                task: id,
                prev_cpu: prev,
            },
        );
        if self.world.tasks[id.index()].higher.is_some() {
            self.charge_before_ipi(this, self.costs.wakeup);
            return self.wake_higher(id, prev, this, false);
        }
        let entity = self.world.tasks[id.index()].entity;
        if self.world.ents[entity].is_delayed() {
            // Still on its queue: no placement.
            let found = self.missed(id, prev);
            if self.world.kernel.has(Feature::TTWU_QUEUE_DELAYED) && this != prev {
                let cost = self.costs.wakeup.saturating_sub(self.costs.wake_list);
                self.charge_before_ipi(this, cost);
                self.moved[id.index()] = false;
                let found = Some(found);
                return self.queue_wakeup(Arrival { task: id, found }, this, prev);
            }
            self.count_found(found);
            self.charge_before_ipi(this, self.costs.wakeup);
            return self.activate(id, prev, this, EnqueueFlags::WAKEUP, false);
        }
        let target = self.place(id, this, prev, flags | WakeFlags::TTWU, in_task);
        let found = self.missed(id, target);
        let uses_list = self.uses_wake_list(this, target);
        // Who only puts the task on a list leaves the enqueue to the target.
        let saved = if uses_list {
            self.costs.wake_list
        } else {
            Nanos::ZERO
        };
        self.charge_before_ipi(this, self.costs.wakeup.saturating_sub(saved));
        self.move_sleeper(this, id, target);
        let migrated = target != prev;
        if migrated || !uses_list {
            self.count_found(found);
        }
        if uses_list {
            let found = Some(found).filter(|_| !migrated);
            self.queue_wakeup(Arrival { task: id, found }, this, target);
        } else {
            let flags = EnqueueFlags {
                wakeup: true,
                new: false,
                migrated,
            };
            self.activate(id, target, this, flags, false);
        }
    }

    /// Puts a wakeup on the list of `target`, which takes it in by itself (`ttwu_queue_wakelist`).
    fn queue_wakeup(&mut self, arrival: Arrival, this: CpuId, target: CpuId) {
        let task = &mut self.world.tasks[arrival.task.index()];
        task.woken_at = Some(self.now);
        task.enter(Phase::Waking, self.now);
        let first = self.world.cpus[target].wake_list.is_empty();
        self.world.cpus[target].wake_list.push(arrival);
        self.note_idle(target);
        if first {
            let delay = self.ipi(this, target);
            self.queue
                .push(self.now + delay, Due::WakeList { cpu: target });
        }
    }

    /// Takes in the wakeups that were queued for `cpu`.
    pub(crate) fn take_wake_list(&mut self, cpu: CpuId) {
        let mut list = std::mem::take(&mut self.world.cpus[cpu].wake_list);
        self.interrupt(cpu, self.costs.wake_list * list.len() as u64);
        for Arrival { task: id, found } in list.drain(..) {
            // One that stays where it was, and is still on its way when the run ends, got nothing.
            if let Some(found) = found {
                self.count_found(found);
            }
            // Whether it moved was settled when it was queued.
            let flags = EnqueueFlags {
                wakeup: true,
                new: false,
                migrated: self.moved[id.index()],
            };
            // The balancer may have moved a sleeper whose dequeue was delayed.
            let on = self.world.tasks[id.index()].cpu;
            self.activate(id, on, cpu, flags, false);
        }
        // The list keeps its memory, unless another one has begun meanwhile.
        let next = &mut self.world.cpus[cpu].wake_list;
        if next.is_empty() {
            *next = list;
        }
        self.resume(cpu);
    }

    /// Starts a task with `program` on behalf of `parent`, which runs on `this`.
    pub(crate) fn fork(&mut self, this: CpuId, parent: TaskId, program: ProgramId) {
        let child = self.new_task(program, this, Some(parent));
        self.world.tasks[child.index()].parent = Some(parent);
        self.world.tasks[parent.index()].children += 1;
        self.counts.forks += 1;
        self.emit(this, EventKind::Fork { parent, child });
        if self.world.tasks[child.index()].higher.is_some() {
            return self.wake_higher(child, this, this, true);
        }
        let entity = self.world.tasks[child.index()].entity;
        let resched = self.world.cpus[this]
            .queue
            .rq
            .fork(&mut self.world.ents, entity, self.now);
        self.request(this, this, resched);
        let target = self.place(child, this, this, WakeFlags::FORK, true);
        self.note_found(child, target);
        self.world.tasks[child.index()].cpu = target;
        self.init_util(child, target);
        self.activate(child, target, this, EnqueueFlags::NEW, true);
        self.before_ipi = Nanos::ZERO;
    }

    /// Asks the policy where `id` goes, applies what the decision writes, and charges its cost.
    pub(crate) fn place(
        &mut self,
        id: TaskId,
        this: CpuId,
        prev: CpuId,
        flags: u32,
        in_task: bool,
    ) -> CpuId {
        let ctx = context(this, prev, flags, in_task);
        let fork = flags & WakeFlags::FORK != 0;
        if !fork {
            self.sync_sleeper(id);
        }
        let view = View {
            world: &self.world,
            balance: &self.balance,
            costs: &self.costs,
            timer: self.timer,
        };
        let (p, current) = (self.world.task_view(id), self.world.current_view(this));
        if let Some(only) = only_cpu(&p, false) {
            return only;
        }
        // The word-parallel search gives the same answer at the same counted cost; when the policy's
        // code is measured or explained, the kernel's own scan runs.
        let ask = |kernel, asked, scratch: &mut _| -> Outcome {
            match self.timer {
                Some(timer) => {
                    timer.ask(asked);
                    select_task_rq_fair(&view, kernel, &ctx, &p, &current, scratch)
                }
                None => fast_task_rq_fair(&view, &self.masks, kernel, &ctx, &p, &current, scratch),
            }
        };
        let main = &self.world.kernel;
        let outcome = ask(main, Asked::Main, &mut self.scratch);
        let beside = self
            .beside
            .as_ref()
            .map(|kernel| ask(kernel, Asked::Beside, &mut self.scratch).decision);
        if let Some(timer) = self.timer {
            for _ in 0..timer.repeats() {
                let again = ask(main, Asked::Main, &mut self.scratch);
                debug_assert_eq!(again.decision, outcome.decision, "the policy is pure");
                if let Some(kernel) = &self.beside {
                    let again = ask(kernel, Asked::Beside, &mut self.scratch).decision;
                    debug_assert_eq!(Some(again), beside, "the policy is pure");
                }
            }
            timer.done();
        }
        let decision = outcome.decision;
        if cfg!(debug_assertions) && self.timer.is_none() {
            let scan = select_task_rq_fair(&view, main, &ctx, &p, &current, &mut self.scratch);
            assert_eq!(scan, outcome, "both searches answer alike");
        }
        let story = self
            .explain
            .filter(|explain| explain.wants(id, self.now))
            .map(|_| {
                let mut story = Story::new(self.world.domains);
                let scratch = &mut self.scratch;
                let told =
                    explain_task_rq_fair(&view, main, &ctx, &p, &current, scratch, &mut story);
                story.finish(&told)
            });
        let fallback = fallback_cpu(&view, &p, decision.cpu, &self.world.all);
        self.apply(id, this, &outcome);

        self.counts.placements += 1;
        self.counts.probes += u64::from(decision.cost.idle_tests);
        if let Some(beside) = beside {
            let same = beside.cpu == decision.cpu && beside.reason == decision.reason;
            self.counts.beside_differs += u64::from(!same);
        }
        self.reasons[decision.reason as usize] += 1;
        let placement = Placement {
            time: self.now,
            this_cpu: this,
            prev_cpu: prev,
            task: id,
            program: self.world.tasks[id.index()].program,
            decision,
            beside,
        };
        self.observer.placement(&placement);
        if let Some(lines) = story {
            self.observer.story(&placement, &lines);
        }
        let cost = self.costs.search(&decision.cost, self.mask_words);
        self.charge_before_ipi(this, cost);
        fallback.map_or(decision.cpu, |(cpu, _)| cpu)
    }

    /// Writes down what a decision changes.
    fn apply(&mut self, id: TaskId, this: CpuId, outcome: &Outcome) {
        let effects = &outcome.effects;
        if let Some(cpu) = effects.recent_used_cpu {
            self.world.tasks[id.index()].recent_used_cpu = cpu;
        }
        if let Some(shared) = effects.clear_idle_cores {
            self.world.shared[shared.0 as usize].has_idle_cores = false;
        }
        if let Some((node, groups)) = effects.clear_groups {
            let domains = self.world.domains;
            let listed = domains.groups(node).iter().enumerate().take(64);
            for (_, group) in listed.filter(|(index, _)| groups >> index & 1 != 0) {
                let first = domains.mask(group.span).first();
                if let Some(shared) = first.and_then(|cpu| domains.cached(cpu).llc_shared) {
                    self.world.shared[shared.0 as usize].has_idle_cores = false;
                }
            }
        }
        match self.world.cpus[this].curr {
            Some(waker) => {
                let waker = &mut self.world.tasks[waker.index()];
                if let Some(cpu) = effects.waker_recent_used_cpu {
                    waker.recent_used_cpu = cpu;
                }
                if let Some(update) = &effects.waker {
                    waker.wakee_flips = update.wakee_flips;
                    waker.wakee_flip_decay_ts = update.wakee_flip_decay_ts;
                    if update.is_new_wakee {
                        waker.last_wakee = Some(id);
                    }
                }
            }
            None => {
                if let Some(update) = &effects.waker {
                    self.world.idle_tasks[this].apply(update, id);
                }
            }
        }
        if let Some(scan) = &effects.scan {
            // The policy has no clock: the scan's time is what the cost table says.
            let near = self.costs.probe[Distance::SameLlc as usize];
            let time = u64::from(scan.idle_tests) * near.0;
            let cost = &mut self.world.scan_cost[scan.domain.0 as usize];
            *cost = scan.avg_scan_cost(*cost, time);
            if let Some(idle) = scan.wake_avg_idle(time) {
                self.world.cpus[this].wake_avg_idle = (idle.stamp, idle.avg_ns);
            }
        }
    }

    /// Is the wakeup handed to the target instead of taking its queue's lock (`ttwu_queue_cond`)?
    fn uses_wake_list(&self, this: CpuId, target: CpuId) -> bool {
        if !self.world.kernel.has(Feature::TTWU_QUEUE) || this == target {
            return false;
        }
        if !self.world.domains.share_cache(this, target) {
            return true;
        }
        self.world.kernel.has(Feature::TTWU_QUEUE_IDLE) && self.world.cpus[target].nr_running() == 0
    }

    /// Lets a sleeping task belong to `target` from now on.
    fn move_sleeper(&mut self, this: CpuId, id: TaskId, target: CpuId) {
        let task = &mut self.world.tasks[id.index()];
        let prev = task.cpu;
        self.moved[id.index()] = prev != target;
        if prev == target {
            return;
        }
        let old = &mut self.world.cpus[prev].queue;
        old.remove(&self.world.ents, task);
        old.rq.migrate_wakeup(&mut self.world.ents, task.entity);
        task.cpu = target;
        self.note_migration(this, id, prev, target);
    }

    /// Counts a move that `this` makes, and charges the task for the caches that it leaves.
    pub(crate) fn note_migration(&mut self, this: CpuId, id: TaskId, from: CpuId, to: CpuId) {
        let distance = self.distances.between(from, to);
        self.counts.migrated(distance);
        let refill = self.costs.refill[distance as usize] * self.costs.task_state;
        self.world.tasks[id.index()].overhead += refill;
        self.emit(this, EventKind::Migrate { task: id, from, to });
    }

    /// Tells that a task is queued on `target`, by a wakeup or because it is new.
    pub(crate) fn emit_woken(&mut self, this: CpuId, task: TaskId, target: CpuId, new: bool) {
        let kind = if new {
            EventKind::WakeupNew { task, target }
        } else {
            EventKind::Wakeup { task, target }
        };
        self.emit(this, kind);
    }

    /// Puts a task on the queue of `cpu`, and decides preemption there.
    pub(crate) fn activate(
        &mut self,
        id: TaskId,
        cpu: CpuId,
        this: CpuId,
        flags: EnqueueFlags,
        new: bool,
    ) {
        let now = self.now;
        let idle_before = self.world.cpus[cpu].curr.is_none();
        self.take_lock(cpu, this);
        self.share_runqueue(cpu, this);
        let target = &mut self.world.cpus[cpu];
        let task = &mut self.world.tasks[id.index()];
        let resched = target.queue.enqueue(&mut self.world.ents, task, flags, now);
        if task.woken_at.is_none() {
            task.woken_at = Some(now);
        }
        task.enter(Phase::Runnable, now);
        self.emit_woken(this, id, cpu, new);
        self.note_idle(cpu);
        if !new {
            self.note_overutilized(cpu);
        }
        if flags.wakeup && idle_before {
            self.end_idle_period(cpu);
        }
        let resched = if idle_before {
            Resched::Now
        } else if self.world.cpus[cpu].curr_higher.is_some() {
            // The fair class waits until the higher one has done.
            resched
        } else {
            let target = &mut self.world.cpus[cpu];
            let pending = if target.need_resched || target.resched_sent {
                Resched::Now
            } else if target.lazy_resched {
                Resched::Lazy
            } else {
                Resched::None
            };
            let entity = self.world.tasks[id.index()].entity;
            let flags = fairlab_runqueue::WakeFlags { fork: new, pending };
            resched.or(target
                .queue
                .check_preempt(&mut self.world.ents, entity, flags, now))
        };
        self.collect_left(cpu);
        self.request(cpu, this, resched);
    }

    /// `this` writes the runqueue of `cpu`: it fetches the lines, and `cpu` fetches them back when it
    /// switches next.
    fn share_runqueue(&mut self, cpu: CpuId, this: CpuId) {
        let cost = self.costs.shared_object[self.distances.between(this, cpu) as usize];
        if cost > Nanos::ZERO {
            self.charge_before_ipi(this, cost);
            self.counts.scheduler += cost;
            self.world.cpus[cpu].debt += cost;
        }
    }

    /// Asks `cpu` to reschedule, on behalf of `this`.
    pub(crate) fn request(&mut self, cpu: CpuId, this: CpuId, resched: Resched) {
        match resched {
            Resched::None => {}
            Resched::Lazy => self.world.cpus[cpu].lazy_resched = true,
            Resched::Now if cpu == this && self.world.cpus[cpu].curr.is_some() => {
                self.world.cpus[cpu].need_resched = true;
            }
            Resched::Now => {
                if !std::mem::replace(&mut self.world.cpus[cpu].resched_sent, true) {
                    let delay = self.ipi(this, cpu);
                    self.queue.push(self.now + delay, Due::Resched { cpu });
                }
            }
        }
    }

    /// Until an interrupt that `from` sends at the end of what it does now reaches `to`.
    fn ipi(&self, from: CpuId, to: CpuId) -> Nanos {
        self.before_ipi + self.costs.ipi[self.distances.between(from, to) as usize]
    }

    /// As [`Self::charge`], for work of `this` that comes before the interrupt which it sends.
    fn charge_before_ipi(&mut self, this: CpuId, cost: Nanos) {
        self.before_ipi += cost;
        self.charge(this, cost);
    }

    /// Brings the signals of a sleeping task up to its queue's, before they are read.
    fn sync_sleeper(&mut self, id: TaskId) {
        let task = &mut self.world.tasks[id.index()];
        self.world.cpus[task.cpu].queue.sync(&self.world.ents, task);
    }

    /// First utilization of a new task, from the queue that it joins.
    pub(crate) fn init_util(&mut self, id: TaskId, cpu: CpuId) {
        let task = &mut self.world.tasks[id.index()];
        let weight = self.world.ents[task.entity].weight().0;
        let queue = &self.world.cpus[cpu].queue;
        let group = queue.rq.group_of(&self.world.ents, task.entity);
        let state = fairlab_pelt::EntityState::task(weight, false, false);
        let capacity = u64::from(self.world.domains.capacity_orig(cpu));
        task.avg.init_util(
            &self.world.kernel,
            &state,
            &queue.group_avg(group).avg,
            capacity,
        );
    }

    /// The first wakeup on an idle CPU ends its idle period, whose length goes into the average.
    pub(crate) fn end_idle_period(&mut self, cpu: CpuId) {
        let c = &mut self.world.cpus[cpu];
        if c.idle_stamp != 0 {
            let idle = self.now.0.saturating_sub(c.idle_stamp);
            c.avg_idle = fairlab_policy::update_avg(c.avg_idle, idle);
            c.avg_idle = c.avg_idle.min(2 * c.max_idle_balance_cost);
            c.wake_avg_idle = (self.world.jiffies, c.avg_idle / 2);
            c.idle_stamp = 0;
        }
    }

    /// Keeps the masks of idle CPUs true after something has changed on `cpu`, and what the balancer knows
    /// of crowded ones: newidle balancing gives up unless a second task came to some queue since the last
    /// pass over the whole machine (`add_nr_running`, all releases).
    pub(crate) fn note_idle(&mut self, cpu: CpuId) {
        let c = &self.world.cpus[cpu];
        let (old, new) = (c.noted, c.to_note());
        if old == new {
            return;
        }
        self.world.cpus[cpu].noted = new;
        self.balance.overload |= new.crowded && !old.crowded;
        if new.idle {
            self.masks.on_idle_enter(cpu);
        } else {
            self.masks.on_idle_exit(cpu);
        }
        self.masks.set_sched_idle(cpu, new.sched_idle);
        if new.asleep != old.asleep {
            if new.asleep {
                self.asleep.set(cpu);
                self.nr_asleep += 1;
            } else {
                self.asleep.clear(cpu);
                self.nr_asleep -= 1;
            }
        }
    }
}
