//! `fairlab timehist`, `fairlab latency` and `fairlab map`: perf sched's words for the same.

use clap::{Args, ValueEnum};

use super::OutputArgs;
use super::events::{TRACE_FORMS, TraceArgs};

/// `fairlab timehist`
#[derive(Debug, Args)]
#[command(after_help = TRACE_FORMS)]
pub struct TimehistVerb {
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Rows of wakeups, too
    #[arg(short, long)]
    pub wakeups: bool,
    /// Rows of migrations, too
    #[arg(short = 'M', long)]
    pub migrations: bool,
    /// A column for each CPU
    #[arg(short = 'V', long)]
    pub cpu_visual: bool,
    /// Who runs next
    #[arg(short, long)]
    pub next: bool,
    /// Why the task stops; in the summary, what it waited for
    #[arg(long)]
    pub state: bool,
    /// Only a summary by task
    #[arg(short, long)]
    pub summary: bool,
    /// All rows, then the summary
    #[arg(short = 'S', long)]
    pub with_summary: bool,
    #[command(flatten)]
    pub filter: ViewFilterArgs,
    /// Only threads of these processes
    #[arg(
        short,
        long = "pid",
        value_name = "PID",
        value_delimiter = ',',
        help_heading = "Filters"
    )]
    pub pids: Vec<u32>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `fairlab latency`
#[derive(Debug, Args)]
#[command(after_help = TRACE_FORMS)]
pub struct LatencyVerb {
    #[command(flatten)]
    pub trace: TraceArgs,
    /// A row for each task, instead of one for all of a name
    #[arg(short, long)]
    pub pids: bool,
    /// By what rows are sorted, the largest first
    #[arg(
        short,
        long,
        value_name = "KEY,...",
        value_delimiter = ',',
        default_value = "avg,max,switch,runtime"
    )]
    pub sort: Vec<SortArg>,
    /// Count every wait. Without it the table is that of perf 6.1, which leaves aside waits that begin
    /// with sched_waking (all that perf sched record records) or with a preemption (R+)
    #[arg(short, long)]
    pub all_waits: bool,
    #[command(flatten)]
    pub filter: ViewFilterArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A key to sort delays by.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SortArg {
    /// Mean delay
    Avg,
    /// Longest delay
    Max,
    /// Switches
    Switch,
    /// Time on CPUs
    Runtime,
}

/// `fairlab map`
#[derive(Debug, Args)]
#[command(after_help = TRACE_FORMS)]
pub struct MapVerb {
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Columns only for CPUs that ran something, in the order of their first switches
    #[arg(long)]
    pub compact: bool,
    #[command(flatten)]
    pub filter: ViewFilterArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What is left out.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Filters")]
pub struct ViewFilterArgs {
    /// Only these CPUs: 0-3,8
    #[arg(short = 'C', long, visible_alias = "cpus", value_name = "CPUS")]
    pub cpu: Option<String>,
    /// Only from START to STOP, in seconds as printed; either may be left out: 12.5,
    #[arg(long, value_name = "START,STOP")]
    pub time: Option<String>,
    /// Only tasks of these names
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub comm: Vec<String>,
    /// Only these tasks
    #[arg(short, long = "tid", value_name = "TID", value_delimiter = ',')]
    pub tids: Vec<u32>,
}
