//! `fairlab stats`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fairlab_results::{Condition, Format};

use super::{OutputArgs, SeedArgs, parse_confidence};

/// What can be typed, and what is read.
const FORMS: &str = "\
Each FILE holds numbers or the output of a tool, also as people paste it into mails: quoted,
indented, with words around it, several blocks and tools in one file (`fairlab stats --formats`).
- is standard input.

Series: several files are one series each, the first is the baseline. In one file, columns
(before, after) or labelled blocks (\"Without this change:\") are the series; see --by.

Conditions for --check:
  p99 < +5%             change of every row with p99 (or 99.0th) in its name
  'wakeup*' < +10us     change in a unit; * stands for anything
  median(p99) < 300us   the value itself; also avg(), min(), max(), stddev(), any()
  * not worse           no row is proven worse";

/// `fairlab stats`
#[derive(Debug, Args)]
#[command(after_help = FORMS)]
pub struct StatsVerb {
    /// Numbers or outputs of tools; the first is the baseline
    #[arg(value_name = "FILE", required_unless_present = "formats")]
    pub files: Vec<PathBuf>,
    /// List the formats that are read
    #[arg(long)]
    pub formats: bool,

    /// Read every file as this format
    #[arg(long, value_name = "NAME", value_parser = parse_format, help_heading = "Reading")]
    pub input_format: Option<Format>,
    /// Only this column of plain numbers or separated values, from 1
    #[arg(long, short = 'C', value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Reading")]
    pub column: Option<u16>,
    /// What separates values
    #[arg(long, value_name = "CHAR", help_heading = "Reading")]
    pub separator: Option<char>,
    /// Are commas in numbers decimal signs?
    #[arg(long, value_name = "yes|no", value_parser = parse_yes_no, help_heading = "Reading")]
    pub decimal_commas: Option<bool>,
    /// Names of the series, in their order
    #[arg(
        long,
        value_name = "NAME,NAME",
        value_delimiter = ',',
        help_heading = "Reading"
    )]
    pub names: Vec<String>,
    /// What makes a series
    #[arg(long, value_enum, default_value_t = ByArg::Auto, help_heading = "Reading")]
    pub by: ByArg,
    /// Only rows with this in their name; * stands for anything
    #[arg(long = "row", value_name = "PATTERN", help_heading = "Reading")]
    pub rows: Vec<String>,

    /// The table, or the form in which it is written
    #[arg(long, value_enum, help_heading = "Printing")]
    pub format: Option<FormArg>,
    /// Which table, when --format says how it is written (markdown, csv, latex)
    #[arg(long, value_enum, help_heading = "Printing")]
    pub table: Option<TableArg>,
    /// Which mean stands for the runs; auto: Hmean for rates, Gmean for ratios, else Amean
    #[arg(long, value_enum, default_value_t = MeanArg::Auto, help_heading = "Printing")]
    pub mean: MeanArg,
    /// Columns of ministat's plot
    #[arg(long, value_name = "N", default_value_t = 74, value_parser = clap::value_parser!(u16).range(10..=1000), help_heading = "Printing")]
    pub width: u16,

    /// Level of intervals and verdicts, in percent
    #[arg(long, value_name = "PCT", default_value_t = 95.0, value_parser = parse_confidence, help_heading = "Comparing")]
    pub confidence: f64,
    /// Higher values are better, whatever the tool's rows are
    #[arg(long, conflicts_with = "lower_is_better", help_heading = "Comparing")]
    pub higher_is_better: bool,
    /// Lower values are better
    #[arg(long, help_heading = "Comparing")]
    pub lower_is_better: bool,
    /// Do not adjust p values for the number of rows
    #[arg(long, help_heading = "Comparing")]
    pub no_correction: bool,
    /// Exit with 1 unless this holds; may be given several times (see below)
    #[arg(long, value_name = "CONDITION", help_heading = "Comparing")]
    pub check: Vec<Condition>,
    /// Compare with results saved before; their first series is the baseline
    #[arg(long, value_name = "FILE", help_heading = "Comparing")]
    pub baseline: Option<PathBuf>,
    /// Save what was read as fairlab-results/1, for --baseline
    #[arg(long, value_name = "FILE", help_heading = "Comparing")]
    pub save: Option<PathBuf>,
    #[command(flatten)]
    pub seed: SeedArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What makes a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ByArg {
    /// Files when there are several, else columns and labels
    Auto,
    /// One per file
    File,
    /// One per label
    Label,
    /// One per column
    Column,
    /// One per command line
    Command,
    /// One per block
    Block,
}

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableArg {
    /// N Min Max Median Avg Stddev Improvement
    Summary,
    /// before, after, diff
    Diff,
    /// value (x.xx pct)
    Pct,
    /// text data bss dec hex filename
    Size,
    /// Change with interval, tests, effect size, verdict, runs needed
    Full,
}

/// A table or a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormArg {
    /// N Min Max Median Avg Stddev Improvement
    Summary,
    /// before, after, diff
    Diff,
    /// value (x.xx pct)
    Pct,
    /// text data bss dec hex filename
    Size,
    /// Change with interval, tests, effect size, verdict, runs needed
    Full,
    /// As mmtests compares, with stars where a difference is proven
    Mmtests,
    /// As ministat, with plot and Student's t
    Ministat,
    /// A Markdown table
    Markdown,
    /// Comma-separated values
    Csv,
    /// JSON, as --json
    Json,
    /// A LaTeX tabular
    Latex,
}

/// A mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MeanArg {
    /// What fits the row
    Auto,
    /// Arithmetic
    Amean,
    /// Harmonic
    Hmean,
    /// Geometric
    Gmean,
    /// The middle value
    Median,
}

fn parse_format(text: &str) -> Result<Format, String> {
    Format::from_name(text).ok_or_else(|| {
        let names = Format::ALL.iter().map(|format| format.name());
        let hint = crate::suggest::did_you_mean(text, names);
        format!("no such format{hint}; `fairlab stats --formats` lists them")
    })
}

fn parse_yes_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("yes or no is wanted".into()),
    }
}
