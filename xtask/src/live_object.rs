//! `cargo xtask live-object`: the BPF object of live mode as a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

const NAME: &str = "fairlab.bpf.o";

/// Builds it and writes it to `file`.
pub fn run(file: &Path) -> Result<ExitCode> {
    // Checking runs the script that builds the object, and leaves out the rest.
    let output = Command::new(crate::cargo())
        .args(["check", "--quiet", "-p", "fairlab-live", "--lib"])
        .args(["--features", "live", "--message-format", "json"])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!(
            "the object does not build (see above; it needs clang, llvm, libelf-dev, zlib1g-dev)"
        );
    }
    let told = String::from_utf8_lossy(&output.stdout);
    let folder = folder_of(&told).context("cargo does not tell where it built the object")?;
    let object = folder.join(NAME);
    let size = fs::copy(&object, file)
        .with_context(|| format!("cannot copy {} to {}", object.display(), file.display()))?;
    eprintln!("{}: {size} bytes", file.display());
    Ok(ExitCode::SUCCESS)
}

/// Where the build script of `fairlab-live` wrote to, by what cargo tells.
fn folder_of(messages: &str) -> Option<PathBuf> {
    messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_ours = message["reason"] == "build-script-executed"
            && message["package_id"].as_str()?.contains("/fairlab-live#");
        is_ours.then(|| message["out_dir"].as_str().map(PathBuf::from))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_that_of_the_crate_with_the_object() {
        let message = |package: &str, folder: &str| {
            format!(
                r#"{{"reason":"build-script-executed","package_id":"path+file:///x/{package}#0.1.0","out_dir":"{folder}"}}"#
            )
        };
        let told = [
            "no json".to_owned(),
            message("fairlab-live-policy", "/a"),
            message("fairlab-live", "/b"),
        ]
        .join("\n");
        assert_eq!(folder_of(&told), Some(PathBuf::from("/b")));
        assert_eq!(folder_of(""), None);
    }
}
