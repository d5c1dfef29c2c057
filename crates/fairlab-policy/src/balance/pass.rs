//! One attempt to balance a domain for a CPU: `load_balance`.

use fairlab_kernel::{Feature, Kernel};
use fairlab_topology::Domains;
use fairlab_topology::domains::{CapacityId, DomainFlags, DomainId};
use fairlab_units::{CpuId, CpuMask, TaskId};

use super::active;
use super::busiest_group::{Imbalance, find_busiest_group};
use super::busiest_queue::find_busiest_queue;
use super::cost::BalanceCost;
use super::detach::{Progress, detach_tasks};
use super::env::{Env, IdleKind, MigrationType};
use super::migrate::{BalanceFlags, Pull};
use super::settle::{AttemptEnd, note_failure, note_quiet, note_worked};
use super::should_balance::should_we_balance;
use super::state::{BalanceScratch, BalanceState};
use super::sums;
use super::view::BalanceOps;

/// The balancer: the rules of a kernel, applied to the state that the caller owns.
///
/// Its methods are the passes that a kernel runs: [`Self::load_balance`] for one domain,
/// [`Self::rebalance_domains`] in the softirq, [`Self::newidle_balance`] when a CPU runs out of
/// tasks, [`Self::nohz_kick`] in the tick, [`Self::nohz_idle_balance`] on the kicked CPU, and
/// [`Self::active_balance`] in the stopper. None of them allocates.
#[derive(Debug)]
pub struct Balancer<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The domains.
    pub domains: &'a Domains,
    /// What is kept between passes.
    pub state: &'a mut BalanceState,
    /// Memory to work in.
    pub scratch: &'a mut BalanceScratch,
}

/// What an attempt to balance a domain did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The domain.
    pub domain: DomainId,
    /// How it ended.
    pub end: AttemptEnd,
    /// Tasks moved.
    pub moved: u32,
    /// May wider domains be balanced for this CPU in this pass?
    pub continue_balancing: bool,
    /// What the last search found; the amount is that before any task was moved.
    pub found: Option<Imbalance>,
    /// The CPU that was pulled from last.
    pub src_cpu: Option<CpuId>,
    /// The CPU whose stopper was started.
    pub active_started: Option<CpuId>,
    /// What the examination of tasks remembered.
    pub flags: BalanceFlags,
    /// What it touched.
    pub cost: BalanceCost,
}

/// What one source came to.
enum SourceEnd {
    /// All its tasks are pinned: try without it.
    AllPinned,
    /// Its tasks were looked at.
    Done,
}

/// The variable part of an attempt.
struct Work<'w> {
    kernel: &'w Kernel,
    domains: &'w Domains,
    domain: DomainId,
    idle: IdleKind,
    this_cpu: CpuId,
    dst_cpu: CpuId,
    parent_group: Option<CapacityId>,
    /// All CPUs of the domain take part.
    is_whole: bool,
    state: &'w mut BalanceState,
    cpus: &'w mut CpuMask,
    detached: &'w mut alloc::vec::Vec<TaskId>,
    attempt: Attempt,
}

/// The search surroundings of `work`; a macro, because a method would borrow all of it.
macro_rules! env {
    ($work:expr) => {
        Env::new(
            $work.kernel,
            $work.domains,
            $work.domain,
            &*$work.cpus,
            $work.dst_cpu,
            $work.idle,
        )
    };
}

impl Balancer<'_> {
    /// Tries to move tasks to `this_cpu` inside `domain`.
    ///
    /// # Source
    /// Linux v6.12 `kernel/sched/fair.c`, `sched_balance_rq()`.
    #[doc(alias = "sched_balance_rq")]
    pub fn load_balance<O: BalanceOps + ?Sized>(
        &mut self,
        ops: &mut O,
        this_cpu: CpuId,
        idle: IdleKind,
        domain: DomainId,
    ) -> Attempt {
        let sd = self.domains.domain(domain);
        let scratch = &mut *self.scratch;
        let span = self.domains.mask(sd.span);
        scratch.cpus.assign_and(span, ops.active());
        let is_whole = span.words() == scratch.cpus.words();
        let mut work = Work {
            kernel: self.kernel,
            domains: self.domains,
            domain,
            idle,
            this_cpu,
            dst_cpu: this_cpu,
            parent_group: sd.parent.map(|p| self.domains.groups(p)[0].capacity),
            is_whole,
            state: &mut *self.state,
            cpus: &mut scratch.cpus,
            detached: &mut scratch.detached,
            attempt: Attempt {
                domain,
                end: AttemptEnd::NoGroup,
                moved: 0,
                continue_balancing: true,
                found: None,
                src_cpu: None,
                active_started: None,
                flags: BalanceFlags::NONE,
                cost: BalanceCost {
                    attempts: 1,
                    ..BalanceCost::default()
                },
            },
        };
        work.attempt.end = work.run(ops, &mut scratch.skip);
        work.close();
        let attempt = work.attempt;
        ops.attempt_ended(this_cpu, idle, &attempt);
        attempt
    }
}

impl Work<'_> {
    /// The loop over sources.
    fn run<O: BalanceOps + ?Sized>(&mut self, ops: &mut O, skip: &mut CpuMask) -> AttemptEnd {
        loop {
            let mut env = env!(self);
            if !should_we_balance(&env, ops, skip, &mut self.attempt.cost) {
                self.attempt.continue_balancing = false;
                return AttemptEnd::NotUs;
            }
            let serialized = env.flag(DomainFlags::SERIALIZE)
                && env.has(Feature::LB_SERIALIZE_NEWIDLE)
                && self.state.serialize_locked;
            if serialized {
                return AttemptEnd::Locked;
            }
            env.has_sums = self.is_whole && sums::refresh(&env, ops, self.state);
            self.attempt.found = find_busiest_group(&env, ops, self.state, &mut self.attempt.cost);
            let Some(found) = self.attempt.found else {
                return AttemptEnd::NoGroup;
            };
            self.attempt.src_cpu =
                find_busiest_queue(&env, ops, self.state, &found, &mut self.attempt.cost);
            let Some(src) = self.attempt.src_cpu.filter(|src| *src != self.dst_cpu) else {
                return AttemptEnd::NoQueue;
            };
            match self.pull(ops, src, &found) {
                SourceEnd::AllPinned => {
                    self.cpus.clear(src);
                    self.is_whole = false;
                    let rest = env!(self).dst_group_mask();
                    if self.cpus.is_subset(rest) {
                        return AttemptEnd::AllPinned;
                    }
                }
                SourceEnd::Done => return self.finish(ops, src, found.migration),
            }
        }
    }

    /// Moves tasks from `src`, to other destinations too when affinity asks for it.
    fn pull<O: BalanceOps + ?Sized>(
        &mut self,
        ops: &mut O,
        src: CpuId,
        found: &Imbalance,
    ) -> SourceEnd {
        let pinned_first = self.kernel.has(Feature::LB_ALL_PINNED_FIRST);
        let nr_running = ops.nr_running(src);
        if pinned_first || nr_running > 1 {
            self.attempt.flags |= BalanceFlags::ALL_PINNED;
        }
        if nr_running <= 1 {
            return SourceEnd::Done;
        }
        let limit = u32::try_from(self.kernel.tunables.nr_migrate).unwrap_or(u32::MAX);
        let mut progress = Progress::new(limit.min(nr_running));
        let mut amount = found.amount;
        let mut pull = Pull {
            src_cpu: src,
            migration: found.migration,
            flags: self.attempt.flags,
            new_dst_cpu: None,
        };
        loop {
            self.detached.clear();
            detach_tasks(
                &env!(self),
                ops,
                self.state,
                &mut pull,
                &mut progress,
                &mut amount,
                self.detached,
                &mut self.attempt.cost,
            );
            for task in self.detached.iter() {
                ops.attach(*task, self.dst_cpu);
            }
            self.attempt.moved += self.detached.len() as u32;

            if pull.flags.has(BalanceFlags::NEED_BREAK) {
                pull.flags.clear(BalanceFlags::NEED_BREAK);
                let bounded = self.kernel.has(Feature::LB_LOOP_WHILE_PINNED);
                if !bounded || progress.count < ops.nr_running(src) {
                    continue;
                }
            }
            if pull.flags.has(BalanceFlags::DST_PINNED)
                && amount > 0
                && let Some(new_dst) = pull.new_dst_cpu
            {
                self.cpus.clear(self.dst_cpu);
                self.is_whole = false;
                self.dst_cpu = new_dst;
                pull.flags.clear(BalanceFlags::DST_PINNED);
                progress.restart();
                continue;
            }
            break;
        }
        self.attempt.flags = pull.flags;
        if let Some(group) = self.parent_group
            && pull.flags.has(BalanceFlags::SOME_PINNED)
            && amount > 0
        {
            self.state.group_mut(group).imbalance = true;
        }
        if pull.flags.has(BalanceFlags::ALL_PINNED) {
            SourceEnd::AllPinned
        } else {
            SourceEnd::Done
        }
    }

    /// Counts failures, and has the running task pushed where that is needed.
    fn finish<O: BalanceOps + ?Sized>(
        &mut self,
        ops: &mut O,
        src: CpuId,
        migration: MigrationType,
    ) -> AttemptEnd {
        let (kernel, sd) = (self.kernel, self.domains.domain(self.domain));
        if self.attempt.moved > 0 {
            let state = self.state.domain_mut(self.domain);
            state.nr_balance_failed = 0;
            note_worked(kernel, sd, state, false, false);
            return AttemptEnd::Moved;
        }
        let state = self.state.domain_mut(self.domain);
        note_failure(kernel, state, self.idle, migration, self.attempt.flags);
        let backs_off = kernel.has(Feature::LB_ACTIVE_BACKOFF);
        if active::is_needed(&env!(self), ops, self.state, src, migration) {
            if !ops.current_may_run(src, self.this_cpu) {
                if !kernel.has(Feature::LB_ALL_PINNED_FIRST) {
                    self.attempt.flags |= BalanceFlags::ALL_PINNED;
                }
                return AttemptEnd::OnePinned;
            }
            self.attempt.flags.clear(BalanceFlags::ALL_PINNED);
            let mark = &mut self.state.cpus[src].push_to;
            if mark.is_none() {
                *mark = Some(self.this_cpu);
                self.attempt.active_started = Some(src);
                ops.start_active_balance(src, self.this_cpu);
            }
            if backs_off {
                // Forces the stopper to take a hot task.
                self.state.domain_mut(self.domain).nr_balance_failed = sd.cache_nice_tries + 1;
            }
        }
        let active = self.attempt.active_started.is_some();
        let still = active && {
            let env = env!(self);
            if backs_off {
                active::is_voluntary(&env, ops, self.state, src, migration)
            } else {
                active::is_needed(&env, ops, self.state, src, migration)
            }
        };
        note_worked(
            kernel,
            sd,
            self.state.domain_mut(self.domain),
            active,
            still,
        );
        AttemptEnd::Failed
    }

    /// What balanced and pinned attempts leave behind.
    fn close(&mut self) {
        let end = self.attempt.end;
        if matches!(end, AttemptEnd::Moved | AttemptEnd::Failed) {
            return;
        }
        if end.is_balanced()
            && !self.attempt.flags.has(BalanceFlags::ALL_PINNED)
            && let Some(group) = self.parent_group
        {
            self.state.group_mut(group).imbalance = false;
        }
        let migration = self
            .attempt
            .found
            .map_or(MigrationType::Load, |f| f.migration);
        note_quiet(
            self.kernel,
            self.domains.domain(self.domain),
            self.state.domain_mut(self.domain),
            end,
            self.idle,
            migration,
            self.attempt.flags,
        );
    }
}
