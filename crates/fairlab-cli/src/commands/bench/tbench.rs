//! `fairlab bench tbench`

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use fairlab_bench::load::tbench::{self, TbenchOptions};

use crate::cli::{OutputArgs, TbenchArgs};

/// Measures requests and replies over loopback TCP.
pub fn run(args: &TbenchArgs, output: &OutputArgs) -> Result<ExitCode> {
    let options = TbenchOptions {
        runtime: Duration::from_secs_f64(args.timelimit),
        warm_up: Duration::from_secs_f64(args.warmup.unwrap_or(args.timelimit / 5.0)),
        seed: args.seed,
        cpus: args.common.cpus.clone(),
    };
    super::measure("tbench", &args.common, output, || {
        let results = args
            .clients
            .iter()
            .map(|clients| tbench::run(*clients, &options));
        Ok(tbench::report(&results.collect::<Result<Vec<_>, _>>()?))
    })
}
