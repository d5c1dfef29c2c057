//! What hardware costs, on the command line.

use std::path::PathBuf;

use clap::Args;

/// The costs to simulate with.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Machine")]
pub struct CostsArgs {
    /// Costs of hardware and kernel in TOML, as `fairlab machines costs` and `fairlab calibrate` write
    /// them; those of the machine's class when not given
    #[arg(long, value_name = "FILE")]
    pub costs: Option<PathBuf>,
}
