//! `fairlab completions`: a script that teaches a shell our verbs and options.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::CommandFactory;

use crate::cli::{Cli, CompletionsVerb};
use crate::output::Output;

/// Prints the script.
pub fn run(args: &CompletionsVerb) -> Result<ExitCode> {
    // By way of a buffer, because the generator panics when its writer fails.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "fairlab", &mut script);
    let mut out = Output::stdout();
    out.write_all(&script)?;
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
