//! `fairlab validate`: published results, simulated.

use std::fs;
use std::io::Write as _;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::{Context, Result, bail};
use fairlab_validate::{
    Agreement, CaseReport, CaseResult, EFFECT_THRESHOLD, FullReport, RunOptions, Scenario,
    differing_facts, embedded, matches_glob, parse_published, text_of_agreement, text_of_case,
};

use crate::cli::validate::ValidateVerb;
use crate::output::Format;
use crate::progress::Progress;

/// Runs the scenarios and prints what they say.
pub fn run(args: &ValidateVerb) -> Result<ExitCode> {
    let scenarios = scenarios(args)?;
    if let Some(path) = &args.facts {
        return check_facts(args, &scenarios, path);
    }
    let format = args.output.format()?;
    let cpus = available_parallelism().map_or(1, NonZero::get);
    let options = RunOptions {
        runs: args.runs,
        most: args.most_runs.unwrap_or(args.runs),
        seed: args.seed.seed,
        threads: args.jobs.map_or(cpus, usize::from),
        confidence: args.confidence / 100.0,
    };
    let expressible = || scenarios.iter().filter(|s| s.is_expressible());
    let points: usize = expressible().map(|s| s.simulated().count()).sum();
    let progress = Progress::new(
        args.progress,
        points as u64 * u64::from(args.runs) * 2,
        "runs",
    );
    // Text goes out case by case: the whole set takes minutes.
    let mut out = None;
    if format == Format::Text {
        out = Some(args.output.open()?);
    }
    let mut results: Vec<Option<CaseResult>> = Vec::new();
    for scenario in &scenarios {
        let result = if scenario.is_expressible() {
            Some(fairlab_validate::run(scenario, &options, &|| {
                progress.add(1)
            })?)
        } else {
            None
        };
        if let (Some(out), Some(result)) = (&mut out, &result) {
            writeln!(out, "{}", text_of_case(scenario, result))?;
            out.flush()?;
        }
        results.push(result);
    }
    drop(progress);
    let agreement = Agreement::of(results.iter().flatten());
    match out {
        Some(mut out) => {
            let not: Vec<&Scenario> = scenarios.iter().filter(|s| !s.is_expressible()).collect();
            write!(out, "{}", text_of_agreement(&agreement, &not))?;
            writeln!(
                out,
                "\n{} to {} runs of each kernel at each point, seed {}, fairlab {}",
                args.runs,
                options.most,
                args.seed.seed,
                env!("CARGO_PKG_VERSION")
            )?;
            out.finish()?;
        }
        None => {
            let cases = scenarios.iter().zip(&results);
            let report = FullReport {
                version: env!("CARGO_PKG_VERSION"),
                runs: args.runs,
                most_runs: options.most,
                seed: args.seed.seed,
                confidence: options.confidence,
                threshold: EFFECT_THRESHOLD,
                cases: cases.map(|(s, r)| CaseReport::of(s, r.as_ref())).collect(),
                by_case: (&agreement.cases).into(),
                by_point: (&agreement.points).into(),
            };
            let mut out = args.output.open()?;
            out.json(&report)?;
            out.finish()?;
        }
    }
    let enough = f64::from(args.at_least) / 100.0;
    let is_low = agreement.cases.share().is_some_and(|share| share < enough);
    if args.check && (is_low || agreement.cases.broken > 0) {
        return Ok(ExitCode::from(crate::EXIT_WORSE));
    }
    Ok(ExitCode::SUCCESS)
}

/// The scenarios that were asked for, by name.
fn scenarios(args: &ValidateVerb) -> Result<Vec<Scenario>> {
    let mut all = if args.cases.is_empty() {
        embedded()?
    } else {
        let mut all = Vec::new();
        for path in &args.cases {
            for file in files(path)? {
                all.push(read(&file)?);
            }
        }
        all
    };
    if !args.only.is_empty() {
        all.retain(|s| args.only.iter().any(|glob| matches_glob(glob, &s.id)));
    }
    if all.is_empty() {
        bail!("no scenario matches; without --only all of them are run");
    }
    all.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(all)
}

/// `path` itself, or the scenario files in it.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    let entries = fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|suffix| suffix == "toml") {
            files.push(path);
        }
    }
    if files.is_empty() {
        bail!("{} holds no .toml files", path.display());
    }
    Ok(files)
}

fn read(path: &Path) -> Result<Scenario> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let parsed = Scenario::parse(&text, &name);
    parsed.with_context(|| format!("cannot use {}", path.display()))
}

fn check_facts(args: &ValidateVerb, scenarios: &[Scenario], path: &Path) -> Result<ExitCode> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let published = parse_published(&text, &path.display().to_string())?;
    let mut found = Vec::new();
    let mut compared = 0;
    for facts in &published {
        if let Some(scenario) = scenarios.iter().find(|s| s.id == facts.id) {
            compared += 1;
            found.extend(differing_facts(scenario, facts));
        }
    }
    let format = args.output.format()?;
    let mut out = args.output.open()?;
    match format {
        Format::Json => out.json(&found)?,
        Format::Text => {
            for line in &found {
                writeln!(out, "{line}")?;
            }
            writeln!(
                out,
                "{compared} of {} cases have a scenario; {} facts differ",
                published.len(),
                found.len()
            )?;
        }
    }
    out.finish()?;
    Ok(if found.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(crate::EXIT_WORSE)
    })
}
