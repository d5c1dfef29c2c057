//! `fairlab stats`: numbers from anywhere, compared.

mod json;
mod tables;
mod talk;

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use fairlab::stats::table::{Align, Table};
use fairlab_results::{
    By, ClaimReport, CompareOptions, Direction, Document, Format, Mean, Outcome, ReadOptions,
    Results, SeriesComparison, assemble, check_claims, compare, from_json, read, read_file,
    row_matches, to_json,
};

use crate::cli::{ByArg, FormArg, MeanArg, StatsVerb, TableArg};
use crate::output::Output;

/// All that was read and found, for the forms in which it is printed.
struct Report<'a> {
    args: &'a StatsVerb,
    documents: Vec<Document>,
    claims: Vec<ClaimReport>,
    results: Results,
    comparisons: Vec<SeriesComparison>,
    outcomes: Vec<Outcome>,
    options: CompareOptions,
}

/// Reads, compares, prints and checks.
pub fn run(args: &StatsVerb) -> Result<ExitCode> {
    if args.formats {
        return list_formats(args);
    }
    let report = report(args)?;
    if let Some(path) = &args.save {
        std::fs::write(path, to_json(&report.results))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    talk::told(&report);
    let mut out = args.output.open()?;
    print(&mut out, &report)?;
    out.finish()?;
    let has_failed = report
        .outcomes
        .iter()
        .any(|outcome| !outcome.failures.is_empty());
    Ok(if has_failed {
        ExitCode::from(crate::EXIT_WORSE)
    } else {
        ExitCode::SUCCESS
    })
}

fn report(args: &StatsVerb) -> Result<Report<'_>> {
    let read_options = ReadOptions {
        format: args.input_format,
        column: args.column.map(usize::from),
        separator: args.separator,
        has_decimal_commas: args.decimal_commas,
    };
    let mut documents = Vec::new();
    for path in &args.files {
        documents.push(match path.to_str() {
            Some("-") => read(std::io::stdin().lock(), "-", &read_options)?,
            _ => read_file(path, &read_options)?,
        });
    }
    for document in &documents {
        if document
            .blocks
            .iter()
            .all(|block| block.measures.is_empty())
            && document.blocks.is_empty()
        {
            let first = document
                .leftovers
                .first()
                .map_or(String::new(), |leftover| {
                    format!(
                        ": line {} is {:?}",
                        leftover.lines.start(),
                        shown(&leftover.text)
                    )
                });
            bail!(
                "{}: no figures found{first}; say --input-format, or see `fairlab stats --formats`",
                document.name
            );
        }
    }
    let by = match (args.by, &args.baseline) {
        // Beside a stored baseline, a file is one series even when it is alone.
        (ByArg::Auto, Some(_)) => By::File,
        (ByArg::Auto, None) => By::Auto,
        (ByArg::File, _) => By::File,
        (ByArg::Label, _) => By::Label,
        (ByArg::Column, _) => By::Column,
        (ByArg::Command, _) => By::Command,
        (ByArg::Block, _) => By::Block,
    };
    let mut results = assemble(&documents, by);
    if let Some(path) = &args.baseline {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        let saved = from_json(&text, &name)?;
        let Some(mut first) = saved.series.into_iter().next() else {
            bail!("{name}: no series in it: save one with --save");
        };
        first.name = format!("baseline {}", first.name).trim_end().to_owned();
        results.series.insert(0, first);
    }
    if !args.rows.is_empty() {
        for series in &mut results.series {
            series.rows.retain(|row| {
                args.rows.iter().any(|pattern| {
                    row_matches(pattern, &row.name) || row_matches(pattern, &row.full_name())
                })
            });
        }
    }
    for (series, name) in results.series.iter_mut().zip(&args.names) {
        series.name.clone_from(name);
    }
    let better = match (args.higher_is_better, args.lower_is_better) {
        (true, _) => Some(Direction::HigherIsBetter),
        (_, true) => Some(Direction::LowerIsBetter),
        _ => None,
    };
    let options = CompareOptions {
        confidence: args.confidence / 100.0,
        mean: match args.mean {
            MeanArg::Auto => Mean::Auto,
            MeanArg::Amean => Mean::Arithmetic,
            MeanArg::Hmean => Mean::Harmonic,
            MeanArg::Gmean => Mean::Geometric,
            MeanArg::Median => Mean::Median,
        },
        better,
        adjusts: !args.no_correction,
        seed: args.seed.seed,
        ..CompareOptions::default()
    };
    let comparisons = compare(&results, &options);
    let mut outcomes = Vec::new();
    for condition in &args.check {
        let outcome = condition.test(&comparisons);
        if outcome.rows == 0 {
            let names: Vec<String> = comparisons
                .iter()
                .flat_map(|series| series.rows.iter().map(|row| row.full_name()))
                .take(8)
                .collect();
            bail!(
                "--check '{condition}': no compared row has such a name; there {}: {}",
                if names.len() == 1 { "is" } else { "are" },
                if names.is_empty() {
                    "none, as there are not two series with the same rows".to_owned()
                } else {
                    names.join(", ")
                }
            );
        }
        outcomes.push(outcome);
    }
    Ok(Report {
        args,
        claims: documents.iter().map(check_claims).collect(),
        documents,
        results,
        comparisons,
        outcomes,
        options,
    })
}

/// The start of a line, for a message.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(60).collect();
    if start.len() < text.len() {
        start + "..."
    } else {
        start
    }
}

fn print(out: &mut Output, report: &Report<'_>) -> Result<()> {
    let form = form(report)?;
    if form == FormArg::Json {
        return json::print(out, report);
    }
    let is_default = report.args.format.is_none() && report.args.table.is_none();
    if is_default && report.args.output.output.is_none() {
        talk::heading(out, report)?;
    }
    tables::print(out, report, form)?;
    if !matches!(form, FormArg::Csv | FormArg::Latex) {
        talk::contradictions(out, report)?;
        talk::outcomes(out, report)?;
    }
    Ok(())
}

/// The form asked for: --json, else --format, else by the suffix of -o.
fn form(report: &Report<'_>) -> Result<FormArg> {
    let args = report.args;
    if args.output.json {
        return Ok(FormArg::Json);
    }
    if let Some(form) = args.format {
        return Ok(form);
    }
    let suffix = args
        .output
        .output
        .as_ref()
        .and_then(|path| path.extension()?.to_str());
    Ok(match suffix {
        Some("json") => FormArg::Json,
        Some("csv") => FormArg::Csv,
        Some("md") => FormArg::Markdown,
        Some("tex") => FormArg::Latex,
        None | Some("txt") => tables::fitting(report),
        Some(other) => bail!("cannot write .{other}: use .txt, .md, .csv, .tex or .json"),
    })
}

/// The tables that can be written in every form.
fn table_arg(report: &Report<'_>, form: FormArg) -> TableArg {
    let of_form = |form| match form {
        FormArg::Summary => Some(TableArg::Summary),
        FormArg::Diff => Some(TableArg::Diff),
        FormArg::Pct => Some(TableArg::Pct),
        FormArg::Size => Some(TableArg::Size),
        FormArg::Full => Some(TableArg::Full),
        _ => None,
    };
    report
        .args
        .table
        .or_else(|| of_form(form))
        .or_else(|| of_form(tables::fitting(report)))
        .unwrap_or(TableArg::Summary)
}

fn list_formats(args: &StatsVerb) -> Result<ExitCode> {
    let mut out = args.output.open()?;
    if args.output.json {
        let names: Vec<_> = Format::ALL
            .iter()
            .map(|format| serde_json::json!({"name": format.name(), "says": format.says()}))
            .collect();
        out.json(&names)?;
    } else {
        let mut table = Table::new([("FORMAT", Align::Left), ("WHAT IT IS", Align::Left)]);
        for format in Format::ALL {
            table.row([format.name(), format.says()]);
        }
        write!(out, "{}", table.to_text())?;
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
