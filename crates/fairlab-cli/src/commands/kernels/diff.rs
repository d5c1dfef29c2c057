//! `fairlab kernels diff A B`

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use fairlab::kernel::{Area, Difference, Feature, Kernel, differences};
use serde::Serialize;

use super::show::meaning_of_tunable;
use crate::cli::OutputArgs;
use crate::output::{Format, Output, Style};

/// The JSON form.
#[derive(Serialize)]
struct Report {
    a: String,
    b: String,
    features: Vec<FeatureRow>,
    tunables: Vec<TunableRow>,
}

#[derive(Serialize)]
struct FeatureRow {
    name: &'static str,
    area: &'static str,
    a: bool,
    b: bool,
    meaning: &'static str,
}

#[derive(Serialize)]
struct TunableRow {
    name: &'static str,
    a: u64,
    b: u64,
    meaning: &'static str,
}

impl Report {
    fn of(a: &Kernel, b: &Kernel) -> Self {
        let mut report = Self {
            a: a.to_string(),
            b: b.to_string(),
            features: Vec::new(),
            tunables: Vec::new(),
        };
        for difference in differences(a, b) {
            match difference {
                Difference::Feature { feature, in_a } => report.add_feature(feature, in_a),
                Difference::Tunable { name, a, b } => report.tunables.push(TunableRow {
                    name,
                    a,
                    b,
                    meaning: meaning_of_tunable(name),
                }),
            }
        }
        report
    }

    fn add_feature(&mut self, feature: Feature, in_a: bool) {
        self.features.push(FeatureRow {
            name: feature.name(),
            area: feature.area().name(),
            a: in_a,
            b: !in_a,
            meaning: feature.doc(),
        });
    }
}

/// Prints what changes from `a` to `b`.
pub fn run(a: &Kernel, b: &Kernel, output: &OutputArgs) -> Result<ExitCode> {
    let report = Report::of(a, b);
    let format = output.format()?;
    let mut out = output.open()?;
    match format {
        Format::Json => out.json(&report)?,
        Format::Text => print(&mut out, &report)?,
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut Output, report: &Report) -> Result<()> {
    if report.features.is_empty() && report.tunables.is_empty() {
        writeln!(out, "no difference between {} and {}", report.a, report.b)?;
        return Ok(());
    }
    writeln!(out, "- only in {}", report.a)?;
    writeln!(out, "+ only in {}", report.b)?;
    for area in Area::ALL {
        print_area(out, report, area)?;
    }
    if !report.tunables.is_empty() {
        let heading = out.paint(Style::Bold, "tunables");
        writeln!(out, "\n{heading}")?;
    }
    for row in &report.tunables {
        let change = format!("{} -> {}", row.a, row.b);
        writeln!(out, "  {:<26} {change:<20} {}", row.name, row.meaning)?;
    }
    Ok(())
}

fn print_area(out: &mut Output, report: &Report, area: Area) -> Result<()> {
    let rows = || report.features.iter().filter(|row| row.area == area.name());
    if rows().next().is_none() {
        return Ok(());
    }
    let heading = out.paint(Style::Bold, area.name());
    writeln!(out, "\n{heading}")?;
    for row in rows() {
        let mark = if row.b {
            out.paint(Style::Green, "+")
        } else {
            out.paint(Style::Red, "-")
        };
        writeln!(out, "{mark} {:<26} {}", row.name, row.meaning)?;
    }
    Ok(())
}
