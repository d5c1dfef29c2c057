//! `fairlab compare`: two kernels, one workload, many seeds.

pub mod idle_core;
mod json;
mod page;
mod text;

use std::num::NonZero;
use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::{Result, bail};
use fairlab::kernel::{Difference, Kernel, differences};
use fairlab::stats::Verdict;
use fairlab::topology::Machine;
use fairlab::workload::Workload;
use fairlab_bench::{TICK_UNIT, ticks};
use fairlab_experiment::{LOOPS, Outcome, Plan, Point, Row, Stretch, TickClock, execute, rows};

use crate::checkpoint::Scene;
use crate::cli::CompareVerb;
use crate::output::Format;
use crate::progress::Progress;
use idle_core::IdleCore;

/// Everything that the comparison found, for the forms in which it is printed.
struct Comparison<'a> {
    args: &'a CompareVerb,
    machine: &'a Machine,
    workload: &'a Workload,
    seed: u64,
    /// From where the runs go on, if not from the start.
    point: Option<Point>,
    a: Kernel,
    b: Kernel,
    differences: Vec<Difference>,
    outcomes: Vec<Outcome>,
    rows: Vec<Row>,
    idle_core: IdleCore,
}

impl Comparison<'_> {
    /// Placements asked of both kernels in the same state, and how many of them differed.
    fn beside(&self) -> (u64, u64) {
        let sum = |count: fn(&Outcome) -> u64| self.outcomes.iter().map(count).sum();
        (
            sum(|o| o.counts.placements),
            sum(|o| o.counts.beside_differs),
        )
    }

    /// Is some figure of the workload itself proven worse?
    fn is_worse(&self) -> bool {
        let own = |row: &&Row| {
            row.group == "Completion"
                || row.group == LOOPS
                || self.workload.metrics.iter().any(|m| m.title == row.group)
        };
        self.rows
            .iter()
            .filter(own)
            .any(|row| row.comparison.verdict() == Verdict::Worse)
    }
}

/// Simulates both kernels and prints the tables.
pub fn run(args: &CompareVerb) -> Result<ExitCode> {
    let [a, b] = args.kernels.kernels.as_slice() else {
        bail!(
            "two kernels are compared, {} given: use --kernel twice, like --kernel 5.15 --kernel 6.12",
            args.kernels.kernels.len()
        );
    };
    let (file, output) = args.output.beside(&["html"]);
    let html = args.html.html.clone().or(file);
    let format = output.format()?;
    let scene = Scene::load(&args.scene)?;
    let (machine, workload) = (&scene.machine, &scene.loaded.workload);
    let cpus = available_parallelism().map_or(1, NonZero::get);
    let plan = Plan {
        machine,
        workload,
        kernels: vec![*a, *b],
        runs: args.runs,
        seed: scene.seed,
        costs: scene.costs.clone(),
        // What is asked beside is measured from the start on.
        ask_beside: scene.point.is_none(),
        clock: Some(TickClock {
            now: ticks,
            unit: TICK_UNIT,
        }),
        threads: args.threads.map_or(cpus, usize::from),
        stretch: Stretch {
            from: scene.point,
            until: None,
        },
    };
    let progress = Progress::new(args.progress, u64::from(args.runs) * 2, "runs");
    let outcomes = execute(&plan, &|| progress.add(1))?;
    drop(progress);
    let confidence = args.confidence / 100.0;
    let comparison = Comparison {
        args,
        machine,
        workload,
        seed: scene.seed,
        point: scene.point,
        a: *a,
        b: *b,
        differences: differences(a, b),
        rows: rows(workload, &outcomes, confidence, scene.seed),
        idle_core: IdleCore::of(&outcomes, confidence, scene.seed),
        outcomes,
    };
    if let Some(path) = html {
        page::write(&path, &comparison, &plan)?;
    }
    let mut out = output.open()?;
    match format {
        Format::Json => out.json(&json::report(&comparison))?,
        Format::Text => text::print(&mut out, &comparison)?,
    }
    out.finish()?;
    let worse = args.check && comparison.is_worse();
    Ok(if worse {
        ExitCode::from(crate::EXIT_WORSE)
    } else {
        ExitCode::SUCCESS
    })
}
