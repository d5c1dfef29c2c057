//! `fairlab latency`: delays by task.

use std::process::ExitCode;

use anyhow::Result;
use fairlab_views::{Latency, LatencyOptions, LatencyTable, SortKey};
use serde_json::{Value, json};

use crate::cli::views::{LatencyVerb, SortArg};
use crate::output::Format;
use crate::trace_arg;

/// Prints the table.
pub fn run(args: &LatencyVerb) -> Result<ExitCode> {
    let options = LatencyOptions {
        filter: super::filter(&args.filter, &[])?,
        per_task: args.pids,
        sort: args.sort.iter().copied().map(key).collect(),
        all_waits: args.all_waits,
    };
    let format = args.output.format()?;
    let mut recording = trace_arg::open(&args.trace)?;
    let mut latency = Latency::new(options);
    // On this thread: counting takes less than handing events to another one would.
    let mut events = Vec::new();
    while recording.next_batch(&mut events) {
        events.iter().for_each(|event| latency.event(event));
    }
    let table = latency.finish(recording.names());
    let mut out = args.output.open()?;
    match format {
        Format::Text => table.write(&mut out)?,
        Format::Json => out.json(&report(&table))?,
    }
    out.finish()?;
    super::talk(&recording);
    if table.left_aside > 0 {
        eprintln!(
            "note: {} waits are left aside, as perf 6.1 does; --all-waits counts them",
            table.left_aside
        );
    }
    Ok(ExitCode::SUCCESS)
}

const fn key(arg: SortArg) -> SortKey {
    match arg {
        SortArg::Avg => SortKey::Average,
        SortArg::Max => SortKey::Longest,
        SortArg::Switch => SortKey::Switches,
        SortArg::Runtime => SortKey::Runtime,
    }
}

fn report(table: &LatencyTable) -> Value {
    let rows = Vec::from_iter(table.rows.iter().map(|row| {
        json!({
            "name": row.name,
            "task": row.task.0,
            "tasks": row.nr_tasks,
            "runtime_ns": row.runtime.0,
            "switches": row.switches,
            "delay_avg_ns": row.mean_delay().0,
            "delay_max_ns": row.max_delay.0,
            "delay_max_start_ns": row.max_from.0,
            "delay_max_end_ns": row.max_to.0,
        })
    }));
    json!({
        "rows": rows,
        "runtime_ns": table.total_runtime.0,
        "switches": table.total_switches,
        "waits_left_aside": table.left_aside,
        "unordered_wakeups": table.unordered_wakeups,
        "context_switch_bugs": table.switch_bugs,
        "lost_events": table.lost.0,
        "losses": table.lost.1,
    })
}
