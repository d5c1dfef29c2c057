//! What the audit of a trace found, with all that is needed to tell it.

pub mod affinity;
pub mod machine;
mod notes;

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use fairlab::units::TaskId;
use fairlab_audit::{Audit, AuditOptions, Auditor};
use fairlab_trace::{NameId, Recording};

use affinity::Step;
use machine::Traced;

pub use notes::notes;

/// What there is to tell.
pub struct Findings {
    pub recording: Recording,
    pub traced: Traced,
    pub audit: Audit,
    pub names: BTreeMap<TaskId, NameId>,
}

impl Findings {
    /// The task's name, empty when it is not known.
    pub fn name(&self, task: TaskId) -> &str {
        let name = self.names.get(&task).copied();
        name.map_or("", |name| self.recording.names().get(name))
    }

    /// `name:number`, as perf prints tasks.
    pub fn task(&self, task: TaskId) -> String {
        format!("{}:{}", self.name(task), task.0)
    }

    /// Is every verdict as sure as it says?
    pub fn is_consistent(&self) -> bool {
        self.audit.contradictions == 0
    }
}

/// Audits the trace called `trace`.
pub fn audit(trace: &str, machine: Option<&str>, options: AuditOptions) -> Result<Findings> {
    let mut recording = fairlab_trace::open(trace)?;
    let traced = machine::of(machine, &mut recording)?;
    let (mut audit, mut names) = pass(&mut recording, &traced, &options);
    if !audit.losses.is_empty() {
        // Where events are missing is known only now: judge again, so that nothing is claimed to
        // be sure just before a loss that was told after it.
        recording.rewind()?;
        let losses = audit.losses.clone();
        let options = AuditOptions { losses, ..options };
        (audit, names) = pass(&mut recording, &traced, &options);
    }
    if audit.totals.switches == 0 {
        if matches!(
            recording.format(),
            fairlab_trace::Format::Timehist | fairlab_trace::Format::SchedMap
        ) {
            bail!(
                "{trace}: a table of {} has too little in it to be judged: give the recording that it was \
                 made of",
                recording.format()
            );
        }
        bail!(
            "{trace}: no sched_switch event: record at least sched_switch and sched_wakeup, best \
             also sched_waking, sched_wakeup_new and sched_migrate_task"
        );
    }
    Ok(Findings {
        recording,
        traced,
        audit,
        names,
    })
}

fn pass(
    recording: &mut Recording,
    traced: &Traced,
    options: &AuditOptions,
) -> (Audit, BTreeMap<TaskId, NameId>) {
    let mut auditor = Auditor::new(&traced.machine, options.clone());
    let names = affinity::feed(recording, traced, |step| match step {
        Step::Told(told) => auditor.allow(told.task, &told.allowed),
        Step::Event(event) => auditor.event(event),
    });
    (auditor.finish(), names)
}
