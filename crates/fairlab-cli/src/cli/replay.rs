//! `fairlab replay`

use clap::Args;
use fairlab::kernel::Kernel;

use super::OutputArgs;
use crate::kernel_arg::parse_kernel;

/// `fairlab replay`
#[derive(Debug, Args)]
pub struct ReplayVerb {
    /// The trace, in any form that `fairlab events` reads
    #[arg(value_name = "TRACE")]
    pub trace: String,
    /// The kernel that schedules the recorded work
    #[arg(short = 'K', long, value_name = "K", value_parser = parse_kernel)]
    pub kernel: Kernel,
    /// The machine on which it does; without it the one that was traced
    #[arg(short = 'M', long, value_name = "M")]
    pub machine: Option<String>,
    /// The machine that was traced; without it what the trace says, or a guess that is told
    #[arg(long, value_name = "M")]
    pub recorded_on: Option<String>,
    /// Seed of the simulation
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How many tasks are shown, those that ran longest first
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub top: usize,
    /// Rounds in which the work is fitted to its recorded CPU time, by replays on the recorded machine and
    /// under the recorded kernel, of which the one that comes nearest counts; 0 takes typical costs of the kernel's
    /// own code out and no more
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub fit: u32,
    #[command(flatten)]
    pub html: super::report::HtmlArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}
