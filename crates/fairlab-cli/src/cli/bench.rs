//! `fairlab bench`: what can be measured on this host.

mod policy;

use clap::{ArgAction, Args, Subcommand, ValueEnum};
use fairlab_bench::CpuList;
use fairlab_bench::load::fork::Procedure;
use fairlab_bench::load::schbench::Layout;

use super::OutputArgs;

pub use policy::{
    IdleCoreArgs, LayoutArgs, PatternArg, PlacementArgs, PolicyArgs, SeedsArgs, TimingArgs,
    UtilArgs, WrittenArg,
};

/// `fairlab bench`
#[derive(Debug, Args)]
pub struct BenchVerb {
    /// What to measure.
    #[command(subcommand)]
    pub sub: BenchSub,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What `fairlab bench` can measure. Each has a file in `commands/bench/`.
#[derive(Debug, Subcommand)]
pub enum BenchSub {
    /// Process latencies like lmbench's lat_proc: fork+exit, fork+execve, fork+/bin/sh -c
    Fork(ForkArgs),
    /// Message threads wake workers, like schbench: percentiles of wakeup and request latencies
    Schbench(SchbenchArgs),
    /// Requests and replies over loopback TCP, like tbench: throughput for numbers of clients
    Tbench(TbenchArgs),
    /// Groups of senders and receivers, like hackbench
    Hackbench(HackbenchArgs),
    /// A token to and fro through two pipes, like perf bench sched pipe
    Pipe(PipeArgs),
    /// The cost of finding an idle core while a simulated load runs, before and after two changes
    IdleCore(IdleCoreArgs),
    /// One placement decision in ns and instructions: the kernel's scan against idle masks
    Placement(PlacementArgs),
    /// Fork and exec with cpu_util and cpu_util_without called and inlined, and both objects' sizes
    Util(UtilArgs),
    /// Per-CPU variables in four layouts beside a neighbour that another CPU writes
    Layout(LayoutArgs),
    /// The tables of three published documents beside our own (about a minute)
    Seeds(SeedsArgs),
    /// Compare two commands, or one command in two states of the system, on this host
    #[command(after_long_help = AB_FORMS)]
    Ab(AbArgs),
}

/// What `--help` of `bench ab` says at the end.
const AB_FORMS: &str = "\
Two commands:
  fairlab bench ab --ab './old' './new'
One command, two states, each brought about by a hook (a shell command) before every run of its side:
  fairlab bench ab --before 'echo NO_NI_RANDOM > /sys/kernel/debug/sched/features' \\
                   --after  'echo NI_RANDOM > /sys/kernel/debug/sched/features' -- hackbench -g 4
At the end, and when interrupted, the hook of --restore runs, or that of --before.

Runs of both sides alternate in blocks of two; a coin says which is first. It goes on until the
change is known within --until percent, but not beyond --max-runs and --max-time; looking at the
width does not spoil the level, because the rule does not know which value was whose. The test is
Wilcoxon's signed rank test on the ratios within blocks; p values are corrected for the number of rows.
Commands of plain words are started as they are; others are given to /bin/sh -c, whose start counts.";

/// `fairlab bench ab`
#[derive(Debug, Args)]
pub struct AbArgs {
    /// Two commands: before and after
    #[arg(long, value_names = ["CMD_A", "CMD_B"], num_args = 2, conflicts_with = "command")]
    pub ab: Vec<String>,
    /// The command, when hooks make the difference
    #[arg(value_name = "COMMAND", last = true, required_unless_present = "ab")]
    pub command: Vec<String>,
    /// What is compared
    #[arg(long, value_enum, default_value = "wall")]
    pub metric: AbMetric,
    #[command(flatten)]
    pub hooks: HookArgs,
    #[command(flatten)]
    pub rule: RuleArgs,
}

/// What is compared.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum AbMetric {
    /// The time from start to end
    Wall,
    /// The figures that the command prints, in any form that `fairlab stats` reads
    Output,
    /// The one number that the command prints, where less is better
    Number,
}

/// The two states of the system.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "A/B")]
pub struct HookArgs {
    /// A shell command before each run of before
    #[arg(long, value_name = "HOOK")]
    pub before: Option<String>,
    /// A shell command before each run of after
    #[arg(long, value_name = "HOOK")]
    pub after: Option<String>,
    /// A shell command at the end [default: the hook of --before]
    #[arg(long, value_name = "HOOK")]
    pub restore: Option<String>,
}

/// How long it goes on, and what is claimed.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "A/B")]
pub struct RuleArgs {
    /// Go on until the change is known within so many percent, up or down
    #[arg(long, value_name = "PCT", default_value = "1%", value_parser = percent)]
    pub until: f64,
    /// Runs of each side in any case
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub min_runs: u32,
    /// Runs of each side that are enough in any case
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub max_runs: u32,
    /// Seconds after which no further run begins
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0, value_parser = seconds)]
    pub max_time: f64,
    /// Seconds that a run or hook may take
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0, value_parser = seconds)]
    pub timeout: f64,
    /// Runs of each side that do not count, before the others
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub warm_ups: u32,
    /// Level of interval and verdict, in percent
    #[arg(long, value_name = "PCT", default_value = "95%", value_parser = percent)]
    pub confidence: f64,
    /// Where the coins come from that say which side is first
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub order_seed: u64,
    /// The row whose width decides when it is enough [default: the first]
    #[arg(long, value_name = "ROW")]
    pub row: Option<String>,
    /// Exit with 1 when a row is proven worse
    #[arg(long)]
    pub check: bool,
}

/// `fairlab bench fork`
#[derive(Debug, Args)]
pub struct ForkArgs {
    /// What the child does; all three when not given
    #[arg(value_name = "PROCEDURE", value_enum)]
    pub procedures: Vec<ForkProcedure>,
    /// Batches of each; their median is printed
    #[arg(short = 'N', long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub repetitions: u32,
    /// Microseconds of operations before the first batch that do not count
    #[arg(short = 'W', long, value_name = "US", default_value_t = 100_000)]
    pub warmup: u64,
    /// The program that children become
    #[arg(long, value_name = "PATH", default_value = "/bin/true")]
    pub program: String,
    #[command(flatten)]
    pub common: LoadArgs,
}

/// lmbench's words for what a child does.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ForkProcedure {
    /// It ends at once
    Fork,
    /// It becomes a program that ends at once
    Exec,
    /// It becomes a shell that starts a program that ends at once
    Shell,
}

impl From<ForkProcedure> for Procedure {
    fn from(word: ForkProcedure) -> Self {
        match word {
            ForkProcedure::Fork => Self::Exit,
            ForkProcedure::Exec => Self::Exec,
            ForkProcedure::Shell => Self::Shell,
        }
    }
}

/// `fairlab bench schbench`
#[derive(Debug, Args)]
pub struct SchbenchArgs {
    /// Message threads
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    pub message_threads: u32,
    /// Workers per message thread [default: number of CPUs]
    #[arg(short, long, value_name = "N")]
    pub threads: Option<u32>,
    /// Seconds to measure
    #[arg(short, long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    pub runtime: f64,
    /// Seconds before
    #[arg(short, long = "warmuptime", value_name = "SECONDS", default_value_t = 0.0, value_parser = seconds)]
    pub warmup: f64,
    /// Seconds between reports on standard error
    #[arg(short, long = "intervaltime", value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub interval: f64,
    /// Requests per second, of all message threads together; workers ask for work when 0
    #[arg(short = 'R', long, value_name = "N", default_value_t = 0)]
    pub rps: u32,
    /// Raise the rate until so many percent of the CPUs are busy, then measure
    #[arg(short = 'A', long, value_name = "PCT")]
    pub auto_rps: Option<u32>,
    /// Bytes that are handed over instead of thinking, as a pipe does; thinks when 0
    #[arg(short, long, value_name = "BYTES", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1 << 30))]
    pub pipe: u32,
    /// Microseconds of sleep before each think
    #[arg(short, long = "sleep_usec", value_name = "US", default_value_t = 100)]
    pub sleep: u64,
    /// Matrix products of a think
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5)]
    pub operations: u32,
    /// KiB of the matrices of a worker
    #[arg(short = 'F', long = "cache_footprint", value_name = "KB", default_value_t = 256, value_parser = clap::value_parser!(u32).range(0..=1 << 22))]
    pub footprint: u32,
    /// Think without the lock of the CPU
    #[arg(short = 'L', long)]
    pub no_locking: bool,
    /// The present form of schbench's output, or the old one
    #[arg(long, value_enum, default_value = "new")]
    pub layout: SchbenchLayout,
    #[command(flatten)]
    pub common: LoadArgs,
}

/// A form of schbench's output.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchbenchLayout {
    /// Wakeup latencies, request latencies, requests per second
    New,
    /// One list of wakeup latencies
    Old,
}

impl From<SchbenchLayout> for Layout {
    fn from(word: SchbenchLayout) -> Self {
        match word {
            SchbenchLayout::New => Self::New,
            SchbenchLayout::Old => Self::Old,
        }
    }
}

/// `fairlab bench tbench`
#[derive(Debug, Args)]
pub struct TbenchArgs {
    /// Numbers of clients, one after the other
    #[arg(value_name = "CLIENTS", required = true, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub clients: Vec<u32>,
    /// Seconds to measure each
    #[arg(short = 't', long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub timelimit: f64,
    /// Seconds before each [default: a fifth of the time limit]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub warmup: Option<f64>,
    /// Same seed, same calls
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub common: LoadArgs,
}

/// `fairlab bench hackbench`
#[derive(Debug, Args)]
pub struct HackbenchArgs {
    /// Groups
    #[arg(short, long, value_name = "N", default_value_t = 10)]
    pub groups: u32,
    /// Senders of a group, and receivers as well
    #[arg(short, long, value_name = "N", default_value_t = 20)]
    pub fds: u32,
    /// Messages from each sender to each receiver
    #[arg(short, long, value_name = "N", default_value_t = 100)]
    pub loops: u32,
    /// Bytes of a message
    #[arg(short = 's', long, value_name = "BYTES", default_value_t = 100)]
    pub datasize: u32,
    /// Pipes in place of sockets
    #[arg(short, long)]
    pub pipe: bool,
    /// Threads
    #[arg(short = 'T', long)]
    pub threads: bool,
    /// Processes (this is the default)
    #[arg(short = 'P', long, conflicts_with = "threads")]
    pub process: bool,
    #[command(flatten)]
    pub common: LoadArgs,
}

/// `fairlab bench pipe`
#[derive(Debug, Args)]
pub struct PipeArgs {
    /// Tokens there and back
    #[arg(short, long = "loop", value_name = "N", default_value_t = 1_000_000)]
    pub loops: u64,
    /// Threads in place of processes
    #[arg(short = 'T', long)]
    pub threaded: bool,
    /// The first task stays on the first CPU of -C, the second on the last
    #[arg(long, requires = "cpus", action = ArgAction::SetTrue)]
    pub split: bool,
    #[command(flatten)]
    pub common: LoadArgs,
}

/// What all loads have.
#[derive(Clone, Debug, Args)]
pub struct LoadArgs {
    /// Stay on these CPUs, like 0-3,8; anywhere when not given
    #[arg(short = 'C', long = "cpu", value_name = "CPUS")]
    pub cpus: Option<CpuList>,
    /// Run it so often; the JSON form keeps all values
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub runs: u32,
    /// Compare this load with two sets of further options: --ab '-T' '-T -C 0'; an empty set is ''
    #[arg(long, value_names = ["OPTIONS_A", "OPTIONS_B"], num_args = 2, allow_hyphen_values = true, help_heading = "A/B")]
    pub ab: Vec<String>,
    #[command(flatten)]
    pub hooks: HookArgs,
    #[command(flatten)]
    pub rule: RuleArgs,
    /// What a side of a comparison is started with: run once, print JSON
    #[arg(long, hide = true)]
    pub as_side: bool,
}

impl LoadArgs {
    /// Are two sides to be compared?
    pub fn is_comparison(&self) -> bool {
        let has_sides =
            !self.ab.is_empty() || self.hooks.before.is_some() || self.hooks.after.is_some();
        has_sides && !self.as_side
    }
}

/// A part of a whole, given in percent: `1` or `1%`.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent.is_finite() => Ok(percent / 100.0),
        _ => Err("a number of percent above 0 is wanted, like 1% or 0.5".into()),
    }
}

/// A time in seconds from 0 to a year.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=31_557_600.0).contains(&seconds) => Ok(seconds),
        _ => Err("seconds from 0 to a year are wanted, like 30 or 0.5".into()),
    }
}
