//! `fairlab bench pipe`

use std::process::ExitCode;

use anyhow::Result;
use fairlab_bench::load::pipe::{self, PipeOptions};

use crate::cli::{OutputArgs, PipeArgs};

/// Measures switches between two tasks.
pub fn run(args: &PipeArgs, output: &OutputArgs) -> Result<ExitCode> {
    let options = PipeOptions {
        loops: args.loops,
        is_threaded: args.threaded,
        cpus: args.common.cpus.clone(),
        is_split: args.split,
    };
    super::measure("pipe", &args.common, output, || {
        Ok(pipe::report(&pipe::run(&options)?))
    })
}
