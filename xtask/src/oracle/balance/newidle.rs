//! Calls of the newidle balancer.

use anyhow::{Context as _, Result, bail};
use fairlab_kernel::Kernel;
use fairlab_policy::balance::interval::note_newidle_cost;
use fairlab_policy::balance::newidle::record as count_call;
use fairlab_policy::balance::newidle::weight_of_success;
use fairlab_policy::balance::{BalanceScratch, BalanceState, Balancer, DomainState};
use fairlab_topology::Domains;
use fairlab_topology::domains::DomainId;
use fairlab_units::CpuId;

use super::record::NewidleRecord;
use super::report::{Place, Report, Trust};

/// Compares one call: giving up, counters, and when the CPU is balanced next.
pub fn compare(
    record: &NewidleRecord,
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
    let mut state = BalanceState::new(domains, kernel, record.jiffies, nr);
    let chain: Vec<DomainId> = domains.chain(cpu).collect();
    state.overload = record.overload != 0;
    for (id, row) in chain.iter().zip(&record.domains) {
        let sd = state.domain_mut(*id);
        sd.last_balance = row.last_balance;
        sd.balance_interval = row.balance_interval;
        sd.max_newidle_lb_cost = row.max_newidle_lb_cost[0];
        sd.last_decay = row.last_decay[0];
        sd.newidle_call = row.call[0];
        sd.newidle_success = row.success[0];
        sd.newidle_ratio = row.ratio[0];
    }
    let before: Vec<DomainState> = chain.iter().map(|id| *state.domain(*id)).collect();
    let mut scratch = BalanceScratch::new(nr);
    let balancer = Balancer {
        kernel,
        domains,
        state: &mut state,
        scratch: &mut scratch,
    };

    let touched = |i: usize| {
        let row = &record.domains[i];
        row.call[0] != row.call[1] || record.searched.contains(&i)
    };
    let reached = (0..record.domains.len()).filter(|i| touched(*i)).max();
    let trust = if record.ttwu_pending != 0 {
        Trust::Uncertain
    } else {
        Trust::Unless("overload changed before it was read")
    };
    report.count(
        at,
        "newidle: gives up",
        trust,
        reached.is_none(),
        balancer.newidle_gives_up(record.avg_idle, cpu),
    );

    for (i, row) in record.domains.iter().enumerate() {
        if reached.is_none_or(|r| i > r) {
            continue;
        }
        let recorded = (row.call[1], row.success[1], row.ratio[1]);
        let answer = |success| {
            let mut sd = before[i];
            count_call(kernel, &mut sd, success, 0);
            (sd.newidle_call, sd.newidle_success, sd.newidle_ratio)
        };
        let mut ours = answer(0);
        let is_last = record.searched.last() == Some(&i);
        if is_last && record.ret != 0 && recorded != ours {
            // A result of 1 can also be a task that came by itself.
            let weight = weight_of_success(row.ratio[0], 0).context("a ratio that never tries")?;
            ours = answer(weight);
        }
        report.count(at, "newidle: counters", Trust::Certain, recorded, ours);
        if record.searched.contains(&i) {
            // A cost that was not raised is not known; it was at most the old one.
            let [old, new] = row.max_newidle_lb_cost;
            let recorded = (new, row.last_decay[1]);
            let answer = |jiffies| {
                let mut sd = before[i];
                note_newidle_cost(kernel, &mut sd, if new > old { new } else { 0 }, jiffies);
                (sd.max_newidle_lb_cost, sd.last_decay)
            };
            // Balancing takes time: a later jiffy may have been read.
            let ours = (record.jiffies..=record.jiffies + 3)
                .map(answer)
                .find(|ours| *ours == recorded)
                .unwrap_or_else(|| answer(record.jiffies));
            let trust = Trust::Unless("balanced by another CPU meanwhile");
            report.count(at, "newidle: cost", trust, recorded, ours);
        }
    }

    // How far the walk went is known up to the domain that it stopped before.
    let limit = |upto: usize| {
        let mut next = record.jiffies + kernel.tunables.hz;
        for (i, id) in chain.iter().enumerate().take(upto) {
            let interval = fairlab_policy::balance::interval::balance_interval(
                kernel,
                domains.domain(*id),
                &before[i],
                false,
                kernel.tunables.hz * nr as u64 / 10,
            );
            next = next.min(before[i].last_balance + interval);
        }
        next.min(record.next_balance)
    };
    let upto = reached.map_or(1, |r| r + 1);
    let recorded = record.after.next_balance;
    let ours = if record.ttwu_pending != 0 {
        record.next_balance
    } else if limit(upto) == recorded {
        limit(upto)
    } else {
        limit(upto + 1)
    };
    let trust = Trust::Unless("balanced by another CPU meanwhile, or jiffies went on");
    report.count(at, "newidle: next_balance", trust, recorded, ours);
    Ok(())
}
