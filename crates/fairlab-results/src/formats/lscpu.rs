//! lscpu: `Thread(s) per core:                 8`.

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::{number, with_suffix};
use crate::text::Line;

/// Reads from `Architecture:` to the first line that is no pair.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    if !lines.first()?.trimmed().starts_with("Architecture:") {
        return None;
    }
    let mut measures = Vec::new();
    let mut taken = 0;
    for (at, line) in lines.iter().enumerate() {
        let Some((name, value)) = line.trimmed().split_once(':') else {
            break;
        };
        let (name, value) = (name.trim(), value.trim());
        taken = at + 1;
        let words: Vec<&str> = value.split_whitespace().collect();
        let found = match words.as_slice() {
            [single] => number(single).map(|value| (value, "")),
            [
                value,
                unit @ ("KiB" | "MiB" | "GiB" | "kB" | "K" | "MHz"),
                ..,
            ] => number(value).map(|value| (value, *unit)),
            _ => None,
        };
        if let Some((value, unit)) = found {
            measures.push(Measure::value(line.number, name, unit, None, value));
        } else if let Some(count) = words
            .first()
            .filter(|_| name.ends_with("CPU(s)"))
            .and_then(|list| cpus(list))
        {
            measures.push(Measure::value(
                line.number,
                format!("{name} count"),
                "",
                None,
                count,
            ));
        } else if let Some(value) = words
            .first()
            .and_then(|word| with_suffix(word))
            .filter(|(_, unit)| matches!(*unit, "K" | "M" | "G"))
        {
            measures.push(Measure::value(
                line.number,
                name,
                value.1,
                None,
                value.0.value,
            ));
        }
    }
    Some(Found::new(Format::Lscpu, taken, measures))
}

/// How many CPUs a list like `0-7,32-39` names.
fn cpus(list: &str) -> Option<f64> {
    list.split(',').try_fold(0.0, |sum, range| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (from, to) = (from.parse::<u32>().ok()?, to.parse::<u32>().ok()?);
        (from <= to).then(|| sum + f64::from(to - from) + 1.0)
    })
}
