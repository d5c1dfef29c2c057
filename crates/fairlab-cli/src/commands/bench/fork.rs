//! `fairlab bench fork`

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use fairlab_bench::load::fork::{self, ForkOptions, Procedure};

use crate::cli::{ForkArgs, OutputArgs};

/// Measures process latencies.
pub fn run(args: &ForkArgs, output: &OutputArgs) -> Result<ExitCode> {
    let procedures: Vec<Procedure> = args.procedures.iter().map(|word| (*word).into()).collect();
    let mut options = ForkOptions {
        repetitions: args.repetitions,
        warm_up: Duration::from_micros(args.warmup),
        program: args.program.clone(),
        cpus: args.common.cpus.clone(),
        ..ForkOptions::default()
    };
    if !procedures.is_empty() {
        options.procedures = procedures;
    }
    super::measure("fork", &args.common, output, || {
        Ok(fork::report(&fork::run(&options)?))
    })
}
