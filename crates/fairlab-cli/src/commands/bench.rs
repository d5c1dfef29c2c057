//! `fairlab bench`: measurements on this host.

mod ab;
mod ab_report;
mod compared;
mod fork;
mod hackbench;
mod idle_core;
mod layout;
mod pipe;
mod placement;
mod schbench;
mod seeds;
mod tbench;
mod util;

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use fairlab_bench::{BenchError, Measured, environment};
use fairlab_results::{Data, Results, Row, Series};

use crate::cli::{BenchSub, BenchVerb, LoadArgs, OutputArgs};
use crate::output::{Format, Output};

/// Measures what was asked for.
pub fn run(args: &BenchVerb) -> Result<ExitCode> {
    match &args.sub {
        BenchSub::Fork(sub) => fork::run(sub, &args.output),
        BenchSub::Schbench(sub) => schbench::run(sub, &args.output),
        BenchSub::Tbench(sub) => tbench::run(sub, &args.output),
        BenchSub::Hackbench(sub) => hackbench::run(sub, &args.output),
        BenchSub::Pipe(sub) => pipe::run(sub, &args.output),
        BenchSub::IdleCore(sub) => idle_core::run(sub, &args.output),
        BenchSub::Placement(sub) => placement::run(sub, &args.output),
        BenchSub::Util(sub) => util::run(sub, &args.output),
        BenchSub::Layout(sub) => layout::run(sub, &args.output),
        BenchSub::Seeds(sub) => seeds::run(sub, &args.output),
        BenchSub::Ab(sub) => ab::run(sub, &args.output),
    }
}

/// Runs a load as often as `args` say, and prints each run in the form of its tool, or all values
/// as `fairlab-results/1`.
fn measure(
    name: &str,
    args: &LoadArgs,
    output: &OutputArgs,
    mut once: impl FnMut() -> Result<Measured, BenchError>,
) -> Result<ExitCode> {
    if args.is_comparison() {
        return ab::run_load(name, args, output);
    }
    if args.as_side {
        return measure_side(once()?);
    }
    let format = output.format()?;
    let environment = environment::record(std::path::Path::new("/"));
    let mut rows: Vec<Row> = Vec::new();
    let mut text = String::new();
    for _ in 0..args.runs {
        let measured = once()?;
        if format == Format::Text && output.output.is_none() {
            // One run may take long, so each is printed when it is there.
            let mut out = output.open()?;
            write!(out, "{}", measured.text)?;
            out.finish()?;
        }
        text += &measured.text;
        for row in measured.rows {
            add(&mut rows, row);
        }
    }
    match format {
        Format::Text if output.output.is_none() => {}
        Format::Text => {
            let mut out = output.open()?;
            write!(out, "{text}")?;
            out.finish()?;
        }
        Format::Json => {
            let results = Results {
                tool: format!("fairlab bench {name}"),
                command: std::env::args().collect(),
                environment,
                series: vec![Series::new(name, rows)],
            };
            let mut out = output.open()?;
            write!(out, "{}", fairlab_results::to_json(&results))?;
            out.finish()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints one run for the process that compares it; what stands in `-o` is that one's.
fn measure_side(measured: Measured) -> Result<ExitCode> {
    let mut rows = Vec::new();
    for row in measured.rows {
        add(&mut rows, row);
    }
    let results = Results {
        series: vec![Series::new("", rows)],
        ..Results::default()
    };
    let mut out = Output::stdout();
    write!(out, "{}", fairlab_results::to_json(&results))?;
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// Appends the value of `measured` to the row of its name.
fn add(rows: &mut Vec<Row>, measured: fairlab_bench::Row) {
    let known = rows.iter_mut().find(|row| row.name == measured.name);
    if let Some(Data::Values(values)) = known.map(|row| &mut row.data) {
        values.push(measured.value);
    } else {
        let better = Some(measured.better);
        rows.push(Row::new(
            measured.name,
            measured.unit,
            better,
            [measured.value],
        ));
    }
}

/// Ends a measurement: its tables as `print` writes them, or `series` as `fairlab-results/1`.
fn finish(
    name: &str,
    output: &OutputArgs,
    series: Vec<Series>,
    print: impl FnOnce(&mut Output) -> Result<()>,
) -> Result<ExitCode> {
    if cfg!(debug_assertions) {
        // Standard error may be closed; then nobody is left to tell.
        let _ = writeln!(
            std::io::stderr(),
            "note: this is a debug build, whose times say little: build with --release"
        );
    }
    let format = output.format()?;
    let mut out = output.open()?;
    match format {
        Format::Text => print(&mut out)?,
        Format::Json => {
            let results = Results {
                tool: format!("fairlab bench {name}"),
                command: std::env::args().collect(),
                environment: environment::record(std::path::Path::new("/")),
                series,
            };
            write!(out, "{}", fairlab_results::to_json(&results))?;
        }
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
