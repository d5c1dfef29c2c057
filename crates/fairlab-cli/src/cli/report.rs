//! `fairlab report`, and the page that other verbs write beside their answer.

use std::path::PathBuf;

use clap::Args;

use super::OutputArgs;

/// `fairlab report`
#[derive(Debug, Args)]
pub struct ReportVerb {
    /// Traces, recorded or simulated, in any form that `fairlab audit` reads; several are compared
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// The machine that was traced; given once for all traces, or once for each
    #[arg(short = 'M', long = "machine", value_name = "M")]
    pub machines: Vec<String>,
    /// Write the plots of the page to DIR, an SVG file each; without -o, they alone
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// The same as PNG files, with fonts of this machine
    #[arg(long, value_name = "DIR")]
    pub png: Option<PathBuf>,
    #[command(flatten)]
    pub timeline: TimelineArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A page beside the answer.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Page")]
pub struct HtmlArgs {
    /// Write a page with timelines, delays, occupancy and findings to FILE. `-o FILE.html` does the
    /// same
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub timeline: TimelineArgs,
}

/// How much a page keeps.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Page")]
pub struct TimelineArgs {
    /// The timeline ends after N stretches, waits and moves; tables and findings are about all
    #[arg(long, value_name = "N", default_value_t = 8_000_000)]
    pub timeline: usize,
}
