//! `fairlab replay`: recorded work, scheduled by another kernel or on another machine.

mod text;

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Context, Result};
use fairlab::event::SchedEvent;
use fairlab::sim::{CostTable, Observer, Silent, SimOptions, run as simulate};
use fairlab::topology::Machine;
use fairlab::topology::domains::{BuildOptions, build};
use fairlab::units::{CpuMask, Nanos, TaskId, Timestamp};
use fairlab_audit::{Audit, AuditOptions, Auditor};
use fairlab_machines::{LoadOptions, load};
use fairlab_replay::{Edges, Recorded, Recorder, replay_costs};
use fairlab_report::{Run, Section};
use fairlab_trace::EventKind;
use serde::Serialize;

use super::audit::what_if;
use super::latency::Latency;
use super::report as page;
use crate::cli::replay::ReplayVerb;
use crate::findings::affinity::Affinities;
use crate::findings::{Findings, audit};
use crate::output::Format;

/// Simulated time after which a replay is given up: this many times the recording's length.
const PATIENCE: u64 = 100;

/// One side of the comparison.
#[derive(Serialize)]
struct Side {
    elapsed_ns: u64,
    running_ns: u64,
    waiting_ns: u64,
    switches: u64,
    wakeups: u64,
    migrations: u64,
    delay: Latency,
}

#[derive(Serialize)]
struct TaskRow {
    task: String,
    recorded_running_ns: u64,
    replayed_running_ns: u64,
    recorded_waiting_ns: u64,
    replayed_waiting_ns: u64,
    recorded_sleeping_ns: u64,
    replayed_sleeping_ns: u64,
}

/// What of the recording is not repeated.
#[derive(Serialize)]
struct Left {
    events_on_unknown_cpus: u64,
    priority_changes: u64,
    all_wakeups: bool,
}

/// The replay on the recorded machine, and under the recorded kernel if it is known, that came nearest.
#[derive(Serialize)]
struct Fitted {
    kernel: String,
    rounds: u32,
    elapsed_ns: u64,
    running_ns: u64,
}

#[derive(Serialize)]
struct Report {
    fairlab: &'static str,
    trace: String,
    recorded_on: String,
    recorded_on_known_from: String,
    machine: String,
    kernel: String,
    seed: u64,
    /// How near a replay on the recorded machine comes, if the work was fitted.
    fitted: Option<Fitted>,
    left_out: Left,
    /// Wakeups that are waits for the task that made them.
    edges: u64,
    /// Wakeups that are the ends of sleeps.
    sleeps: u64,
    recorded: Side,
    replayed: Side,
    tasks: Vec<TaskRow>,
}

struct Watcher(Auditor);

impl Observer for Watcher {
    fn event(&mut self, event: &SchedEvent) {
        self.0.event(event);
    }
}

/// Replays a trace.
pub fn run(args: &ReplayVerb) -> Result<ExitCode> {
    let (page, output) = args.output.beside(&["html"]);
    let html = args.html.html.clone().or(page);
    let format = output.format()?;
    let options = || match html {
        Some(_) => page::options(args.html.timeline),
        None => AuditOptions::default(),
    };
    let mut findings = audit(&args.trace, args.recorded_on.as_deref(), options())?;
    let machine = match &args.machine {
        Some(name) => load(name, &LoadOptions::default())?,
        None => findings.traced.machine.clone(),
    };
    let costs = replay_costs(&findings.traced.machine);
    let mut recorded = record(args, &mut findings, &costs, &machine)?;
    let length = findings.audit.totals.to.0 - findings.audit.totals.from.0;
    let limit = Nanos(length.saturating_mul(PATIENCE).max(1_000_000_000));
    let fitted = fit(args, &findings, &costs, limit, &mut recorded)?;
    let domains = build(&machine, &args.kernel, &BuildOptions::default())
        .with_context(|| format!("no domains of {} under {}", machine.name(), args.kernel))?;
    let mut sim = SimOptions::new(args.kernel, args.seed);
    sim.costs = Some(replay_costs(&machine));
    sim.limit = limit;
    let mut watcher = Watcher(Auditor::new(&machine, options()));
    for cpu in machine.cpus().iter().filter(|cpu| cpu.online) {
        watcher.0.event(&SchedEvent {
            time: Timestamp::ZERO,
            cpu: cpu.id,
            kind: EventKind::Running { task: None },
        });
    }
    let result = simulate(
        &machine,
        &domains,
        &recorded.workload,
        &sim,
        &mut watcher,
        None,
    )
    .context("the recorded work cannot be replayed to its end")?;
    let replayed = watcher.0.finish_at(result.end);
    // Simulated tasks are numbered as they start; the program says who they were.
    let who: BTreeMap<TaskId, TaskId> = result
        .programs
        .iter()
        .enumerate()
        .filter_map(|(at, program)| {
            let task = recorded.tasks.get(program.index())?;
            Some((TaskId::from_index(at), *task))
        })
        .collect();
    let report = Report {
        fairlab: env!("CARGO_PKG_VERSION"),
        trace: args.trace.clone(),
        recorded_on: findings.traced.machine.name().to_owned(),
        recorded_on_known_from: findings.traced.known_from.clone(),
        machine: machine.name().to_owned(),
        kernel: args.kernel.to_string(),
        seed: args.seed,
        fitted,
        left_out: Left {
            events_on_unknown_cpus: recorded.left_out.elsewhere,
            priority_changes: recorded.left_out.priorities,
            all_wakeups: recorded.left_out.all_wakeups,
        },
        edges: recorded.edges,
        sleeps: recorded.sleeps,
        recorded: side(&findings.audit, recorded.elapsed.0),
        replayed: side(&replayed, result.end.0),
        tasks: tasks(&findings, &replayed, &who, length, result.end.0),
    };
    if let Some(path) = html {
        let names = who
            .iter()
            .map(|(now, was)| (*now, findings.name(*was).to_owned()));
        let run = Run {
            name: format!("replayed under {}", args.kernel),
            facts: vec![
                ("kernel".into(), args.kernel.to_string()),
                ("machine".into(), machine.name().to_owned()),
                ("seed".into(), args.seed.to_string()),
            ],
            notes: Vec::new(),
            machine: &machine,
            audit: &replayed,
            names: names.collect(),
        };
        let mut told = page::of_traces(&[&findings]);
        told.title = format!("{}, replayed under {}", told.title, args.kernel);
        told.runs.push(run);
        told.sections.push(Section {
            heading: "Recorded and replayed".into(),
            text: text::told(&report),
            tables: vec![
                ("In all".into(), text::totals(&report)),
                (
                    "By task, those that ran longest first".into(),
                    text::by_task(&report, args.top),
                ),
            ],
        });
        page::write(&path, &told)?;
    }
    let mut out = output.open()?;
    match format {
        Format::Json => out.json(&report)?,
        Format::Text => text::print(&mut out, args, &report)?,
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// Fits the work to what it took, by replays as it was recorded: on that machine, and under that kernel or
/// else, where the trace does not tell it, under the one that is asked for.
fn fit(
    args: &ReplayVerb,
    findings: &Findings,
    costs: &CostTable,
    limit: Nanos,
    recorded: &mut Recorded,
) -> Result<Option<Fitted>> {
    let kernel = what_if::recorded(&findings.recording).unwrap_or(args.kernel);
    let machine = &findings.traced.machine;
    let domains = build(machine, &kernel, &BuildOptions::default())
        .with_context(|| format!("no domains of {} under {kernel}", machine.name()))?;
    let mut options = SimOptions::new(kernel, args.seed);
    options.costs = Some(costs.clone());
    options.limit = limit;
    let nearest = recorded
        .fit(args.fit, |workload| {
            simulate(machine, &domains, workload, &options, &mut Silent, None)
        })
        .context("the recorded work cannot be replayed as it was recorded; try --fit 0")?;
    Ok(nearest.map(|nearest| Fitted {
        kernel: kernel.to_string(),
        rounds: nearest.rounds,
        elapsed_ns: nearest.elapsed.0,
        running_ns: nearest.running.0,
    }))
}

/// The recorded work, to be done on `target`.
fn record(
    args: &ReplayVerb,
    findings: &mut Findings,
    costs: &CostTable,
    target: &Machine,
) -> Result<Recorded> {
    let synchronous = what_if::synchronous(&mut findings.recording, &findings.traced, args.kernel)?;
    let is_sync = |time, waker, wakee| synchronous.of_wakeup(time, waker, wakee);
    let (online, was_online) = (target.online(), findings.traced.machine.online());
    let mut edges = Edges::new();
    let mut batch = Vec::new();
    findings.recording.rewind()?;
    while findings.recording.next_batch(&mut batch) {
        batch.iter().for_each(|event| edges.event(event));
    }
    findings.recording.rewind()?;
    let machine = &findings.traced.machine;
    let mut recorder =
        Recorder::new(findings.recording.name(), machine, costs, &edges).synchronous(&is_sync);
    let mut affinities = Affinities::new(&findings.recording, &findings.traced);
    let allow = |recorder: &mut Recorder<'_>, task, allowed: &CpuMask| {
        // Who might run anywhere may do so on the other machine, and where none of the CPUs exists a
        // kernel would let tasks run anywhere.
        let there = allowed.and(&online);
        if !was_online.is_subset(allowed) && !there.is_empty() {
            recorder.allow(task, &there);
        }
    };
    for (task, allowed) in affinities.known() {
        allow(&mut recorder, task, allowed);
    }
    while findings.recording.next_batch(&mut batch) {
        for event in &batch {
            if let EventKind::Named { task, name } = event.kind {
                recorder.name(task, findings.recording.names().get(name));
            }
            if let Some(told) = affinities.follow(event, findings.recording.names()) {
                allow(&mut recorder, told.task, &told.allowed);
            }
            recorder.event(event);
        }
    }
    Ok(recorder.finish(findings.audit.totals.to))
}

fn side(audit: &Audit, elapsed_ns: u64) -> Side {
    let sum = |part: fn(&fairlab_audit::TaskTotals) -> Nanos| -> u64 {
        audit.tasks.iter().map(|task| part(task).0).sum()
    };
    Side {
        elapsed_ns,
        running_ns: sum(|task| task.running),
        waiting_ns: sum(|task| task.waiting),
        switches: audit.totals.switches,
        wakeups: audit.totals.wakeups,
        migrations: audit.migrations.total(),
        delay: Latency::of(&audit.delays.all.delay()),
    }
}

fn tasks(
    findings: &Findings,
    replayed: &Audit,
    who: &BTreeMap<TaskId, TaskId>,
    recorded_ns: u64,
    replayed_ns: u64,
) -> Vec<TaskRow> {
    let mut again: BTreeMap<TaskId, (u64, u64)> = BTreeMap::new();
    for task in &replayed.tasks {
        if let Some(was) = who.get(&task.task) {
            again.insert(*was, (task.running.0, task.waiting.0));
        }
    }
    let mut rows: Vec<TaskRow> = findings
        .audit
        .tasks
        .iter()
        .map(|task| {
            let (running, waiting) = again.get(&task.task).copied().unwrap_or_default();
            let rest = |whole: u64, running: u64, waiting: u64| {
                whole.saturating_sub(running).saturating_sub(waiting)
            };
            TaskRow {
                task: findings.task(task.task),
                recorded_running_ns: task.running.0,
                replayed_running_ns: running,
                recorded_waiting_ns: task.waiting.0,
                replayed_waiting_ns: waiting,
                recorded_sleeping_ns: rest(recorded_ns, task.running.0, task.waiting.0),
                replayed_sleeping_ns: rest(replayed_ns, running, waiting),
            }
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.recorded_running_ns));
    rows
}
