//! `fairlab bench layout`: per-CPU variables beside a neighbour that another CPU writes.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use fairlab::stats::table::{Align, PctRow, Table, significant, value_pct};
use fairlab::stats::{Direction, Sample};
use fairlab_bench::CpuList;
use fairlab_bench::policy::percpu::{self, BASE, Layout, Pattern};
use fairlab_bench::policy::sharing::{self, Places, SharingOptions, Times, Written};
use fairlab_results::{Row, Series};

use super::compared::{self, Compared};
use crate::cli::{LayoutArgs, OutputArgs};
use crate::output::{Output, Style};
use crate::progress::Progress;

/// Patterns read in one round: some hundred microseconds.
const READS: u32 = 20_000;

/// One measurement: what is read, which neighbour is written, how long a line is.
struct Setting {
    pattern: Pattern,
    written: Written,
    /// Are lines of 128 bytes played on shorter ones?
    as_long_lines: bool,
    line: u32,
    rows: Vec<(usize, [Times; 4])>,
}

/// What the measurement gave.
pub struct Report {
    settings: Vec<Setting>,
    places: Option<Places>,
    /// The line of this host, in bytes.
    line: u32,
    patterns: Vec<Pattern>,
    level: (f64, u64),
}

/// Measures and prints.
pub fn run(args: &LayoutArgs, output: &OutputArgs) -> Result<ExitCode> {
    let report = measure(args)?;
    super::finish("layout", output, report.series(), |out| report.print(out))
}

/// Measures every setting that was asked for, if this host has two CPUs.
pub fn measure(args: &LayoutArgs) -> Result<Report> {
    let cpus = match &args.cpus {
        Some(cpus) => cpus.clone(),
        None => CpuList::allowed()?,
    };
    let places = sharing::places(&cpus, sharing::host_siblings);
    let line = host_line();
    let level = (args.common.confidence / 100.0, args.common.seed.seed);
    let mut report = Report {
        settings: Vec::new(),
        line,
        patterns: args.pattern.patterns(),
        level,
        places,
    };
    let Some(places) = &report.places else {
        return Ok(report);
    };
    let readers = readers(args, places)?;
    let forms = if line == percpu::BLOCK / 2 {
        vec![false, true]
    } else {
        vec![false]
    };
    let steps = report.patterns.len() * args.written.places().len() * forms.len() * readers.len();
    let progress = Progress::new(args.common.progress, steps as u64, "measurements");
    for pattern in &report.patterns {
        for written in args.written.places() {
            for as_long_lines in &forms {
                let mut setting = Setting {
                    pattern: *pattern,
                    written,
                    as_long_lines: *as_long_lines,
                    line: if *as_long_lines { percpu::BLOCK } else { line },
                    rows: Vec::new(),
                };
                for count in &readers {
                    let times = sharing::measure(&SharingOptions {
                        pattern: *pattern,
                        written,
                        as_long_lines: *as_long_lines,
                        readers: places.readers[..*count].to_vec(),
                        writer: places.writer,
                        rounds: args.rounds as usize,
                        limit: Duration::from_secs(args.limit),
                        reads: READS,
                        seed: args.common.seed.seed,
                    })?;
                    setting.rows.push((*count, times));
                    progress.add(1);
                }
                report.settings.push(setting);
            }
        }
    }
    Ok(report)
}

/// The numbers of readers: those asked for, else powers of two and as many as fit.
fn readers(args: &LayoutArgs, places: &Places) -> Result<Vec<usize>> {
    let most = places.readers.len();
    if let Some(many) = args.readers.iter().find(|n| **n as usize > most) {
        bail!(
            "{many} readers and the writer need {} CPUs, and {} may be used: give fewer --readers or more --cpu",
            many + 1,
            most + 1
        );
    }
    if !args.readers.is_empty() {
        return Ok(args.readers.iter().map(|n| *n as usize).collect());
    }
    let mut readers: Vec<usize> = (0..).map(|n| 1 << n).take_while(|n| *n < most).collect();
    readers.push(most);
    Ok(readers)
}

/// Bytes of a line of this host; 64 where it does not say.
fn host_line() -> u32 {
    let path = "/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size";
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.trim().parse().unwrap_or(64);
    if (16..=1024).contains(&line) {
        line
    } else {
        64
    }
}

impl Setting {
    fn title(&self) -> String {
        format!(
            "{}-byte lines{}, written: the neighbour {}, read: {}",
            self.line,
            if self.as_long_lines {
                " (played: the map at half size on lines of 64)"
            } else {
                ""
            },
            self.written.name(),
            self.pattern.name()
        )
    }

    /// Every layout against that without the series.
    fn compared(&self, level: (f64, u64)) -> Vec<Compared> {
        let mut rows = Vec::new();
        for (readers, times) in &self.rows {
            for (layout, layout_times) in Layout::ALL.iter().zip(times).skip(1) {
                let values = [times[0].beside.clone(), layout_times.beside.clone()];
                let group = format!("{readers} reader{}", if *readers == 1 { "" } else { "s" });
                rows.push(Compared::new((group, layout.name()), "ns", values, level));
            }
        }
        compared::adjust(&mut rows);
        rows
    }
}

impl Report {
    /// The times beside the writer, a series per layout, as results are kept.
    pub fn series(&self) -> Vec<Series> {
        let series = |(index, layout): (usize, &Layout)| {
            let mut rows = Vec::new();
            for setting in &self.settings {
                for (readers, times) in &setting.rows {
                    let times = &times[index];
                    for (what, values) in [("alone", &times.alone), ("beside", &times.beside)] {
                        if values.is_empty() {
                            continue;
                        }
                        let better = Some(Direction::LowerIsBetter);
                        rows.push(Row {
                            group: setting.title(),
                            ..Row::new(format!("{readers} {what}"), "ns", better, values.clone())
                        });
                    }
                }
            }
            Series::new(layout.name(), rows)
        };
        Layout::ALL.iter().enumerate().map(series).collect()
    }

    /// The tables.
    pub fn print(&self, out: &mut Output) -> Result<()> {
        let title = "Per-CPU variables beside a neighbour that another CPU writes";
        writeln!(out, "{}", out.paint(Style::Bold, title))?;
        writeln!(
            out,
            "without: the map without the cluster series; middle: with it; top: its variables defined \
             first; ours: this tool's block, a line of its own"
        )?;
        write!(out, "{}", addresses().to_text())?;
        for pattern in &self.patterns {
            self.assumption(out, *pattern)?;
        }
        let Some(places) = &self.places else {
            writeln!(
                out,
                "\nSharing cannot be measured: one CPU is allowed, and a reader and a writer must run \
                 at once. The tables above are counted from the addresses, not measured."
            )?;
            return Ok(());
        };
        writeln!(
            out,
            "\nReaders on CPUs {}, writer on CPU {}; lines of this host have {} bytes",
            places
                .readers
                .iter()
                .map(u32::to_string)
                .collect::<Vec<_>>()
                .join(","),
            places.writer,
            self.line
        )?;
        if places.siblings > 0 {
            writeln!(
                out,
                "the last {} of these readers share the writer's core and its cache, and pay little",
                places.siblings
            )?;
        }
        for setting in &self.settings {
            self.setting(out, setting)?;
        }
        Ok(())
    }

    /// In which of the free words a written neighbour hurts whom.
    fn assumption(&self, out: &mut Output, pattern: Pattern) -> Result<()> {
        let words = percpu::free_words().len();
        writeln!(
            out,
            "\nWhich neighbour is written is an assumption: the maps do not say what lies in the {words} \
             free words of these {} bytes. Reads of the kind \"{}\" in the written line, against \"without\":",
            percpu::BLOCK,
            pattern.name()
        )?;
        let mut table = Table::new([
            ("", Align::Left),
            ("line", Align::Right),
            ("written above", Align::Right),
            ("written below", Align::Right),
            ("more in", Align::Right),
            ("fewer in", Align::Right),
            ("as many in", Align::Right),
        ]);
        for line in [64, 128] {
            for layout in Layout::ALL {
                let reads = |written: Written| {
                    let hit =
                        percpu::reads_in_written_line(layout, pattern, line, written.offset());
                    format!("{hit} of {}", pattern.reads().len())
                };
                let [more, fewer, same] = percpu::odds(layout, pattern, line);
                table.row([
                    layout.name().to_owned(),
                    line.to_string(),
                    reads(Written::Above),
                    reads(Written::Below),
                    format!("{more} of {words}"),
                    format!("{fewer} of {words}"),
                    format!("{same} of {words}"),
                ]);
            }
        }
        write!(out, "{}", table.to_text())?;
        Ok(())
    }

    fn setting(&self, out: &mut Output, setting: &Setting) -> Result<()> {
        writeln!(out, "\n{}", out.paint(Style::Bold, &setting.title()))?;
        let median = |values: &[f64]| Sample::new(values.to_vec()).ok().map(|s| s.median());
        let rate = |readers: usize, values: &[f64]| {
            // Each reader reads one pattern in so many ns.
            median(values).map(|ns| readers as f64 * 1000.0 / ns)
        };
        let mut rows = Vec::new();
        for (readers, times) in &setting.rows {
            rows.push(PctRow {
                load: format!("{readers}, nobody writes"),
                values: times.iter().map(|t| rate(*readers, &t.alone)).collect(),
            });
            rows.push(PctRow {
                load: format!("{readers}, one writes"),
                values: times.iter().map(|t| rate(*readers, &t.beside)).collect(),
            });
        }
        writeln!(out, "million reads of this kind per second")?;
        let names = Layout::ALL.map(Layout::name);
        write!(out, "{}", value_pct("readers", names, rows).to_text())?;
        writeln!(out, "ns beside the writer, against \"without\"")?;
        let compared = setting.compared(self.level);
        write!(
            out,
            "{}",
            compared::table(&compared, ["without", "this"]).to_text()
        )?;
        for (readers, times) in &setting.rows {
            let counted: Vec<String> = times
                .iter()
                .map(|t| significant(t.beside.len() as f64, 6))
                .collect();
            let discarded: usize = times.iter().map(|t| t.discarded).sum();
            writeln!(
                out,
                "{readers}: {} rounds of the layouts count; {discarded} were made again because the \
                 writer or a reader did not run throughout",
                counted.join(", ")
            )?;
        }
        Ok(())
    }
}

/// The published addresses, and ours.
pub fn addresses() -> Table {
    let columns = Layout::ALL.map(|layout| (layout.name(), Align::Right));
    let mut table = Table::new([("variable", Align::Left)].into_iter().chain(columns));
    let names = [
        "sd_asym_packing",
        "sd_numa",
        "sd_cluster",
        "sd_llc_shared",
        "sd_share_id",
        "sd_llc_id",
        "sd_llc_size",
        "sd_llc",
    ];
    for name in names {
        let cell = |layout: Layout| {
            let variable = layout.variables().iter().find(|v| v.name == name);
            variable.map_or("-".to_owned(), |v| {
                if layout.is_apart() {
                    format!("+{:x}", v.offset)
                } else {
                    format!("{:x}", BASE + v.offset)
                }
            })
        };
        let cells = Layout::ALL.map(cell);
        table.row(core::iter::once(name.to_owned()).chain(cells));
    }
    table
}
