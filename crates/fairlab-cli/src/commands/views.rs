//! Recordings in perf sched's forms.

pub mod latency;
pub mod map;
pub mod timehist;

use anyhow::Result;
use fairlab::units::{TaskId, Timestamp};
use fairlab_trace::Recording;
use fairlab_views::Filter;

use crate::cli::views::ViewFilterArgs;
use crate::trace_arg;

/// The filter that was asked for.
fn filter(args: &ViewFilterArgs, pids: &[u32]) -> Result<Filter> {
    let window = args.time.as_deref().map(trace_arg::window).transpose()?;
    let (from, to) = window.unwrap_or_default();
    let tasks = |numbers: &[u32]| numbers.iter().copied().map(TaskId).collect();
    Ok(Filter {
        cpus: args.cpu.as_deref().map(trace_arg::cpus).transpose()?,
        tasks: tasks(&args.tids),
        processes: tasks(pids),
        names: args.comm.clone(),
        from: from.map(Timestamp),
        to: to.map(Timestamp),
    })
}

/// Says what makes the view less than the whole truth.
fn talk(recording: &Recording) {
    let ledger = recording.ledger();
    if ledger.nr_losses() > 0 {
        let (count, has_more) = ledger.lost_events();
        eprintln!(
            "note: {count}{} events were lost at {} places; times across them are wrong \
             (`fairlab events` tells where)",
            if has_more { " or more" } else { "" },
            ledger.nr_losses()
        );
    }
    for problem in ledger.problems().iter().take(5) {
        eprintln!("warning: {problem}");
    }
    if recording.counts().get("sched_switch") == 0 {
        eprintln!("note: the recording has no sched_switch event, so there is nothing to show");
    }
}
