//! Checks and chores in Rust: `cargo xtask oracle`, `cargo xtask layers`, `cargo xtask no-std`,
//! `cargo xtask live-object`, `cargo xtask vm`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

mod arrows;
mod layers;
mod live_object;
mod no_std;
mod oracle;
mod vm;

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
    /// Check that crates use each other only as the table of arrows allows.
    Layers,
    /// Build the crates that do without a standard library, without one.
    NoStd,
    /// Build the BPF object of live mode and write it to a file, as releases attach it.
    ///
    /// `fairlab live --object FILE` loads it; FAIRLAB_BPF_OBJECT=FILE builds without clang and LLVM.
    LiveObject {
        /// Where to.
        file: PathBuf,
    },
    /// Boot a packaged kernel in QEMU and test live mode in it.
    ///
    /// Exit code 1 when a test failed, 2 when no guest could be run: that is no pass.
    Vm(vm::VmArgs),
}

/// The cargo that started us.
fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn main() -> ExitCode {
    let result: Result<ExitCode> = match Cli::parse().command {
        Command::Oracle { kind, path } => oracle::run(kind, &path),
        Command::Layers => layers::run(),
        Command::NoStd => no_std::run(),
        Command::LiveObject { file } => live_object::run(&file),
        Command::Vm(args) => vm::run(&args),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
