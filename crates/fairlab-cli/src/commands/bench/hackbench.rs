//! `fairlab bench hackbench`

use std::process::ExitCode;

use anyhow::Result;
use fairlab_bench::load::hackbench::{self, HackbenchOptions};

use crate::cli::{HackbenchArgs, OutputArgs};

/// Measures groups of senders and receivers.
pub fn run(args: &HackbenchArgs, output: &OutputArgs) -> Result<ExitCode> {
    let options = HackbenchOptions {
        groups: args.groups,
        fds: args.fds,
        loops: args.loops,
        datasize: args.datasize,
        is_pipe: args.pipe,
        is_threaded: args.threads,
        cpus: args.common.cpus.clone(),
    };
    super::measure("hackbench", &args.common, output, || {
        Ok(hackbench::report(&options, hackbench::run(&options)?))
    })
}
