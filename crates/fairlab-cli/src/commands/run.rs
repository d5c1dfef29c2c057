//! `fairlab run`: one simulated run.

mod form;
mod groups;
mod rtapp;
mod trace;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Result, bail};
use fairlab::event::SchedEvent;
use fairlab::kernel::{Kernel, Release};
use fairlab::sim::{Distance, Found, Missed, Observer, Placement};
use fairlab::stats::table::{Align, Table};
use fairlab::units::{CpuMask, TaskId, Timestamp};
use fairlab::workload::{ProgramId, Workload};
use fairlab_experiment::{Outcome, Plan, Stretch, single};
use fairlab_report::Page;
use serde::Serialize;

use crate::checkpoint::{PointReport, Scene, from_point};
use crate::cli::RunVerb;
use crate::commands::latency::Latency;
use crate::commands::report::{self, simulated::Watched};
use crate::output::{Format, Output, Style};
use trace::TraceFile;

/// The JSON form.
#[derive(Serialize)]
struct Report {
    fairlab: &'static str,
    machine: String,
    kernel: String,
    workload: String,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<PointReport>,
    elapsed_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<form::Figure>,
    metrics: Vec<MetricReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    threads: Vec<rtapp::Thread>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<groups::GroupReport>,
    wakeup_delay: Latency,
    counts: CountReport,
    reasons: Vec<ReasonReport>,
    utilization: f64,
    scheduler_share: f64,
    events: u64,
    event_hash: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    explained: Vec<Story>,
}

#[derive(Serialize)]
struct MetricReport {
    name: String,
    #[serde(flatten)]
    latency: Latency,
}

#[derive(Serialize)]
struct CountReport {
    switches: u64,
    preemptions: u64,
    wakeups: u64,
    forks: u64,
    placements: u64,
    probes: u64,
    migrations: Vec<MigrationReport>,
    balance_moves: u64,
    placed: PlacedReport,
}

/// Wakeups and forks by what the task got, and what it missed in the LLC.
#[derive(Serialize)]
struct PlacedReport {
    idle_core: u64,
    idle_cpu: u64,
    idle_cpu_missed_core: u64,
    busy: u64,
    busy_missed_core: u64,
    busy_missed_cpu: u64,
    busy_idle_elsewhere: u64,
}

impl PlacedReport {
    fn of(found: &[[u64; 4]; 3]) -> Self {
        let of = |got: Found, missed: Missed| found[got as usize][missed as usize];
        Self {
            idle_core: of(Found::IdleCore, Missed::Nothing),
            idle_cpu: of(Found::IdleCpu, Missed::Nothing),
            idle_cpu_missed_core: of(Found::IdleCpu, Missed::IdleCore),
            busy: of(Found::Busy, Missed::Nothing),
            busy_missed_core: of(Found::Busy, Missed::IdleCore),
            busy_missed_cpu: of(Found::Busy, Missed::IdleCpu),
            busy_idle_elsewhere: of(Found::Busy, Missed::Elsewhere),
        }
    }
}

#[derive(Serialize)]
struct MigrationReport {
    distance: &'static str,
    count: u64,
}

#[derive(Serialize)]
struct ReasonReport {
    reason: &'static str,
    count: u64,
}

/// A decision told in sentences.
#[derive(Serialize)]
struct Story {
    time_ns: u64,
    task: u32,
    name: String,
    this_cpu: u32,
    prev_cpu: u32,
    cpu: u32,
    reason: &'static str,
    lines: Vec<String>,
}

/// Keeps the first stories that it is told.
struct Stories {
    told: Vec<(Placement, Vec<String>)>,
    count: usize,
}

/// What the run is watched for.
struct Watch<'a> {
    stories: Stories,
    trace: Option<TraceFile>,
    page: Option<Watched<'a>>,
}

impl Observer for Watch<'_> {
    fn event(&mut self, event: &SchedEvent) {
        if let Some(page) = &mut self.page {
            page.event(event);
        }
        if let Some(trace) = &mut self.trace {
            trace.event(event);
        }
    }

    fn task(&mut self, time: Timestamp, task: TaskId, program: ProgramId) {
        if let Some(page) = &mut self.page {
            page.task(time, task, program);
        }
        if let Some(trace) = &mut self.trace {
            trace.task(time, task, program);
        }
    }

    fn priority(&mut self, time: Timestamp, task: TaskId, prio: i16) {
        if let Some(trace) = &mut self.trace {
            trace.priority(time, task, prio);
        }
    }

    fn affinity(&mut self, time: Timestamp, task: TaskId, allowed: &CpuMask) {
        if let Some(page) = &mut self.page {
            page.affinity(time, task, allowed);
        }
    }

    fn story(&mut self, placement: &Placement, lines: &[String]) {
        let stories = &mut self.stories;
        if stories.told.len() < stories.count {
            stories.told.push((*placement, lines.to_vec()));
        }
    }
}

/// Simulates once and prints what came of it.
pub fn run(args: &RunVerb) -> Result<ExitCode> {
    let scene = Scene::load(&args.scene)?;
    let own = scene.point.map(|point| point.kernel);
    let newest = || Kernel::of(Release::V7_2);
    let kernel = args.kernel.kernel.or(own).unwrap_or_else(newest);
    let (machine, workload) = (&scene.machine, &scene.loaded.workload);
    // Traces and pages are no forms of the answer: with `-o FILE.pftrace` it goes to standard output.
    let (file, output) = args.output.beside(&["pftrace", "perfetto-trace"]);
    let (trace, output) = match &args.trace {
        Some(path) => (Some(path.clone()), args.output.clone()),
        None => (file, output),
    };
    let (file, output) = output.beside(&["html"]);
    let html = args.html.html.clone().or(file);
    let format = output.format()?;
    let plan = Plan {
        machine,
        workload,
        kernels: vec![kernel],
        runs: 1,
        seed: scene.seed,
        costs: scene.costs.clone(),
        ask_beside: false,
        clock: None,
        threads: 1,
        stretch: Stretch {
            from: scene.point,
            until: args.until,
        },
    };
    let mut watch = Watch {
        stories: Stories {
            told: Vec::new(),
            count: args.explain_count,
        },
        trace: trace
            .map(|path| TraceFile::create(&path, &scene, &kernel))
            .transpose()?,
        page: html
            .as_ref()
            .map(|_| Watched::new(machine, workload, args.html.timeline)),
    };
    let outcome = &single(&plan, args.explain, &mut watch)?;
    if let Some(trace) = watch.trace {
        trace.finish()?;
    }
    if let (Some(path), Some(until)) = (&args.save, args.until) {
        scene.save(path, &kernel, outcome, until)?;
    }
    if let (Some(path), Some(page)) = (html, watch.page) {
        let seen = page.finish(outcome.end());
        let facts = [("seed", scene.seed.to_string())];
        report::write(
            &path,
            &Page {
                title: format!("{} under {kernel}", workload.description),
                origin: report::origin("the same run gives the same page"),
                sections: Vec::new(),
                runs: vec![seen.run(machine, workload, &kernel, &facts)],
            },
        )?;
    }
    let stories = tell(workload, watch.stories);
    if args.explain.is_some() && stories.is_empty() {
        let hint = "no such task was placed, or nothing happened after that time";
        bail!(
            "nothing to explain: {hint}; this run ended at {}",
            outcome.end()
        );
    }
    let mut out = output.open()?;
    match format {
        Format::Json => out.json(&report(&scene, &kernel, outcome, stories))?,
        Format::Text => {
            print(&mut out, &scene, &kernel, outcome)?;
            print_stories(&mut out, &stories)?;
        }
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn report(scene: &Scene, kernel: &Kernel, outcome: &Outcome, explained: Vec<Story>) -> Report {
    let loaded = &scene.loaded;
    let workload = &loaded.workload;
    let counts = &outcome.counts;
    Report {
        fairlab: env!("CARGO_PKG_VERSION"),
        machine: scene.machine.name().to_owned(),
        kernel: kernel.to_string(),
        workload: workload.description.clone(),
        seed: scene.seed,
        from: scene.point.map(From::from),
        elapsed_ns: outcome.elapsed.0,
        result: form::figure(workload, outcome),
        metrics: workload
            .metrics
            .iter()
            .zip(&outcome.metrics)
            .map(|(metric, m)| MetricReport {
                name: metric.name.to_string(),
                latency: Latency::of(&m.ns),
            })
            .collect(),
        threads: loaded
            .rtapp
            .as_ref()
            .map(|file| rtapp::threads(file, outcome))
            .unwrap_or_default(),
        groups: groups::of(workload, outcome),
        wakeup_delay: Latency::of(&outcome.wakeup_delay),
        counts: CountReport {
            switches: counts.switches,
            preemptions: counts.preemptions,
            wakeups: counts.wakeups,
            forks: counts.forks,
            placements: counts.placements,
            probes: counts.probes,
            migrations: Distance::ALL
                .iter()
                .zip(counts.migrations)
                .map(|(d, count)| MigrationReport {
                    distance: d.name(),
                    count,
                })
                .collect(),
            balance_moves: counts.balance_moves,
            placed: PlacedReport::of(&counts.found),
        },
        reasons: outcome
            .reasons
            .iter()
            .map(|&(reason, count)| ReasonReport { reason, count })
            .collect(),
        utilization: outcome.utilization,
        scheduler_share: outcome.scheduler_share,
        events: outcome.events,
        event_hash: format!("{:016x}", outcome.event_hash),
        explained,
    }
}

fn print(out: &mut Output, scene: &Scene, kernel: &Kernel, outcome: &Outcome) -> Result<()> {
    let loaded = &scene.loaded;
    let title = format!(
        "{} on {}, kernel {}, seed {}",
        loaded.workload.description,
        scene.machine.name(),
        kernel,
        scene.seed
    );
    writeln!(out, "{}", out.paint(Style::Bold, &title))?;
    if let Some(point) = &scene.point {
        writeln!(out, "{}", from_point(point))?;
    }
    writeln!(out)?;
    write!(out, "{}", form::of(loaded, outcome))?;
    writeln!(out)?;
    let counts = &outcome.counts;
    let mut table = Table::new([("", Align::Left), ("", Align::Right)]);
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    row(
        "CPU utilization",
        format!("{:.1} %", outcome.utilization * 100.0),
    );
    row(
        "scheduler, of busy time",
        format!("{:.2} %", outcome.scheduler_share * 100.0),
    );
    row("context switches", counts.switches.to_string());
    row("preemptions", counts.preemptions.to_string());
    row("wakeups", counts.wakeups.to_string());
    row("forks", counts.forks.to_string());
    for (distance, count) in Distance::ALL.iter().zip(counts.migrations).skip(1) {
        row(
            &format!("migrations, {}", distance.name()),
            count.to_string(),
        );
    }
    row("moved by the balancer", counts.balance_moves.to_string());
    let placed = PlacedReport::of(&counts.found);
    row("got an idle core", placed.idle_core.to_string());
    let missed_core = placed.idle_cpu_missed_core + placed.busy_missed_core;
    row("missed an idle core", missed_core.to_string());
    row("missed an idle CPU", placed.busy_missed_cpu.to_string());
    let per_placement = counts.probes as f64 / counts.placements.max(1) as f64;
    row("probes per placement", format!("{per_placement:.2}"));
    write!(out, "{}", table.to_text())?;
    let groups = groups::of(&loaded.workload, outcome);
    write!(out, "{}", groups::text(&groups))?;
    writeln!(out, "\nPlacements by reason")?;
    let mut table = Table::new([("", Align::Left), ("", Align::Right)]);
    for (reason, count) in &outcome.reasons {
        table.row([(*reason).to_owned(), count.to_string()]);
    }
    write!(out, "{}", table.to_text())?;
    Ok(())
}

/// The stories in the form that is printed.
fn tell(workload: &Workload, stories: Stories) -> Vec<Story> {
    let story = |(placement, lines): (Placement, Vec<String>)| Story {
        time_ns: placement.time.0,
        task: placement.task.0,
        name: workload.programs[placement.program.index()].name.clone(),
        this_cpu: placement.this_cpu.0,
        prev_cpu: placement.prev_cpu.0,
        cpu: placement.decision.cpu.0,
        reason: placement.decision.reason.name(),
        lines,
    };
    stories.told.into_iter().map(story).collect()
}

fn print_stories(out: &mut Output, stories: &[Story]) -> Result<()> {
    for story in stories {
        let title = format!(
            "{}.{:06} ms: {} (task {}), last on CPU {}, placed by CPU {}",
            story.time_ns / 1_000_000,
            story.time_ns % 1_000_000,
            story.name,
            story.task,
            story.prev_cpu,
            story.this_cpu
        );
        writeln!(out, "\n{}", out.paint(Style::Bold, &title))?;
        for line in &story.lines {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(())
}
