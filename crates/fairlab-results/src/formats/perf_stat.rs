//! `perf stat`: for people (with `-r`: `( +-  1.23% )`, with `-A`: a CPU first) and with `-x`.

use fairlab_stats::Direction::{self, HigherIsBetter, LowerIsBetter};

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::model::{Data, Figures};
use crate::number::{loose, number};
use crate::text::Line;

/// Reads from `Performance counter stats for` to the elapsed time, or lines of `-x`.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    if lines
        .first()?
        .trimmed()
        .starts_with("Performance counter stats for")
    {
        return counters(lines);
    }
    separated(lines)
}

fn counters(lines: &[Line]) -> Option<Found> {
    let runs = runs(lines.first()?.trimmed());
    let mut measures = Vec::new();
    let mut taken = 1;
    for (at, line) in lines.iter().enumerate().skip(1) {
        let text = line.trimmed();
        if text.is_empty() {
            continue;
        }
        let Some(found) = counter(line, runs) else {
            break;
        };
        measures.extend(found);
        taken = at + 1;
    }
    Some(Found::new(Format::PerfStat, taken, measures))
}

/// 5 of `... for 'CMD' (5 runs):`
fn runs(heading: &str) -> Option<u64> {
    let (before, _) = heading.rsplit_once(" runs)")?;
    before.rsplit_once('(')?.1.parse().ok()
}

/// `VALUE [unit] NAME  # rate  ( +- 1.2% )  (50.0%)`; a line that is understood and says nothing
/// gives an empty list.
fn counter(line: &Line, runs: Option<u64>) -> Option<Vec<Measure>> {
    let text = line.trimmed();
    let spread = spread(text);
    let (left, rate) = match text.split_once('#') {
        Some((left, rate)) => (left, Some(rate)),
        None => (text, None),
    };
    let left = left.split(" (").next().unwrap_or(left);
    // `1.00125 +- 0.00050 seconds time elapsed`
    let left = match left.split_once("+-") {
        Some((value, rest)) => {
            let rest: Vec<&str> = rest.split_whitespace().skip(1).collect();
            format!("{value} {}", rest.join(" "))
        }
        None => left.to_owned(),
    };
    let mut words = left.split_whitespace().peekable();
    let mut prefix = String::new();
    if let Some(cpu) = words.peek().filter(|word| is_cpu(word)) {
        prefix = format!("{cpu} ");
        words.next();
    }
    let Some(first) = words.next() else {
        // Only a rate, as the derived lines of --topdown are.
        return rate.map(|_| Vec::new());
    };
    if matches!(first, "<not") {
        return Some(Vec::new());
    }
    let value = loose(first)?.value;
    let rest: Vec<&str> = words.collect();
    let (unit, name) = match rest.as_slice() {
        ["seconds", "time", "elapsed", ..] => ("s", "time elapsed".to_owned()),
        ["seconds", what @ ..] if !what.is_empty() => ("s", format!("{} time", what.join(" "))),
        ["msec", name @ ..] => ("ms", name.join(" ")),
        ["Joules", name @ ..] => ("J", name.join(" ")),
        [unit @ ("KiB" | "MiB" | "GiB" | "C"), name @ ..] if !name.is_empty() => {
            (*unit, name.join(" "))
        }
        name if !name.is_empty() && name.len() <= 3 => ("", name.join(" ")),
        _ => return None,
    };
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let better = direction(&name);
    let mut measure = Measure::value(line.number, format!("{prefix}{name}"), unit, better, value);
    if let (Some(percent), Some(n)) = (spread, runs) {
        // perf prints the standard error of the mean.
        let stddev = percent / 100.0 * value.abs() * (n as f64).sqrt();
        measure.data = Data::Figures(Figures {
            n: Some(n),
            mean: Some(value),
            stddev: Some(stddev),
            ..Figures::default()
        });
    }
    Some(vec![measure])
}

fn is_cpu(word: &str) -> bool {
    let digits = word
        .strip_prefix("CPU")
        .or_else(|| word.strip_prefix('S'))
        .unwrap_or("");
    digits.starts_with(|c: char| c.is_ascii_digit())
}

/// 1.23 of `( +-  1.23% )` and of `+- 0.0012 seconds ( +- 1.23% )`.
fn spread(text: &str) -> Option<f64> {
    let (_, rest) = text.rsplit_once("+-")?;
    let word = rest.split_whitespace().next()?;
    word.ends_with('%').then(|| loose(word).map(|p| p.value))?
}

/// Costs are better when lower; counts of work are neither.
fn direction(name: &str) -> Option<Direction> {
    const COSTS: [&str; 12] = [
        "time",
        "cycles",
        "instructions",
        "misses",
        "migrations",
        "switches",
        "faults",
        "stalled",
        "clock",
        "energy",
        "bubbles",
        "bad-spec",
    ];
    if name == "instructions per cycle" {
        return Some(HigherIsBetter);
    }
    COSTS
        .iter()
        .any(|cost| name.contains(cost))
        .then_some(LowerIsBetter)
}

/// Lines of `-x,`: `12.34,msec,task-clock,12340000,100.00,0.9,CPUs utilized`. With `-r` the spread
/// stands as `1.23%` behind the name.
fn separated(lines: &[Line]) -> Option<Found> {
    let mut measures = Vec::new();
    let mut taken = 0;
    for line in lines {
        let Some(measure) = separated_line(line) else {
            break;
        };
        measures.extend(measure);
        taken += 1;
    }
    (taken > 0).then(|| Found::new(Format::PerfStat, taken, measures))
}

fn separated_line(line: &Line) -> Option<Option<Measure>> {
    let text = line.trimmed();
    let separator = [',', ';', ':']
        .into_iter()
        .find(|c| text.matches(*c).count() >= 4)?;
    let mut fields: Vec<&str> = text.split(separator).map(str::trim).collect();
    let mut prefix = String::new();
    if fields.first().is_some_and(|field| is_cpu(field)) {
        prefix = format!("{} ", fields.remove(0));
    }
    let (value, unit, name) = (*fields.first()?, *fields.get(1)?, *fields.get(2)?);
    let is_unit = matches!(
        unit,
        "" | "msec" | "ns" | "Joules" | "MiB" | "KiB" | "seconds"
    );
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && !name.contains(' ')
        && fields[3..].iter().any(|field| number(field).is_some());
    if !is_unit || !is_name {
        return None;
    }
    if value.starts_with("<not") {
        return Some(None);
    }
    let value = number(value)?;
    let unit = match unit {
        "msec" => "ms",
        "Joules" => "J",
        "seconds" => "s",
        other => other,
    };
    Some(Some(Measure::value(
        line.number,
        format!("{prefix}{name}"),
        unit,
        direction(name),
        value,
    )))
}
