//! `fairlab record`: this host's scheduling events into a file.

mod decisions;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use fairlab_record::{RecordOptions, Recorded, Tracefs, record};
use serde_json::json;

use crate::cli::record::RecordVerb;
use crate::output::Output;
use crate::trace_arg;

/// Records, and says what was recorded and what was lost.
pub fn run(args: &RecordVerb) -> Result<ExitCode> {
    if let Some(folder) = &args.decisions {
        return decisions::run(args, folder);
    }
    let options = RecordOptions {
        output: args.output.clone(),
        buffer_kb: args.buffer_kb,
        cpus: args.cpus.as_deref().map(trace_arg::cpus).transpose()?,
        duration: args.duration,
        clock: args.clock.clone(),
        runtime: args.runtime,
        idle: args.idle,
        frequency: args.frequency,
        snapshot: !args.no_snapshot,
        tool: format!("fairlab record {}", env!("CARGO_PKG_VERSION")),
    };
    let tracefs = Tracefs::of_host(Path::new("/"))?;
    let is_stopped = stop_flag()?;
    let recorded = record(&tracefs, &options, &args.command, &is_stopped)?;
    if args.json {
        report(args, &recorded)?;
    } else {
        talk(args, &recorded);
    }
    Ok(ExitCode::SUCCESS)
}

/// Set when somebody wants this process to end.
fn stop_flag() -> Result<Arc<AtomicBool>> {
    let is_stopped = Arc::new(AtomicBool::new(false));
    for signal in [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ] {
        signal_hook::flag::register(signal, Arc::clone(&is_stopped))
            .context("cannot wait for signals")?;
    }
    Ok(is_stopped)
}

fn report(args: &RecordVerb, recorded: &Recorded) -> Result<()> {
    let mut out = Output::stdout();
    let lost = recorded.lost.iter();
    let lost = Vec::from_iter(lost.map(|loss| json!({ "cpu": loss.cpu.0, "events": loss.events })));
    out.json(&json!({
        "file": args.output.display().to_string(),
        "bytes": recorded.bytes,
        "lost": lost,
        "missing_events": recorded.missing,
        "removed_instances": recorded.stale,
        "exit_code": recorded.status.and_then(|status| status.code()),
    }))?;
    out.finish()
}

fn talk(args: &RecordVerb, recorded: &Recorded) {
    for name in &recorded.stale {
        eprintln!("note: removed the instance {name} of a recorder that was killed");
    }
    for name in &recorded.missing {
        eprintln!("note: this kernel has no event {name}; what it would tell is unknown");
    }
    if let Some(status) = recorded.status.filter(|status| !status.success()) {
        eprintln!("note: the command ended with {status}");
    }
    for loss in &recorded.lost {
        eprintln!(
            "warning: CPU {} lost {} events; give it a larger --buffer-kb than {}",
            loss.cpu.0, loss.events, args.buffer_kb
        );
    }
    eprintln!(
        "{}: {:.1} MB of events{}",
        args.output.display(),
        recorded.bytes as f64 / 1e6,
        if recorded.lost.is_empty() {
            ", none lost"
        } else {
            ""
        }
    );
}
