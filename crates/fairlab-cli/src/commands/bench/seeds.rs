//! `fairlab bench seeds`: the tables of three published documents beside our own.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use fairlab::kernel::{Kernel, Release};
use fairlab::stats::Direction;
use fairlab::stats::table::{
    Align, BeforeAfter, PctRow, Rounding, Table, before_after, ministat, percent, value_pct,
};
use fairlab_bench::policy::objects::Sizes;
use fairlab_bench::policy::published::{
    Follows, IDLE_CORE, IDLE_CORE_IMPROVEMENT, LMBENCH, SIZES, Stated, TBENCH, tbench_baselines,
};
use fairlab_results::{Data, Row, Series};

use super::{idle_core, layout, util};
use crate::cli::{
    IdleCoreArgs, LayoutArgs, OutputArgs, PatternArg, PolicyArgs, SeedsArgs, TimingArgs, UtilArgs,
    WrittenArg,
};
use crate::output::{Output, Style};

/// Measures everything, then prints it beside what was published.
pub fn run(args: &SeedsArgs, output: &OutputArgs) -> Result<ExitCode> {
    if args.published {
        return super::finish("seeds", output, published(), |out| {
            first(out, None)?;
            second(out, None)?;
            third(out, None)?;
            contradictions(out)
        });
    }
    // Stepping through the larger machine would take longer than all the rest.
    let util = util::measure(&util_args(args), |machine| machine != "power9")?;
    let idle_core = idle_core::measure(&idle_core_args(args.common))?;
    let layout = layout::measure(&layout_args(args.common))?;
    let mut series = published();
    merge(&mut series, util.series());
    merge(&mut series, idle_core.series());
    merge(&mut series, layout.series());
    super::finish("seeds", output, series, |out| {
        first(out, Some(&util))?;
        second(out, Some(&idle_core))?;
        third(out, Some(&layout))?;
        contradictions(out)
    })
}

/// The published numbers as results are kept.
fn published() -> Vec<Series> {
    let side = |name: &str, pick: fn(&Stated) -> f64, side: usize| {
        let lmbench = LMBENCH
            .iter()
            .map(|row| (row, "us", Direction::LowerIsBetter));
        let tbench = TBENCH
            .iter()
            .map(|row| (row, "MB/s", Direction::HigherIsBetter));
        let rows = lmbench.chain(tbench).map(|(row, unit, better)| Row {
            group: row.group.to_owned(),
            ..Row::new(row.row, unit, Some(better), [pick(row)])
        });
        let ticks = Row {
            group: "select_idle_core".to_owned(),
            name: "ticks".to_owned(),
            unit: "ticks".to_owned(),
            better: Some(Direction::LowerIsBetter),
            data: Data::Figures(IDLE_CORE[side].into()),
        };
        let sizes = SIZES.iter().flat_map(|size| {
            let sections = ["text", "data", "bss"].into_iter().zip(size.sections[side]);
            sections.map(|(name, bytes)| Row {
                group: format!("object, {}", size.group),
                ..Row::new(
                    name,
                    "bytes",
                    Some(Direction::LowerIsBetter),
                    [bytes as f64],
                )
            })
        });
        Series::new(name, rows.chain([ticks]).chain(sizes).collect::<Vec<Row>>())
    };
    vec![
        side("published before", |row| row.before, 0),
        side("published after", |row| row.after, 1),
    ]
}

fn util_args(args: &SeedsArgs) -> UtilArgs {
    UtilArgs {
        machines: Vec::new(),
        kernel: Kernel::of(Release::V6_6),
        states: 2,
        no_objects: args.no_objects,
        timing: TimingArgs {
            rounds: 101,
            no_instructions: args.no_instructions,
        },
        common: args.common,
    }
}

fn idle_core_args(common: PolicyArgs) -> IdleCoreArgs {
    IdleCoreArgs {
        machine: "power9".to_owned(),
        kernel: Kernel::of(Release::V5_6),
        workload: "schbench -m 8 -t 24 -r 0.5".to_owned(),
        runs: 8,
        common,
    }
}

fn layout_args(common: PolicyArgs) -> LayoutArgs {
    LayoutArgs {
        cpus: None,
        readers: Vec::new(),
        pattern: PatternArg::Both,
        written: WrittenArg::Both,
        rounds: 51,
        limit: 2,
        common,
    }
}

/// Adds the rows of `more` to the series of their names.
fn merge(series: &mut Vec<Series>, more: Vec<Series>) {
    for new in more {
        match series.iter_mut().find(|known| known.name == new.name) {
            Some(known) => known.rows.extend(new.rows),
            None => series.push(new),
        }
    }
}

fn title(out: &mut Output, text: &str) -> Result<()> {
    let blank = if text.starts_with('1') { "" } else { "\n" };
    writeln!(out, "{blank}{}", out.paint(Style::Bold, text))?;
    Ok(())
}

/// Document 1: inlined utilization functions.
fn first(out: &mut Output, ours: Option<&util::Report>) -> Result<()> {
    title(
        out,
        "1. PUBLISHED: lmbench process latencies (us), cpu_util and cpu_util_without inlined",
    )?;
    for rows in LMBENCH.chunk_by(|a, b| a.group == b.group) {
        writeln!(out, "{}", rows[0].group)?;
        let rows = rows.iter().map(|row| BeforeAfter {
            name: row.row.to_owned(),
            before: row.before,
            after: row.after,
        });
        write!(out, "{}", before_after(rows).to_text())?;
    }
    writeln!(out, "the percentages as printed:")?;
    write!(out, "{}", derived(LMBENCH.iter()).to_text())?;
    title(out, "PUBLISHED: size of the object")?;
    for size in SIZES {
        let files = ["before", "after"].iter().zip(size.sections);
        let files = files.map(|(name, [text, data, bss])| {
            (format!("{} {name}", size.group), Sizes { text, data, bss })
        });
        write!(out, "{}", util::size_table(files).to_text())?;
        let verdict = if size.follows() {
            "the printed totals follow from the sections"
        } else {
            "THE PRINTED TOTALS DO NOT FOLLOW FROM THE SECTIONS"
        };
        writeln!(
            out,
            "printed dec {} and {}: {verdict}",
            size.dec[0], size.dec[1]
        )?;
    }
    let Some(ours) = ours else {
        return Ok(());
    };
    writeln!(out)?;
    title(out, "1. OURS, on this host")?;
    ours.print(out)?;
    let grown = |bytes: i128| format!("{bytes:+}");
    if let Some(growth) = ours.object_growth() {
        let published = SIZES.map(|size| i128::from(size.dec[1]) - i128::from(size.dec[0]));
        writeln!(
            out,
            "The published objects changed by {} and {} bytes with inlining, ours by {}.",
            grown(published[0]),
            grown(published[1]),
            grown(growth)
        )?;
    }
    if let Some((saved, whole)) = ours.saved_by_fork() {
        let published = (LMBENCH[0].before - LMBENCH[0].after) * 1000.0;
        writeln!(
            out,
            "Beside the published gain of {published:.0} ns per fork+exit: our whole decision takes \
             {whole:.0} ns before, of which inlining saves {saved:.0}. A gain of the published size by \
             calls alone needs a placement that costs several times as much; what else contributed is \
             not in the document's numbers."
        )?;
    }
    Ok(())
}

/// Document 2: the search for an idle core.
fn second(out: &mut Output, ours: Option<&idle_core::Report>) -> Result<()> {
    title(
        out,
        "2. PUBLISHED: ticks around select_idle_core, schbench on a Power9 with SMT8",
    )?;
    let rows = [("without", IDLE_CORE[0]), ("with", IDLE_CORE[1])];
    write!(
        out,
        "{}",
        ministat(rows, Direction::LowerIsBetter).to_text()
    )?;
    write!(out, "{}", derived([IDLE_CORE_IMPROVEMENT].iter()).to_text())?;
    writeln!(
        out,
        "N, min, max, median and deviation do not follow from one another: they are the document's."
    )?;
    let Some(ours) = ours else {
        return Ok(());
    };
    title(out, "2. OURS, on this host")?;
    ours.print(out)
}

/// Document 3: the cluster domain and the place of its variables.
fn third(out: &mut Output, ours: Option<&layout::Report>) -> Result<()> {
    title(
        out,
        "3. PUBLISHED: tbench throughput (MB/s) with the cluster series",
    )?;
    let columns = |groups: &[usize]| {
        (0..4)
            .map(|client| PctRow {
                load: TBENCH[client].row.to_owned(),
                values: [Some(TBENCH[groups[0] * 4 + client].before)]
                    .into_iter()
                    .chain(
                        groups
                            .iter()
                            .map(|group| Some(TBENCH[group * 4 + client].after)),
                    )
                    .collect(),
            })
            .collect::<Vec<_>>()
    };
    let first = value_pct(
        "clients",
        ["without", "series", "first patch"],
        columns(&[0, 1]),
    );
    write!(out, "{}", first.to_text())?;
    let second = value_pct("clients", ["without", "moved to the top"], columns(&[2]));
    write!(out, "\n{}", second.to_text())?;
    writeln!(out, "the percentages as printed:")?;
    write!(out, "{}", derived(TBENCH.iter()).to_text())?;
    let baselines: Vec<String> = tbench_baselines()
        .map(|(clients, percent)| format!("{clients} clients {percent:+.2} %"))
        .collect();
    writeln!(
        out,
        "The kernel without the series was measured twice, and its second figures differ from the \
         first by {}: effects of that size prove nothing by themselves.",
        baselines.join(", ")
    )?;
    let Some(ours) = ours else {
        return Ok(());
    };
    title(out, "3. OURS, on this host")?;
    ours.print(out)
}

/// Stated percentages beside what their values give.
fn derived<'a>(stated: impl Iterator<Item = &'a Stated>) -> Table {
    let mut table = Table::new([
        ("", Align::Left),
        ("", Align::Left),
        ("printed", Align::Right),
        ("rounded", Align::Right),
        ("cut off", Align::Right),
        ("follows", Align::Left),
    ]);
    let mut group = "";
    for row in stated {
        let shown = if row.group == group { "" } else { row.group };
        group = row.group;
        table.row([
            shown.to_owned(),
            row.row.to_owned(),
            format!("{} %", row.percent),
            format!("{} %", row.recomputed()),
            format!("{} %", percent(row.change(), Rounding::TowardsZero)),
            row.follows().name().to_owned(),
        ]);
    }
    table
}

/// What of the documents contradicts itself.
fn contradictions(out: &mut Output) -> Result<()> {
    title(out, "What does not follow from the documents' own numbers")?;
    let stated = LMBENCH
        .iter()
        .chain([&IDLE_CORE_IMPROVEMENT])
        .chain(&TBENCH);
    for row in stated.filter(|row| row.follows() == Follows::Not) {
        writeln!(
            out,
            "{}, {}: {} and {} give {} %, printed is {} %",
            row.group,
            row.row,
            row.before,
            row.after,
            row.recomputed(),
            row.percent
        )?;
    }
    for size in SIZES.iter().filter(|size| !size.follows()) {
        writeln!(out, "{}: the totals of the object sizes", size.group)?;
    }
    writeln!(
        out,
        "Everything else follows; percentages are rounded in the first document and cut off in the \
         other two."
    )?;
    Ok(())
}
