//! `fairlab live`: our policy schedules this machine.

#[cfg(feature = "live")]
mod run;
#[cfg(feature = "live")]
mod shadow;
#[cfg(feature = "live")]
mod show;
mod status;

use std::process::ExitCode;

use anyhow::Result;

use crate::cli::live::{LiveAction, LiveVerb};

/// Schedules, or tells who does.
pub fn run(args: &LiveVerb) -> Result<ExitCode> {
    match &args.action {
        Some(LiveAction::Status { output }) => status::run(output),
        None => schedule(args),
    }
}

#[cfg(feature = "live")]
fn schedule(args: &LiveVerb) -> Result<ExitCode> {
    run::run(args)
}

/// Says first what would be in the way on this machine whatever the build.
#[cfg(not(feature = "live"))]
fn schedule(_: &LiveVerb) -> Result<ExitCode> {
    status::here().check(fairlab_live::is_root())?;
    Err(fairlab_live::LiveError::NotBuilt.into())
}
