//! Carrying a plan out on worker threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fairlab_sim::{Explain, Observer, SectionTimer, Silent, SimOptions, Turn, run_and_turn};
use fairlab_topology::Domains;

use crate::outcome::Outcome;
use crate::plan::{Job, Plan, PlanError};
use crate::sections::IdleCoreTimer;

/// Runs everything that `plan` asks for. `done` is called after each run, from any thread.
///
/// The outcomes come in the order (kernel, run), whatever thread they ran on.
///
/// # Errors
/// The first failure in that order.
pub fn execute(plan: &Plan<'_>, done: &(dyn Fn() + Sync)) -> Result<Vec<Outcome>, PlanError> {
    let domains = plan.domains()?;
    let jobs = plan.jobs();
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(jobs.len()));
    let work = || {
        // Each worker takes the next job until none is left.
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = one(plan, &domains, *job, None, &mut Silent);
            done();
            // A lock is poisoned only by a panic, which the scope passes on.
            if let Ok(mut results) = results.lock() {
                results.push(((job.arm, job.run), result));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..plan.threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(work);
        }
        work();
    });
    let mut results = results
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|(key, _)| *key);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The first run of the first kernel alone, watched by `observer`, with decisions explained. The
/// outcome is that which [`execute`] has for it.
///
/// # Errors
/// When the domains cannot be built or the run fails.
pub fn single(
    plan: &Plan<'_>,
    explain: Option<Explain>,
    observer: &mut dyn Observer,
) -> Result<Outcome, PlanError> {
    let domains = plan.domains()?;
    one(plan, &domains, Job { arm: 0, run: 0 }, explain, observer)
}

fn one(
    plan: &Plan<'_>,
    domains: &[Domains],
    job: Job,
    explain: Option<Explain>,
    observer: &mut dyn Observer,
) -> Result<Outcome, PlanError> {
    let kernel = plan.kernels[job.arm];
    let seed = plan.seed_of(job.run);
    let beside = match plan.kernels.as_slice() {
        [a, b] if plan.ask_beside => Some(if job.arm == 0 { *b } else { *a }),
        _ => None,
    };
    let point = plan.stretch.from;
    // Up to the point all runs are the one that was saved; there their chances part, but for the first,
    // which goes on as it was.
    let (past, past_seed) = point.map_or((kernel, seed), |p| (p.kernel, plan.seed_of(0)));
    let options = SimOptions {
        beside,
        explain,
        costs: plan.costs.clone(),
        until: plan.stretch.until,
        ..SimOptions::new(past, past_seed)
    };
    let past_domains = point
        .filter(|point| point.kernel != kernel)
        .map(|point| plan.domains_of(&point.kernel))
        .transpose()?;
    let turn = point.map(|point| Turn {
        at: point.at,
        event_hash: Some(point.event_hash),
        kernel: past_domains.as_ref().map(|_| (kernel, &domains[job.arm])),
        seed: (job.run > 0).then_some(seed),
    });
    // Without a comparison nothing is measured, and the fast search may run.
    let timer = beside.map(|_| IdleCoreTimer::new(plan.clock));
    let result = run_and_turn(
        plan.machine,
        past_domains.as_ref().unwrap_or(&domains[job.arm]),
        plan.workload,
        &options,
        turn.as_ref(),
        observer,
        timer.as_ref().map(|timer| timer as &dyn SectionTimer),
    )
    .map_err(|source| PlanError::Run {
        run: job.run + 1,
        kernel: kernel.to_string(),
        seed,
        source,
    })?;
    let key = (job.arm, job.run, seed);
    let samples = timer.map(IdleCoreTimer::into_samples).unwrap_or_default();
    Ok(Outcome::of(key, plan.workload, result, samples))
}
