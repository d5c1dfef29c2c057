//! `fairlab bench ab`, and `--ab`, `--before` and `--after` of the loads.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fairlab_bench::ab::{AbOptions, AbProgress, CommandLine, Commands, Metric, Side, compare};
use fairlab_bench::environment::{self, Environment};
use fairlab_bench::{BenchError, Row};
use fairlab_results::{By, ReadOptions, Results, assemble, from_json, read_bytes};

use super::ab_report::{self, Report};
use crate::cli::{AbArgs, AbMetric, HookArgs, LoadArgs, OutputArgs, RuleArgs};

/// Compares two commands, or one command in two states.
pub fn run(args: &AbArgs, output: &OutputArgs) -> Result<ExitCode> {
    let commands = match args.ab.as_slice() {
        [a, b] => [CommandLine::parse(a), CommandLine::parse(b)],
        _ => {
            if args.hooks.before.is_none() && args.hooks.after.is_none() {
                bail!(
                    "both sides would be the same: give two commands with --ab, or hooks with --before \
                     and --after"
                );
            }
            [0; 2].map(|_| CommandLine::Words(args.command.clone()))
        }
    };
    let metric = match args.metric {
        AbMetric::Wall => Metric::Wall,
        AbMetric::Output => Metric::Output(Box::new(read_any)),
        AbMetric::Number => Metric::Output(Box::new(read_number)),
    };
    run_sides(
        "fairlab bench ab",
        commands,
        metric,
        &args.hooks,
        &args.rule,
        output,
    )
}

/// Compares a load of our own with itself, with two sets of options or in two states. Each run is a
/// process of its own: the same command line, told to be a side.
pub fn run_load(name: &str, args: &LoadArgs, output: &OutputArgs) -> Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let program = program
        .to_str()
        .context("the path of this program is not UTF-8")?;
    let own: Vec<String> = std::env::args().skip(1).collect();
    let (a, b) = match args.ab.as_slice() {
        [a, b] => (a.as_str(), b.as_str()),
        _ => ("", ""),
    };
    let side = |more: &str| {
        let more = more.split_whitespace().map(str::to_owned);
        let mut words = vec![program.to_owned()];
        words.extend(without_comparison(&own));
        words.extend(more.chain(["--as-side".to_owned()]));
        CommandLine::Words(words)
    };
    let metric = Metric::Output(Box::new(read_own));
    let tool = format!("fairlab bench {name}");
    run_sides(
        &tool,
        [side(a), side(b)],
        metric,
        &args.hooks,
        &args.rule,
        output,
    )
}

/// The words of a command line but those of the comparison that would stand in the way of a further
/// option: `--ab` with its two sets.
fn without_comparison(words: &[String]) -> Vec<String> {
    let mut rest = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--ab" {
            words.next();
            words.next();
        } else {
            rest.push(word.clone());
        }
    }
    rest
}

fn run_sides(
    tool: &str,
    lines: [CommandLine; 2],
    metric: Metric,
    hooks: &HookArgs,
    rule: &RuleArgs,
    output: &OutputArgs,
) -> Result<ExitCode> {
    // Before anything runs, so that a wrong suffix does not cost an hour.
    output.format()?;
    let interrupt = Arc::new(AtomicBool::new(false));
    for signal in [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ] {
        signal_hook::flag::register(signal, Arc::clone(&interrupt))
            .context("cannot watch for interrupts")?;
    }
    let options = AbOptions {
        until: rule.until,
        min_blocks: rule.min_runs.min(rule.max_runs),
        max_blocks: rule.max_runs,
        max_time: Duration::from_secs_f64(rule.max_time),
        warm_ups: rule.warm_ups,
        confidence: rule.confidence,
        seed: rule.order_seed,
        row: rule.row.clone(),
    };
    let mut sides = Commands::new(lines.clone(), interrupt);
    sides.hooks = [hooks.before.clone(), hooks.after.clone()];
    sides.restore = hooks.restore.clone();
    sides.metric = metric;
    sides.timeout = Duration::from_secs_f64(rule.timeout);

    let environments = environments(&mut sides)?;
    let progress = ProgressLine::new(options.until);
    let outcome = compare(&options, &mut sides, |state| progress.show(state));
    progress.clear();
    let restored = sides.put_back().context("the system is not as it was");
    let outcome = match (outcome, restored) {
        (Err(error), Err(second)) => {
            crate::output::complain(&second);
            return Err(error.into());
        }
        (outcome, restored) => {
            restored?;
            outcome?
        }
    };
    let load_at_end = environment::record(std::path::Path::new("/")).remove("load");
    let report = Report {
        tool,
        lines: &lines,
        hooks,
        outcome: &outcome,
        environments: &environments,
        load_at_end,
    };
    ab_report::print(&report, output)?;
    Ok(ab_report::exit_code(&outcome, rule.check))
}

/// What is known about the host in the states of before and after.
fn environments(sides: &mut Commands) -> Result<[Environment; 2], BenchError> {
    let mut record = |side| {
        sides.prepare(side)?;
        Ok(environment::record(std::path::Path::new("/")))
    };
    Ok([record(Side::Before)?, record(Side::After)?])
}

/// The rows that a command has printed as `fairlab-results/1`.
fn read_own(text: &str) -> Result<Vec<Row>, String> {
    let results = from_json(text, "its output").map_err(|error| error.to_string())?;
    rows_of(&results)
}

/// The rows that a command has printed in any form that is known.
fn read_any(text: &str) -> Result<Vec<Row>, String> {
    let document = read_bytes(text.as_bytes(), "its output", &ReadOptions::default());
    let document = document.map_err(|error| error.to_string())?;
    rows_of(&assemble(&[document], By::Auto))
}

/// One row for each of one series whose direction is known.
fn rows_of(results: &Results) -> Result<Vec<Row>, String> {
    let [series] = results.series.as_slice() else {
        return Err(match results.series.len() {
            0 => "`fairlab stats` would not find any in it either".into(),
            many => format!("it shows {many} variants where one is wanted"),
        });
    };
    let rows = series.rows.iter().filter_map(|row| {
        // Several runs of one command are one value: their mean.
        let value = row.data.figures().center()?;
        Some(Row {
            name: row.full_name(),
            unit: row.unit.clone(),
            // A verdict on a row that nobody knows how to read would be a guess.
            better: row.better?,
            value,
        })
    });
    let rows: Vec<Row> = rows.collect();
    if rows.is_empty() {
        return Err("there is no row of which it is known whether more is better".into());
    }
    Ok(rows)
}

/// The one number that a command has printed.
fn read_number(text: &str) -> Result<Vec<Row>, String> {
    let mut words = text.split_whitespace();
    let (Some(word), None) = (words.next(), words.next()) else {
        let start: String = text.trim().chars().take(40).collect();
        return Err(format!(
            "one number is wanted, and nothing else, but it printed '{start}'"
        ));
    };
    match word.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(vec![Row::lower("value", "", value)]),
        _ => Err(format!("'{word}' is not a number, like 12.5")),
    }
}

/// How far it is, on a terminal.
struct ProgressLine {
    until: f64,
    is_wanted: bool,
}

impl ProgressLine {
    fn new(until: f64) -> Self {
        Self {
            until,
            is_wanted: std::io::stderr().is_terminal(),
        }
    }

    fn show(&self, state: AbProgress) {
        if self.is_wanted {
            let width = match state.half_width {
                Some(half) => format!("within {:.2} %", half * 100.0),
                None => "not known yet".into(),
            };
            eprint!(
                "\r\x1b[K{} runs of each, the change is {width} (wanted: {:.2} %)",
                state.blocks,
                self.until * 100.0
            );
        }
    }

    fn clear(&self) {
        if self.is_wanted {
            eprint!("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sets_of_options_are_not_handed_on() {
        let words = ["bench", "pipe", "--ab", "-T", "", "-l", "5"].map(str::to_owned);
        assert_eq!(without_comparison(&words), ["bench", "pipe", "-l", "5"]);
    }

    #[test]
    fn a_number_is_one_word() {
        assert_eq!(read_number(" 12.5\n").unwrap()[0].value, 12.5);
        for text in ["", "12,5", "1 2", "inf", "time 3"] {
            assert!(read_number(text).is_err(), "{text}");
        }
    }

    #[test]
    fn results_of_our_own_are_rows() {
        let text = r#"{"format": "fairlab-results/1", "series": [{"name": "", "rows":
            [{"row": "p99", "unit": "us", "better": "lower", "values": [1, 3]}]}]}"#;
        for rows in [read_own(text), read_any(text)] {
            assert_eq!(rows.unwrap(), [Row::lower("p99", "us", 2.0)]);
        }
        assert!(read_own("hello").is_err() && read_any("hello").is_err());
    }

    #[test]
    fn the_outputs_of_tools_are_rows() {
        let hackbench = "Running in process mode with 1 groups using 40 file descriptors each (== 40 tasks)\n\
                         Each sender will pass 100 messages of 100 bytes\nTime: 0.048\n";
        let rows = read_any(hackbench).unwrap();
        assert!(rows.iter().any(|row| row.value == 0.048), "{rows:?}");
    }
}
