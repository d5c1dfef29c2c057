//! `cargo xtask vm`: boots a packaged kernel in QEMU and runs tests of live mode in it.
//!
//! ```text
//!   kernel.rs     a kernel package, unpacked below target/vm; never installed
//!   guest.rs      the guest's init and the command, built static, with feature `live`
//!   initramfs.rs  the archive that the kernel unpacks (newc cpio)
//!   shape.rs      topologies by name
//!   files.rs      files that the guest gives, line by line
//!   qemu.rs       the machine, its limits, its results
//! ```

mod files;
mod guest;
mod initramfs;
mod kernel;
mod qemu;
mod shape;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

/// What to boot and to test.
#[derive(Args)]
pub struct VmArgs {
    /// Where the kernel comes from: a suite of Debian (sid, trixie, bookworm-backports), or a file.
    #[arg(long, default_value = "sid")]
    kernel: String,
    /// Topology: a name (smt2, numa16, llc8, flat4) or a value for QEMU's `-smp`.
    #[arg(long, default_value = "smt2")]
    smp: String,
    /// Tests to run; all that the guest knows where none is named.
    #[arg(last = true)]
    tests: Vec<String>,
    /// Seconds that a test of endurance lasts.
    #[arg(long, default_value_t = 30)]
    seconds: u32,
    /// How often the loader is killed.
    #[arg(long, default_value_t = 20)]
    kills: u32,
    /// Where decisions are written that the test `record` gives; `cargo xtask oracle decisions` reads them.
    #[arg(long, value_name = "FOLDER", default_value = "target/vm/decisions")]
    decisions: PathBuf,
    /// How many decisions it records under each load.
    #[arg(long, default_value_t = 300)]
    wanted: u32,
    /// Seconds after which the guest is given up.
    #[arg(long, default_value_t = 600)]
    timeout: u64,
    /// Run on an emulated CPU even where the host could do better.
    #[arg(long)]
    tcg: bool,
    /// Let guest time be a count of instructions (one emulated thread): slow, but the load of the host
    /// does not matter, and budgets can be measured.
    #[arg(long)]
    icount: bool,
    /// A guest init that was built before.
    #[arg(long, value_name = "FILE")]
    init: Option<PathBuf>,
    /// A BPF object to load in place of the one that the init was built with.
    #[arg(long, value_name = "FILE")]
    object: Option<PathBuf>,
}

/// Boots, tests, prints one line for each test. Exit code 0 when all passed, 1 when one did not, 2 when
/// no guest could be run, which is no pass.
pub fn run(args: &VmArgs) -> Result<ExitCode> {
    let cache = PathBuf::from("target/vm");
    std::fs::create_dir_all(&cache).context("cannot make target/vm")?;
    let kernel = kernel::fetch(&args.kernel, &cache)?;
    let programs = guest::Programs::build(&args.tests, args.init.clone())?;
    let archive = cache.join(format!("initramfs-{}.cpio", std::process::id()));
    let mut files = Vec::new();
    for (name, path) in [
        ("bin/fairlab", &programs.command),
        ("fairlab.bpf.o", &args.object),
    ] {
        if let Some(path) = path {
            files.push((name, read(path)?));
        }
    }
    std::fs::write(
        &archive,
        initramfs::with_init(&read(&programs.init)?, &files),
    )
    .with_context(|| format!("cannot write {}", archive.display()))?;
    let machine = qemu::Machine {
        kernel: kernel.image,
        archive: archive.clone(),
        shape: shape::find(&args.smp),
        accelerator: qemu::Accelerator::choose(args.tcg, args.icount),
        command_line: command_line(args),
        timeout: Duration::from_secs(args.timeout),
        folder: cache,
    };
    eprintln!(
        "booting {} on {} ({})",
        kernel.name,
        machine.shape.smp,
        machine.accelerator.name()
    );
    let results = machine.run();
    let _ = std::fs::remove_file(&archive);
    let results = results?;
    files::write(&results, &args.decisions)?;
    judge(&results)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn command_line(args: &VmArgs) -> String {
    let mut line = format!(
        "fairlab.seconds={} fairlab.kills={} fairlab.decisions={} fairlab.icount={}",
        args.seconds,
        args.kills,
        args.wanted,
        u8::from(args.icount)
    );
    if !args.tests.is_empty() {
        line.push_str(" fairlab.tests=");
        line.push_str(&args.tests.join(","));
    }
    line
}

/// Prints the results; all must have passed, and the guest must have come to its end.
fn judge(results: &str) -> Result<ExitCode> {
    let mut failed = 0;
    let mut ended = false;
    for line in results.lines() {
        let result: Value = serde_json::from_str(line)
            .with_context(|| format!("the guest told something else than a result: {line}"))?;
        if result.get("file").is_some() {
            continue;
        }
        let (name, ok) = (&result["test"], result["ok"] == true);
        let name = name.as_str().unwrap_or("?");
        ended |= name == "end";
        failed += u32::from(!ok);
        println!(
            "{} {name}: {}",
            if ok { "ok    " } else { "FAILED" },
            result["facts"]
        );
    }
    if !ended {
        bail!("the guest did not come to its end; see the log of its serial line in target/vm");
    }
    Ok(ExitCode::from(u8::from(failed > 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_does_not_end_is_no_pass() {
        let one = r#"{"test":"boot","ok":true,"facts":{}}"#;
        assert!(judge(one).is_err());
        let whole = format!("{one}\n{}", r#"{"test":"end","ok":true,"facts":{}}"#);
        assert_eq!(
            format!("{:?}", judge(&whole).unwrap()),
            format!("{:?}", ExitCode::SUCCESS)
        );
        assert!(judge("no result").is_err());
    }
}
