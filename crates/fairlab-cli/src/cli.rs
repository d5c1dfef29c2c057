//! What can be typed. Only clap's structs: checks live where the values are used.

pub mod audit;
mod bench;
mod calibrate;
mod costs;
pub mod events;
pub mod layout;
pub mod live;
pub mod record;
pub mod replay;
pub mod report;
mod scene;
pub mod views;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use fairlab::kernel::Kernel;

use crate::kernel_arg::parse_kernel;

pub use bench::*;
pub use calibrate::CalibrateVerb;
pub use costs::CostsArgs;
pub use scene::SceneArgs;
mod stats;
pub mod validate;

pub use stats::{ByArg, FormArg, MeanArg, StatsVerb, TableArg};

/// The Linux fair scheduler's CPU placement and balancing: models, simulator, tools.
#[derive(Debug, Parser)]
#[command(
    name = "fairlab",
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 fine, 1 the answer is \"worse\" or --check found something, \
                  2 usage or bad input."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs, in the order of `fairlab --help`. Each has a file in `commands/`.
#[derive(Debug, Subcommand)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is one in the life of the process"
)]
pub enum Verb {
    /// Machine models: list them, draw one, import one from a file, compare and check them
    Machines(MachinesVerb),
    /// Releases and features: list them, show one, or say what differs between two
    Kernels(KernelsVerb),
    /// Simulate a workload once: what the modelled tool would print, and what the scheduler did
    Run(RunVerb),
    /// Simulate a workload under two kernels over several seeds, and say what differs
    Compare(CompareVerb),
    /// Simulate published results, and say how far signs and sizes agree
    Validate(validate::ValidateVerb),
    /// Find where a recorded kernel placed tasks badly, and what it cost
    Audit(audit::AuditVerb),
    /// Let another kernel, or another machine, schedule the work of a recorded trace
    Replay(replay::ReplayVerb),
    /// One HTML page about traces, to look at or to compare: timelines, delays, occupancy, findings
    Report(report::ReportVerb),
    /// Measure on this host, for real
    Bench(BenchVerb),
    /// Measure what this host's hardware and kernel cost, and write a file for --costs
    Calibrate(CalibrateVerb),
    /// Sections, symbols, cache lines and structures of a build, and what changed to another
    Layout(layout::LayoutVerb),
    /// What is in a recorded trace, and what is missing from it
    Events(events::EventsVerb),
    /// Record this host's scheduling events, machine, tasks and settings, through tracefs
    Record(record::RecordVerb),
    /// Every switch of a recording with its wait, delay and run time, as perf sched timehist prints them
    Timehist(views::TimehistVerb),
    /// Delays by task, as perf sched latency prints them
    Latency(views::LatencyVerb),
    /// Who runs where after each switch, as perf sched map prints it
    Map(views::MapVerb),
    /// Compare recorded numbers or outputs of tools: tables, significance, checks, baselines
    Stats(StatsVerb),
    /// Take over this machine's scheduling through sched_ext
    Live(live::LiveVerb),
    /// Print a completion script for a shell
    #[command(hide = true)]
    Completions(CompletionsVerb),
    /// Print the man page, or write the pages of all verbs to a folder
    #[command(hide = true)]
    Man(ManVerb),
}

/// What names a machine, for help texts.
const MACHINE_FORMS: &str = "\
A machine is one of:
  host                         this host
  epyc-7713                    a built-in machine (`fairlab machines list`)
  DIR, FILE.tar[.gz|.bz2|.xz]  a copy of /sys and /proc, as hwloc-gather-topology makes it;
                               FILE#SUBPATH picks one of several
  FILE.xml, FILE.json          hwloc XML (lstopo --of xml), fairlab JSON
  2s:20c:2t                    a short spec: s sockets, n nodes, d dies, l LLCs, k clusters, c cores,
                               t threads, each count per object before it; modifiers after a comma:
                               distance=12/21, arch=arm64, numbering=threads-adjacent, isolated=2-3
  'package:2 l3:1 core:4 pu:2' a hwloc synthetic string
  '-smp 16,sockets=2 -numa node,cpus=0-7 -numa node,cpus=8-15'   QEMU options";

/// `fairlab machines`
#[derive(Debug, Args)]
pub struct MachinesVerb {
    /// What to do; `list` when not given.
    #[command(subcommand)]
    pub action: Option<MachinesAction>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What `fairlab machines` can do.
#[derive(Debug, Subcommand)]
pub enum MachinesAction {
    /// The built-in machines (this is the default)
    List,
    /// Draw a machine, and the sched domains that kernels build from it
    #[command(after_help = MACHINE_FORMS)]
    Show {
        /// A name, a file, or a short spec like 2s:20c:2t (see below)
        #[arg(value_name = "M")]
        machine: String,
        /// Only the domains of this kernel; may be given several times
        #[arg(short = 'K', long = "kernel", value_name = "K", value_parser = parse_kernel)]
        kernels: Vec<Kernel>,
        /// The domains in full: flags, groups, intervals, cached values
        #[arg(long)]
        domains: bool,
    },
    /// Read a machine from any form and write it as fairlab JSON (to -o FILE)
    Import {
        /// A sysfs tree or archive, hwloc XML, or anything else that names a machine
        #[arg(value_name = "PATH")]
        path: String,
    },
    /// This host
    Detect {
        /// Where /sys and /proc are
        #[arg(long, value_name = "DIR", default_value = "/")]
        root: PathBuf,
    },
    /// What differs between two machines
    Diff {
        /// The first machine
        a: String,
        /// The second machine
        b: String,
    },
    /// What is assumed to cost what on machines like this one, as a file for --costs
    Costs {
        /// A machine; this host when not given
        #[arg(value_name = "M", default_value = "host")]
        machine: String,
    },
    /// What is odd about a machine, and what was done about it; exits with 1 when there are problems
    Check {
        /// A machine
        #[arg(value_name = "M")]
        machine: String,
    },
}

/// `fairlab kernels`
#[derive(Debug, Args)]
pub struct KernelsVerb {
    /// What to do; `list` when not given.
    #[command(subcommand)]
    pub action: Option<KernelsAction>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What `fairlab kernels` can do.
#[derive(Debug, Subcommand)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is one in the life of the process"
)]
pub enum KernelsAction {
    /// The releases (this is the default)
    List,
    /// All features and tunables of a kernel, and where it differs from the release as built
    Show {
        /// A release, with switches and numbers if you like: 6.12, 6.12:NO_SIS_UTIL,hz=1000
        #[arg(value_name = "K", value_parser = parse_kernel)]
        kernel: Kernel,
    },
    /// What changes from A to B, and what each change means
    Diff {
        /// The kernel to start from
        #[arg(value_parser = parse_kernel)]
        a: Kernel,
        /// The kernel to go to
        #[arg(value_parser = parse_kernel)]
        b: Kernel,
    },
}

/// `fairlab run`
#[derive(Debug, Args)]
#[command(after_long_help = crate::workload_help::help())]
pub struct RunVerb {
    #[command(flatten)]
    pub scene: SceneArgs,
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// Tell decisions in sentences: those about a task by its number (0 is the first), or those from
    /// a time on, like 1.5ms
    #[arg(long, value_name = "TASK|TIME", value_parser = crate::explain_arg::parse_explain)]
    pub explain: Option<fairlab::sim::Explain>,
    /// How many decisions are told
    #[arg(long, value_name = "N", default_value_t = 5, requires = "explain")]
    pub explain_count: usize,
    /// Write the events to FILE: .pftrace for Perfetto, .txt as ftrace prints them, .json as Trace
    /// Event Format. `-o FILE.pftrace` does the same
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub html: report::HtmlArgs,
    /// Stop at this time since the start, like 1.5ms or 2s, if the workload is not over before
    #[arg(long, value_name = "TIME", value_parser = crate::explain_arg::parse_time, help_heading = "Checkpoint")]
    pub until: Option<fairlab::units::Timestamp>,
    /// Save the point where --until stops, for --from here and in `fairlab compare`
    #[arg(
        long,
        value_name = "FILE",
        requires = "until",
        help_heading = "Checkpoint"
    )]
    pub save: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `fairlab compare`
#[derive(Debug, Args)]
#[command(after_long_help = crate::workload_help::help())]
pub struct CompareVerb {
    #[command(flatten)]
    pub scene: SceneArgs,
    #[command(flatten)]
    pub kernels: KernelListArgs,
    /// Runs of each kernel
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub runs: u32,
    /// Level of intervals and verdicts, in percent
    #[arg(long, value_name = "PCT", default_value_t = 95.0, value_parser = parse_confidence)]
    pub confidence: f64,
    /// Worker threads; the result is the same for any number [default: all CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Put what was measured on this host (ticks) into the JSON too, which is not the same twice
    #[arg(long)]
    pub measured: bool,
    /// Exit with 1 when a row of the workload's own figures is proven worse
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub html: report::HtmlArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A level in percent, strictly between 50 and 100.
pub(crate) fn parse_confidence(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if percent > 50.0 && percent < 100.0 => Ok(percent),
        _ => Err("a level in percent above 50 and below 100 is wanted, like 95 or 99.9".into()),
    }
}

/// `fairlab completions`
#[derive(Debug, Args)]
pub struct CompletionsVerb {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `fairlab man`
#[derive(Debug, Args)]
pub struct ManVerb {
    /// Where to write one page per verb; without it, the main page goes to standard output
    pub dir: Option<PathBuf>,
}

// Groups that verbs share. They are flattened into the structs above.

/// Where the answer goes, and in which form.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// Write to FILE; its suffix picks the format
    #[arg(short, long, global = true, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What is to be simulated.
#[derive(Clone, Debug, Args)]
pub struct WorkloadArgs {
    /// The workload with its options, in quotes or after `--`: 'schbench -m 2 -t 16'
    #[arg(value_name = "WORKLOAD", required_unless_present = "from", num_args = 1..)]
    pub workload: Vec<String>,
}

/// The machine to work on.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Machine")]
pub struct MachineArgs {
    /// A machine's name, a file, or a short spec like 2s:20c:8t; this host when not given
    #[arg(short = 'M', long, value_name = "M")]
    pub machine: Option<String>,
}

/// One kernel.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Kernel")]
pub struct KernelArgs {
    /// A release, with switches and numbers if you like: 6.12, 6.12:NO_SIS_UTIL,hz=1000 [default: 7.2,
    /// or the kernel of the checkpoint]
    #[arg(short = 'K', long, value_name = "K", value_parser = parse_kernel)]
    pub kernel: Option<Kernel>,
}

/// Several kernels, in the order given.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Kernels")]
pub struct KernelListArgs {
    /// A kernel, as in `fairlab kernels show`; give it once for each
    #[arg(short = 'K', long = "kernel", value_name = "K", value_parser = parse_kernel)]
    pub kernels: Vec<Kernel>,
}

/// Where randomness comes from.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Randomness")]
pub struct SeedArgs {
    /// Same seed, same result
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// How much is said while working.
#[derive(Clone, Copy, Debug, Args)]
pub struct ProgressArgs {
    /// No progress bar (there is none anyway when standard error is not a terminal)
    #[arg(long)]
    pub no_progress: bool,
}
