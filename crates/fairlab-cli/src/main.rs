//! The `fairlab` command: Linux's fair scheduler, its CPU placement and balancing, on the desk.
//!
//! `cli.rs` says what can be typed, `commands/` has one file per verb, `output.rs` and
//! `progress.rs` are the only ways out. Nothing here knows how to schedule.
//!
//! A new verb is a line in [`cli::Verb`] and a line in [`run`].

mod checkpoint;
mod cli;
mod commands;
mod costs_arg;
mod explain_arg;
mod findings;
mod kernel_arg;
mod machine_arg;
mod output;
mod pid;
mod progress;
mod suggest;
mod trace_arg;
mod workload_arg;
mod workload_help;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Verb};

/// The question was answered "worse", or `--check` found something.
pub const EXIT_WORSE: u8 = 1;
/// The command line or an input cannot be used.
pub const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&error);
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.verb {
        Verb::Machines(args) => commands::machines::run(&args),
        Verb::Kernels(args) => commands::kernels::run(&args),
        Verb::Run(args) => commands::run::run(&args),
        Verb::Compare(args) => commands::compare::run(&args),
        Verb::Validate(args) => commands::validate::run(&args),
        Verb::Audit(args) => commands::audit::run(&args),
        Verb::Replay(args) => commands::replay::run(&args),
        Verb::Report(args) => commands::report::run(&args),
        Verb::Bench(args) => commands::bench::run(&args),
        Verb::Calibrate(args) => commands::calibrate::run(&args),
        Verb::Layout(args) => commands::layout::run(&args),
        Verb::Events(args) => commands::events::run(&args),
        Verb::Record(args) => commands::record::run(&args),
        Verb::Timehist(args) => commands::views::timehist::run(&args),
        Verb::Latency(args) => commands::views::latency::run(&args),
        Verb::Map(args) => commands::views::map::run(&args),
        Verb::Stats(args) => commands::stats::run(&args),
        Verb::Live(args) => commands::live::run(&args),
        Verb::Completions(args) => commands::completions::run(&args),
        Verb::Man(args) => commands::man::run(&args),
    }
}
