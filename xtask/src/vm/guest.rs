//! The programs of the guest: its init, and the command itself for tests that run it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A target by name keeps the flags for the guest from programs that run while it is built.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Tests that run the command as its user does.
const RUN_THE_COMMAND: [&str; 4] = ["refuse", "live", "record", "traces"];

/// Programs that need nothing else to run.
pub struct Programs {
    pub init: PathBuf,
    pub command: Option<PathBuf>,
}

impl Programs {
    /// Builds what `tests` need; all tests where none is named. An init that was built before takes the place of
    /// the one of this tree.
    pub fn build(tests: &[String], init: Option<PathBuf>) -> Result<Self> {
        let needs_command =
            tests.is_empty() || tests.iter().any(|test| RUN_THE_COMMAND.contains(&&**test));
        Ok(Self {
            init: match init {
                Some(init) => init,
                None => build("fairlab-live", "fairlab-guest")?,
            },
            command: if needs_command {
                Some(build("fairlab-cli", "fairlab")?)
            } else {
                None
            },
        })
    }
}

fn build(package: &str, name: &str) -> Result<PathBuf> {
    let mut command = Command::new(crate::cargo());
    command
        .args(["build", "--quiet", "-p", package, "--features", "live"])
        .args(["--bin", name, "--target", TARGET])
        // All of it lies in the guest's memory.
        .env(
            "RUSTFLAGS",
            "-C target-feature=+crt-static -C strip=debuginfo",
        );
    let done = command.status().context("cannot run cargo")?;
    if !done.success() {
        bail!(
            "{name} does not build for the guest (see above; it needs clang, llvm, libelf-dev, zlib1g-dev)"
        );
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    Ok(PathBuf::from(target).join(TARGET).join("debug").join(name))
}
