//! `fairlab calibrate` on the command line.

use clap::Args;

use super::{MachineArgs, OutputArgs, ProgressArgs};

/// `fairlab calibrate`
#[derive(Debug, Args)]
#[command(
    after_long_help = "Writes a cost file: what was measured, with the interval of each number, and what \
                       was not as on machines of this class. `fairlab run --costs FILE` simulates with \
                       it. Takes less than a minute; keep the host quiet meanwhile.\n\n\
                       Example: fairlab calibrate -o costs.toml"
)]
pub struct CalibrateVerb {
    /// Rounds; the median counts
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(3..=1_000))]
    pub rounds: u32,
    #[command(flatten)]
    pub machine: MachineArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}
