//! `fairlab report`: one page about traces; and the page that other verbs write beside their answer.

mod raster;
pub mod simulated;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use fairlab_audit::AuditOptions;
use fairlab_report::{Page, Run};

use crate::cli::report::{ReportVerb, TimelineArgs};
use crate::findings::{Findings, audit, notes};
use raster::Raster;

/// Cases of each sort that a page lists.
const PAGE_KEEPS: usize = 100;

/// Settings of an audit whose findings go on a page.
pub fn options(args: TimelineArgs) -> AuditOptions {
    AuditOptions {
        keep: PAGE_KEEPS,
        every_placement: true,
        history: args.timeline,
        ..AuditOptions::default()
    }
}

/// Audits the traces and writes the page.
pub fn run(args: &ReportVerb) -> Result<ExitCode> {
    let machines: Vec<Option<&str>> = match args.machines.as_slice() {
        [] => vec![None; args.runs.len()],
        [one] => vec![Some(one); args.runs.len()],
        each if each.len() == args.runs.len() => each.iter().map(|m| Some(m.as_str())).collect(),
        each => bail!(
            "{} machines for {} runs: give --machine once for all, or once for each",
            each.len(),
            args.runs.len()
        ),
    };
    if args.output.json {
        bail!("a report is a page: use -o FILE.html, or `fairlab audit --json` for numbers");
    }
    if let Some(path) = &args.output.output
        && args.output.beside(&["html", "htm"]).0.is_none()
    {
        bail!("cannot write {}: a report ends in .html", path.display());
    }
    let runs = args.runs.iter().zip(machines);
    let findings: Vec<Findings> = runs
        .map(|(trace, machine)| audit(trace, machine, options(args.timeline)))
        .collect::<Result<_>>()?;
    let page = of_traces(&findings.iter().collect::<Vec<_>>());
    if let Some(folder) = &args.svg {
        write_plots(folder, &page)?;
    }
    if let Some(folder) = &args.png {
        write_rasters(folder, &page)?;
    }
    match &args.output.output {
        Some(path) => write(path, &page)?,
        None if args.svg.is_some() || args.png.is_some() => {}
        None => {
            let mut out = args.output.open()?;
            page.write(&mut out)?;
            out.finish()?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes `page` to the file at `path`.
pub fn write(path: &Path, page: &Page<'_>) -> Result<()> {
    create(path, |out| page.write(out))
}

/// Writes the plots of `page` into `folder` as PNG files.
fn write_rasters(folder: &Path, page: &Page<'_>) -> Result<()> {
    create_folder(folder)?;
    let raster = Raster::new();
    if !raster.has_fonts() {
        eprintln!(
            "no fonts are installed, so that the PNG files have no text: install one, like fonts-dejavu-core"
        );
    }
    for plot in page.plots() {
        let path = folder.join(&plot.file).with_extension("png");
        let png = raster
            .png(&plot.svg)
            .with_context(|| format!("cannot draw {}", path.display()))?;
        create(&path, |out| out.write_all(&png))?;
    }
    Ok(())
}

fn create_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

/// Writes the plots of `page` into `folder`.
fn write_plots(folder: &Path, page: &Page<'_>) -> Result<()> {
    create_folder(folder)?;
    for plot in page.plots() {
        create(&folder.join(&plot.file), |out| {
            out.write_all(plot.svg.as_bytes())
        })?;
    }
    Ok(())
}

/// Writes every placement of a trace to the Parquet file at `path`.
pub fn write_verdicts(path: &Path, findings: &Findings) -> Result<()> {
    create(path, |out| {
        fairlab_report::write_verdicts(&of_trace(findings), out)
    })
}

fn create(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<()> {
    let all = || -> std::io::Result<()> {
        let mut out = BufWriter::new(File::create(path)?);
        write(&mut out)?;
        out.flush()
    };
    all().with_context(|| format!("cannot write {}", path.display()))
}

/// What makes a page again, with what the caller says.
pub fn origin(what: &str) -> String {
    format!("fairlab {}: {what}", env!("CARGO_PKG_VERSION"))
}

/// A page about audited traces.
pub fn of_traces<'a>(traces: &[&'a Findings]) -> Page<'a> {
    let names: Vec<&str> = traces.iter().map(|findings| short_name(findings)).collect();
    Page {
        title: names.join(" and "),
        origin: origin(&format!("fairlab report {}", names.join(" "))),
        sections: Vec::new(),
        runs: traces.iter().map(|findings| of_trace(findings)).collect(),
    }
}

/// The file's name without its folders.
fn short_name(findings: &Findings) -> &str {
    let name = findings.recording.name();
    Path::new(name)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or(name)
}

/// A trace as a run on a page.
pub fn of_trace(findings: &Findings) -> Run<'_> {
    let recording = &findings.recording;
    let totals = &findings.audit.totals;
    let machine = &findings.traced.machine;
    let mut facts = vec![
        (
            "trace".to_owned(),
            format!("{}: {}", recording.name(), recording.format()),
        ),
        (
            "length".to_owned(),
            format!("{:.6} s", (totals.to.0 - totals.from.0) as f64 / 1e9),
        ),
        (
            "machine".to_owned(),
            format!(
                "{}: {} CPUs ({})",
                machine.name(),
                machine.cpus().len(),
                findings.traced.known_from
            ),
        ),
    ];
    if let Some(release) = &recording.metadata().kernel_release {
        facts.push(("kernel".to_owned(), release.clone()));
    }
    facts.push((
        "events".to_owned(),
        format!(
            "{}; {} switches, {} wakeups, {} new tasks",
            totals.events, totals.switches, totals.wakeups, totals.forks
        ),
    ));
    let names = findings.names.iter();
    Run {
        name: short_name(findings).to_owned(),
        facts,
        notes: notes(findings),
        machine,
        audit: &findings.audit,
        names: names
            .map(|(task, name)| (*task, recording.names().get(*name).to_owned()))
            .collect(),
    }
}
