//! `fairlab live status`

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use fairlab_live::Status;
use serde_json::json;

use crate::cli::OutputArgs;
use crate::output::Format;

/// The state of this machine.
pub fn here() -> Status {
    Status::read(Path::new("/"))
}

/// Tells who schedules this machine, and what is in the way of us.
pub fn run(output: &OutputArgs) -> Result<ExitCode> {
    let status = here();
    let obstacle = status.check(fairlab_live::is_root()).err();
    let obstacle = obstacle.map(|error| error.to_string());
    let format = output.format()?;
    let mut out = output.open()?;
    if format == Format::Json {
        out.json(&json!({
            "kernel": status.release,
            "state": status.state,
            "scheduler": status.scheduler,
            "is_ours": status.is_ours(),
            "has_btf": status.has_btf,
            "enabled_since_boot": status.enable_seq,
            "rejected_tasks": status.nr_rejected,
            "obstacle": obstacle,
        }))?;
    } else {
        let state = status.state.as_deref().unwrap_or("not in this kernel");
        writeln!(out, "kernel     {}", status.release)?;
        writeln!(out, "sched_ext  {state}")?;
        if let Some(scheduler) = &status.scheduler {
            let ours = if status.is_ours() { " (ours)" } else { "" };
            writeln!(out, "scheduler  {scheduler}{ours}")?;
        }
        if let Some(number) = status.enable_seq {
            writeln!(out, "enabled    {number} times since boot")?;
        }
        match (&obstacle, status.is_ours()) {
            (_, true) => writeln!(out, "fairlab    schedules this machine")?,
            (Some(obstacle), _) => writeln!(out, "fairlab    cannot start: {obstacle}")?,
            (None, _) => writeln!(out, "fairlab    can start")?,
        }
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
