//! `fairlab machines show M`

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use fairlab::kernel::{Kernel, Release};
use fairlab::topology::Machine;
use fairlab_machines::{Summary, catalogue, draw, summary, to_json};
use serde::Serialize;

use super::domains::{self, Chains};
use crate::cli::OutputArgs;
use crate::output::{Format, Style};

/// The JSON form.
#[derive(Serialize)]
struct Answer {
    summary: Summary,
    /// Where the facts of a built-in machine come from.
    facts: Option<&'static str>,
    /// The machine, as `fairlab machines import` writes it.
    machine: serde_json::Value,
    domains: Vec<Chains>,
}

/// Draws the machine and its domains: those of `kernels`, or of all releases.
pub fn run(
    machine: &Machine,
    kernels: &[Kernel],
    in_full: bool,
    output: &OutputArgs,
) -> Result<ExitCode> {
    let all: Vec<Kernel> = Release::ALL.map(Kernel::of).to_vec();
    let kernels = if kernels.is_empty() { &all } else { kernels };
    let format = output.format()?;
    let facts = catalogue::entries()
        .iter()
        .find(|entry| entry.name == machine.name())
        .map(|entry| entry.facts);
    let chains: Vec<Chains> = kernels.iter().map(|k| Chains::of(machine, k)).collect();
    let mut out = output.open()?;
    match format {
        Format::Json => out.json(&Answer {
            summary: summary(machine),
            facts,
            machine: serde_json::from_str(&to_json(machine)).context("writing the machine")?,
            domains: chains,
        })?,
        Format::Text => {
            write!(out, "{}", draw(machine))?;
            let head = out.paint(Style::Bold, "sched domains");
            writeln!(
                out,
                "\n{head} (name and number of CPUs, from the CPU outwards)"
            )?;
            write!(out, "{}", domains::text(&chains))?;
            if in_full {
                for kernel in kernels {
                    let head = out.paint(Style::Bold, &format!("kernel {kernel}"));
                    writeln!(out, "\n{head}")?;
                    write!(out, "{}", domains::in_full(machine, kernel))?;
                }
            }
        }
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}
