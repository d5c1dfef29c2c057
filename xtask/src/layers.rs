//! `cargo xtask layers`: do the crates depend on each other as [`crate::arrows`] allows?
//!
//! Dependencies for tests (`[dev-dependencies]`) are checked less strictly, because no user ever
//! gets them: a test may use any crate that is not in a layer above, listed or not, and anything from
//! outside.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::arrows::{self, ARROWS, Row};

/// What `cargo metadata` says about the workspace.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev`, `build`, or null for an ordinary one.
    kind: Option<String>,
}

/// Compares the workspace with the table; exit code 1 when it differs.
pub fn run() -> Result<ExitCode> {
    let metadata = metadata()?;
    let mut problems = Vec::new();
    for package in &metadata.packages {
        match arrows::find(&package.name) {
            Some(row) => check(row, package, &metadata, &mut problems),
            None => problems.push(format!(
                "{} is not in the table: give it a row, with a layer, in xtask/src/arrows.rs",
                package.name
            )),
        }
    }
    for row in ARROWS {
        if !metadata
            .packages
            .iter()
            .any(|package| package.name == row.name)
        {
            problems.push(format!(
                "{} is in the table but not in the workspace",
                row.name
            ));
        }
    }
    for problem in &problems {
        println!("{problem}");
    }
    if problems.is_empty() {
        println!("layers: {} crates as in the table", metadata.packages.len());
        Ok(ExitCode::SUCCESS)
    } else {
        println!(
            "layers: {} arrows that are not in the table",
            problems.len()
        );
        Ok(ExitCode::FAILURE)
    }
}

/// Adds what `package` uses beyond its `row` to `problems`.
fn check(row: &Row, package: &Package, workspace: &Metadata, problems: &mut Vec<String>) {
    for dependency in &package.dependencies {
        let name = dependency.name.as_str();
        let is_ours = workspace
            .packages
            .iter()
            .any(|package| package.name == name);
        let is_for_tests = dependency.kind.as_deref() == Some("dev");
        let used_layer = arrows::find(name).map_or(0, |used| used.layer);
        if is_for_tests {
            if is_ours && used_layer > row.layer {
                problems.push(format!(
                    "tests of {} (layer {}) use {name} (layer {used_layer}): move them up",
                    row.name, row.layer
                ));
            }
        } else if is_ours && !row.may_use(name) {
            problems.push(format!(
                "{} -> {name} is not an arrow of the table",
                row.name
            ));
        } else if !is_ours && !row.others.allow(name) {
            problems.push(format!(
                "{} -> {name} comes from outside the workspace and is not in the table",
                row.name
            ));
        }
    }
}

fn metadata() -> Result<Metadata> {
    let output = Command::new(crate::cargo())
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .output()
        .context("cannot run cargo metadata")?;
    if !output.status.success() {
        bail!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    serde_json::from_slice(&output.stdout).context("cannot read what cargo metadata printed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(name: &str, uses: &[(&str, Option<&str>)]) -> Vec<String> {
        let packages = ARROWS.iter().map(|row| Package {
            name: row.name.to_owned(),
            dependencies: Vec::new(),
        });
        let workspace = Metadata {
            packages: packages.collect(),
        };
        let package = Package {
            name: name.to_owned(),
            dependencies: uses
                .iter()
                .map(|(name, kind)| Dependency {
                    name: (*name).to_owned(),
                    kind: kind.map(str::to_owned),
                })
                .collect(),
        };
        let mut problems = Vec::new();
        check(
            arrows::find(name).unwrap(),
            &package,
            &workspace,
            &mut problems,
        );
        problems
    }

    #[test]
    fn arrows_of_the_table_pass_and_others_do_not() {
        assert!(problems("fairlab-pelt", &[("fairlab-units", None)]).is_empty());
        assert_eq!(
            problems("fairlab-pelt", &[("fairlab-topology", None)]),
            ["fairlab-pelt -> fairlab-topology is not an arrow of the table"]
        );
        assert_eq!(
            problems("fairlab-pelt", &[("libm", Some("build"))]),
            ["fairlab-pelt -> libm comes from outside the workspace and is not in the table"]
        );
        assert!(problems("fairlab-cli", &[("clap", None)]).is_empty());
    }

    #[test]
    fn tests_may_look_sideways_and_outside_but_not_up() {
        let dev = Some("dev");
        assert!(problems("fairlab-runqueue", &[("fairlab-policy", dev)]).is_empty());
        assert!(problems("fairlab-runqueue", &[("proptest", dev)]).is_empty());
        assert_eq!(
            problems("fairlab-runqueue", &[("fairlab-sim", dev)]),
            ["tests of fairlab-runqueue (layer 2) use fairlab-sim (layer 3): move them up"]
        );
    }
}
