//! `fairlab validate`.

use std::path::PathBuf;

use clap::Args;

use super::{OutputArgs, ProgressArgs, SeedArgs, parse_confidence};

/// `fairlab validate`
#[derive(Debug, Args)]
#[command(after_help = "\
A scenario is a TOML file: one published result and what to simulate for it; scenarios/README.md
describes the form. Effects are parts of the baseline, and positive is better.")]
pub struct ValidateVerb {
    /// Scenario files, or folders of them [default: the scenarios that this build carries]
    #[arg(value_name = "CASES")]
    pub cases: Vec<PathBuf>,
    /// Only the cases whose names match, like '*hackbench*'; may be given several times
    #[arg(long, value_name = "GLOB")]
    pub only: Vec<String>,
    /// Runs of each kernel at each point; fewer than six prove nothing at 95 percent
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub runs: u32,
    /// More runs follow, --runs at a time, until the interval of a case is narrow or this many have been
    /// made [default: --runs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub most_runs: Option<u32>,
    /// Level of intervals and verdicts, in percent
    #[arg(long, value_name = "PCT", default_value_t = 95.0, value_parser = parse_confidence)]
    pub confidence: f64,
    /// Worker threads; the result is the same for any number [default: all CPUs]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
    /// Simulate nothing: hold the numbers in the scenarios against those of FILE, one JSON object with id,
    /// link, commit and points a line; exits with 1 when they differ
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "runs"])]
    pub facts: Option<PathBuf>,
    /// Exit with 1 when fewer signs agree than --at-least says, or when a control is broken
    #[arg(long)]
    pub check: bool,
    /// With --check: the part of the cases with a published effect of 3 % or more whose sign has to be
    /// right, in percent
    #[arg(long, value_name = "PCT", default_value_t = 80, requires = "check", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub at_least: u8,
    #[command(flatten)]
    pub seed: SeedArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}
