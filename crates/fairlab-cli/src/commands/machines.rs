//! `fairlab machines`: the built-in machines, and what can be done with any machine.

mod check;
mod costs;
mod diff;
mod domains;
mod import;
mod list;
mod show;

use std::process::ExitCode;

use anyhow::Result;
use fairlab_machines::{LoadOptions, load};

use crate::cli::{MachinesAction, MachinesVerb};

/// Answers the action that was asked for, `list` when there was none.
pub fn run(args: &MachinesVerb) -> Result<ExitCode> {
    let output = &args.output;
    let options = LoadOptions::default();
    match &args.action {
        None | Some(MachinesAction::List) => list::run(output),
        Some(MachinesAction::Show {
            machine,
            kernels,
            domains,
        }) => show::run(&load(machine, &options)?, kernels, *domains, output),
        Some(MachinesAction::Import { path }) => import::run(&load(path, &options)?, output),
        Some(MachinesAction::Detect { root }) => {
            let options = LoadOptions {
                host_root: root.clone(),
            };
            import::detect(&load("host", &options)?, output)
        }
        Some(MachinesAction::Diff { a, b }) => {
            diff::run(&load(a, &options)?, &load(b, &options)?, output)
        }
        Some(MachinesAction::Costs { machine }) => costs::run(&load(machine, &options)?, output),
        Some(MachinesAction::Check { machine }) => check::run(&load(machine, &options)?, output),
    }
}
