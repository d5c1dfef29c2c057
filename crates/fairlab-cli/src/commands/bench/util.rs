//! `fairlab bench util`: fork and exec with the utilization functions called and inlined, and the
//! objects of the two builds.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use fairlab::kernel::{Feature, Kernel};
use fairlab::stats::table::{Align, BeforeAfter, Table, before_after};
use fairlab::stats::{Direction, Sample};
use fairlab_bench::BenchError;
use fairlab_bench::policy::code::Code;
use fairlab_bench::policy::objects::{self, Built, Form, ObjectError, Sizes};
use fairlab_bench::policy::rounds::Rounds;
use fairlab_bench::policy::util::{self, Event, Forms, UtilError, UtilOptions};
use fairlab_machines::{LoadOptions, load};
use fairlab_results::{Row, Series};

use super::compared::{self, Compared};
use crate::cli::{OutputArgs, UtilArgs};
use crate::output::{Output, Style};
use crate::progress::Progress;

const FORMS: [&str; 2] = ["before", "after"];

/// The machines of the published tables.
const MACHINES: [&str; 2] = ["xeon-6248", "power9"];

/// Instructions in each state, and the CPUs that the decision visits there.
struct Counted {
    row: Compared,
    visits: Vec<u32>,
}

/// What the measurement gave.
pub struct Report {
    kernel: Kernel,
    nanos: Vec<Compared>,
    instructions: Vec<Counted>,
    no_instructions: Option<String>,
    objects: Result<[Built; 2], String>,
    rounds: u32,
    confidence: f64,
}

/// Measures and prints.
pub fn run(args: &UtilArgs, output: &OutputArgs) -> Result<ExitCode> {
    let report = measure(args, |_| true)?;
    super::finish("util", output, report.series(), |out| report.print(out))
}

/// Measures both forms on each machine, and counts instructions on those that `counts` says. The
/// objects are built first, so that the compiler does not run beside the measurement.
pub fn measure(args: &UtilArgs, counts: fn(&str) -> bool) -> Result<Report> {
    let objects = if args.no_objects {
        Err("not asked for".to_owned())
    } else {
        build_objects().map_err(|error| format!("{:#}", anyhow::Error::from(error)))
    };
    let names: Vec<&str> = if args.machines.is_empty() {
        MACHINES.to_vec()
    } else {
        args.machines.iter().map(String::as_str).collect()
    };
    let level = (args.common.confidence / 100.0, args.common.seed.seed);
    let mut report = Report {
        kernel: args.kernel.with(Feature::CPU_UTIL_INLINE, false),
        nanos: Vec::new(),
        instructions: Vec::new(),
        no_instructions: args
            .timing
            .no_instructions
            .then(|| "not asked for".to_owned()),
        objects,
        rounds: args.timing.rounds,
        confidence: args.common.confidence,
    };
    let steps = names.len() * Event::ALL.len();
    let progress = Progress::new(args.common.progress, steps as u64, "rows");
    for name in names {
        let machine = load(name, &LoadOptions::default())?;
        for event in Event::ALL {
            let options = |counts_instructions| UtilOptions {
                rounds: Rounds {
                    rounds: args.timing.rounds,
                    seed: args.common.seed.seed,
                    ..Rounds::default()
                },
                states: args.states,
                counts_instructions,
            };
            let measure = |counts| util::measure(&machine, &args.kernel, event, &options(counts));
            let forms = match measure(report.no_instructions.is_none() && counts(name)) {
                // A host that does not let a process trace its child can still be timed.
                Err(UtilError::Host(error)) => {
                    report.no_instructions = Some(chain(error));
                    measure(false)
                }
                other => other,
            };
            let forms = forms.with_context(|| format!("machine {name}, kernel {}", args.kernel))?;
            report.add((machine.name(), event.name()), forms, level);
            progress.add(1);
        }
    }
    compared::adjust(&mut report.nanos);
    Ok(report)
}

fn chain(error: BenchError) -> String {
    format!("{:#}", anyhow::Error::from(error))
}

/// Both builds at once: each keeps one CPU busy most of the time.
fn build_objects() -> Result<[Built; 2], ObjectError> {
    let dir = objects::default_dir();
    let [called, inlined] = std::thread::scope(|scope| {
        let dir = &dir;
        Form::ALL
            .map(|form| scope.spawn(move || objects::build(form, dir)))
            .map(|thread| match thread.join() {
                Ok(built) => built,
                Err(panic) => std::panic::resume_unwind(panic),
            })
    });
    Ok([called?, inlined?])
}

impl Report {
    fn add(&mut self, (machine, event): (&str, &str), forms: Forms, level: (f64, u64)) {
        let row = || (machine.to_owned(), event.to_owned());
        self.nanos
            .push(Compared::new(row(), "ns", forms.nanos, level));
        if let Some(counts) = forms.instructions {
            self.instructions.push(Counted {
                row: Compared::new(row(), "instructions", counts, level),
                visits: forms.visits,
            });
        }
    }

    /// All values of both forms, as results are kept.
    pub fn series(&self) -> Vec<Series> {
        let counted = self.instructions.iter().map(|counted| &counted.row);
        let rows: Vec<Compared> = self.nanos.iter().chain(counted).cloned().collect();
        let mut series = compared::series(&rows, FORMS);
        if let Ok(built) = &self.objects {
            for (series, built) in series.iter_mut().zip(built) {
                let Sizes { text, data, bss } = built.sizes;
                for (name, bytes) in [("text", text), ("data", data), ("bss", bss)] {
                    series.rows.push(Row {
                        group: "object".to_owned(),
                        ..Row::new(
                            name,
                            "bytes",
                            Some(Direction::LowerIsBetter),
                            [bytes as f64],
                        )
                    });
                }
            }
        }
        series
    }

    /// Nanoseconds that inlining saves in a level fork of the first machine, and what the whole
    /// decision takes before.
    pub fn saved_by_fork(&self) -> Option<(f64, f64)> {
        let comparison = self.nanos.first()?.comparison.as_ref()?;
        Some((
            comparison.a.median - comparison.b.median,
            comparison.a.median,
        ))
    }

    /// Bytes by which the object grows with inlining.
    pub fn object_growth(&self) -> Option<i128> {
        let [before, after] = self.objects.as_ref().ok()?;
        Some(i128::from(after.sizes.dec()) - i128::from(before.sizes.dec()))
    }

    /// The tables.
    pub fn print(&self, out: &mut Output) -> Result<()> {
        let title = "Placement at fork and exec, cpu_util and cpu_util_without called (before) and \
                     inlined (after)";
        writeln!(out, "{}", out.paint(Style::Bold, title))?;
        writeln!(
            out,
            "kernel {}; both forms give the same answer",
            self.kernel
        )?;
        write!(out, "{}", compared::table(&self.nanos, FORMS).to_text())?;
        writeln!(out, "{}", compared::method(self.rounds, self.confidence))?;
        writeln!(
            out,
            "\n{}",
            out.paint(Style::Bold, "The same, in instructions of one decision")
        )?;
        match &self.no_instructions {
            Some(why) if self.instructions.is_empty() => writeln!(out, "not counted: {why}")?,
            _ => self.print_instructions(out)?,
        }
        writeln!(
            out,
            "\n{}",
            out.paint(Style::Bold, "The object of placement, built in both forms")
        )?;
        self.print_objects(out)
    }

    fn print_instructions(&self, out: &mut Output) -> Result<()> {
        let mut table = Table::new([
            ("", Align::Left),
            ("", Align::Left),
            ("visits", Align::Right),
            ("before", Align::Right),
            ("after", Align::Right),
            ("change", Align::Right),
            ("least, most", Align::Left),
            ("saved per visit", Align::Right),
        ]);
        let mut group = "";
        for Counted { row, visits } in &self.instructions {
            let shown = if row.group == group { "" } else { &row.group };
            group = &row.group;
            let median = |values: &[f64]| Sample::new(values.to_vec()).ok().map(|s| s.median());
            let changes: Vec<f64> = row.values[0]
                .iter()
                .zip(&row.values[1])
                .map(|(before, after)| (after / before - 1.0) * 100.0)
                .collect();
            let saved: Vec<f64> = row.values[0]
                .iter()
                .zip(&row.values[1])
                .zip(visits)
                .map(|((before, after), visits)| (before - after) / f64::from((*visits).max(1)))
                .collect();
            let visits: Vec<f64> = visits.iter().map(|n| f64::from(*n)).collect();
            let Some(changed) = Sample::new(changes).ok() else {
                continue;
            };
            let number = |value: Option<f64>| value.map(|v| format!("{v:.0}")).unwrap_or_default();
            table.row([
                shown.to_owned(),
                row.name.clone(),
                number(median(&visits)),
                number(median(&row.values[0])),
                number(median(&row.values[1])),
                format!("{:.2} %", changed.median()),
                if changed.len() > 1 {
                    format!("[{:.2} %, {:.2} %]", changed.min(), changed.max())
                } else {
                    "exact".to_owned()
                },
                median(&saved)
                    .map(|v| format!("{v:.1}"))
                    .unwrap_or_default(),
            ]);
        }
        write!(out, "{}", table.to_text())?;
        writeln!(
            out,
            "Counted one by one in a child that is stepped, so the same every time; \"mixed\" rows \
             are the medians over {} states drawn at random, with the least and the most change. A \
             visit is a CPU whose utilization is asked for.",
            self.instructions
                .iter()
                .map(|c| c.visits.len())
                .max()
                .unwrap_or(0)
        )?;
        if let Some(why) = &self.no_instructions {
            writeln!(out, "Further rows were not counted: {why}")?;
        }
        Ok(())
    }

    fn print_objects(&self, out: &mut Output) -> Result<()> {
        let built = match &self.objects {
            Ok(built) => built,
            Err(why) => {
                writeln!(out, "not built: {why}")?;
                return Ok(());
            }
        };
        let files = built.iter().map(|built| {
            let name = built.path.file_name().unwrap_or_default().to_string_lossy();
            (name.into_owned(), built.sizes)
        });
        write!(out, "{}", size_table(files).to_text())?;
        let [before, after] = built.each_ref().map(|built| built.sizes);
        write!(out, "{}", size_difference(before, after).to_text())?;
        writeln!(
            out,
            "One source, one compiler, release form; the builds differ in --cfg fairlab_cpu_util only. \
             The objects are in {}.",
            objects::default_dir().display()
        )?;
        let [before, after] = built.each_ref().map(|built| built.code);
        let change = |part: fn(&Code) -> u64| part(&after) as i64 - part(&before) as i64;
        writeln!(
            out,
            "Of the change, {:+} bytes are the utilization functions themselves, {:+} the functions \
             that call them, and {:+} the tables for unwinding. Here each of two callers has one \
             call, which passes the numbers of CPU and task in memory and keeps on the stack what \
             is needed behind it; that code goes with the call, and is longer than the body that \
             comes in its place. The published objects grew; those are not at hand to look into.",
            change(|code| code.utilization),
            change(|code| code.callers),
            change(|code| code.unwinding),
        )?;
        Ok(())
    }
}

/// Sections as `size` prints them.
pub fn size_table(files: impl IntoIterator<Item = (String, Sizes)>) -> Table {
    let mut table = Table::new([
        ("text", Align::Right),
        ("data", Align::Right),
        ("bss", Align::Right),
        ("dec", Align::Right),
        ("hex", Align::Right),
        ("filename", Align::Left),
    ]);
    for (name, sizes) in files {
        table.row([
            sizes.text.to_string(),
            sizes.data.to_string(),
            sizes.bss.to_string(),
            sizes.dec().to_string(),
            format!("{:x}", sizes.dec()),
            name,
        ]);
    }
    table
}

/// What changed, by section.
pub fn size_difference(before: Sizes, after: Sizes) -> Table {
    let row = |name: &str, before: u64, after: u64| BeforeAfter {
        name: name.to_owned(),
        before: before as f64,
        after: after as f64,
    };
    before_after([
        row("text", before.text, after.text),
        row("data", before.data, after.data),
        row("bss", before.bss, after.bss),
        row("dec", before.dec(), after.dec()),
    ])
}
