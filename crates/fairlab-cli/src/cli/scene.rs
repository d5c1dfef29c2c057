//! What a run is made of, on the command line.

use std::path::PathBuf;

use clap::Args;

use super::{CostsArgs, MachineArgs, SeedArgs, WorkloadArgs};

/// What a run is made of, but for the kernel, as typed.
#[derive(Clone, Debug, Args)]
pub struct SceneArgs {
    #[command(flatten)]
    pub workload: WorkloadArgs,
    #[command(flatten)]
    pub machine: MachineArgs,
    #[command(flatten)]
    pub costs: CostsArgs,
    #[command(flatten)]
    pub seed: SeedArgs,
    #[command(flatten)]
    pub from: FromArgs,
}

/// From where a run goes on.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Checkpoint")]
pub struct FromArgs {
    /// Go on from the point that --save has written, under the kernels given here; machine, workload,
    /// costs and seed are those of the file, and figures are of the time after the point
    #[arg(long, value_name = "FILE", conflicts_with_all = ["workload", "machine", "costs", "seed"])]
    pub from: Option<PathBuf>,
}
