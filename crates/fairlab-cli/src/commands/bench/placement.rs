//! `fairlab bench placement`: one decision, by machine, kernel, event, state and search.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use fairlab::kernel::{Kernel, Release};
use fairlab::stats::table::{Align, Table};
use fairlab::stats::{Center, Sample};
use fairlab::topology::Machine;
use fairlab_bench::policy::instructions;
use fairlab_bench::policy::one_llc;
use fairlab_bench::policy::placement::{Case, Decide, Idle};
use fairlab_bench::policy::rounds::Rounds;
use fairlab_machines::{LoadOptions, load};
use fairlab_results::Series;

use super::compared::{self, Compared};
use crate::cli::{OutputArgs, PlacementArgs};
use crate::output::{Output, Style};
use crate::progress::Progress;

const FORMS: [&str; 2] = ["scan", "masks"];

/// What the measurement gave.
struct Report {
    nanos: Vec<Compared>,
    instructions: Vec<Compared>,
    /// Why there are none.
    no_instructions: Option<String>,
    rounds: u32,
    confidence: f64,
}

/// Measures and prints.
pub fn run(args: &PlacementArgs, output: &OutputArgs) -> Result<ExitCode> {
    let report = measure(args)?;
    let rows: Vec<Compared> = [report.nanos.clone(), report.instructions.clone()].concat();
    super::finish("placement", output, compared_series(&rows), |out| {
        report.print(out)
    })
}

fn compared_series(rows: &[Compared]) -> Vec<Series> {
    compared::series(rows, FORMS)
}

/// The events and states of a table, in its order.
fn cases() -> impl Iterator<Item = (String, Case)> {
    let wakeups = |what: &'static str, case: fn(Idle) -> Case| {
        let row = move |idle: Idle| (format!("{what}, idle: {}", idle.name()), case(idle));
        Idle::ALL.into_iter().map(row)
    };
    wakeups("wakeup, core", Case::WakeupCore)
        .chain(wakeups("wakeup, CPU", Case::WakeupCpu))
        .chain([
            ("fork".to_owned(), Case::Fork),
            ("exec".to_owned(), Case::Exec),
        ])
}

fn measure(args: &PlacementArgs) -> Result<Report> {
    let machines = machines(args)?;
    let kernels = if args.kernels.is_empty() {
        vec![Kernel::of(Release::V6_12)]
    } else {
        args.kernels.clone()
    };
    let rounds = Rounds {
        rounds: args.timing.rounds,
        seed: args.common.seed.seed,
        ..Rounds::default()
    };
    let level = (args.common.confidence / 100.0, args.common.seed.seed);
    let mut report = Report {
        nanos: Vec::new(),
        instructions: Vec::new(),
        no_instructions: args
            .timing
            .no_instructions
            .then(|| "not asked for".to_owned()),
        rounds: args.timing.rounds,
        confidence: args.common.confidence,
    };
    let steps = machines.len() * kernels.len() * cases().count();
    let progress = Progress::new(args.common.progress, steps as u64, "decisions");
    for machine in &machines {
        for kernel in &kernels {
            for (name, case) in cases() {
                let mut decide = Decide::new(machine, kernel, case).with_context(|| {
                    format!(
                        "cannot build the sched domains of {} for {kernel}",
                        machine.name()
                    )
                })?;
                let group = format!("{}, {kernel}", machine.name());
                measure_one(
                    &mut report,
                    &mut decide,
                    (group, name),
                    case,
                    &rounds,
                    level,
                );
                progress.add(1);
            }
        }
    }
    compared::adjust(&mut report.nanos);
    Ok(report)
}

fn machines(args: &PlacementArgs) -> Result<Vec<Machine>> {
    if args.machines.is_empty() {
        let sizes = args.llc.iter();
        let machine = |cpus: &u32| Ok(one_llc(*cpus, args.threads.min(*cpus))?);
        return sizes.map(machine).collect();
    }
    let machines = args.machines.iter();
    machines
        .map(|name| Ok(load(name, &LoadOptions::default())?))
        .collect()
}

fn measure_one(
    report: &mut Report,
    decide: &mut Decide,
    row: (String, String),
    case: Case,
    rounds: &Rounds,
    level: (f64, u64),
) {
    assert_eq!(decide.scan(1), decide.masks(1), "two searches, one answer");
    // Two users of one decision that never run at the same time.
    let cell = std::cell::RefCell::new(decide);
    let scan = || {
        cell.borrow_mut().scan(1);
    };
    let masks = || {
        cell.borrow_mut().masks(1);
    };
    let has_masks = !case.is_slow_path();
    let mut scans = |calls: u64, _: u32| {
        cell.borrow_mut().scan(calls);
    };
    let mut by_masks = |calls: u64, _: u32| {
        cell.borrow_mut().masks(calls);
    };
    let mut forms: Vec<fairlab_bench::policy::rounds::Form<'_>> = vec![&mut scans];
    if has_masks {
        forms.push(&mut by_masks);
    }
    let mut nanos = rounds.measure(&mut forms).into_iter();
    let mut next = || nanos.next().unwrap_or_default();
    report
        .nanos
        .push(Compared::new(row.clone(), "ns", [next(), next()], level));
    if report.no_instructions.is_some() {
        return;
    }
    let (mut scan, mut masks) = (scan, masks);
    let mut calls: Vec<&mut dyn FnMut()> = vec![&mut scan];
    if has_masks {
        calls.push(&mut masks);
    }
    match instructions::count(&mut calls) {
        Ok(counts) => {
            let mut counts = counts.into_iter().map(|n| vec![n as f64]);
            let mut next = || counts.next().unwrap_or_default();
            let values = [next(), next()];
            report
                .instructions
                .push(Compared::new(row, "instructions", values, level));
        }
        Err(error) => report.no_instructions = Some(error.to_string()),
    }
}

impl Report {
    fn print(&self, out: &mut Output) -> Result<()> {
        writeln!(out, "{}", out.paint(Style::Bold, "One placement, in ns"))?;
        writeln!(
            out,
            "the kernel's scan against the word-parallel search over idle masks, with one answer; \
             fork and exec walk the domains and have one form"
        )?;
        write!(out, "{}", self.table().to_text())?;
        writeln!(out, "{}", compared::method(self.rounds, self.confidence))?;
        writeln!(
            out,
            "\n{}",
            out.paint(Style::Bold, "The same, in instructions")
        )?;
        match &self.no_instructions {
            Some(why) => writeln!(out, "not counted: {why}")?,
            None => {
                write!(out, "{}", self.counts().to_text())?;
                writeln!(
                    out,
                    "Counted one by one in a child that is stepped; the same every time."
                )?;
            }
        }
        Ok(())
    }

    fn table(&self) -> Table {
        let mut table = Table::new([
            ("", Align::Left),
            ("", Align::Left),
            ("scan", Align::Right),
            ("masks", Align::Right),
            ("change", Align::Right),
            ("p", Align::Right),
            ("verdict", Align::Left),
        ]);
        let mut group = "";
        for row in &self.nanos {
            let shown = if row.group == group { "" } else { &row.group };
            group = &row.group;
            let median = |side: usize| match Sample::new(row.values[side].clone()) {
                Ok(sample) => format!("{:.1}", Center::Median.of_sample(&sample)),
                Err(_) => String::new(),
            };
            let mut cells = vec![shown.to_owned(), row.name.clone(), median(0), median(1)];
            if let Some(c) = &row.comparison {
                cells.extend([
                    c.change_text(),
                    compared::p_text(c.adjusted_p_value),
                    compared::verdict(c).to_owned(),
                ]);
            }
            table.row(cells);
        }
        table
    }

    fn counts(&self) -> Table {
        let mut table = Table::new([
            ("", Align::Left),
            ("", Align::Left),
            ("scan", Align::Right),
            ("masks", Align::Right),
            ("scan / masks", Align::Right),
        ]);
        let mut group = "";
        for row in &self.instructions {
            let shown = if row.group == group { "" } else { &row.group };
            group = &row.group;
            let count = |side: usize| row.values[side].first().copied();
            let text = |n: Option<f64>| n.map(|n| format!("{n}")).unwrap_or_default();
            let ratio = count(0)
                .zip(count(1))
                .map(|(scan, masks)| format!("{:.1}", scan / masks));
            table.row([
                shown.to_owned(),
                row.name.clone(),
                text(count(0)),
                text(count(1)),
                ratio.unwrap_or_default(),
            ]);
        }
        table
    }
}
