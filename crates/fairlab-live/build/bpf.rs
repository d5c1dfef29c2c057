//! From a shim in C and the policy in Rust to one BPF object.
//!
//! ```text
//!   fairlab-live-policy --rustc--> policy.ll --made neutral--.
//!   bpf/shim.bpf.c      --clang--> shim.ll ------------------+--llvm-link--opt--> fairlab.ll --llc--> fairlab.bpf.o
//! ```
//!
//! The policy is compiled for the host, since a stable compiler has no core library for BPF, and
//! becomes BPF once what is particular to the host is taken out of its intermediate code: layout,
//! triple and attributes. That works as long as nothing in it depends on the host, which the last step
//! checks: every function must have been inlined, and nothing may be missing.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What clang writes for `-target bpf`.
const TARGET: &str = "target datalayout = \"e-m:e-p:64:64-i64:64-i128:128-n32:64-S128\"\n\
                      target triple = \"bpf\"\n";

/// Programs of LLVM, all of one version.
struct Tools {
    /// `-22`, or nothing.
    suffix: String,
}

impl Tools {
    /// Those of the version of the compiler's own LLVM, or newer.
    fn find(rustc: &OsStr) -> Result<Self, String> {
        let version = output(Command::new(rustc).arg("-vV"))?;
        let wanted = version
            .lines()
            .find_map(|line| line.strip_prefix("LLVM version: "))
            .and_then(|version| version.split('.').next()?.parse::<u32>().ok())
            .ok_or("`rustc -vV` does not tell its version of LLVM")?;
        let mut seen = Vec::new();
        let numbered = (wanted..wanted + 4).map(|version| format!("-{version}"));
        for suffix in numbered.chain([String::new()]) {
            let clang = format!("clang{suffix}");
            let Ok(text) = output(Command::new(&clang).arg("--version")) else {
                continue;
            };
            let version = text
                .split_once("version ")
                .and_then(|(_, rest)| rest.split('.').next()?.parse::<u32>().ok());
            if version.is_some_and(|version| version >= wanted) {
                let tools = Self { suffix };
                for name in ["llvm-link", "opt", "llc"] {
                    output(tools.command(name).arg("--version")).map_err(|_| {
                        format!(
                            "{clang} is there, but {name}{} is not; install the package llvm{0}",
                            tools.suffix
                        )
                    })?;
                }
                return Ok(tools);
            }
            seen.push(format!("{clang} is version {}", version.unwrap_or(0)));
        }
        let seen = if seen.is_empty() {
            "no clang found".to_owned()
        } else {
            seen.join(", ")
        };
        Err(format!(
            "feature `live` builds a BPF program with clang and LLVM {wanted} or newer ({seen}).\n\
             Install them (Debian: clang-{wanted} llvm-{wanted}), or give a prebuilt object with \
             FAIRLAB_BPF_OBJECT=FILE, or build without the feature."
        ))
    }

    fn command(&self, name: &str) -> Command {
        Command::new(format!("{name}{}", self.suffix))
    }
}

/// Builds `object`, with what lies between in `out`.
pub fn build(out: &Path, object: &Path) -> Result<(), String> {
    let var = |name: &str| std::env::var_os(name).unwrap_or_default();
    let tools = Tools::find(&var("RUSTC"))?;
    let policy = out.join("policy.ll");
    let text = read(&compile_policy(&out.join("policy"))?)?;
    write(&policy, &neutral(&text, true))?;

    let shim = out.join("shim.ll");
    let source = Path::new(&var("CARGO_MANIFEST_DIR")).join("bpf/shim.bpf.c");
    run(tools
        .command("clang")
        .args([
            "-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Werror",
        ])
        .args(["-Wno-unused-function", "-S", "-emit-llvm"])
        .arg(source)
        .arg("-o")
        .arg(&shim))?;
    write(&shim, &neutral(&read(&shim)?, false))?;

    let linked = out.join("linked.ll");
    run(tools
        .command("llvm-link")
        .args(["-S", "--internalize"])
        .args([&shim, &policy])
        .arg("-o")
        .arg(&linked))?;
    let whole = out.join("fairlab.ll");
    run(tools
        .command("opt")
        .args([
            "-S",
            "-passes=always-inline,globaldce,default<O2>,globaldce",
        ])
        .arg(&linked)
        .arg("-o")
        .arg(&whole))?;
    check_whole(&read(&whole)?)?;
    run(tools
        .command("llc")
        .args(["-march=bpfel", "-mcpu=v3", "-filetype=obj"])
        .arg(&whole)
        .arg("-o")
        .arg(object))
}

/// Compiles the policy for the host, optimised as a whole, and gives its intermediate code.
fn compile_policy(target: &Path) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // Settings of the build that runs this are not for this one.
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("CARGO_PROFILE") || name_text.starts_with("CARGO_FEATURE") {
            command.env_remove(&name);
        }
    }
    command
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .args(["rustc", "--release", "--quiet", "--offline", "--lib"])
        .args(["-p", "fairlab-live-policy", "--features", "entry"])
        .arg("--target-dir")
        .arg(target)
        .args([
            "--",
            "--emit=llvm-ir",
            "-Copt-level=3",
            "-Coverflow-checks=off",
        ])
        .args(["-Cno-vectorize-loops", "-Cno-vectorize-slp"]);
    run(&mut command)?;
    let folder = target.join("release/deps");
    let found = std::fs::read_dir(&folder)
        .map_err(|error| format!("cannot read {}: {error}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("fairlab_live_policy-") && name.ends_with(".ll")
        })
        .max_by_key(|path| path.metadata().and_then(|m| m.modified()).ok());
    found.ok_or_else(|| format!("rustc left no intermediate code in {}", folder.display()))
}

/// Intermediate code without what is particular to the machine that compiled it.
fn neutral(text: &str, is_policy: bool) -> String {
    const DROPPED: [&str; 10] = [
        "\"target-cpu\"",
        "\"target-features\"",
        "\"probe-stack\"",
        "\"frame-pointer\"",
        "\"no-trapping-math\"",
        "\"stack-protector-buffer-size\"",
        "\"tune-cpu\"",
        "nonlazybind",
        "uwtable",
        "nounwindtable",
    ];
    let mut neutral = String::with_capacity(text.len());
    for line in text.lines() {
        if is_policy && line.starts_with("target datalayout") {
            neutral.push_str(TARGET);
            continue;
        }
        if is_policy && line.starts_with("target triple") {
            continue;
        }
        if line.starts_with("attributes #") {
            let kept = line
                .split(' ')
                .filter(|word| !DROPPED.iter().any(|name| word.starts_with(name)));
            let kept = kept.collect::<Vec<_>>().join(" ");
            // A group must not be empty; nothing here unwinds.
            neutral.push_str(&kept.replace("{ }", "{ nounwind }"));
        } else if is_policy {
            // Functions of the policy unwind nowhere.
            neutral.push_str(&line.replace(" personality ptr @rust_eh_personality", ""));
        } else {
            neutral.push_str(line);
        }
        neutral.push('\n');
    }
    neutral
}

/// Everything must be in the functions of the shim: the kernel accepts no other, and what is missing
/// is most often a possible panic.
fn check_whole(text: &str) -> Result<(), String> {
    let name_of = |line: &str| {
        let (_, rest) = line.split_once('@')?;
        let (name, _) = rest.split_once('(')?;
        Some(name.to_owned())
    };
    let is_program = |line: &str| {
        [
            " section \"struct_ops",
            " section \"fentry/",
            " section \"fexit/",
            " section \"syscall\"",
        ]
        .iter()
        .any(|section| line.contains(section))
    };
    let missing: Vec<String> = text
        .lines()
        .filter(|line| line.starts_with("declare ") && !line.contains(" section \".ksyms\""))
        .filter_map(name_of)
        .filter(|name| !name.starts_with("llvm.") && name != "rust_eh_personality")
        .collect();
    let left: Vec<String> = text
        .lines()
        .filter(|line| line.starts_with("define ") && !is_program(line))
        .filter_map(name_of)
        .collect();
    if missing.is_empty() && left.is_empty() {
        return Ok(());
    }
    Err(format!(
        "the policy does not fit into a BPF program: functions that are missing: {missing:?} (a panic \
         among them is a possible one), functions that were not inlined: {left:?}"
    ))
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("cannot run {:?}: {error}", command.get_program()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{:?} failed ({}):\n{}",
        command.get_program(),
        output.status,
        said.trim_end()
    ))
}

fn run(command: &mut Command) -> Result<(), String> {
    output(command).map(|_| ())
}
