//! `fairlab bench schbench`

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use fairlab_bench::load::schbench::{self, SchbenchOptions};

use crate::cli::{OutputArgs, SchbenchArgs};

/// Measures wakeup and request latencies.
pub fn run(args: &SchbenchArgs, output: &OutputArgs) -> Result<ExitCode> {
    let mut options = SchbenchOptions {
        message_threads: args.message_threads,
        runtime: Duration::from_secs_f64(args.runtime),
        warm_up: Duration::from_secs_f64(args.warmup),
        interval: Duration::from_secs_f64(args.interval),
        rps: args.rps,
        auto_rps: args.auto_rps,
        pipe: args.pipe,
        sleep: Duration::from_micros(args.sleep),
        operations: args.operations,
        footprint_kib: args.footprint,
        is_locking: !args.no_locking,
        cpus: args.common.cpus.clone(),
        ..SchbenchOptions::default()
    };
    if let Some(threads) = args.threads {
        options.threads = threads;
    }
    super::measure("schbench", &args.common, output, || {
        let tell = |so_far: &_| eprint!("{}", schbench::interval_report(so_far));
        let result = schbench::run(&options, tell)?;
        if options.auto_rps.is_some() {
            eprintln!("final rps goal was {}", result.target_rps);
        }
        Ok(schbench::report(&result, args.layout.into()))
    })
}
