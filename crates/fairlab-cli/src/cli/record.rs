//! `fairlab record`

use std::path::PathBuf;

use clap::Args;

/// What is needed, and what comes of it.
const NOTES: &str = "\
Needs root and a mounted tracefs, and no other tool. The events go to a buffer instance of their own,
which is removed at the end, also after Ctrl-C or a failure; one that a killed recorder left behind is
removed by the next.

The file is a trace.dat of version 6, which trace-cmd and KernelShark read as well. It also holds the
machine, the allowed CPUs and cgroups of all tasks, and the scheduler's settings, for `fairlab audit`
and `fairlab machines import`.

With --decisions nothing of that is recorded, but each placement of the kernel's fair class with all that it
depends on and its answer, read by BPF programs (Linux 6.4 or newer with BTF; a build with --features
live); `cargo xtask oracle decisions FOLDER` compares them with fairlab's.

Without a command the recording goes on until Ctrl-C or the end of --duration.";

/// `fairlab record`
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub struct RecordVerb {
    /// Where to write
    #[arg(short, long, value_name = "FILE", default_value = "trace.dat")]
    pub output: PathBuf,
    /// KiB of the buffer of each CPU
    #[arg(short, long, value_name = "N", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(4..=8 << 20))]
    pub buffer_kb: u32,
    /// Only these CPUs: 0-3,8
    #[arg(short = 'C', long, visible_alias = "cpu", value_name = "CPUS")]
    pub cpus: Option<String>,
    /// Stop after this many seconds; a command that still runs is ended
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds)]
    pub duration: Option<std::time::Duration>,
    /// The kernel's clock: mono, local, boot ... (perf record uses local)
    #[arg(long, value_name = "CLOCK", default_value = "mono")]
    pub clock: String,
    /// Run times (sched_stat_runtime), too
    #[arg(long)]
    pub runtime: bool,
    /// Idle states (cpu_idle), too
    #[arg(long)]
    pub idle: bool,
    /// Frequencies (cpu_frequency), too
    #[arg(long)]
    pub frequency: bool,
    /// No machine, tasks and settings
    #[arg(long)]
    pub no_snapshot: bool,
    /// Record placements into this folder instead, each with the state of all CPUs
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["output", "buffer_kb", "cpus", "clock", "runtime", "idle", "frequency", "no_snapshot", "json", "command"])]
    pub decisions: Option<PathBuf>,
    /// Stop after this many placements
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "decisions")]
    pub count: u64,
    /// Print what was recorded and lost as JSON
    #[arg(long)]
    pub json: bool,
    /// The command to run
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<String>,
}

/// A time in seconds, more than 0.
fn seconds(text: &str) -> Result<std::time::Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds < 1e9 => {
            Ok(std::time::Duration::from_secs_f64(seconds))
        }
        _ => Err("a time in seconds is wanted, like 10 or 0.5".into()),
    }
}
