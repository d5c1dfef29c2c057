//! /proc/schedstat: a line per CPU and one per scheduling domain; and the names and flags of the
//! domains as they stand in debugfs.

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::number;
use crate::text::Line;

/// The figures of a CPU since version 15.
const CPU: [&str; 9] = [
    "yields",
    "(unused)",
    "schedules",
    "schedules to idle",
    "wakeups",
    "local wakeups",
    "run time",
    "run delay",
    "timeslices",
];

/// Reads a run of lines.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?.trimmed();
    if is_domain_fact(first) {
        let taken = lines
            .iter()
            .take_while(|line| is_domain_fact(line.trimmed()))
            .count();
        return Some(Found::talk(Format::Schedstat, taken));
    }
    let mut cpu = String::new();
    let mut measures = Vec::new();
    let mut taken = 0;
    for (at, line) in lines.iter().enumerate() {
        let words = line.words();
        match words.as_slice() {
            ["version" | "timestamp", value] if number(value).is_some() => {}
            [name, values @ ..] if is_numbered(name, "cpu") && values.len() >= CPU.len() => {
                let values: Vec<f64> = values.iter().map_while(|word| number(word)).collect();
                if values.len() < CPU.len() {
                    break;
                }
                cpu = (*name).to_owned();
                for (what, value) in CPU.iter().zip(values) {
                    let unit = if what.starts_with("run ") { "ns" } else { "" };
                    measures.push(Measure::value(
                        line.number,
                        format!("{name} {what}"),
                        unit,
                        None,
                        value,
                    ));
                }
            }
            [name, rest @ ..] if is_numbered(name, "domain") && !rest.is_empty() => {
                let Some(found) = domain(line.number, &format!("{cpu} {name}"), rest) else {
                    break;
                };
                measures.extend(found);
            }
            _ => break,
        }
        taken = at + 1;
    }
    (taken > 0 && !measures.is_empty()).then(|| Found::new(Format::Schedstat, taken, measures))
}

/// `domain0/name:SMT`, `domain0/flags:SD_...`
fn is_domain_fact(text: &str) -> bool {
    text.split_once('/').is_some_and(|(domain, rest)| {
        is_numbered(domain, "domain") && (rest.starts_with("name:") || rest.starts_with("flags:"))
    })
}

fn is_numbered(word: &str, name: &str) -> bool {
    word.strip_prefix(name)
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// `[NAME] MASK NUMBER...`; since version 17 the name of the domain comes first.
fn domain(line: usize, name: &str, rest: &[&str]) -> Option<Vec<Measure>> {
    let (mask, values) = match rest {
        [name, mask, values @ ..] if name.starts_with(|c: char| c.is_ascii_uppercase()) => {
            (mask, values)
        }
        [mask, values @ ..] => (mask, values),
        [] => return None,
    };
    let cpus = mask.split(',').try_fold(0, |sum, word| {
        u64::from_str_radix(word, 16)
            .ok()
            .map(|bits| sum + bits.count_ones())
    })?;
    let mut measures = vec![Measure::value(
        line,
        format!("{name} CPUs"),
        "",
        None,
        f64::from(cpus),
    )];
    for (at, word) in values.iter().enumerate() {
        let name = format!("{name} field {}", at + 1);
        measures.push(Measure::value(line, name, "", None, number(word)?));
    }
    Some(measures)
}
