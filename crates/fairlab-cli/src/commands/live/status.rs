//! `fairlab live status`

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use fairlab_live::Status;
use serde_json::{Map, Value, json};

use crate::cli::OutputArgs;
use crate::output::Format;

/// The state of this machine.
pub fn here() -> Status {
    Status::read(Path::new("/"))
}

/// Our programs in the kernel, which only root sees.
#[cfg(feature = "live")]
fn programs() -> Vec<Value> {
    let told = |program: fairlab_live::Program| {
        json!({
            "name": program.name,
            "verified_instructions": program.verified,
            "runs": program.runs,
            "mean_ns": program.mean_ns(),
        })
    };
    let loaded = fairlab_live::Program::loaded();
    loaded.into_iter().map(told).collect()
}

/// A build without live mode does not ask the kernel.
#[cfg(not(feature = "live"))]
fn programs() -> Vec<Value> {
    Vec::new()
}

/// Tells who schedules this machine, and what is in the way of us.
pub fn run(output: &OutputArgs) -> Result<ExitCode> {
    let status = here();
    let obstacle = status.check(fairlab_live::is_root()).err();
    let obstacle = obstacle.map(|error| error.to_string());
    let programs = programs();
    let events: Map<String, Value> = status
        .events
        .iter()
        .map(|(name, count)| (name.clone(), json!(count)))
        .collect();
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
            "schedules_all": status.switches_all,
            "cpus_came_or_went": status.hotplug_seq,
            "events": events,
            "programs": programs,
            "obstacle": obstacle,
        }))?;
    } else {
        let state = status.state.as_deref().unwrap_or("not in this kernel");
        writeln!(out, "kernel     {}", status.release)?;
        writeln!(out, "sched_ext  {state}")?;
        if let Some(scheduler) = &status.scheduler {
            let ours = if status.is_ours() { " (ours)" } else { "" };
            let part = match status.switches_all {
                Some(false) => ", for tasks of the policy SCHED_EXT",
                _ => "",
            };
            writeln!(out, "scheduler  {scheduler}{ours}{part}")?;
        }
        if let Some(number) = status.enable_seq {
            writeln!(out, "enabled    {number} times since boot")?;
        }
        if let Some(number) = status.hotplug_seq {
            writeln!(out, "CPUs       came or went {number} times since boot")?;
        }
        if let Some(number) = status.nr_rejected {
            writeln!(out, "refused    {number} tasks")?;
        }
        for (name, count) in status.events.iter().filter(|(_, count)| *count != 0) {
            writeln!(out, "event      {name}: {count}")?;
        }
        for program in &programs {
            let name = program["name"].as_str().unwrap_or("?");
            let (verified, runs) = (&program["verified_instructions"], &program["runs"]);
            // The kernel counts while someone asks for it, as --stats does.
            let counted = program["mean_ns"]
                .as_u64()
                .map(|ns| format!(", {runs} runs of {ns} ns in the mean"))
                .unwrap_or_default();
            writeln!(
                out,
                "program    {name}: {verified} instructions verified{counted}"
            )?;
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
