//! Lines of `NAME: NUMBER UNIT`, and of several `NAME=NUMBER`.

use fairlab_stats::Direction::{self, HigherIsBetter, LowerIsBetter};

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::{loose, with_suffix};
use crate::text::Line;

/// Reads one line.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let line = lines.first()?;
    let measures = pairs(line).or_else(|| colon(line))?;
    Some(Found::new(Format::KeyValue, 1, measures))
}

/// `type=Shared mode=Uncapped smt=8 lcpu=96 mem=1066409344 kB`: two pairs at least, one of them a
/// number.
fn pairs(line: &Line) -> Option<Vec<Measure>> {
    let words = line.words();
    let is_pair = |word: &&&str| word.split_once('=').is_some_and(|(name, _)| is_name(name));
    let count = words.iter().filter(is_pair).count();
    if count == 0 || count * 2 < words.len() {
        return None;
    }
    let mut measures = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some((name, value)) = word.split_once('=') else {
            continue;
        };
        let value = value.trim_end_matches([',', ';']);
        let Some((value, suffix)) = with_suffix(value) else {
            continue;
        };
        let next = words.get(at + 1).copied().filter(|next| is_unit(next));
        let unit = if suffix.is_empty() {
            next.unwrap_or("")
        } else {
            suffix
        };
        measures.push(Measure::value(
            line.number,
            name,
            unit,
            by_unit(unit),
            value.value,
        ));
    }
    (!measures.is_empty()).then_some(measures)
}

/// `NAME: NUMBER [UNIT]` and nothing else. Names and values may hold colons (`2026:11:30`), so that
/// a colon counts when a blank follows it, where there is such a one.
fn colon(line: &Line) -> Option<Vec<Measure>> {
    let text = line.trimmed();
    if text.contains(": ") {
        return text
            .match_indices(": ")
            .find_map(|(at, _)| named(line.number, &text[..at], &text[at + 1..]));
    }
    let (name, rest) = text.rsplit_once(':')?;
    named(line.number, name, rest)
}

fn named(line: usize, name: &str, rest: &str) -> Option<Vec<Measure>> {
    let name = name.trim().trim_start_matches(['-', '*', '#']).trim();
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (value, unit) = match words.as_slice() {
        [one] => {
            let (value, unit) = with_suffix(one).or_else(|| loose(one).map(|value| (value, "")))?;
            (value, unit.to_owned())
        }
        [value, unit] => (
            loose(value)?,
            unit.trim_matches(['(', ')', '[', ']']).to_owned(),
        ),
        _ => return None,
    };
    if !is_name(name) || name.len() > 60 || !(unit.is_empty() || is_unit(&unit)) {
        return None;
    }
    let better = by_unit(&unit);
    Some(vec![Measure::value(line, name, unit, better, value.value)])
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphabetic() || c == '%' || c == '_')
}

fn is_unit(word: &str) -> bool {
    const UNITS: [&str; 37] = [
        "ns",
        "us",
        "ms",
        "s",
        "sec",
        "secs",
        "seconds",
        "nsec",
        "usec",
        "usecs",
        "msec",
        "microseconds",
        "milliseconds",
        "nanoseconds",
        "B",
        "kB",
        "KB",
        "MB",
        "GB",
        "KiB",
        "MiB",
        "GiB",
        "bytes",
        "%",
        "K",
        "M",
        "G",
        "Hz",
        "MHz",
        "GHz",
        "W",
        "J",
        "cycles",
        "ticks",
        "x",
        "min",
        "MB/s",
    ];
    UNITS.contains(&word.trim_end_matches([',', ';']))
        || word.ends_with("/s")
        || word.ends_with("/sec")
        || word.ends_with("/op")
}

/// Times are better when lower, rates when higher.
pub(super) fn by_unit(unit: &str) -> Option<Direction> {
    if unit.ends_with("/s") || unit.ends_with("/sec") {
        Some(HigherIsBetter)
    } else if matches!(
        unit,
        "ns" | "us"
            | "ms"
            | "s"
            | "sec"
            | "secs"
            | "seconds"
            | "usec"
            | "msec"
            | "nsec"
            | "usecs"
            | "microseconds"
            | "milliseconds"
            | "nanoseconds"
            | "cycles"
            | "ticks"
    ) || unit.ends_with("/op")
    {
        Some(LowerIsBetter)
    } else {
        None
    }
}
