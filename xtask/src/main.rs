//! Checks and chores in Rust: `cargo xtask oracle`, `cargo xtask layers`, `cargo xtask no-std`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

mod oracle;

/// Checks and chores of the fairlab repository.
#[derive(Parser)]
#[command(name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compare fairlab with recordings of what real kernels decided.
    Oracle {
        /// What to compare.
        kind: oracle::Kind,
        /// A recording, or a folder that is searched for recordings.
        path: PathBuf,
    },
}

fn main() -> ExitCode {
    let result: Result<ExitCode> = match Cli::parse().command {
        Command::Oracle { kind, path } => oracle::run(kind, &path),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
