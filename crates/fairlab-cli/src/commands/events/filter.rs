//! Which events are listed.

use anyhow::{Context, Result, bail};
use fairlab::units::{CpuMask, TaskId};
use fairlab_trace::{EventKind, SchedEvent};

use crate::cli::events::EventFilterArgs;

/// CPUs that a list may name.
const MOST_CPUS: usize = 1 << 16;

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
        let cpus = match &args.cpu {
            Some(list) => Some(
                CpuMask::parse_list(list, MOST_CPUS)
                    .with_context(|| format!("--cpu {list}: a list like 0-3,8 is wanted"))?,
            ),
            None => None,
        };
        let (mut from_ns, mut to_ns) = (0, u64::MAX);
        if let Some(range) = &args.time {
            let Some((from, to)) = range.split_once(',') else {
                bail!("--time {range}: two times in seconds are wanted, like 12.5,13 or 12.5,");
            };
            if !from.is_empty() {
                from_ns = ns(from)?;
            }
            if !to.is_empty() {
                to_ns = ns(to)?;
            }
        }
        Ok(Self {
            cpus,
            from_ns,
            to_ns,
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

/// Seconds with up to nine digits after the point, in ns.
fn ns(text: &str) -> Result<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let number = || {
        if fraction.len() > 9 || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let whole: u64 = whole.parse().ok()?;
        let fraction: u64 = format!("{fraction:0<9}").parse().ok()?;
        whole.checked_mul(1_000_000_000)?.checked_add(fraction)
    };
    number().with_context(|| format!("--time: {text} is no time in seconds, like 12.5"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_ns() {
        assert_eq!(ns("12.5").unwrap(), 12_500_000_000);
        assert_eq!(ns("0.000000001").unwrap(), 1);
        assert!(ns("x").is_err());
        assert!(ns("1.0000000001").is_err());
    }
}
