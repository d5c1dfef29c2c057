//! How much work tasks did: their time on CPUs, less what the kernel took and what siblings slowed.

use std::collections::BTreeMap;

use fairlab_sim::{CostTable, Distances};
use fairlab_topology::Machine;
use fairlab_units::{CpuId, Nanos, TaskId, Timestamp};

/// What runs on a CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    runs: Option<TaskId>,
    /// Work is booked up to here.
    booked: Timestamp,
    /// Since when it idles; none: since before the recording.
    idle_since: Option<Timestamp>,
    /// The idle state that it is in, where events tell.
    idle_state: Option<u32>,
}

/// Work and kernel time of a task.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    work: u64,
    overhead: u64,
    /// Time on CPUs, all in all.
    ran: u64,
    /// The same when work was taken last.
    ran_taken: u64,
}

/// Books work.
#[derive(Debug)]
pub(crate) struct Work<'a> {
    costs: &'a CostTable,
    distances: Distances,
    threads: BTreeMap<CpuId, Thread>,
    /// CPUs of the core of each CPU.
    cores: BTreeMap<CpuId, Vec<CpuId>>,
    accounts: BTreeMap<TaskId, Account>,
}

impl<'a> Work<'a> {
    pub fn new(machine: &Machine, costs: &'a CostTable) -> Self {
        let online = || machine.cpus().iter().filter(|cpu| cpu.online);
        let cores = online().map(|cpu| {
            let core = online().filter(|other| other.core == cpu.core);
            (cpu.id, core.map(|other| other.id).collect())
        });
        Self {
            costs,
            distances: Distances::of(machine),
            threads: online().map(|cpu| (cpu.id, Thread::default())).collect(),
            cores: cores.collect(),
            accounts: BTreeMap::new(),
        }
    }

    /// How far CPUs are from each other.
    pub const fn distances(&self) -> &Distances {
        &self.distances
    }

    /// Is there such a CPU?
    pub fn has(&self, cpu: CpuId) -> bool {
        self.threads.contains_key(&cpu)
    }

    /// CPUs on which something runs.
    pub fn busy(&self) -> Vec<CpuId> {
        let busy = self
            .threads
            .iter()
            .filter(|(_, thread)| thread.runs.is_some());
        busy.map(|(cpu, _)| *cpu).collect()
    }

    /// The task that runs on `cpu`.
    pub fn running(&self, cpu: CpuId) -> Option<TaskId> {
        self.threads.get(&cpu)?.runs
    }

    /// Books what the core of `cpu` has done until `now`.
    pub fn book(&mut self, cpu: CpuId, now: Timestamp) {
        let Some(core) = self.cores.get(&cpu) else {
            return;
        };
        let busy = core
            .iter()
            .filter(|thread| self.threads[thread].runs.is_some())
            .count();
        let speed = u64::from(self.costs.speed(busy.max(1)));
        for thread in core {
            let Some(thread) = self.threads.get_mut(thread) else {
                continue;
            };
            let span = now.saturating_since(thread.booked).0;
            thread.booked = now;
            let Some(task) = thread.runs else { continue };
            let account = self.accounts.entry(task).or_default();
            account.ran = account.ran.saturating_add(span);
            let overhead = span.min(account.overhead);
            account.overhead -= overhead;
            let done = (u128::from(span - overhead) * u128::from(speed)) >> 10;
            account.work = account
                .work
                .saturating_add(u64::try_from(done).unwrap_or(u64::MAX));
        }
    }

    /// `cpu` runs `next` from `now` on.
    pub fn switch(&mut self, cpu: CpuId, next: Option<TaskId>, now: Timestamp) {
        self.book(cpu, now);
        let Some(thread) = self.threads.get_mut(&cpu) else {
            return;
        };
        let was_idle = thread.runs.is_none();
        thread.runs = next;
        let Some(task) = next else {
            thread.idle_since = Some(now);
            return;
        };
        let mut cost = self.costs.context_switch;
        if was_idle {
            let state = thread.idle_state.take().map(|state| state as usize);
            // Where it is not recorded: the one that was worth it, as a good governor would have known.
            let idled = thread.idle_since.map(|since| now.saturating_since(since));
            let worth = |residency: &&u64| idled.is_none_or(|idled| **residency <= idled.0);
            let by_length = || self.costs.idle_residency.iter().take_while(worth).count();
            let state = state.unwrap_or_else(|| by_length().saturating_sub(1));
            cost += self
                .costs
                .idle_exit_of(state.min(self.costs.idle_exit.len().saturating_sub(1)));
        }
        self.charge(task, cost);
    }

    /// `cpu` enters an idle state, or leaves it.
    pub fn idles(&mut self, cpu: CpuId, state: Option<u32>) {
        if let (Some(thread), Some(state)) = (self.threads.get_mut(&cpu), state) {
            thread.idle_state = Some(state);
        }
    }

    /// The kernel has taken this much time of the task's, just before.
    pub fn charge_past(&mut self, task: TaskId, cost: Nanos) {
        let account = self.accounts.entry(task).or_default();
        let past = account.work.min(cost.0);
        account.work -= past;
        self.charge(task, Nanos(cost.0 - past));
    }

    /// The kernel takes this much time of the task's from now on.
    pub fn charge(&mut self, task: TaskId, cost: Nanos) {
        let overhead = &mut self.accounts.entry(task).or_default().overhead;
        *overhead = overhead.saturating_add(cost.0);
    }

    /// The task moves: what it and the kernel keep of it has to be read again, if it was still there.
    pub fn moves(&mut self, task: TaskId, from: CpuId, to: CpuId) {
        if self.has(from) && self.has(to) {
            let distance = self.distances.between(from, to);
            let per_kib = self.costs.refill[distance as usize];
            self.charge(
                task,
                per_kib * (self.costs.working_set + self.costs.task_state),
            );
        }
    }

    /// Time that the task was on CPUs.
    pub fn ran(&self, task: TaskId) -> Nanos {
        Nanos(self.accounts.get(&task).map_or(0, |account| account.ran))
    }

    /// Takes the work of the task since the last time, if it has run, and for how long it has.
    pub fn take(&mut self, task: TaskId) -> Option<(Nanos, Nanos)> {
        let account = self.accounts.entry(task).or_default();
        let ran = account.ran - std::mem::replace(&mut account.ran_taken, account.ran);
        let work = std::mem::take(&mut account.work);
        (ran > 0).then_some((Nanos(work), Nanos(ran)))
    }
}
