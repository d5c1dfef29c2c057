//! Comparison with recordings of real kernels. One file per kind of recording.
//!
//! Every kind prints `N of M equal` with the first differences, and answers exit code 1 when a
//! difference is not explained by the recording's own flags.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;

mod balance;
mod decisions;
mod domains;
mod machine;
mod pelt;
mod runqueue;

/// What a recording holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Sched domains as built at boot.
    Domains,
    /// Answers of `select_task_rq_fair()`.
    Decisions,
    /// Attempts to balance a domain.
    Balance,
    /// Load-average updates.
    Pelt,
    /// EEVDF picks, placements and accounting.
    Runqueue,
}

/// Runs the comparison of `kind` over `path` (a file, or a folder searched recursively).
pub fn run(kind: Kind, path: &Path) -> Result<ExitCode> {
    match kind {
        Kind::Domains => domains::run(path),
        Kind::Decisions => decisions::run(path),
        Kind::Balance => balance::run(path),
        Kind::Pelt => pelt::run(path),
        Kind::Runqueue => runqueue::run(path),
    }
}
