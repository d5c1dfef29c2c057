//! Attempts to balance a domain: who, from whom, how much, which tasks, and what is left behind.

use anyhow::{Context as _, Result, bail};
use fairlab_kernel::{Feature, Kernel};
use fairlab_policy::balance::busiest_group::search;
use fairlab_policy::balance::capacity::update_group;
use fairlab_policy::balance::detach::charge;
use fairlab_policy::balance::interval::backed_off;
use fairlab_policy::balance::settle::{note_failure, note_quiet, note_worked};
use fairlab_policy::balance::{
    AttemptEnd, BalanceCost, BalanceFlags, BalanceState, Env, IdleKind, Imbalance, MigrationType,
    NumaClass, Pull, active, can_migrate, find_busiest_queue, should_we_balance,
};
use fairlab_topology::Domains;
use fairlab_topology::domains::{DomainFlags, DomainId};
use fairlab_units::{CpuId, CpuMask, TaskId};

use super::record::{AttemptRecord, MigrateRow, Search};
use super::report::{Place, Report, Trust};
use super::view::{Task, View};
use crate::oracle::decisions::view::mask;

/// Recorded answers stand for one task only, so any number does.
const TASK: TaskId = TaskId(0);

/// Compares one attempt.
pub fn compare(
    record: &AttemptRecord,
    kernel: &Kernel,
    domains: &Domains,
    at: &Place<'_>,
    report: &mut Report,
) -> Result<()> {
    let mut attempt = Attempt::new(record, kernel, domains)?;
    attempt.who(at, report);
    for number in 0..record.search.len() {
        attempt.search(number, at, report)?;
    }
    if let Some(last) = record.search.last() {
        attempt.scan_budget(last, at, report)?;
        attempt.capacity(last, at, report)?;
    }
    attempt.tasks(at, report)?;
    attempt.need_active(at, report)?;
    attempt.left_behind(at, report);
    Ok(())
}

pub fn idle_kind(text: &str) -> Result<IdleKind> {
    Ok(match text {
        "not_idle" => IdleKind::NotIdle,
        "idle" => IdleKind::Idle,
        "newly_idle" => IdleKind::NewlyIdle,
        _ => bail!("unknown idle kind {text:?}"),
    })
}

fn migration_type(text: &str) -> Result<MigrationType> {
    Ok(match text {
        "load" => MigrationType::Load,
        "util" => MigrationType::Util,
        "task" => MigrationType::Task,
        "misfit" => MigrationType::Misfit,
        "llc_task" => MigrationType::LlcTask,
        _ => bail!("unknown migration type {text:?}"),
    })
}

fn numa_class(text: &str) -> Result<NumaClass> {
    Ok(match text {
        "regular" => NumaClass::Regular,
        "remote" => NumaClass::Remote,
        "all" => NumaClass::All,
        _ => bail!("unknown NUMA class {text:?}"),
    })
}

struct Attempt<'a> {
    record: &'a AttemptRecord,
    kernel: &'a Kernel,
    domains: &'a Domains,
    domain: DomainId,
    idle: IdleKind,
    view: View<'a>,
    /// The state as it was at the snapshot.
    state: BalanceState,
}

impl<'a> Attempt<'a> {
    fn new(record: &'a AttemptRecord, kernel: &'a Kernel, domains: &'a Domains) -> Result<Self> {
        let this_cpu = CpuId(record.this_cpu);
        let nr = domains.nr_cpu_ids().min(record.cpus.len());
        let searched = record.search.iter().map(|s| s.dst_cpu);
        let tasks = record.migrate.iter().flat_map(|row| [row.src, row.dst]);
        let queues = record.search.iter().filter_map(|s| s.queue);
        let mut named = searched.chain(tasks).chain(queues).chain([record.this_cpu]);
        if record.cpus.len() < domains.nr_cpu_ids() || named.any(|c| c as usize >= nr) {
            bail!("the record names CPUs that the boot does not have");
        }
        let domain = domains
            .chain(this_cpu)
            .nth(record.domain.idx)
            .filter(|id| domains.domain(*id).name == record.domain.name)
            .context("the recorded domain is not among the boot's domains")?;
        if *domains.span(domain) != mask(&record.domain.span)? {
            bail!("the recorded domain spans other CPUs than the boot's");
        }
        let view = View::new(&record.cpus, record.jiffies);
        let online = view.active.weight();
        let mut state = BalanceState::new(domains, kernel, record.jiffies, online);
        for (cpu, row) in record.cpus.iter().enumerate() {
            state.cpus[CpuId::from_index(cpu)].capacity = row.cpu_capacity.max(0).unsigned_abs();
        }
        state.overload = record.overload != 0;
        state.overutilized = record.overutilized != 0;
        let sd = state.domain_mut(domain);
        sd.balance_interval = record.sd.balance_interval;
        sd.nr_balance_failed = record.sd.nr_balance_failed;
        let groups = domains.groups(domain);
        if groups.len() != record.groups.len() {
            bail!("the recorded domain has another number of groups than the boot's");
        }
        for (i, (group, row)) in groups.iter().zip(&record.groups).enumerate() {
            if *domains.mask(group.span) != mask(&row.span)? {
                bail!("the recorded groups are not in the order of the boot's");
            }
            let entry = state.group_mut(group.capacity);
            // At the end of the last search: these are the values that it used.
            let after = record.after.groups.get(i);
            let [capacity, min, max, _] =
                after
                    .copied()
                    .unwrap_or([row.capacity, row.min_capacity, row.max_capacity, 0]);
            entry.capacity = capacity;
            entry.min_capacity = min;
            entry.max_capacity = max;
            entry.next_update = row.next_update;
            entry.imbalance = row.imbalance != 0;
        }
        Ok(Self {
            record,
            kernel,
            domains,
            domain,
            idle: idle_kind(&record.idle)?,
            view,
            state,
        })
    }

    fn env<'e>(&'e self, cpus: &'e CpuMask, dst: u32) -> Env<'e> {
        Env::new(
            self.kernel,
            self.domains,
            self.domain,
            cpus,
            CpuId(dst),
            self.idle,
        )
    }

    fn all_cpus(&self) -> CpuMask {
        self.domains.span(self.domain).and(&self.view.active)
    }

    fn who(&mut self, at: &Place<'_>, report: &mut Report) {
        let record = self.record;
        let cpus = self.all_cpus();
        let mut skip = CpuMask::new(record.cpus.len());
        let ours = should_we_balance(
            &self.env(&cpus, record.this_cpu),
            &self.view,
            &mut skip,
            &mut BalanceCost::default(),
        );
        // A later search can have said no; the first one was made because the answer was yes.
        let recorded = record.continue_balancing != 0 || !record.search.is_empty();
        let trust = match record.changed_before.as_deref() {
            Some("0x0") => Trust::Certain,
            // Changed, or not compared.
            _ => Trust::Uncertain,
        };
        report.count(at, "should_we_balance", trust, recorded, ours);
    }

    fn search(&mut self, number: usize, at: &Place<'_>, report: &mut Report) -> Result<()> {
        let recorded = &self.record.search[number];
        let cpus = mask(&recorded.cpus)?;
        let trust = if recorded.is_certain() {
            Trust::Certain
        } else {
            Trust::Uncertain
        };
        self.view.jiffies = recorded.jiffies;
        self.state.cpus[CpuId(self.record.this_cpu)].capacity = recorded.dst_capacity;
        let mut state = self.state.clone();
        let env = self.env(&cpus, recorded.dst_cpu);
        let found = search(&env, &self.view, &mut state, &mut BalanceCost::default());
        let span = |group: usize| self.domains.mask(env.groups[group].span).to_hex();
        report.count(
            at,
            "busiest group",
            trust,
            recorded.busiest.clone(),
            found.map(|f| span(f.group)),
        );
        let Some(busiest) = &recorded.busiest else {
            return Ok(());
        };
        report.count(
            at,
            "imbalance",
            trust,
            Some(recorded.imbalance),
            found.map(|f| f.amount),
        );
        let migration = migration_type(&recorded.migration_type)?;
        report.count(
            at,
            "migration type",
            trust,
            Some(migration),
            found.map(|f| f.migration),
        );
        let class = numa_class(&recorded.fbq_type)?;
        if env.sd.flags.has(DomainFlags::NUMA) {
            report.count(
                at,
                "NUMA class",
                trust,
                Some(class),
                found.map(|f| f.numa_class),
            );
        }
        let group = (0..env.groups.len())
            .find(|g| span(*g) == *busiest)
            .context("the busiest group is not a group of the domain")?;
        if recorded.queue_changed.is_none() {
            return Ok(());
        }
        // From the recorded group, so that one difference counts once.
        let found = Imbalance {
            group,
            amount: recorded.imbalance,
            migration,
            numa_class: class,
        };
        let cost = &mut BalanceCost::default();
        let queue = find_busiest_queue(&env, &self.view, &state, &found, cost).map(|c| c.0);
        let trust = if recorded.queue.is_none() || !recorded.is_queue_certain() {
            // Without a queue: none qualified, or it had emptied.
            Trust::Uncertain
        } else {
            Trust::Certain
        };
        report.count(at, "busiest queue", trust, recorded.queue, queue);
        Ok(())
    }

    /// nr_idle_scan after a periodic search in the LLC domain.
    fn scan_budget(&self, last: &Search, at: &Place<'_>, report: &mut Report) -> Result<()> {
        let cached = self.domains.cached(CpuId(last.dst_cpu));
        let Some(shared) = cached
            .llc_shared
            .filter(|_| cached.llc == Some(self.domain))
        else {
            return Ok(());
        };
        if self.idle == IdleKind::NewlyIdle || !self.kernel.has(Feature::NR_IDLE_SCAN) {
            return Ok(());
        }
        let id = self.record.cpus[last.dst_cpu as usize].llc_id.to_string();
        let Some(recorded) = self.record.after.nr_idle_scan.get(&id) else {
            return Ok(());
        };
        let cpus = mask(&last.cpus)?;
        let env = self.env(&cpus, last.dst_cpu);
        let mut state = self.state.clone();
        let _ = search(&env, &self.view, &mut state, &mut BalanceCost::default());
        let trust = if !last.is_certain() {
            Trust::Uncertain
        } else {
            Trust::Unless("written by another CPU between the readings, or utilization changed")
        };
        let ours = i64::from(state.shared(shared).nr_idle_scan);
        report.count(at, "nr_idle_scan", trust, *recorded, ours);
        Ok(())
    }

    /// The local group's capacity after a refresh.
    fn capacity(&self, last: &Search, at: &Place<'_>, report: &mut Report) -> Result<()> {
        let Some(recorded) = self.record.after.groups.first() else {
            return Ok(());
        };
        if self.idle == IdleKind::NewlyIdle || self.record.search.len() > 1 {
            return Ok(());
        }
        let cpus = mask(&last.cpus)?;
        let env = self.env(&cpus, last.dst_cpu);
        let mut state = self.state.clone();
        // The groups below are not recorded: they are the sums of their CPUs.
        if let Some(child) = env.sd.child {
            for group in self.domains.groups(child) {
                let span = self.domains.mask(group.span);
                let all = || span.iter().map(|c| self.state.capacity_of(c));
                let entry = state.group_mut(group.capacity);
                entry.capacity = all().sum();
                entry.min_capacity = all().min().unwrap_or(0);
                entry.max_capacity = all().max().unwrap_or(0);
            }
        }
        update_group(&env, &self.view, &mut state);
        let entry = state.group(env.groups[0].capacity);
        let ours = [entry.capacity, entry.min_capacity, entry.max_capacity];
        let [capacity, min, max, _] = *recorded;
        let trust = if last.is_certain() {
            Trust::Unless("real-time utilization aged, or a group below not refreshed")
        } else {
            Trust::Uncertain
        };
        report.count(at, "group capacity", trust, [capacity, min, max], ours);
        Ok(())
    }

    /// The search that chose the source of row `row`, counted from search `from`.
    fn search_of(&self, row: &MigrateRow, from: usize) -> Option<usize> {
        (from..self.record.search.len()).find(|s| self.record.search[*s].queue == Some(row.src))
    }

    fn tasks(&mut self, at: &Place<'_>, report: &mut Report) -> Result<()> {
        let mut number = 0;
        let mut cpus = CpuMask::default();
        let mut last: Option<(u32, u32)> = None;
        let mut moved = 0;
        for row in &self.record.migrate {
            let Some(found) = self.search_of(row, number) else {
                return Ok(());
            };
            if last.is_none_or(|(src, _)| src != row.src) {
                number = found;
                cpus = mask(&self.record.search[number].cpus)?;
            } else if let Some((_, dst)) = last.filter(|(_, dst)| *dst != row.dst) {
                // Another destination: the one before is out.
                cpus.clear(CpuId(dst));
            }
            last = Some((row.src, row.dst));
            moved += i64::from(row.detached);
            self.task(row, &cpus, number, at, report)?;
        }
        if self.record.migrate_cut.is_none() && !self.record.migrate.is_empty() {
            report.count(at, "tasks moved", Trust::Certain, self.record.ret, moved);
        }
        Ok(())
    }

    fn task(
        &mut self,
        row: &'a MigrateRow,
        cpus: &CpuMask,
        number: usize,
        at: &Place<'_>,
        report: &mut Report,
    ) -> Result<()> {
        let migration = migration_type(&self.record.search[number].migration_type)?;
        self.view.task = Some(Task::of(row)?);
        let mut state = self.state.clone();
        state.domain_mut(self.domain).nr_balance_failed = row.nr_failed;
        let env = self.env(cpus, row.dst);
        let (recorded, ours) = migrate_answer(&env, &self.view, &state, migration, row);
        let trust = migrate_trust(&env, row, recorded == ours);
        report.count(at, "can_migrate_task", trust, recorded, ours);
        if row.ret == 1 {
            let pull = Pull {
                src_cpu: CpuId(row.src),
                migration,
                flags: BalanceFlags(row.flags1),
                new_dst_cpu: None,
            };
            let ours = charge(&env, &self.view, &state, &pull, TASK, row.imb).map(|c| row.imb - c);
            let recorded = row.imb_detach.filter(|_| row.detached != 0);
            let trust =
                if migration == MigrationType::Util && !self.kernel.has(Feature::UTIL_EST_SINGLE) {
                    Trust::Unless("average of the estimate not recorded")
                } else {
                    Trust::Certain
                };
            report.count(at, "detach", trust, recorded, ours);
        }
        self.view.task = None;
        Ok(())
    }

    /// The source and type of the last search that came to a source.
    fn last_pull(&self) -> Result<Option<(CpuId, MigrationType, u32)>> {
        let Some(search) = self.record.search.last() else {
            return Ok(None);
        };
        let (Some(queue), Some(_)) = (search.queue, &search.busiest) else {
            return Ok(None);
        };
        let dst = self.record.migrate.last().filter(|row| row.src == queue);
        let dst = dst.map_or(search.dst_cpu, |row| row.dst);
        Ok(Some((
            CpuId(queue),
            migration_type(&search.migration_type)?,
            dst,
        )))
    }

    fn need_active(&self, at: &Place<'_>, report: &mut Report) -> Result<()> {
        let (Some((src, migration, dst)), Some(first)) =
            (self.last_pull()?, self.record.need_active.first())
        else {
            return Ok(());
        };
        let Some(last) = self.record.search.last() else {
            return Ok(());
        };
        let cpus = mask(&last.cpus)?;
        let env = self.env(&cpus, dst);
        let mut state = self.state.clone();
        let flags = self.last_flags();
        note_failure(
            self.kernel,
            state.domain_mut(self.domain),
            self.idle,
            migration,
            flags,
        );
        let ours = active::is_needed(&env, &self.view, &state, src, migration);
        let after = self.record.after.sd.nr_balance_failed;
        let failed = state.domain(self.domain).nr_balance_failed;
        state.domain_mut(self.domain).nr_balance_failed = after;
        let with_after = active::is_needed(&env, &self.view, &state, src, migration);
        let trust = if failed != after && with_after == (*first != 0) {
            Trust::Unless("equal with the failure count that an overlapping attempt left")
        } else if last.is_queue_certain() {
            Trust::Certain
        } else {
            Trust::Unless("the source changed after the search")
        };
        report.count(at, "need_active_balance", trust, *first != 0, ours);
        if self.record.active_started.is_some() {
            report.count(at, "active started", Trust::Certain, true, *first != 0);
        }
        Ok(())
    }

    fn last_flags(&self) -> BalanceFlags {
        match self.record.migrate.last() {
            Some(row) => BalanceFlags(row.flags1),
            None => BalanceFlags::NONE,
        }
    }

    /// Failure count, interval and the parent's flag.
    fn left_behind(&self, at: &Place<'_>, report: &mut Report) {
        let record = self.record;
        if record.search_cut.is_some() || record.migrate_cut.is_some() {
            return;
        }
        let sd = self.domains.domain(self.domain);
        let mut state = *self.state.domain(self.domain);
        let last = record.search.last();
        let flags = self.last_flags();
        let migration = last
            .filter(|s| s.busiest.is_some())
            .and_then(|s| migration_type(&s.migration_type).ok())
            .unwrap_or(MigrationType::Load);
        let asked = record.need_active.first();
        let end = match last {
            None => AttemptEnd::NotUs,
            Some(_) if record.ret > 0 => AttemptEnd::Moved,
            Some(_) if asked.is_some() => AttemptEnd::Failed,
            Some(s) if s.busiest.is_none() => AttemptEnd::NoGroup,
            Some(_) if flags.has(BalanceFlags::ALL_PINNED) => AttemptEnd::AllPinned,
            Some(_) => AttemptEnd::NoQueue,
        };
        let mut one_pinned = None;
        match end {
            AttemptEnd::Moved => {
                state.nr_balance_failed = 0;
                note_worked(self.kernel, sd, &mut state, false, false);
            }
            AttemptEnd::Failed => {
                note_failure(self.kernel, &mut state, self.idle, migration, flags);
                let active = record.active_started.is_some();
                if asked == Some(&1) && !active {
                    // Either the source's stopper was busy already, or its task may not run here.
                    let mut other = state;
                    let end = AttemptEnd::OnePinned;
                    note_quiet(
                        self.kernel,
                        sd,
                        &mut other,
                        end,
                        self.idle,
                        migration,
                        flags,
                    );
                    one_pinned = Some(other);
                }
                let still = record.need_active.get(1) == Some(&1);
                note_worked(self.kernel, sd, &mut state, active, still);
            }
            _ => note_quiet(
                self.kernel,
                sd,
                &mut state,
                end,
                self.idle,
                migration,
                flags,
            ),
        }
        let after = record.after.sd;
        if let Some(other) = one_pinned
            && other.balance_interval == after.balance_interval
        {
            state = other;
        }
        let before = *self.state.domain(self.domain);
        let (min, max) = (sd.min_interval, sd.max_interval);
        let double = move |interval: u32| backed_off(interval, max, false);
        let double_pinned = move |interval: u32| backed_off(interval, max, true);
        let overlapped = is_reachable(
            after.balance_interval,
            [before.balance_interval, state.balance_interval],
            &[&move |_| min, &double, &double_pinned],
        );
        report.count(
            at,
            "balance_interval",
            self.overlap(overlapped),
            after.balance_interval,
            state.balance_interval,
        );
        let overlapped = is_reachable(
            after.nr_balance_failed,
            [before.nr_balance_failed, state.nr_balance_failed],
            &[&|_| 0, &|failed| failed + 1],
        );
        report.count(
            at,
            "nr_balance_failed",
            self.overlap(overlapped),
            after.nr_balance_failed,
            state.nr_balance_failed,
        );
        if after.parent_imbalance >= 0 && record.search.len() < 2 {
            let remaining = record
                .migrate
                .last()
                .map_or(0, |row| row.imb_detach.unwrap_or(row.imb));
            let mut flag = record.sd.parent_imbalance != 0;
            if flags.has(BalanceFlags::SOME_PINNED) && remaining > 0 {
                flag = true;
            }
            if end.is_balanced() && !flags.has(BalanceFlags::ALL_PINNED) {
                flag = false;
            }
            let recorded = after.parent_imbalance != 0;
            report.count(at, "parent imbalance", self.overlap(true), recorded, flag);
        }
    }
}

impl Attempt<'_> {
    /// What a difference in the domain's state means, when an overlapping attempt could have made
    /// it.
    fn overlap(&self, possible: bool) -> Trust {
        if !possible {
            Trust::Certain
        } else if self.record.run_by == Some(self.record.this_cpu) {
            Trust::Unless("as an attempt or a stopper beside it makes it, none known")
        } else if self.record.run_by.is_some() {
            Trust::Unless("as an attempt beside it makes it: run for another CPU")
        } else {
            Trust::Unless("as an attempt beside it makes it: runner not recorded")
        }
    }
}

/// Could up to five changes by others, before or after ours, have led to `wanted`? `seen` holds the
/// value before the attempt and the one that follows from it.
fn is_reachable(wanted: u32, seen: [u32; 2], changes: &[&dyn Fn(u32) -> u32]) -> bool {
    let mut values = seen.to_vec();
    for _ in 0..5 {
        let more: Vec<u32> = values
            .iter()
            .flat_map(|v| changes.iter().map(|change| change(*v)))
            .filter(|v| !values.contains(v))
            .collect();
        values.extend(more);
    }
    values.contains(&wanted)
}

/// Recorded and own answer about a task: may it move, flags, and the other destination if one was
/// found now.
#[allow(clippy::type_complexity, reason = "two answers of the same form")]
pub fn migrate_answer(
    env: &Env<'_>,
    view: &View<'_>,
    state: &BalanceState,
    migration: MigrationType,
    row: &MigrateRow,
) -> ((bool, u8, Option<u32>), (bool, u8, Option<u32>)) {
    let mut pull = Pull {
        src_cpu: CpuId(row.src),
        migration,
        flags: BalanceFlags(row.flags0),
        new_dst_cpu: None,
    };
    let yes = can_migrate(env, view, state, &mut pull, TASK).is_yes();
    let gained = row.flags1 & !row.flags0 & BalanceFlags::DST_PINNED.0 != 0;
    let recorded_dst = gained.then(|| u32::try_from(row.new_dst).ok()).flatten();
    (
        (row.ret != 0, row.flags1, recorded_dst),
        (yes, pull.flags.0, pull.new_dst_cpu.map(|c| c.0)),
    )
}

/// How sure an answer about a task is. Whether it is eligible is not recorded, nor are its NUMA fault
/// statistics.
pub fn migrate_trust(env: &Env<'_>, row: &MigrateRow, equal: bool) -> Trust {
    let may_be_ineligible =
        env.has(Feature::LB_KEEP_INELIGIBLE) && row.nr_failed == 0 && row.dst_nr > 0;
    // An ineligible task is kept before anything else is remembered about it.
    let kept_early = row.ret == 0 && row.flags0 == row.flags1;
    if may_be_ineligible && kept_early && !equal {
        Trust::Uncertain
    } else if row.numa_nid >= 0 && env.sd.flags.has(DomainFlags::NUMA) {
        Trust::Unless("NUMA fault statistics not recorded")
    } else {
        Trust::Certain
    }
}
