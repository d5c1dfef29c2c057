//! Simulated runs on a page: the auditor watches them as it reads traces.

use std::collections::BTreeMap;

use fairlab::event::{EventKind, SchedEvent};
use fairlab::kernel::Kernel;
use fairlab::sim::Observer;
use fairlab::topology::Machine;
use fairlab::units::{CpuMask, Nanos, TaskId, Timestamp};
use fairlab::workload::{ProgramId, Workload};
use fairlab_audit::{Audit, Auditor};
use fairlab_report::Run;

use crate::cli::report::TimelineArgs;
use crate::pid::pid;

/// Audits a run while it goes on.
pub struct Watched<'a> {
    auditor: Auditor,
    workload: &'a Workload,
    names: BTreeMap<TaskId, String>,
}

impl<'a> Watched<'a> {
    /// Begins with a machine that idles.
    pub fn new(machine: &Machine, workload: &'a Workload, args: TimelineArgs) -> Self {
        let mut auditor = Auditor::new(machine, super::options(args));
        for cpu in machine.cpus().iter().filter(|cpu| cpu.online) {
            auditor.event(&SchedEvent {
                time: Timestamp::ZERO,
                cpu: cpu.id,
                kind: EventKind::Running { task: None },
            });
        }
        Self {
            auditor,
            workload,
            names: BTreeMap::new(),
        }
    }

    /// What was seen, the run having taken `elapsed`.
    pub fn finish(self, elapsed: Nanos) -> Seen {
        Seen {
            audit: self.auditor.finish_at(Timestamp(elapsed.0)),
            names: self.names,
            elapsed,
        }
    }
}

impl Observer for Watched<'_> {
    fn event(&mut self, event: &SchedEvent) {
        self.auditor.event(&SchedEvent {
            kind: event.kind.with_tasks(pid),
            ..*event
        });
    }

    fn task(&mut self, _: Timestamp, task: TaskId, program: ProgramId) {
        let name = self.workload.programs[program.index()].name.clone();
        self.names.insert(pid(task), name);
    }

    fn affinity(&mut self, _: Timestamp, task: TaskId, allowed: &CpuMask) {
        self.auditor.allow(pid(task), allowed);
    }
}

/// A run that was watched.
pub struct Seen {
    audit: Audit,
    names: BTreeMap<TaskId, String>,
    elapsed: Nanos,
}

impl Seen {
    /// As a run on a page; `what` are further facts.
    pub fn run<'a>(
        &'a self,
        machine: &'a Machine,
        workload: &Workload,
        kernel: &Kernel,
        what: &[(&str, String)],
    ) -> Run<'a> {
        let totals = &self.audit.totals;
        let mut facts = vec![
            ("workload", workload.description.clone()),
            ("kernel", kernel.to_string()),
            (
                "machine",
                format!("{}: {} CPUs", machine.name(), machine.cpus().len()),
            ),
            (
                "length",
                format!("{:.6} s, simulated", self.elapsed.0 as f64 / 1e9),
            ),
            (
                "events",
                format!(
                    "{}; {} switches, {} wakeups, {} new tasks",
                    totals.events, totals.switches, totals.wakeups, totals.forks
                ),
            ),
        ];
        facts.extend(what.iter().cloned());
        Run {
            name: format!("kernel {kernel}"),
            facts: facts
                .into_iter()
                .map(|(heading, value)| (heading.to_owned(), value))
                .collect(),
            notes: Vec::new(),
            machine,
            audit: &self.audit,
            names: self.names.clone(),
        }
    }
}
