//! `fairlab layout`

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::OutputArgs;

/// What is read, for help texts.
const INPUT_FORMS: &str = "\
A and B are recognised by their contents:
  ELF            objects, programs, vmlinux, kernel modules (also .gz, .xz, .zst); 32 and 64 bit,
                 both byte orders; archives of objects
  BTF            /sys/kernel/btf/vmlinux and the like
  texts          of size, size -A, nm, pahole, bloat-o-meter; System.map, /proc/kallsyms, lists of
                 symbols with addresses; `diff -u` of two maps
  -              standard input
A text may hold several tables or lists (before, after): then one file is enough.

Without a choice, what the inputs can tell is shown: sizes; and for two builds growth, what moved,
what is gone, and cache lines.";

/// `fairlab layout`
#[derive(Debug, Args)]
#[command(after_help = INPUT_FORMS)]
pub struct LayoutVerb {
    /// A build, or a text about one or several
    #[arg(value_name = "A")]
    pub a: String,
    /// The build to compare it with
    #[arg(value_name = "B")]
    pub b: Option<String>,
    #[command(flatten)]
    pub views: ViewArgs,
    #[command(flatten)]
    pub symbols: SymbolArgs,
    #[command(flatten)]
    pub lines: LineArgs,
    #[command(flatten)]
    pub structs: StructArgs,
    /// The form of the answer [default: by the suffix of -o, else text]
    #[arg(
        long,
        value_name = "FORM",
        help_heading = "Output",
        conflicts_with = "json"
    )]
    pub format: Option<LayoutFormat>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The forms of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LayoutFormat {
    /// As the tools print it
    Text,
    /// Markdown
    Markdown,
    /// Comma-separated values
    Csv,
    /// JSON
    Json,
}

/// What is shown.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Views")]
pub struct ViewArgs {
    /// Sizes: text data bss dec hex filename
    #[arg(short = 'S', long)]
    pub size: bool,
    /// Sections, as `size -A`
    #[arg(short = 'A', long)]
    pub sections: bool,
    /// Growth per symbol, as bloat-o-meter
    #[arg(short = 'g', long)]
    pub growth: bool,
    /// Symbols that moved: old and new address
    #[arg(short = 'm', long)]
    pub moved: bool,
    /// Symbols that moved, as `diff -u` of the sorted lists
    #[arg(short = 'u', long)]
    pub diff: bool,
    /// Functions without a symbol of their own in one build, and where they are inlined
    #[arg(long)]
    pub gone: bool,
    /// Variables per cache line
    #[arg(short = 'l', long)]
    pub lines: bool,
    /// Symbols, as `nm -n`
    #[arg(short = 'n', long)]
    pub nm: bool,
    /// Base of the numbers of --size and --sections
    #[arg(long, value_name = "BASE")]
    pub radix: Option<RadixArg>,
    /// Add a line of sums to --size
    #[arg(long)]
    pub totals: bool,
    /// Rows of a table; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub limit: usize,
}

/// Bases of numbers, by the letters of `size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RadixArg {
    /// Decimal
    #[value(name = "d", alias = "10")]
    Decimal,
    /// Octal
    #[value(name = "o", alias = "8")]
    Octal,
    /// Hexadecimal
    #[value(name = "x", alias = "16")]
    Hexadecimal,
}

/// Which symbols.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Symbols")]
pub struct SymbolArgs {
    /// Growth of code only
    #[arg(short = 't', long = "text", conflicts_with_all = ["only_data", "categories"])]
    pub only_text: bool,
    /// Growth of data only
    #[arg(short = 'd', long = "data", conflicts_with = "categories")]
    pub only_data: bool,
    /// Growth of code, data and read-only data apart
    #[arg(short = 'c', long)]
    pub categories: bool,
    /// Only symbols with these names; * and ? stand for any letters and any letter
    #[arg(long = "symbol", value_name = "PATTERN", value_delimiter = ',')]
    pub patterns: Vec<String>,
}

/// Which variables, and which lines.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Cache lines")]
pub struct LineArgs {
    /// Bytes of a cache line; several may be given
    #[arg(long = "line", value_name = "BYTES", value_delimiter = ',', default_values_t = [64, 128],
          value_parser = parse_line)]
    pub line: Vec<u64>,
    /// Variables that are used often, by name
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub hot: Vec<String>,
    /// A file with their names, or what `perf c2c report --stdio` or `perf mem report` printed
    #[arg(long, value_name = "FILE")]
    pub hot_file: Option<PathBuf>,
    /// All variables, not only those of which there is one per CPU
    #[arg(long)]
    pub all_data: bool,
}

/// A size of cache lines.
fn parse_line(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(bytes) if bytes.is_power_of_two() && (8..=65536).contains(&bytes) => Ok(bytes),
        _ => Err("a power of two from 8 to 65536 is wanted, like 64 or 128".into()),
    }
}

/// Which structures.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Structures")]
pub struct StructArgs {
    /// Structures, as `pahole` prints them, or their difference
    #[arg(long = "struct", value_name = "NAME", value_delimiter = ',')]
    pub names: Vec<String>,
    /// All structures; of two builds, those that differ
    #[arg(long)]
    pub structs: bool,
    /// BTF that the BTF of a module builds on, such as /sys/kernel/btf/vmlinux
    #[arg(long, value_name = "FILE")]
    pub btf_base: Option<String>,
}
