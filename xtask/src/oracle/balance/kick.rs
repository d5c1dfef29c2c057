//! The kick test in the tick.

use anyhow::{Result, bail};
use fairlab_kernel::Kernel;
use fairlab_policy::balance::{
    BalanceScratch, BalanceState, BalanceTask, BalanceView, Balancer, KickFlags,
};
use fairlab_topology::Domains;
use fairlab_units::{CpuId, CpuMask, TaskId};

use super::record::KickRecord;
use super::report::{Place, Report, Trust};
use crate::oracle::decisions::view::mask;

/// Only what the tick knows: this CPU's counts, and that CPUs of the mask are idle.
struct TickView<'a> {
    record: &'a KickRecord,
    active: CpuMask,
    idle: CpuMask,
}

impl BalanceView for TickView<'_> {
    fn active(&self) -> &CpuMask {
        &self.active
    }
    fn jiffies(&self) -> u64 {
        self.record.jiffies
    }
    fn is_idle(&self, cpu: CpuId) -> bool {
        if cpu.0 == self.record.this_cpu {
            self.record.cpu_idle != 0
        } else {
            self.idle.test(cpu)
        }
    }
    fn is_sched_idle(&self, _cpu: CpuId) -> bool {
        false
    }
    fn nr_running(&self, _cpu: CpuId) -> u32 {
        self.record.nr_running
    }
    fn h_nr_queued(&self, _cpu: CpuId) -> u32 {
        self.record.cfs_h_nr
    }
    fn load_avg(&self, _cpu: CpuId) -> u64 {
        0
    }
    fn runnable_avg(&self, _cpu: CpuId) -> u64 {
        0
    }
    fn util_avg(&self, _cpu: CpuId) -> u64 {
        0
    }
    fn util_est(&self, _cpu: CpuId) -> u64 {
        0
    }
    fn avg_idle(&self, _cpu: CpuId) -> u64 {
        0
    }
    fn clock_task(&self, _cpu: CpuId) -> u64 {
        0
    }
    fn task(&self, _task: TaskId) -> BalanceTask<'_> {
        unreachable!("the kick test reads no task")
    }
    fn task_h_load(&self, _task: TaskId) -> u64 {
        0
    }
    fn task_util(&self, _task: TaskId) -> u64 {
        0
    }
    fn task_util_est(&self, _task: TaskId) -> u64 {
        0
    }
}

/// Compares one tick: what is asked for, and of whom.
pub fn compare(
    record: &KickRecord,
    kernel: &Kernel,
    domains: &Domains,
    at: &Place<'_>,
    report: &mut Report,
) -> Result<()> {
    let cpu = CpuId(record.this_cpu);
    let nr = domains.nr_cpu_ids();
    if cpu.index() >= nr {
        bail!("the record names a CPU that the boot does not have");
    }
    let idle = mask(&record.nohz.idle_cpus)?;
    let mut state = BalanceState::new(domains, kernel, record.jiffies, nr);
    state.cpus[cpu].capacity = record.cpu_capacity;
    state.nohz.next_balance = record.nohz.next_balance;
    state.nohz.has_blocked = record.nohz.has_blocked != 0;
    state.nohz.next_blocked = record.nohz.next_blocked;
    state.nohz.needs_update = record.nohz.needs_update != 0;
    for c in &idle {
        state.nohz.idle_cpus.set(c);
        state.cpus[c].tick_stopped = true;
    }
    if let Some(id) = domains.cached(cpu).balance_shared {
        state.shared_mut(id).nr_busy_cpus = u32::try_from(record.nr_busy_cpus).unwrap_or(0);
    }
    let view = TickView {
        record,
        active: CpuMask::full(nr),
        idle: idle.clone(),
    };
    let mut scratch = BalanceScratch::new(nr);
    let mut balancer = Balancer {
        kernel,
        domains,
        state: &mut state,
        scratch: &mut scratch,
    };
    let wanted = balancer.kick_flags(&view, cpu);
    let ours = balancer.nohz_kick(&view, cpu);
    // A balance kick moves next_balance, whether an interrupt is sent or not.
    let moved = record.nohz.next_balance_after != record.nohz.next_balance;
    let balances = record.cpu_idle == 0 && wanted.any(KickFlags::BALANCE);
    let trust = Trust::Unless("busy count or idle mask changed, or another tick kicked");
    report.count(at, "kick: balance", trust, moved, balances);
    let Some(target) = record.kicked else {
        let trust = if ours.is_some() && moved == balances {
            Trust::Uncertain
        } else {
            Trust::Unless("busy count or idle mask changed")
        };
        // Without an interrupt: nothing was wanted, or a kick was pending.
        report.count(at, "kick: none", trust, None, ours.map(|k| k.target.0));
        return Ok(());
    };
    let trust = Trust::Unless("a kick was pending, or busy count or idle mask changed");
    report.count(
        at,
        "kick: flags",
        trust,
        Some(record.flags),
        ours.map(|k| k.flags.0),
    );
    if let Some(kick) = ours {
        let trust = Trust::Unless(if idle.test(CpuId(target)) && target > kick.target.0 {
            "CPUs before it in the idle mask were not idle any more"
        } else {
            "the idle mask changed"
        });
        report.count(at, "kick: target", trust, target, kick.target.0);
    }
    Ok(())
}
