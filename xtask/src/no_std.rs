//! `cargo xtask no-std`: do the crates of layers 0 to 2 build without a standard library?
//!
//! Two forms, of which the first that is possible runs, and says so:
//!
//! 1. For an installed target that has no standard library, such as `x86_64-unknown-none`
//!    (`rustup target add x86_64-unknown-none`).
//! 2. For this host, with a sysroot that holds `core`, `alloc` and `compiler_builtins` and nothing
//!    else: whatever asks for `std`, directly or through a dependency, fails with "can't find crate".
//!
//! Both are real builds; the second needs nothing but the installed compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::arrows::ARROWS;

/// The libraries that a program without an operating system may use.
const LIBRARIES: [&str; 3] = ["core", "alloc", "compiler_builtins"];

/// Builds all crates that the table of arrows marks; exit code 1 when one does not build.
pub fn run() -> Result<ExitCode> {
    let mut cargo = Command::new(crate::cargo());
    cargo.arg("build");
    let crates = ARROWS.iter().filter(|row| row.is_no_std);
    for row in crates.clone() {
        cargo.args(["--package", row.name]);
    }
    let form = if let Some(target) = bare_target()? {
        cargo.args(["--target", &target]);
        format!("for the target {target}")
    } else {
        let host = host()?;
        let sysroot = bare_sysroot(&host)?;
        // With a target, flags do not apply to build scripts, which need the real sysroot.
        cargo.args(["--target", &host]);
        cargo.arg("--target-dir").arg(target_dir().join("no-std"));
        cargo.env(
            "CARGO_ENCODED_RUSTFLAGS",
            format!("--sysroot={}", sysroot.display()),
        );
        format!("for {host} with a sysroot of {} only", LIBRARIES.join(", "))
    };
    println!("no-std: building {} crates {form}", crates.count());
    let status = cargo.status().context("cannot run cargo build")?;
    if status.success() {
        println!("no-std: built {form}");
        Ok(ExitCode::SUCCESS)
    } else {
        println!("no-std: failed {form}");
        Ok(ExitCode::FAILURE)
    }
}

/// An installed target without an operating system, if there is one.
fn bare_target() -> Result<Option<String>> {
    let libraries = PathBuf::from(rustc(&["--print", "sysroot"])?).join("lib/rustlib");
    let mut targets = Vec::new();
    for entry in
        fs::read_dir(&libraries).with_context(|| format!("cannot list {}", libraries.display()))?
    {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_bare = name.ends_with("-none") || name.contains("-none-");
        if is_bare && libraries.join(&name).join("lib").is_dir() {
            targets.push(name);
        }
    }
    targets.sort();
    // One with 64 bits first: that is what the code is written for.
    targets.sort_by_key(|name| !name.contains("64"));
    Ok(targets.into_iter().next())
}

/// The target triple of this host.
fn host() -> Result<String> {
    let version = rustc(&["--version", "--verbose"])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host
        .context("rustc does not say which host it is for")?
        .to_owned())
}

/// Makes a sysroot that has [`LIBRARIES`] only, by copying them from the real one.
fn bare_sysroot(host: &str) -> Result<PathBuf> {
    let source = PathBuf::from(rustc(&["--print", "sysroot"])?)
        .join("lib/rustlib")
        .join(host)
        .join("lib");
    let sysroot = target_dir().join("no-std").join("sysroot");
    let destination = sysroot.join("lib/rustlib").join(host).join("lib");
    if destination.exists() {
        // A leftover of another compiler version would be ambiguous.
        fs::remove_dir_all(&destination)?;
    }
    fs::create_dir_all(&destination)?;
    for library in LIBRARIES {
        if copy_library(&source, &destination, library)? == 0 {
            bail!("{} has no library {library}", source.display());
        }
    }
    // cargo may start rustc in another folder.
    sysroot
        .canonicalize()
        .context("cannot resolve the path of the sysroot")
}

/// Copies the files of `library` (`libcore-1234.rlib`, `.rmeta`), and says how many there were.
fn copy_library(source: &Path, destination: &Path, library: &str) -> Result<usize> {
    let mut copied = 0;
    for entry in
        fs::read_dir(source).with_context(|| format!("cannot list {}", source.display()))?
    {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        if name.starts_with(&format!("lib{library}-")) {
            fs::copy(&path, destination.join(name))
                .with_context(|| format!("cannot copy {}", path.display()))?;
            copied += 1;
        }
    }
    Ok(copied)
}

/// Where cargo builds.
fn target_dir() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from)
}

fn rustc(args: &[&str]) -> Result<String> {
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(args)
        .output()
        .context("cannot run rustc")?;
    if !output.status.success() {
        bail!("rustc: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
