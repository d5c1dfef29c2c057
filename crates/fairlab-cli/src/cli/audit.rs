//! `fairlab audit`

use clap::Args;
use fairlab::kernel::Kernel;

use super::OutputArgs;
use crate::kernel_arg::parse_kernel;

/// What thresholds can be set, for help texts.
const METRICS: &str = "\
--check takes METRIC < VALUE (or <=, >, >=), and fails with exit code 1 when it does not hold:
  delay.p50 delay.p99 delay.p999 delay.max   from wakeup to run: ns, us, ms, s
  missed                                     placements that missed something in their LLC: %
  missed.core missed.cpu                     of these, an idle core; an idle CPU
  lost                                       CPU time lost to waiting beside idle CPUs, of the
                                             time that tasks ran: %
  stacked                                    time of threads that shared a core beside idle cores,
                                             of the time that tasks ran: %
  migrations                                 per second
Verdicts that are not sure count, too.";

/// `fairlab audit`
#[derive(Debug, Args)]
#[command(after_help = METRICS)]
pub struct AuditVerb {
    /// The trace: perf.data, trace.dat, ftrace or perf script text, Perfetto, ..., packed or not; `-`
    /// is standard input
    #[arg(value_name = "TRACE")]
    pub trace: String,
    /// The machine that was traced; without it what the trace says, or a guess that is told
    #[arg(short = 'M', long, value_name = "M")]
    pub machine: Option<String>,
    /// Ask this kernel's policy again where each task should have gone, in the state rebuilt from the
    /// trace; may be given several times
    #[arg(long, value_name = "K", value_parser = parse_kernel)]
    pub what_if: Vec<Kernel>,
    /// How many of the worst cases are shown
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub worst: usize,
    /// A task that is moved back within this many ms goes back and forth
    #[arg(long, value_name = "MS", default_value_t = 10)]
    pub ping_pong_ms: u64,
    /// Fail with exit code 1 unless this holds, see below; may be given several times
    #[arg(long, value_name = "METRIC<VALUE", value_parser = crate::commands::audit::check::parse)]
    pub check: Vec<crate::commands::audit::check::Check>,
    /// Write every placement with its verdict to FILE, a row each, for SQL. `-o FILE.parquet` does
    /// the same; `-o FILE.pftrace` writes the trace for Perfetto, with the findings on tracks
    #[arg(long, value_name = "FILE")]
    pub parquet: Option<std::path::PathBuf>,
    #[command(flatten)]
    pub html: super::report::HtmlArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}
