//! Recordings of kind `balance`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};

/// Compares every recording below `path`.
pub fn run(path: &Path) -> Result<ExitCode> {
    bail!(
        "no comparison for {} yet: this kind of recording comes with its crate",
        path.display()
    )
}
