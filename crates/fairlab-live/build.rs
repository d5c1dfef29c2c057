//! Builds the BPF program of feature `live`: a shim in C and the policy in Rust, as one object.

use std::path::PathBuf;
use std::process::ExitCode;

#[path = "build/bpf.rs"]
mod bpf;

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-env-changed=FAIRLAB_BPF_OBJECT");
    if std::env::var_os("CARGO_FEATURE_LIVE").is_none() {
        return ExitCode::SUCCESS;
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let object = out.join("fairlab.bpf.o");
    if let Some(prebuilt) = std::env::var_os("FAIRLAB_BPF_OBJECT") {
        println!(
            "cargo::rerun-if-changed={}",
            PathBuf::from(&prebuilt).display()
        );
        return match std::fs::copy(&prebuilt, &object) {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => fail(&format!(
                "cannot copy the object that FAIRLAB_BPF_OBJECT names, {}: {error}",
                PathBuf::from(prebuilt).display()
            )),
        };
    }
    for source in ["bpf", "../fairlab-live-policy", "../fairlab-policy/src"] {
        println!("cargo::rerun-if-changed={source}");
    }
    match bpf::build(&out, &object) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => fail(&problem),
    }
}

fn fail(problem: &str) -> ExitCode {
    for line in problem.lines() {
        println!("cargo::error={line}");
    }
    ExitCode::FAILURE
}
