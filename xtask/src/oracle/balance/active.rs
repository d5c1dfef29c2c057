//! Runs of the stopper.

use anyhow::{Context as _, Result, bail};
use fairlab_kernel::Kernel;
use fairlab_policy::balance::{BalanceState, Env, IdleKind, MigrationType};
use fairlab_topology::Domains;
use fairlab_units::CpuId;

use super::attempt::{migrate_answer, migrate_trust};
use super::record::ActiveRecord;
use super::report::{Place, Report, Trust};
use super::view::{Task, View};

/// Compares one run: which task moves.
pub fn compare(
    record: &ActiveRecord,
    kernel: &Kernel,
    domains: &Domains,
    at: &Place<'_>,
    report: &mut Report,
) -> Result<()> {
    let Ok(dst) = u32::try_from(record.dst) else {
        return Ok(());
    };
    if dst.max(record.src) as usize >= domains.nr_cpu_ids() {
        bail!("the record names CPUs that the boot does not have");
    }
    // The stopper counts, so one other task is needed.
    let works = record.active_balance != 0 && record.nr_running > 1;
    if !record.migrate.is_empty() {
        report.count(at, "active: works", Trust::Certain, true, works);
    }
    let id = domains
        .chain(CpuId(dst))
        .find(|id| domains.span(*id).test(CpuId(record.src)))
        .context("no domain holds source and destination")?;
    let cpus = domains.span(id).clone();
    let env = Env::new(kernel, domains, id, &cpus, CpuId(dst), IdleKind::Idle);
    let mut state = BalanceState::new(domains, kernel, record.jiffies, domains.nr_cpu_ids());
    let mut view = View::new(&[], record.jiffies);
    for row in &record.migrate {
        state.domain_mut(id).nr_balance_failed = row.nr_failed;
        view.task = Some(Task::of(row)?);
        let (recorded, ours) = migrate_answer(&env, &view, &state, MigrationType::Load, row);
        let trust = migrate_trust(&env, row, recorded == ours);
        report.count(at, "active: can_migrate", trust, recorded, ours);
        report.count(at, "active: moved", Trust::Certain, row.detached, row.ret);
    }
    Ok(())
}
