//! `fairlab events`

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;

/// What is read, for help texts.
pub(super) const TRACE_FORMS: &str = "\
TRACE is recognised by its contents, packed (.gz, .xz, .zst, .bz2) or not:
  perf.data      of perf record and perf sched record: a file, a pipe's output, a folder; several
                 perf.data are merged by time
  trace.dat      of trace-cmd, versions 6 and 7
  text           ftrace's trace file, trace-cmd report, perf script, systrace (also within HTML),
                 ftrace dumps in kernel logs, perf sched timehist and map
  Perfetto       protobuf with ftrace events, plain or compact
  CTF 1.8        a folder or archive of LTTng's kernel tracer or of perf data convert
  SchedViz       an archive
  -              standard input";

/// `fairlab events`
#[derive(Debug, Args)]
#[command(after_help = TRACE_FORMS)]
pub struct EventsVerb {
    #[command(flatten)]
    pub trace: TraceArgs,
    /// List the events, one per line
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub filter: EventFilterArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The recording to read.
#[derive(Clone, Debug, Args)]
pub struct TraceArgs {
    /// The recording [default: perf.data or trace.dat in this folder]
    #[arg(value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// The same, as perf and trace-cmd spell it
    #[arg(short, long = "input", value_name = "FILE", conflicts_with = "traces")]
    pub input: Option<PathBuf>,
}

/// Which events are listed.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Filters of --list")]
pub struct EventFilterArgs {
    /// Only events on these CPUs: 0-3,8
    #[arg(short = 'C', long, value_name = "CPUS", requires = "list")]
    pub cpu: Option<String>,
    /// Only events from START to STOP, in seconds as listed; either may be left out: 12.5,
    #[arg(long, value_name = "START,STOP", requires = "list")]
    pub time: Option<String>,
    /// Only events about tasks of this name
    #[arg(long, value_name = "NAME", requires = "list")]
    pub comm: Option<String>,
    /// Only events about these tasks
    #[arg(
        short,
        long = "pid",
        visible_short_alias = 't',
        visible_alias = "tid",
        value_name = "PID",
        value_delimiter = ',',
        requires = "list"
    )]
    pub pids: Vec<u32>,
}
