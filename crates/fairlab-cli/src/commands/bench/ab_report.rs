//! What a comparison of two sides prints.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use fairlab::stats::table::{Align, Table, significant};
use fairlab::stats::{Interval, Verdict};
use fairlab_bench::ab::{AbOutcome, AbRow, CommandLine, Side, StopReason};
use fairlab_bench::environment::Environment;
use fairlab_results::{Results, Row, Series};
use serde_json::{Value, json};

use crate::EXIT_WORSE;
use crate::cli::{HookArgs, OutputArgs};
use crate::output::{Format, Output, Style};

/// A comparison with all that belongs to it.
pub struct Report<'a> {
    /// What was measured.
    pub tool: &'a str,
    /// The commands of before and after.
    pub lines: &'a [CommandLine; 2],
    /// What brought the system into its states.
    pub hooks: &'a HookArgs,
    /// What came out.
    pub outcome: &'a AbOutcome,
    /// The host in the states of before and after.
    pub environments: &'a [Environment; 2],
    /// The load of the host at the end.
    pub load_at_end: Option<Value>,
}

/// Writes it in the form that `output` asks for.
pub fn print(report: &Report<'_>, output: &OutputArgs) -> Result<()> {
    let format = output.format()?;
    let mut out = output.open()?;
    match format {
        Format::Json => out.json(&to_json(report)?)?,
        Format::Text => text(report, &mut out)?,
    }
    out.finish()
}

/// 1 when `is_checked` and a row is proven worse.
pub fn exit_code(outcome: &AbOutcome, is_checked: bool) -> ExitCode {
    let is_worse = outcome.rows.iter().any(|row| row.verdict == Verdict::Worse);
    if is_checked && is_worse {
        ExitCode::from(EXIT_WORSE)
    } else {
        ExitCode::SUCCESS
    }
}

fn text(report: &Report<'_>, out: &mut Output) -> Result<()> {
    let outcome = report.outcome;
    for (side, (line, hook)) in [Side::Before, Side::After].into_iter().zip(
        report
            .lines
            .iter()
            .zip([&report.hooks.before, &report.hooks.after]),
    ) {
        let hook = hook
            .as_ref()
            .map(|hook| format!("  (after the hook: {hook})"))
            .unwrap_or_default();
        writeln!(out, "{:7} {line}{hook}", format!("{}:", side.name()))?;
    }
    writeln!(out, "{}\n", how_it_went(outcome))?;
    let columns = [
        ("", Align::Left),
        ("unit", Align::Left),
        ("before", Align::Right),
        ("after", Align::Right),
        ("change", Align::Right),
        ("interval", Align::Left),
        ("p", Align::Right),
        ("", Align::Left),
    ];
    let mut table = Table::new(columns);
    for row in &outcome.rows {
        let [before, after] = row.summaries.map(|summary| significant(summary.median, 6));
        let p = format!("{:.4}", row.adjusted_p_value);
        let (change, interval) = match &row.change {
            Some(change) => (signed_percent(change.estimate), bounds(change)),
            None => ("-".into(), String::new()),
        };
        let cells = [
            row.name.clone(),
            row.unit.clone(),
            before,
            after,
            change,
            interval,
            p,
        ];
        table.row(cells.into_iter().chain([verdict(row.verdict).to_owned()]));
    }
    write!(out, "{}", table.to_text())?;
    writeln!(out)?;
    for row in &outcome.rows {
        remarks(row, outcome, out)?;
    }
    for name in &outcome.incomplete {
        writeln!(
            out,
            "{}",
            out.paint(
                Style::Yellow,
                &format!("{name}: not in every run, left out")
            )
        )?;
    }
    for name in differing(report.environments) {
        writeln!(out, "the two states differ in {name}")?;
    }
    writeln!(out, "medians; change: {}", method(outcome))?;
    Ok(())
}

fn how_it_went(outcome: &AbOutcome) -> String {
    let options = &outcome.options;
    let percent = |part: f64| format!("{} %", significant(part * 100.0, 3));
    let reason = match outcome.stop {
        StopReason::NarrowEnough => "the interval is narrow enough".to_owned(),
        StopReason::Runs => format!("{} runs are the limit", options.max_blocks),
        StopReason::Time => format!("{} s are the limit", options.max_time.as_secs_f64()),
        StopReason::Interrupted => "interrupted".to_owned(),
    };
    let expected = outcome.half_width.map_or("not known".to_owned(), |half| {
        format!("{} expected", percent(half))
    });
    let firsts = outcome
        .firsts
        .iter()
        .filter(|side| **side == Side::Before)
        .count();
    format!(
        "{} runs of each, before was first in {firsts}; {} to warm up; {:.1} s; ended because {reason} \
         (half width: {} wanted, {expected})",
        outcome.firsts.len(),
        options.warm_ups,
        outcome.elapsed.as_secs_f64(),
        percent(options.until),
    )
}

/// Drift and outliers, where there are some.
fn remarks(row: &AbRow, outcome: &AbOutcome, out: &mut Output) -> Result<()> {
    if let Some(drift) = row.drift.filter(|drift| drift.p_value < 0.05) {
        writeln!(
            out,
            "{}: drifted by {} over the runs, both sides together (p {:.4})",
            row.name,
            signed_percent(drift.change),
            drift.p_value
        )?;
    }
    let all = row.outliers.iter().map(Vec::len).sum::<usize>();
    if all > 0 {
        let told = [Side::Before, Side::After].into_iter().flat_map(|side| {
            let blocks = row.outliers[side.index()].iter();
            blocks.map(move |block| {
                let value = row.values[side.index()]
                    .get(*block)
                    .copied()
                    .unwrap_or_default();
                format!("{} {} = {}", side.name(), block + 1, significant(value, 6))
            })
        });
        let told: Vec<String> = told.take(6).collect();
        let more = if all > told.len() { ", ..." } else { "" };
        writeln!(
            out,
            "{}: {all} outliers of {} values, kept: run {}{more}",
            row.name,
            2 * outcome.firsts.len(),
            told.join(", ")
        )?;
    }
    Ok(())
}

fn method(outcome: &AbOutcome) -> String {
    let is_exact = outcome.rows.iter().all(|row| row.is_exact);
    let kind = if is_exact {
        "exact"
    } else {
        "normal approximation"
    };
    let correction = match outcome.rows.len() {
        0 | 1 => String::new(),
        many => format!(", p values corrected for {many} rows (Holm)"),
    };
    format!(
        "centre of the ratios within blocks, {} % interval; Wilcoxon signed rank test, {kind}{correction}",
        significant(outcome.options.confidence * 100.0, 6)
    )
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::NoDifferenceProven => "no difference proven",
    }
}

fn verdict_key(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::NoDifferenceProven => "no-difference-proven",
    }
}

fn signed_percent(part: f64) -> String {
    format!("{:+.2} %", part * 100.0)
}

fn bounds(change: &Interval) -> String {
    if change.low.is_finite() {
        format!(
            "{:+.2} to {:+.2} %",
            change.low * 100.0,
            change.high * 100.0
        )
    } else {
        "too few runs".into()
    }
}

/// Names whose values differ between the two states, but for those that always move.
fn differing(environments: &[Environment; 2]) -> Vec<String> {
    let [before, after] = environments;
    let names = before
        .keys()
        .chain(after.keys().filter(|name| !before.contains_key(*name)));
    let differ = names.filter(|name| *name != "load" && before.get(*name) != after.get(*name));
    differ.cloned().collect()
}

/// `fairlab-results/1`, with the comparison under a key of its own.
fn to_json(report: &Report<'_>) -> Result<Value> {
    let [before, after] = report.environments;
    let differing = differing(report.environments);
    let mut common = before.clone();
    common.retain(|name, _| !differing.contains(name));
    if let Some(load) = &report.load_at_end {
        common.insert("load_at_end".into(), load.clone());
    }
    let series = [Side::Before, Side::After].map(|side| {
        let rows = report.outcome.rows.iter().map(|row| {
            let values = row.values[side.index()].clone();
            Row::new(row.name.clone(), row.unit.clone(), Some(row.better), values)
        });
        let mut own = [before, after][side.index()].clone();
        own.retain(|name, _| differing.contains(name));
        let hook = [&report.hooks.before, &report.hooks.after][side.index()];
        if let Some(hook) = hook {
            own.insert("hook".into(), hook.clone().into());
        }
        Series {
            name: side.name().into(),
            command: match &report.lines[side.index()] {
                CommandLine::Words(words) => words.clone(),
                CommandLine::Shell(text) => vec![text.clone()],
            },
            environment: own,
            rows: rows.collect(),
        }
    });
    let results = Results {
        tool: report.tool.into(),
        command: std::env::args().collect(),
        environment: common,
        series: series.into(),
    };
    let mut value: Value = serde_json::from_str(&fairlab_results::to_json(&results))?;
    if let Some(map) = value.as_object_mut() {
        map.insert("comparison".into(), comparison(report.outcome));
    }
    Ok(value)
}

fn comparison(outcome: &AbOutcome) -> Value {
    let options = &outcome.options;
    let interval = |interval: &Interval| json!({"estimate": interval.estimate, "low": interval.low, "high": interval.high});
    let rows = outcome.rows.iter().map(|row| {
        json!({
            "row": row.name,
            "change": row.change.as_ref().map(interval),
            "p_value": row.p_value,
            "adjusted_p_value": row.adjusted_p_value,
            "is_exact": row.is_exact,
            "verdict": verdict_key(row.verdict),
            "drift": row.drift.map(|drift| json!({"change": drift.change, "p_value": drift.p_value})),
            "outliers": {"before": row.outliers[0], "after": row.outliers[1]},
        })
    });
    let stop = match outcome.stop {
        StopReason::NarrowEnough => "narrow-enough",
        StopReason::Runs => "runs",
        StopReason::Time => "time",
        StopReason::Interrupted => "interrupted",
    };
    let firsts: Vec<&str> = outcome.firsts.iter().map(|side| side.name()).collect();
    json!({
        "test": "Wilcoxon signed rank on log ratios within blocks",
        "confidence": options.confidence,
        "until": options.until,
        "expected_half_width": outcome.half_width,
        "stopped_by": stop,
        "order_seed": options.seed,
        "first_in_block": firsts,
        "warm_ups": options.warm_ups,
        "seconds": outcome.elapsed.as_secs_f64(),
        "left_out": outcome.incomplete,
        "rows": rows.collect::<Vec<_>>(),
    })
}
