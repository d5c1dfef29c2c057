//! `fairlab audit`: where a kernel placed tasks badly, and what it cost.

pub mod affinity;
pub mod check;
mod json;
mod machine;
pub mod text;
mod tracks;
pub mod what_if;

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Result, bail};
use fairlab::units::{Nanos, TaskId};
use fairlab_audit::{Audit, AuditOptions, Auditor};
use fairlab_trace::{NameId, Recording};

use crate::EXIT_WORSE;
use crate::cli::audit::AuditVerb;
use crate::commands::report;
use crate::output::Format;
use affinity::Affinities;
use machine::Traced;

/// Sorts of differences from other kernels that a page lists.
const PAGE_DIFFERENCES: usize = 50;

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

/// Audits a trace.
pub fn run(args: &AuditVerb) -> Result<ExitCode> {
    // What has a form of its own stands beside the answer.
    let (page, output) = args.output.beside(&["html"]);
    let (tracks, output) = output.beside(&["pftrace", "perfetto-trace"]);
    let (rows, output) = output.beside(&["parquet"]);
    let html = args.html.html.clone().or(page);
    let parquet = args.parquet.clone().or(rows);
    let format = output.format()?;
    let mut options = if html.is_some() || tracks.is_some() {
        report::options(args.html.timeline)
    } else {
        AuditOptions::default()
    };
    options.every_placement |= parquet.is_some();
    options.keep = options.keep.max(args.worst);
    options.ping_pong = Nanos(args.ping_pong_ms.saturating_mul(1_000_000));
    let mut findings = audit(&args.trace, args.machine.as_deref(), options)?;
    let answers = if args.what_if.is_empty() {
        Vec::new()
    } else {
        what_if::ask(&mut findings.recording, &findings.traced, &args.what_if)?
    };
    if let Some(path) = html {
        let mut page = report::of_traces(&[&findings]);
        let most = args.worst.max(PAGE_DIFFERENCES);
        let sections = answers
            .iter()
            .map(|answer| what_if::text::section(answer, most));
        page.sections.extend(sections);
        report::write(&path, &page)?;
    }
    if let Some(path) = parquet {
        report::write_verdicts(&path, &findings)?;
    }
    if let Some(path) = tracks {
        tracks::write(&path, &mut findings)?;
    }
    let failed: Vec<_> = args
        .check
        .iter()
        .filter(|check| !check.holds(&findings.audit))
        .collect();
    let mut out = output.open()?;
    match format {
        Format::Json => out.json(&json::report(args, &findings, &answers))?,
        Format::Text => {
            text::print(&mut out, args, &findings)?;
            for answer in &answers {
                what_if::text::print(&mut out, &findings, answer, args.worst.max(5))?;
            }
        }
    }
    out.finish()?;
    for check in &failed {
        eprintln!("check failed: {}", check.told(&findings.audit));
    }
    Ok(if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(EXIT_WORSE)
    })
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
    let mut affinities = Affinities::new(recording, traced);
    for (task, allowed) in affinities.known() {
        auditor.allow(task, allowed);
    }
    let mut batch = Vec::new();
    while recording.next_batch(&mut batch) {
        for event in &batch {
            if let Some(told) = affinities.follow(event, recording.names()) {
                auditor.allow(told.task, &told.allowed);
            }
            auditor.event(event);
        }
    }
    (auditor.finish(), affinities.names)
}
