//! `perf bench`: `# Running sched/pipe benchmark...`, then times and rates.

use fairlab_stats::Direction::{HigherIsBetter, LowerIsBetter};

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::{after, loose, number};
use crate::text::Line;

/// Reads one benchmark, up to the next or to what is not a line of it.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let name = running(lines.first()?.trimmed())?;
    let mut measures = Vec::new();
    let mut taken = 1;
    for (at, line) in lines.iter().enumerate().skip(1) {
        let text = line.trimmed();
        if text.is_empty() {
            continue;
        }
        if text.starts_with('#') {
            let is_next = running(text).is_some() || !measures.is_empty();
            if is_next || !is_talk(text) {
                break;
            }
        } else if let Some(found) = figure(line, &name) {
            measures.push(found);
        } else {
            break;
        }
        taken = at + 1;
    }
    Some(Found::new(Format::PerfBench, taken, measures))
}

/// `sched/pipe` of `# Running 'sched/pipe' benchmark:`
fn running(text: &str) -> Option<String> {
    let rest = after(text.strip_prefix('#')?, "Running ")?;
    let name = rest
        .split_whitespace()
        .next()?
        .trim_matches(['\'', '"', '`']);
    (name.contains('/') && rest.contains("benchmark")).then(|| name.to_owned())
}

/// What a benchmark says about itself: `# 20 sender and receiver processes per group`.
fn is_talk(text: &str) -> bool {
    let rest = text.trim_start_matches('#').trim_start();
    rest.starts_with(|c: char| c.is_ascii_digit())
        || [
            "Executed",
            "Run summary",
            "Copying",
            "[",
            "Number",
            "Summary",
        ]
        .iter()
        .any(|word| rest.starts_with(word))
}

fn figure(line: &Line, name: &str) -> Option<Measure> {
    let text = line.trimmed();
    let measure = |what: &str, unit: &str, better, value| {
        Some(Measure::value(
            line.number,
            format!("{name} {what}"),
            unit,
            Some(better),
            value,
        ))
    };
    if let Some(rest) = after(text, "Total time:") {
        let mut words = rest.split_whitespace();
        let value = loose(words.next()?)?.value;
        let unit = words.next().map_or("s", |unit| match unit {
            "[msec]" | "msec" => "ms",
            "[usec]" | "usec" => "us",
            _ => "s",
        });
        return measure("total time", unit, LowerIsBetter, value);
    }
    let mut words = text.split_whitespace();
    let value = number(words.next()?)?;
    let unit = words.next()?;
    match unit {
        "usecs/op" => measure("usecs/op", "us", LowerIsBetter, value),
        "nsecs/op" => measure("nsecs/op", "ns", LowerIsBetter, value),
        "msecs/op" => measure("msecs/op", "ms", LowerIsBetter, value),
        "ops/sec" | "operations/sec" => measure("ops/sec", "ops/s", HigherIsBetter, value),
        "GB/sec" | "MB/sec" | "KB/sec" => measure(
            "bandwidth",
            &unit.replace("sec", "s"),
            HigherIsBetter,
            value,
        ),
        _ => None,
    }
}
