//! `fairlab bench`: measurements on this host.

mod fork;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use fairlab_bench::Measured;

use crate::cli::{BenchSub, BenchVerb, OutputArgs};

/// Measures what was asked for.
pub fn run(args: &BenchVerb) -> Result<ExitCode> {
    match &args.sub {
        BenchSub::Fork(sub) => fork::run(sub, &args.output),
    }
}

/// Prints what a load gave, in its tool's form.
fn print(measured: &Measured, output: &OutputArgs) -> Result<ExitCode> {
    let mut out = output.open()?;
    write!(out, "{}", measured.text)?;
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
