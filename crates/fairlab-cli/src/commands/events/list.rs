//! Events, one per line.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use fairlab::units::TaskId;
use fairlab_trace::{DelayCause, EventKind, NameId, Names, Recording, SchedEvent};
use serde_json::json;

use super::filter::{Filter, tasks};
use crate::output::{Format, Output};

/// Who has which name now.
type Comms = BTreeMap<u32, NameId>;

/// Writes the events that pass.
pub fn write(
    recording: &mut Recording,
    filter: &Filter,
    format: Format,
    out: &mut Output,
) -> Result<()> {
    let mut comms = Comms::new();
    let mut events = Vec::new();
    while recording.next_batch(&mut events) {
        for event in &events {
            if filter.is_over(event) {
                return Ok(());
            }
            if let EventKind::Named { task, name } = event.kind {
                comms.insert(task.0, name);
            }
            let names = recording.names();
            if !filter.passes(event) || !is_name_wanted(filter, event, &comms, names) {
                continue;
            }
            let what = describe(event, &comms, names);
            match format {
                Format::Text => writeln!(
                    out,
                    "{:>6}.{:09} [{:03}] {:<12} {}",
                    event.time.0 / 1_000_000_000,
                    event.time.0 % 1_000_000_000,
                    event.cpu.0,
                    what.0,
                    what.1
                )?,
                Format::Json => {
                    let row = json!({
                        "time_ns": event.time.0,
                        "cpu": event.cpu.0,
                        "event": what.0,
                        "tasks": Vec::from_iter(tasks(&event.kind).into_iter().flatten().map(|task| task.0)),
                        "text": what.1,
                    });
                    serde_json::to_writer(&mut *out, &row).map_err(std::io::Error::from)?;
                    writeln!(out)?;
                }
            }
        }
    }
    Ok(())
}

fn is_name_wanted(filter: &Filter, event: &SchedEvent, comms: &Comms, names: &Names) -> bool {
    filter.comm.as_ref().is_none_or(|wanted| {
        tasks(&event.kind)
            .into_iter()
            .flatten()
            .filter_map(|task| comms.get(&task.0))
            .any(|&name| names.get(name) == wanted)
    })
}

fn describe(event: &SchedEvent, comms: &Comms, names: &Names) -> (&'static str, String) {
    let who = |task: TaskId| match comms.get(&task.0) {
        Some(&name) => format!("{}:{}", names.get(name), task.0),
        None => format!("<...>:{}", task.0),
    };
    let who_or_idle = |task: Option<TaskId>| task.map_or_else(|| "idle".to_owned(), who);
    match event.kind {
        EventKind::Switch {
            prev,
            prev_state,
            next,
        } => (
            "switch",
            format!(
                "{} {} ==> {}",
                who_or_idle(prev),
                prev_state.letter(),
                who_or_idle(next)
            ),
        ),
        EventKind::Waking { task, prev_cpu } => (
            "waking",
            format!("{} last on CPU {}", who(task), prev_cpu.0),
        ),
        EventKind::Wakeup { task, target } => ("wakeup", format!("{}{}", who(task), on(target.0))),
        EventKind::WakeupNew { task, target } => {
            ("wakeup_new", format!("{}{}", who(task), on(target.0)))
        }
        EventKind::Migrate { task, from, to } => (
            "migrate",
            format!("{} from CPU {} to {}", who(task), from.0, to.0),
        ),
        EventKind::Fork { parent, child } => {
            ("fork", format!("{} makes {}", who(parent), who(child)))
        }
        EventKind::Exec { task } => ("exec", who(task)),
        EventKind::Exit { task } => ("exit", who(task)),
        EventKind::Named { task, name } => ("named", format!("{} is {}", task.0, names.get(name))),
        EventKind::Process { task, process, .. } => (
            "process",
            format!("{} is a thread of {}", who(task), process.0),
        ),
        EventKind::Priority { task, prio } => ("priority", format!("{} has {prio}", who(task))),
        EventKind::StatRuntime { task, runtime } => {
            ("ran", format!("{} for {} ns", who(task), runtime.0))
        }
        EventKind::StatDelay { task, cause, delay } => {
            let cause = match cause {
                DelayCause::Wait => "waited",
                DelayCause::Sleep => "slept",
                DelayCause::Blocked => "was blocked",
                DelayCause::IoWait => "waited for a device",
            };
            ("delay", format!("{} {cause} {} ns", who(task), delay.0))
        }
        EventKind::Running { task } => ("running", who_or_idle(task)),
        EventKind::CpuIdle { state } => (
            "cpu_idle",
            state.map_or_else(
                || "leaves".to_owned(),
                |state| format!("enters state {state}"),
            ),
        ),
        EventKind::CpuFrequency { target, khz } => {
            ("frequency", format!("CPU {} {khz} kHz", target.0))
        }
        EventKind::Lost { count } => (
            "lost",
            count.map_or_else(|| "events".to_owned(), |count| format!("{count} events")),
        ),
        _ => ("other", String::new()),
    }
}

fn on(cpu: u32) -> String {
    if cpu == u32::MAX {
        String::new()
    } else {
        format!(" on CPU {cpu}")
    }
}
