//! `fairlab kernels show K`

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use fairlab::kernel::{Area, Feature, Kernel, Tunables};
use fairlab::policy::Reason;
use serde::Serialize;

use crate::cli::OutputArgs;
use crate::output::{Format, Output, Style};

/// The JSON form.
#[derive(Serialize)]
struct Description {
    /// The shortest description that reads back as the same kernel.
    kernel: String,
    release: &'static str,
    stable: Option<&'static str>,
    summary: &'static str,
    features: Vec<FeatureRow>,
    tunables: Vec<TunableRow>,
    /// Why a placement may choose a CPU under this kernel, in the order in which it comes by.
    reasons: Vec<ReasonRow>,
}

#[derive(Serialize)]
struct ReasonRow {
    reason: &'static str,
    meaning: &'static str,
}

#[derive(Serialize)]
struct FeatureRow {
    name: &'static str,
    area: &'static str,
    on: bool,
    default: bool,
    meaning: &'static str,
}

#[derive(Serialize)]
struct TunableRow {
    name: &'static str,
    value: u64,
    default: u64,
    meaning: &'static str,
}

impl Description {
    fn of(kernel: &Kernel) -> Self {
        let release = Kernel::of(kernel.release);
        let feature = |&feature: &Feature| FeatureRow {
            name: feature.name(),
            area: feature.area().name(),
            on: kernel.has(feature),
            default: release.has(feature),
            meaning: feature.doc(),
        };
        let in_use = kernel.tunables_in_use();
        let tunable = |name: &&'static str| {
            Some(TunableRow {
                name,
                value: in_use.get(name)?,
                default: release.tunables.get(name)?,
                meaning: meaning_of_tunable(name),
            })
        };
        Self {
            kernel: kernel.to_string(),
            release: kernel.release.name(),
            stable: kernel.release.stable(),
            summary: kernel.release.summary(),
            features: Feature::ALL.iter().map(feature).collect(),
            tunables: Tunables::NAMES.iter().filter_map(tunable).collect(),
            reasons: Reason::ALL
                .iter()
                .filter(|reason| reason.applies_to(kernel))
                .map(|reason| ReasonRow {
                    reason: reason.name(),
                    meaning: reason.doc(),
                })
                .collect(),
        }
    }
}

/// What the tunable called `name` means, without space around it.
pub(super) fn meaning_of_tunable(name: &str) -> &'static str {
    Tunables::doc(name).unwrap_or_default().trim()
}

/// Prints all features by area and all tunables of `kernel`.
pub fn run(kernel: &Kernel, output: &OutputArgs) -> Result<ExitCode> {
    let description = Description::of(kernel);
    let format = output.format()?;
    let mut out = output.open()?;
    match format {
        Format::Json => out.json(&description)?,
        Format::Text => print(&mut out, &description)?,
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut Output, description: &Description) -> Result<()> {
    let name = out.paint(Style::Bold, &description.kernel);
    writeln!(out, "{name}: {}", description.summary)?;
    match description.stable {
        Some(stable) => writeln!(out, "as of the stable update {stable}")?,
        None => writeln!(out, "as of the first release")?,
    }
    let changed = description
        .features
        .iter()
        .filter(|f| f.on != f.default)
        .count()
        + description
            .tunables
            .iter()
            .filter(|t| t.value != t.default)
            .count();
    if changed > 0 {
        let mark = out.paint(Style::Yellow, "*");
        writeln!(
            out,
            "{mark} differs from {} as built ({changed})",
            description.release
        )?;
    }
    for area in Area::ALL {
        let heading = out.paint(Style::Bold, area.name());
        writeln!(out, "\n{heading}")?;
        for row in description
            .features
            .iter()
            .filter(|row| row.area == area.name())
        {
            print_feature(out, row)?;
        }
    }
    let heading = out.paint(Style::Bold, "tunables");
    writeln!(out, "\n{heading}")?;
    for row in &description.tunables {
        print_tunable(out, row)?;
    }
    let heading = out.paint(Style::Bold, "reasons of a placement");
    writeln!(out, "\n{heading}")?;
    for row in &description.reasons {
        writeln!(out, "  {:<28} {}", row.reason, row.meaning)?;
    }
    Ok(())
}

fn print_feature(out: &mut Output, row: &FeatureRow) -> Result<()> {
    let mark = mark(out, row.on != row.default);
    let state = if row.on {
        out.paint(Style::Green, "on ")
    } else {
        out.paint(Style::Dim, "off")
    };
    writeln!(out, "{mark} {state} {:<26} {}", row.name, row.meaning)?;
    Ok(())
}

fn print_tunable(out: &mut Output, row: &TunableRow) -> Result<()> {
    let mark = mark(out, row.value != row.default);
    write!(
        out,
        "{mark} {:<26} {:>9} {}",
        row.name, row.value, row.meaning
    )?;
    if row.value != row.default {
        write!(out, " [{}]", row.default)?;
    }
    writeln!(out)?;
    Ok(())
}

/// The column that says whether a row differs from the release as built.
fn mark(out: &Output, is_changed: bool) -> String {
    if is_changed {
        out.paint(Style::Yellow, "*")
    } else {
        " ".to_owned()
    }
}
