//! `fairlab bench idle-core`: what the search for an idle core costs before and after two changes.

use std::io::Write;
use std::num::NonZero;
use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::Result;
use fairlab::kernel::{Feature, Kernel};
use fairlab::stats::table::ministat;
use fairlab::stats::{Direction, Sample};
use fairlab_bench::policy::rounds::ns_per_tick;
use fairlab_bench::{TICK_UNIT, ticks};
use fairlab_experiment::{Outcome, Plan, REPETITIONS, SectionSamples, Stretch, TickClock, execute};
use fairlab_machines::{LoadOptions, load};
use fairlab_results::Series;

use super::compared::{self, Compared};
use crate::cli::{IdleCoreArgs, OutputArgs, WorkloadArgs};
use crate::commands::compare::idle_core::{Figure, IdleCore};
use crate::output::{Output, Style};
use crate::progress::Progress;

/// What the measurement gave.
pub struct Report {
    heading: String,
    before: Kernel,
    after: Kernel,
    ns_per_tick: f64,
    figures: IdleCore,
    /// Means per run, for the verdict.
    by_run: Vec<Compared>,
    /// All calls.
    calls: Vec<Compared>,
    placements: u64,
    differ: u64,
    confidence: f64,
}

/// Measures and prints.
pub fn run(args: &IdleCoreArgs, output: &OutputArgs) -> Result<ExitCode> {
    let report = measure(args)?;
    super::finish("idle-core", output, report.series(), |out| {
        report.print(out)
    })
}

/// Runs the load under both forms and asks both at every placement.
pub fn measure(args: &IdleCoreArgs) -> Result<Report> {
    let machine = load(&args.machine, &LoadOptions::default())?;
    let workload = WorkloadArgs {
        workload: vec![args.workload.clone()],
    };
    let workload = workload.load(&machine)?.workload;
    let [before, after] = [false, true].map(|on| {
        let kernel = args.kernel.with(Feature::IDLE_CORE_EARLY_EXIT, on);
        kernel.with(Feature::IDLE_CORE_CLEAR_ONCE, on)
    });
    let seed = args.common.seed.seed;
    let plan = Plan {
        machine: &machine,
        workload: &workload,
        kernels: vec![before, after],
        runs: args.runs,
        seed,
        costs: None,
        ask_beside: true,
        clock: Some(TickClock {
            now: ticks,
            unit: TICK_UNIT,
        }),
        threads: available_parallelism().map_or(1, NonZero::get),
        stretch: Stretch::default(),
    };
    let progress = Progress::new(args.common.progress, u64::from(args.runs) * 2, "runs");
    let outcomes = execute(&plan, &|| progress.add(1))?;
    drop(progress);
    let confidence = args.common.confidence / 100.0;
    let level = (confidence, seed);
    let mut by_run = vec![
        means(&outcomes, "mean per call", TICK_UNIT, |s| &s.ticks, level),
        means(&outcomes, "mean per call", "probes", |s| &s.probes, level),
    ];
    compared::adjust(&mut by_run);
    let sum = |count: fn(&Outcome) -> u64| outcomes.iter().map(count).sum();
    Ok(Report {
        heading: format!(
            "{} on {}, {} runs under each form, seed {seed}",
            workload.description,
            machine.name(),
            args.runs
        ),
        before,
        after,
        ns_per_tick: ns_per_tick(),
        figures: IdleCore::of(&outcomes, confidence, seed),
        calls: vec![
            pooled(&outcomes, TICK_UNIT, |s| &s.ticks, level),
            pooled(&outcomes, "probes", |s| &s.probes, level),
            pooled(&outcomes, "mask operations", |s| &s.mask_work, level),
        ],
        by_run,
        placements: sum(|o| o.counts.placements),
        differ: sum(|o| o.counts.beside_differs),
        confidence: args.common.confidence,
    })
}

type Pick = fn(&SectionSamples) -> &Vec<u64>;

/// The mean of each run with calls, under both forms.
fn means(
    outcomes: &[Outcome],
    name: &str,
    unit: &'static str,
    pick: Pick,
    level: (f64, u64),
) -> Compared {
    let side = |arm: usize| -> Vec<f64> {
        let calls = outcomes.iter().map(|o| pick(&o.idle_core[arm]));
        let samples = calls.filter_map(|calls| Sample::from_integers(calls.iter().copied()).ok());
        samples.map(|sample| sample.mean()).collect()
    };
    Compared::new(("select_idle_core", name), unit, [side(0), side(1)], level)
}

/// All calls of all runs, under both forms.
fn pooled(outcomes: &[Outcome], unit: &'static str, pick: Pick, level: (f64, u64)) -> Compared {
    let side = |arm: usize| -> Vec<f64> {
        let calls = outcomes.iter().flat_map(|o| pick(&o.idle_core[arm]));
        calls.map(|n| *n as f64).collect()
    };
    let values = [side(0), side(1)];
    Compared {
        comparison: None,
        values,
        ..Compared::new(("select_idle_core", unit), unit, [vec![], vec![]], level)
    }
}

impl Report {
    /// The calls of both forms, as results are kept.
    pub fn series(&self) -> Vec<Series> {
        compared::series(&self.calls, ["before", "after"])
    }

    /// The tables.
    pub fn print(&self, out: &mut Output) -> Result<()> {
        writeln!(
            out,
            "{}",
            out.paint(Style::Bold, "Finding an idle core, per call")
        )?;
        writeln!(out, "{}", self.heading)?;
        writeln!(out, "before: {}\nafter:  {}", self.before, self.after)?;
        let Some(ticks) = &self.figures.ticks else {
            writeln!(
                out,
                "no calls: no core was searched for under this load; give it more workers, or a \
                 machine whose LLC has several cores or threads"
            )?;
            return Ok(());
        };
        writeln!(
            out,
            "\n{TICK_UNIT} of this host around the search, while the load runs (median of \
             {REPETITIONS} alternating repetitions; one tick is {:.3} ns)",
            self.ns_per_tick
        )?;
        self.figure(out, ticks, 1.0)?;
        writeln!(out, "\nns")?;
        self.figure(out, ticks, self.ns_per_tick)?;
        let counted = [
            (
                "CPUs probed (counted, the same for the same seed)",
                &self.figures.probes,
            ),
            (
                "mask operations and bits cleared (counted)",
                &self.figures.mask_work,
            ),
        ];
        for (what, figure) in counted {
            if let Some(figure) = figure {
                writeln!(out, "\n{what}")?;
                self.figure(out, figure, 1.0)?;
            }
        }
        writeln!(out, "\nMeans of the runs, compared")?;
        write!(
            out,
            "{}",
            compared::table(&self.by_run, ["before", "after"]).to_text()
        )?;
        if self.differ == 0 {
            writeln!(
                out,
                "{} placements asked of both forms in the same state: the same CPU and reason in \
                 every one",
                self.placements
            )?;
        } else {
            writeln!(
                out,
                "{} placements asked of both forms in the same state: ANOTHER CPU OR REASON IN {}",
                self.placements, self.differ
            )?;
        }
        Ok(())
    }

    fn figure(&self, out: &mut Output, figure: &Figure, scale: f64) -> Result<()> {
        let scaled = |sample: &Sample| {
            let values: Vec<f64> = sample.values().iter().map(|v| v * scale).collect();
            Sample::new(values).map_or_else(|_| sample.summary(), |sample| sample.summary())
        };
        let rows = [("before", scaled(&figure.a)), ("after", scaled(&figure.b))];
        write!(
            out,
            "{}",
            ministat(rows, Direction::LowerIsBetter).to_text()
        )?;
        if let Some(text) = figure.improvement_text(self.confidence) {
            writeln!(out, "{text}")?;
        }
        Ok(())
    }
}
