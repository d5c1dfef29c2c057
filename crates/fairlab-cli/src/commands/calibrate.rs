//! `fairlab calibrate`: what this host's hardware and kernel cost.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use fairlab::sim::{ENTRIES, Entry, MachineClass, Shape};
use fairlab_bench::calibrate::{CalibrateOptions, Calibration, Figure, Missing, run as measure};
use fairlab_bench::environment;
use fairlab_workfile::{CostFile, CostNote};
use serde::Serialize;

use crate::cli::CalibrateVerb;
use crate::output::Format;
use crate::progress::Progress;

/// What of the environment goes into a cost file.
const ENVIRONMENT: [&str; 6] = [
    "fairlab",
    "cpu_model",
    "kernel",
    "is_virtual_machine",
    "governor",
    "load",
];

#[derive(Serialize)]
struct Report {
    figures: Vec<FigureReport>,
    missing: Vec<MissingReport>,
    environment: environment::Environment,
}

#[derive(Serialize)]
struct FigureReport {
    entry: &'static str,
    index: usize,
    unit: &'static str,
    median: f64,
    interval: (f64, f64),
    rounds: usize,
}

#[derive(Serialize)]
struct MissingReport {
    what: String,
    why: String,
}

/// Measures, and writes the cost file.
pub fn run(args: &CalibrateVerb) -> Result<ExitCode> {
    let format = args.output.format_or("toml")?;
    let machine = args.machine.load()?;
    let options = CalibrateOptions {
        rounds: args.rounds,
        ..CalibrateOptions::default()
    };
    let environment = environment::record(Path::new("/"));
    let progress = Progress::new(args.progress, u64::from(args.rounds), "rounds");
    let calibration = measure(&options, &machine, &|| progress.add(1))?;
    drop(progress);
    for Missing { what, why } in &calibration.missing {
        // Standard error may be closed; the measurement goes on.
        let _ = writeln!(std::io::stderr(), "not measured: {what}: {why}");
    }
    let mut out = args.output.open()?;
    match format {
        Format::Text => {
            let file = cost_file(MachineClass::of(&machine), &calibration, &environment);
            write!(out, "{}", file.to_toml())?;
        }
        Format::Json => out.json(&report(calibration, environment))?,
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn entry_of(figure: &Figure) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == figure.entry)
}

/// The table of `class` with the figures in it.
fn cost_file(
    class: MachineClass,
    calibration: &Calibration,
    environment: &environment::Environment,
) -> CostFile {
    let mut file = CostFile::of_class(class);
    for figure in &calibration.figures {
        let Some(entry) = entry_of(figure) else {
            continue;
        };
        let (low, high) = entry.unit.range();
        let whole = |value: f64| (value.round().max(0.0) as u64).clamp(low, high);
        let mut numbers = entry.get(&file.table);
        let count = numbers.len();
        let Some(number) = numbers.get_mut(figure.index) else {
            continue;
        };
        *number = whole(figure.median);
        entry.set(&mut file.table, &numbers);
        let note = file.notes.entry(entry.name).or_insert_with(|| CostNote {
            source: Some(source(class, entry, figure)),
            intervals: vec![None; count],
        });
        note.intervals[figure.index] = Some((whole(figure.interval.0), whole(figure.interval.1)));
    }
    let known = ENVIRONMENT.iter().filter_map(|name| {
        let value = environment.get(*name)?;
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        Some(((*name).to_owned(), text))
    });
    file.environment = known.collect();
    file
}

fn source(class: MachineClass, entry: &Entry, figure: &Figure) -> String {
    let measured = format!("fairlab calibrate, median of {} rounds", figure.rounds);
    match (entry.shape, class.source(entry.name)) {
        (Shape::One, _) | (_, None) => measured,
        (_, Some(else_from)) => {
            format!(
                "{measured} where there is an interval; else: {}",
                else_from.trim()
            )
        }
    }
}

fn report(calibration: Calibration, environment: environment::Environment) -> Report {
    let figures = calibration.figures.iter().map(|figure| FigureReport {
        entry: figure.entry,
        index: figure.index,
        unit: entry_of(figure).map_or("", |entry| entry.unit.key()),
        median: figure.median,
        interval: figure.interval,
        rounds: figure.rounds,
    });
    let missing = calibration.missing.iter().map(|missing| MissingReport {
        what: missing.what.clone(),
        why: missing.why.clone(),
    });
    Report {
        figures: figures.collect(),
        missing: missing.collect(),
        environment,
    }
}
