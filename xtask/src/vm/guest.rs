//! The guest's init.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A target by name keeps the flags for the guest from programs that run while it is built.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds it as one file that needs nothing else.
pub fn build() -> Result<PathBuf> {
    let mut command = Command::new(crate::cargo());
    command
        .args([
            "build",
            "--quiet",
            "-p",
            "fairlab-live",
            "--features",
            "live",
        ])
        .args(["--bin", "fairlab-guest", "--target", TARGET])
        .env("RUSTFLAGS", "-C target-feature=+crt-static");
    let done = command.status().context("cannot run cargo")?;
    if !done.success() {
        bail!(
            "the guest's init does not build (see above; it needs clang, llvm, libelf-dev, zlib1g-dev)"
        );
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    Ok(PathBuf::from(target)
        .join(TARGET)
        .join("debug/fairlab-guest"))
}
