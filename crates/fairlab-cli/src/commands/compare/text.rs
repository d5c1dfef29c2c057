//! The comparison for people.

use std::io::Write;

use anyhow::Result;
use fairlab::kernel::{Area, Difference};
use fairlab::stats::table::{Align, Table, ministat, significant};
use fairlab::stats::{Direction, Verdict};
use fairlab_bench::TICK_UNIT;
use fairlab_experiment::{REPETITIONS, Row};
use fairlab_machines::summary;

use super::Comparison;
use super::idle_core::Figure;
use crate::checkpoint::from_point;
use crate::output::{Output, Style};

pub fn print(out: &mut Output, c: &Comparison<'_>) -> Result<()> {
    heading(out, c)?;
    kernels(out, c)?;
    idle_core(out, c)?;
    figures(out, c)?;
    reasons(out, c)?;
    beside(out, c)?;
    reproduce(out)
}

fn title(out: &mut Output, text: &str) -> Result<()> {
    writeln!(out, "\n{}", out.paint(Style::Bold, text))?;
    Ok(())
}

fn heading(out: &mut Output, c: &Comparison<'_>) -> Result<()> {
    let s = summary(c.machine);
    let model = s
        .model
        .as_deref()
        .map(|m| format!(", {m}"))
        .unwrap_or_default();
    writeln!(out, "{}", out.paint(Style::Bold, &c.workload.description))?;
    writeln!(
        out,
        "on {}{model}: {} CPUs, {} cores of {} threads, {} LLCs, {} nodes",
        s.name, s.cpus, s.cores, s.threads_per_core, s.llcs, s.nodes
    )?;
    writeln!(out, "A: {}\nB: {}", c.a, c.b)?;
    writeln!(
        out,
        "{} runs of each, interleaved, seed {}",
        c.args.runs, c.seed
    )?;
    if let Some(point) = &c.point {
        writeln!(out, "{}", from_point(point))?;
    }
    Ok(())
}

fn kernels(out: &mut Output, c: &Comparison<'_>) -> Result<()> {
    title(out, "What differs between the kernels")?;
    if c.differences.is_empty() {
        writeln!(out, "nothing: A and B are the same kernel")?;
        return Ok(());
    }
    write!(out, "{}", difference_table(c).to_text())?;
    Ok(())
}

/// Which features differ, with the sentence of each.
pub fn difference_table(c: &Comparison<'_>) -> Table {
    let mut table = Table::new([
        ("", Align::Left),
        ("A", Align::Right),
        ("B", Align::Right),
        ("", Align::Left),
    ]);
    let on = |x: bool| if x { "on" } else { "-" }.to_owned();
    for area in Area::ALL {
        for difference in &c.differences {
            if let Difference::Feature { feature, in_a } = difference
                && feature.area() == area
            {
                let name = feature.name().to_owned();
                table.row([name, on(*in_a), on(!in_a), feature.doc().to_owned()]);
            }
        }
    }
    for difference in &c.differences {
        if let Difference::Tunable { name, a, b } = difference {
            let doc = fairlab::kernel::Tunables::doc(name)
                .unwrap_or_default()
                .trim();
            table.row([
                (*name).to_owned(),
                a.to_string(),
                b.to_string(),
                doc.to_owned(),
            ]);
        }
    }
    table
}

fn idle_core(out: &mut Output, c: &Comparison<'_>) -> Result<()> {
    let ticks = format!(
        "{TICK_UNIT} of this host around the search, while the load runs \
         (median of {REPETITIONS} alternating repetitions)"
    );
    let figures = [
        (ticks.as_str(), &c.idle_core.ticks),
        ("CPUs probed (counted)", &c.idle_core.probes),
        (
            "mask operations and bits cleared (counted)",
            &c.idle_core.mask_work,
        ),
    ];
    if figures.iter().all(|(_, figure)| figure.is_none()) {
        title(out, "Finding an idle core, cost per call")?;
        writeln!(
            out,
            "no calls on both sides: no core was searched for under this load"
        )?;
        return Ok(());
    }
    for (what, figure) in figures {
        if let Some(figure) = figure {
            title(out, &format!("Finding an idle core, per call: {what}"))?;
            per_call(out, c, figure)?;
        }
    }
    Ok(())
}

fn per_call(out: &mut Output, c: &Comparison<'_>, figure: &Figure) -> Result<()> {
    let rows = [("A", figure.a.summary()), ("B", figure.b.summary())];
    write!(
        out,
        "{}",
        ministat(rows, Direction::LowerIsBetter).to_text()
    )?;
    if let Some(text) = figure.improvement_text(c.args.confidence) {
        writeln!(out, "{text}")?;
    }
    Ok(())
}

/// The rows, a table per group with its name.
pub fn figure_tables(c: &Comparison<'_>) -> Vec<(String, Table)> {
    let groups = c.rows.chunk_by(|a, b| a.group == b.group);
    let table = |rows: &[Row]| {
        let mut table = Table::new([
            (rows[0].group.as_str(), Align::Left),
            ("unit", Align::Left),
            ("A", Align::Right),
            ("B", Align::Right),
            ("change", Align::Right),
            ("p", Align::Right),
            ("verdict", Align::Left),
        ]);
        for row in rows {
            table.row(cells(row));
        }
        (rows[0].group.clone(), table)
    };
    groups.map(table).collect()
}

/// How the figures were made.
pub fn method(c: &Comparison<'_>) -> String {
    format!(
        "Medians over {} runs; change with its {}% bootstrap interval; p by Mann-Whitney U, \
         adjusted (Holm) for {} rows.",
        c.args.runs,
        c.args.confidence,
        c.rows.len()
    )
}

fn figures(out: &mut Output, c: &Comparison<'_>) -> Result<()> {
    for (_, table) in figure_tables(c) {
        writeln!(out)?;
        write!(out, "{}", table.to_text())?;
    }
    writeln!(out, "\n{}", method(c))?;
    let open = |row: &&Row| row.comparison.verdict() == Verdict::NoDifferenceProven;
    let unproven = c.rows.iter().filter(open).count();
    if unproven > 0 {
        writeln!(
            out,
            "\"no difference proven\" is not \"equal\": it is what {} runs can say at {}%.",
            c.args.runs, c.args.confidence
        )?;
    }
    Ok(())
}

fn cells(row: &Row) -> [String; 7] {
    let c = &row.comparison;
    let p = match c.adjusted_p_value {
        Some(p) if p < 0.0001 => "<0.0001".to_owned(),
        Some(p) => format!("{p:.4}"),
        None => "-".to_owned(),
    };
    let change = if c.a.median == 0.0 && c.b.median == 0.0 {
        "0".to_owned()
    } else {
        c.change_text()
    };
    let verdict = match c.verdict() {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::NoDifferenceProven => "no difference proven",
    };
    [
        row.name.clone(),
        row.unit.name().to_owned(),
        significant(c.a.median, 6),
        significant(c.b.median, 6),
        change,
        p,
        verdict.to_owned(),
    ]
}

/// Why tasks went where they went, per hundred placements.
fn reasons(out: &mut Output, c: &Comparison<'_>) -> Result<()> {
    title(out, "Placements by reason (% of all)")?;
    let mut table = Table::new([("", Align::Left), ("A", Align::Right), ("B", Align::Right)]);
    for (reason, [a, b]) in super::json::reason_shares(&c.outcomes) {
        table.row([
            reason.to_owned(),
            format!("{:.2}", a * 100.0),
            format!("{:.2}", b * 100.0),
        ]);
    }
    write!(out, "{}", table.to_text())?;
    Ok(())
}

/// The check that both kernels answer alike in the same state, or how often they do not.
fn beside(out: &mut Output, c: &Comparison<'_>) -> Result<()> {
    let (asked, differ) = c.beside();
    title(out, "Same state, both kernels asked")?;
    if differ == 0 {
        writeln!(
            out,
            "{asked} placements: the same CPU and reason in every one. In these runs the kernels \
             differ in cost only."
        )?;
    } else {
        let share = differ as f64 / asked.max(1) as f64 * 100.0;
        writeln!(
            out,
            "{asked} placements: another CPU or reason in {differ} ({share:.2} %)"
        )?;
    }
    Ok(())
}

fn reproduce(out: &mut Output) -> Result<()> {
    writeln!(
        out,
        "\nfairlab {}; the same command gives the same figures, but for ticks, which are measured.",
        env!("CARGO_PKG_VERSION")
    )?;
    Ok(())
}
