//! The verbs under `fairlab bench` that measure our own policy code.

use clap::{Args, ValueEnum};
use fairlab::kernel::Kernel;
use fairlab_bench::CpuList;
use fairlab_bench::policy::percpu::Pattern;
use fairlab_bench::policy::sharing::Written;

use crate::cli::{ProgressArgs, SeedArgs, parse_confidence};
use crate::kernel_arg::parse_kernel;

/// `fairlab bench idle-core`
#[derive(Clone, Debug, Args)]
pub struct IdleCoreArgs {
    /// The machine that is simulated
    #[arg(short = 'M', long, value_name = "M", default_value = "power9")]
    pub machine: String,
    /// The kernel; IDLE_CORE_EARLY_EXIT and IDLE_CORE_CLEAR_ONCE are off before and on after
    #[arg(short = 'K', long, value_name = "K", default_value = "5.6", value_parser = parse_kernel)]
    pub kernel: Kernel,
    /// The load that is simulated, as in `fairlab run`
    #[arg(
        short = 'w',
        long,
        value_name = "WORKLOAD",
        default_value = "schbench -m 8 -t 24 -r 1"
    )]
    pub workload: String,
    /// Runs under each form; both are asked in the same states of each
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub runs: u32,
    #[command(flatten)]
    pub common: PolicyArgs,
}

/// `fairlab bench placement`
#[derive(Clone, Debug, Args)]
pub struct PlacementArgs {
    /// A machine, searched around its first CPU; may be given several times. LLC sizes are swept
    /// when not given
    #[arg(short = 'M', long = "machine", value_name = "M")]
    pub machines: Vec<String>,
    /// A kernel; may be given several times [default: 6.12]
    #[arg(short = 'K', long = "kernel", value_name = "K", value_parser = parse_kernel)]
    pub kernels: Vec<Kernel>,
    /// CPUs of the one LLC of the swept machines
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_value = "8,64,256,1024", value_parser = clap::value_parser!(u32).range(1..=8192))]
    pub llc: Vec<u32>,
    /// Threads of a core of the swept machines
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: u32,
    #[command(flatten)]
    pub timing: TimingArgs,
    #[command(flatten)]
    pub common: PolicyArgs,
}

/// `fairlab bench util`
#[derive(Clone, Debug, Args)]
pub struct UtilArgs {
    /// A machine; may be given several times [default: xeon-6248 and power9]
    #[arg(short = 'M', long = "machine", value_name = "M")]
    pub machines: Vec<String>,
    /// The kernel; CPU_UTIL_INLINE is off before and on after
    #[arg(short = 'K', long, value_name = "K", default_value = "6.6", value_parser = parse_kernel)]
    pub kernel: Kernel,
    /// States drawn for the rows called mixed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub states: u32,
    /// Do not build the two objects whose sizes are compared
    #[arg(long)]
    pub no_objects: bool,
    #[command(flatten)]
    pub timing: TimingArgs,
    #[command(flatten)]
    pub common: PolicyArgs,
}

/// `fairlab bench layout`
#[derive(Clone, Debug, Args)]
pub struct LayoutArgs {
    /// Use these CPUs, like 0-3,8: the writer takes the last, readers the others; all allowed ones
    /// when not given
    #[arg(short = 'C', long = "cpu", value_name = "CPUS")]
    pub cpus: Option<CpuList>,
    /// Numbers of readers, each on a CPU of its own [default: 1, 2, 4 ... as many as fit]
    #[arg(long, value_name = "N,N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub readers: Vec<u32>,
    /// What a reader reads
    #[arg(long, value_enum, default_value = "wakeup")]
    pub pattern: PatternArg,
    /// Which neighbour is written
    #[arg(long, value_enum, default_value = "both")]
    pub written: WrittenArg,
    /// Rounds that count, of each layout with and without the writer
    #[arg(long, value_name = "N", default_value_t = 101, value_parser = clap::value_parser!(u32).range(5..=100_000))]
    pub rounds: u32,
    /// Seconds for each table row, however few rounds count
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub limit: u64,
    #[command(flatten)]
    pub common: PolicyArgs,
}

/// `fairlab bench seeds`
#[derive(Clone, Debug, Args)]
pub struct SeedsArgs {
    /// Only what was published and what follows from it; measure nothing
    #[arg(long)]
    pub published: bool,
    /// Do not build the two objects whose sizes are compared
    #[arg(long)]
    pub no_objects: bool,
    /// Do not count instructions
    #[arg(long)]
    pub no_instructions: bool,
    #[command(flatten)]
    pub common: PolicyArgs,
}

/// How calls are timed and counted.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Timing")]
pub struct TimingArgs {
    /// Batches of calls of each form, interleaved in random order
    #[arg(long, value_name = "N", default_value_t = 101, value_parser = clap::value_parser!(u32).range(5..=100_000))]
    pub rounds: u32,
    /// Do not count instructions (which takes tens of microseconds each in a virtual machine)
    #[arg(long)]
    pub no_instructions: bool,
}

/// What all of these have.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Statistics")]
pub struct PolicyArgs {
    /// Level of intervals and verdicts, in percent
    #[arg(long, value_name = "PCT", default_value_t = 95.0, value_parser = parse_confidence)]
    pub confidence: f64,
    #[command(flatten)]
    pub seed: SeedArgs,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

/// What a reader reads of another CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PatternArg {
    /// The number of its LLC
    Share,
    /// All that a wakeup reads
    Wakeup,
    /// The one, then the other
    Both,
}

impl PatternArg {
    /// The patterns that it stands for.
    pub fn patterns(self) -> Vec<Pattern> {
        match self {
            Self::Share => vec![Pattern::Share],
            Self::Wakeup => vec![Pattern::Wakeup],
            Self::Both => Pattern::ALL.to_vec(),
        }
    }
}

/// Which neighbour is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WrittenArg {
    /// The one after sd_llc
    Above,
    /// The one before sd_asym_packing
    Below,
    /// The one, then the other
    Both,
}

impl WrittenArg {
    /// The neighbours that it stands for.
    pub fn places(self) -> Vec<Written> {
        match self {
            Self::Above => vec![Written::Above],
            Self::Below => vec![Written::Below],
            Self::Both => vec![Written::Above, Written::Below],
        }
    }
}
