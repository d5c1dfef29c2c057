//! The form for people, with and without `-I`.

use super::counter::{Counter, found, is_place, is_uncounted};
use crate::document::Measure;
use crate::formats::Found;
use crate::model::Data;
use crate::number::{loose, number};
use crate::text::Line;

/// Reads from the heading to what is not a line of it.
pub(super) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?.trimmed();
    if is_interval_heading(first) {
        return intervals(lines);
    }
    first
        .starts_with("Performance counter stats for")
        .then(|| counters(lines))
}

/// `#           time             counts unit events`, with `CPU` or others in between.
pub(crate) fn is_interval_heading(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('#') else {
        return false;
    };
    let words: Vec<&str> = rest.split_whitespace().collect();
    words.first() == Some(&"time") && words.ends_with(&["counts", "unit", "events"])
}

/// Lines of `-I`; the heading comes again after a while.
fn intervals(lines: &[Line]) -> Option<Found> {
    let mut all = Vec::new();
    let mut taken = 1;
    for (at, line) in lines.iter().enumerate().skip(1) {
        let text = line.trimmed();
        if text.is_empty() {
            continue;
        }
        if !is_interval_heading(text) {
            let Some(counter) = interval(line) else { break };
            all.extend(counter);
        }
        taken = at + 1;
    }
    (!all.is_empty()).then(|| found(taken, &all, None))
}

/// `0.100164495   1.16 msec task-clock  #  0.012 CPUs utilized`
fn interval(line: &Line) -> Option<Option<Counter>> {
    let (time, rest) = line.trimmed().split_once(char::is_whitespace)?;
    let time = number(time)?;
    let counter = counter(line.number, rest)?;
    Some(counter.map(|counter| Counter {
        interval: Some(time),
        ..counter
    }))
}

fn counters(lines: &[Line]) -> Found {
    let runs = lines.first().and_then(|line| runs(line.trimmed()));
    let mut all = Vec::new();
    let mut taken = 1;
    let mut times: Vec<(usize, f64)> = Vec::new();
    for (at, line) in lines.iter().enumerate().skip(1) {
        let text = line.trimmed();
        if text.is_empty() {
            continue;
        }
        if let Some(time) = individual(text) {
            times.push((line.number, time));
        } else if !matches!(
            text,
            "# Table of individual measurements:" | "# Final result:"
        ) {
            let Some(counter) = counter(line.number, text) else {
                break;
            };
            all.extend(counter);
        }
        taken = at + 1;
    }
    if let Some((line, _)) = times.first() {
        // With --table the runs are there; the mean follows from them.
        all.retain(|counter| counter.name != ELAPSED);
        let mut found = found(taken, &all, runs);
        let values: Vec<f64> = times.iter().map(|(_, time)| *time).collect();
        let better = Some(fairlab_stats::Direction::LowerIsBetter);
        found.measures.push(Measure {
            data: Data::Values(values),
            ..Measure::value(*line, ELAPSED, "s", better, 0.0)
        });
        return found;
    }
    found(taken, &all, runs)
}

const ELAPSED: &str = "time elapsed";

/// 0.0722 of `0.07220 (+0.01226) ####`, a run in the table of `--table`.
fn individual(text: &str) -> Option<f64> {
    let (value, rest) = text.split_once(" (")?;
    let (difference, bar) = rest.split_once(')')?;
    let is_signed = difference.starts_with(['+', '-']) && number(difference).is_some();
    let is_bar = bar.chars().all(|c| matches!(c, '#' | ' '));
    (is_signed && is_bar).then(|| number(value))?
}

/// 5 of `... for 'CMD' (5 runs):`
fn runs(heading: &str) -> Option<u64> {
    let (before, _) = heading.rsplit_once(" runs)")?;
    before.rsplit_once('(')?.1.parse().ok()
}

/// `[PLACE] VALUE [unit] NAME  # rate  ( +- 1.2% )  (50.0%)`; a line that is understood and says
/// nothing gives `Some(None)`.
fn counter(line: usize, text: &str) -> Option<Option<Counter>> {
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
    let mut words: Vec<&str> = left.split_whitespace().collect();
    let mut place = String::new();
    if words.first().is_some_and(|word| is_place(word)) {
        place = format!("{} ", words.remove(0));
        // Behind a socket or core stands how many CPUs it has.
        if let [count, value, ..] = words.as_slice()
            && number(count).is_some()
            && (number(value).is_some() || is_uncounted(value))
        {
            words.remove(0);
        }
    }
    let Some(first) = words.first() else {
        // Only a rate, as the derived lines of --topdown are.
        return rate.map(|_| None);
    };
    let (value, rest) = if is_uncounted(first) {
        (None, words.get(2..)?)
    } else {
        (Some(loose(first)?.value), words.get(1..)?)
    };
    let (unit, name) = match rest {
        ["seconds", "time", "elapsed", ..] => ("seconds", ELAPSED.to_owned()),
        ["seconds", what @ ..] if !what.is_empty() => {
            ("seconds", format!("{} time", what.join(" ")))
        }
        [
            unit @ ("msec" | "Joules" | "KiB" | "MiB" | "GiB" | "C" | "ns"),
            name @ ..,
        ] if !name.is_empty() => (*unit, name.join(" ")),
        name if !name.is_empty() && name.len() <= 3 => ("", name.join(" ")),
        _ => return None,
    };
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    Some(Some(Counter {
        line,
        interval: None,
        name: format!("{place}{name}"),
        unit: unit.to_owned(),
        value,
        spread,
    }))
}

/// 1.23 of `( +-  1.23% )` and of `+- 0.0012 seconds ( +- 1.23% )`.
fn spread(text: &str) -> Option<f64> {
    let (_, rest) = text.rsplit_once("+-")?;
    let word = rest.split_whitespace().next()?;
    word.ends_with('%').then(|| loose(word).map(|p| p.value))?
}
