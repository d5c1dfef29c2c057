//! `fairlab bench`: what can be measured on this host.

use clap::{Args, Subcommand, ValueEnum};
use fairlab_bench::CpuList;
use fairlab_bench::load::fork::Procedure;

use super::OutputArgs;

/// `fairlab bench`
#[derive(Debug, Args)]
pub struct BenchVerb {
    /// What to measure.
    #[command(subcommand)]
    pub sub: BenchSub,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What `fairlab bench` can measure. Each has a file in `commands/bench/`.
#[derive(Debug, Subcommand)]
pub enum BenchSub {
    /// Process latencies like lmbench's lat_proc: fork+exit, fork+execve, fork+/bin/sh -c
    Fork(ForkArgs),
}

/// `fairlab bench fork`
#[derive(Debug, Args)]
pub struct ForkArgs {
    /// What the child does; all three when not given
    #[arg(value_name = "PROCEDURE", value_enum)]
    pub procedures: Vec<ForkProcedure>,
    /// Batches of each; their median is printed
    #[arg(short = 'N', long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub repetitions: u32,
    /// Microseconds of operations before the first batch that do not count
    #[arg(short = 'W', long, value_name = "US", default_value_t = 100_000)]
    pub warmup: u64,
    /// The program that children become
    #[arg(long, value_name = "PATH", default_value = "/bin/true")]
    pub program: String,
    #[command(flatten)]
    pub pin: PinArgs,
}

/// lmbench's words for what a child does.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ForkProcedure {
    /// It ends at once
    Fork,
    /// It becomes a program that ends at once
    Exec,
    /// It becomes a shell that starts a program that ends at once
    Shell,
}

impl From<ForkProcedure> for Procedure {
    fn from(word: ForkProcedure) -> Self {
        match word {
            ForkProcedure::Fork => Self::Exit,
            ForkProcedure::Exec => Self::Exec,
            ForkProcedure::Shell => Self::Shell,
        }
    }
}

/// Where a load may run.
#[derive(Clone, Debug, Args)]
pub struct PinArgs {
    /// Stay on these CPUs, like 0-3,8; anywhere when not given
    #[arg(short = 'C', long = "cpu", value_name = "CPUS")]
    pub cpus: Option<CpuList>,
}
