//! Which events are listed.

use anyhow::Result;
use fairlab::units::{CpuMask, TaskId};
use fairlab_trace::{EventKind, SchedEvent};

use crate::cli::events::EventFilterArgs;
use crate::trace_arg;

/// What is asked for; everything that is not given passes.
pub struct Filter {
    cpus: Option<CpuMask>,
    from_ns: u64,
    to_ns: u64,
    pub comm: Option<String>,
    pids: Vec<u32>,
}

impl Filter {
    pub fn new(args: &EventFilterArgs) -> Result<Self> {
        let cpus = args.cpu.as_deref().map(trace_arg::cpus).transpose()?;
        let window = args.time.as_deref().map(trace_arg::window).transpose()?;
        let (from, to) = window.unwrap_or_default();
        Ok(Self {
            cpus,
            from_ns: from.unwrap_or(0),
            to_ns: to.unwrap_or(u64::MAX),
            comm: args.comm.clone(),
            pids: args.pids.clone(),
        })
    }

    /// Does the event pass, apart from names?
    pub fn passes(&self, event: &SchedEvent) -> bool {
        let is_cpu_wanted = self.cpus.as_ref().is_none_or(|cpus| cpus.test(event.cpu));
        let is_task_wanted = self.pids.is_empty()
            || tasks(&event.kind)
                .into_iter()
                .flatten()
                .any(|task| self.pids.contains(&task.0));
        is_cpu_wanted && is_task_wanted && (self.from_ns..=self.to_ns).contains(&event.time.0)
    }

    /// Is it too late for all events to come?
    pub fn is_over(&self, event: &SchedEvent) -> bool {
        event.time.0 > self.to_ns
    }
}

/// The tasks that an event is about.
pub fn tasks(kind: &EventKind) -> [Option<TaskId>; 2] {
    match *kind {
        EventKind::Switch { prev, next, .. } => [prev, next],
        EventKind::Fork { parent, child } => [Some(parent), Some(child)],
        EventKind::Waking { task, .. }
        | EventKind::Wakeup { task, .. }
        | EventKind::WakeupNew { task, .. }
        | EventKind::Migrate { task, .. }
        | EventKind::Exec { task }
        | EventKind::Exit { task }
        | EventKind::Named { task, .. }
        | EventKind::Process { task, .. }
        | EventKind::Priority { task, .. }
        | EventKind::StatRuntime { task, .. }
        | EventKind::StatDelay { task, .. } => [Some(task), None],
        EventKind::Running { task } => [task, None],
        _ => [None, None],
    }
}
