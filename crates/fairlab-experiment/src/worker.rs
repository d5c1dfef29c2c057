//! Carrying a plan out on worker threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use fairlab_sim::{Silent, SimOptions, run};
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
            let result = one(plan, &domains, *job);
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

fn one(plan: &Plan<'_>, domains: &[Domains], job: Job) -> Result<Outcome, PlanError> {
    let kernel = plan.kernels[job.arm];
    let seed = plan.seed_of(job.run);
    let beside = match plan.kernels.as_slice() {
        [a, b] if plan.ask_beside => Some(if job.arm == 0 { *b } else { *a }),
        _ => None,
    };
    let options = SimOptions {
        beside,
        costs: plan.costs.clone(),
        ..SimOptions::new(kernel, seed)
    };
    let timer = IdleCoreTimer::new(plan.clock);
    let result = run(
        plan.machine,
        &domains[job.arm],
        plan.workload,
        &options,
        &mut Silent,
        Some(&timer),
    )
    .map_err(|source| PlanError::Run {
        run: job.run + 1,
        kernel: kernel.to_string(),
        seed,
        source,
    })?;
    let key = (job.arm, job.run, seed);
    Ok(Outcome::of(
        key,
        plan.workload,
        result,
        timer.into_samples(),
    ))
}
