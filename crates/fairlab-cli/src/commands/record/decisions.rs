//! `fairlab record --decisions`: placements of the kernel, with all that they depend on.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::cli::record::RecordVerb;

/// Records until Ctrl-C, the end of `--duration`, or as many as are wanted.
#[cfg(feature = "live")]
pub fn run(args: &RecordVerb, folder: &Path) -> Result<ExitCode> {
    use anyhow::Context as _;
    use fairlab::kernel::{Kernel, Release};
    use fairlab_live::{Options, Settings, Until, record_decisions};

    // Only the size of the machine is told to the programs; rules are for whoever compares.
    let kernel = Kernel::of(Release::V7_2);
    let options = Options {
        kernel,
        settings: Settings {
            slice_ns: 0,
            hz: kernel.tunables.hz,
            record_every: 0,
            lost_thread: 0,
            counts_details: false,
        },
        object: None,
        only_cgroup: None,
        count_cost: false,
        log: "fairlab-record-verifier.log".into(),
    };
    let stop = super::stop_flag()?;
    let until = Until {
        stop: &stop,
        length: args.duration,
    };
    let recording = record_decisions(&options, args.count, until)?;
    recording
        .write(folder)
        .with_context(|| format!("cannot write into {}", folder.display()))?;
    eprintln!(
        "{}: {} placements, {} incomplete and left out",
        folder.display(),
        recording.decisions.len(),
        recording.incomplete
    );
    Ok(ExitCode::SUCCESS)
}

/// This build has no BPF programs.
#[cfg(not(feature = "live"))]
pub fn run(_: &RecordVerb, _: &Path) -> Result<ExitCode> {
    Err(fairlab_live::LiveError::NotBuilt.into())
}
