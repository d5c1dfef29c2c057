//! `fairlab kernels`: the releases, what one consists of, and what differs between two.

mod diff;
mod list;
mod show;

use std::process::ExitCode;

use anyhow::Result;

use crate::cli::{KernelsAction, KernelsVerb};

/// Answers the action that was asked for, `list` when there was none.
pub fn run(args: &KernelsVerb) -> Result<ExitCode> {
    match &args.action {
        None | Some(KernelsAction::List) => list::run(&args.output),
        Some(KernelsAction::Show { kernel }) => show::run(kernel, &args.output),
        Some(KernelsAction::Diff { a, b }) => diff::run(a, b, &args.output),
    }
}
