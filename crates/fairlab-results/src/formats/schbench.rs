//! schbench: percentiles of latencies, and of requests per second.
//!
//! ```text
//! Wakeup Latencies percentiles (usec) runtime 30 (s) (41567569 total samples)
//!           50.0th: 11         (10767158 samples)
//!         * 99.0th: 36         (3347363 samples)
//!           min=1, max=731
//! average rps: 1442889.23
//!
//! Latency percentiles (usec)                      the old form
//!         50.0000th: 22
//!         *99.0000th: 981
//!         min=0, max=29497
//! ```

use fairlab_stats::Direction::{HigherIsBetter, LowerIsBetter};

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::{after, loose, number};
use crate::text::Line;

/// Reads one block of percentiles, or the line with the mean.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?;
    if let Some(measure) = average(first) {
        return Some(Found::new(Format::Schbench, 1, vec![measure]));
    }
    if let Some(measures) = delays(first) {
        return Some(Found::new(Format::Schbench, 1, measures));
    }
    let heading = Heading::of(first.trimmed())?;
    let mut measures = Vec::new();
    let mut taken = 1;
    for (at, line) in lines.iter().enumerate().skip(1) {
        if line.is_blank() && measures.is_empty() && at < 3 {
            continue;
        }
        let found = percentile(line, &heading).or_else(|| extremes(line, &heading));
        match found {
            Some(found) => measures.extend(found),
            None => break,
        }
        taken = at + 1;
    }
    if measures.is_empty() {
        return None;
    }
    if is_interim(first.trimmed(), &heading, &lines[taken..]) {
        return Some(Found::talk(Format::Schbench, taken));
    }
    Some(Found::new(Format::Schbench, taken, measures))
}

/// Is it a report on the way (`-i`)? The next block of its kind is then of the same run, which has
/// run for longer and counts these samples again.
fn is_interim(heading: &str, kind: &Heading, rest: &[Line]) -> bool {
    let next = rest
        .iter()
        .map(Line::trimmed)
        .find(|text| Heading::of(text).is_some_and(|next| next.name == kind.name));
    match (runtime(heading), next.and_then(runtime)) {
        (Some(now), Some(later)) => later > now,
        _ => false,
    }
}

/// 30 of `... percentiles (usec) runtime 30 (s) (41567569 total samples)`.
fn runtime(heading: &str) -> Option<u64> {
    let (_, rest) = heading.split_once(" runtime ")?;
    rest.split_whitespace().next()?.parse().ok()
}

/// `sched delay: message 12 (usec) worker 34 (usec)`; a rate on the way says nothing at the end.
fn delays(line: &Line) -> Option<Vec<Measure>> {
    let text = line.trimmed();
    if text.starts_with("current rps: ")
        || text.starts_with("final rps goal was ")
        || text.starts_with("setting rps goal ")
    {
        return Some(Vec::new());
    }
    let words: Vec<&str> = text
        .strip_prefix("sched delay: ")?
        .split_whitespace()
        .collect();
    let ["message", message, "(usec)", "worker", worker, "(usec)"] = words.as_slice() else {
        return None;
    };
    let row = |what: &str, value: &str| {
        let name = format!("sched delay {what}");
        let better = Some(LowerIsBetter);
        Some(Measure::value(
            line.number,
            name,
            "us",
            better,
            number(value)?,
        ))
    };
    Some(vec![row("message", message)?, row("worker", worker)?])
}

/// What a block is about.
struct Heading {
    /// `wakeup`, `request`, `rps`; `latency` in the old form.
    name: String,
    unit: &'static str,
    is_rate: bool,
}

impl Heading {
    fn of(text: &str) -> Option<Self> {
        let at = text.find("ercentiles (")?;
        let unit = text[at..].split_once('(')?.1.split_once(')')?.0;
        let before = text[..at].to_lowercase();
        let first = before.split_whitespace().next()?;
        if !matches!(first, "wakeup" | "request" | "rps" | "latency" | "sched") {
            return None;
        }
        let is_rate = first == "rps";
        Some(Self {
            name: first.to_owned(),
            unit: match unit {
                "usec" | "us" => "us",
                "msec" | "ms" => "ms",
                "nsec" | "ns" => "ns",
                _ if is_rate => "requests/s",
                _ => "",
            },
            is_rate,
        })
    }

    fn measure(&self, line: &Line, what: &str, value: f64) -> Measure {
        let better = if self.is_rate {
            HigherIsBetter
        } else {
            LowerIsBetter
        };
        Measure::value(
            line.number,
            format!("{} {what}", self.name),
            self.unit,
            Some(better),
            value,
        )
    }
}

/// `* 99.0th: 36 (3347363 samples)`
fn percentile(line: &Line, heading: &Heading) -> Option<Vec<Measure>> {
    let text = line.trimmed().trim_start_matches('*').trim_start();
    let (name, rest) = text.split_once("th:")?;
    number(name)?;
    let value = loose(rest.split_whitespace().next()?)?.value;
    // 50.0000th and 50.0th are the same row.
    let short = format!("{}th", short_percentile(name));
    Some(vec![heading.measure(line, &short, value)])
}

/// One digit after the point, unless more of them say something: `99.9900` is `99.99`.
fn short_percentile(name: &str) -> String {
    match name.split_once('.') {
        Some((whole, fraction)) => {
            let digits = fraction.trim_end_matches('0');
            format!("{whole}.{}", if digits.is_empty() { "0" } else { digits })
        }
        None => format!("{name}.0"),
    }
}

/// `min=1, max=731`
fn extremes(line: &Line, heading: &Heading) -> Option<Vec<Measure>> {
    let rest = line.trimmed().strip_prefix("min=")?;
    let (min, rest) = rest.split_once(',')?;
    let max = rest.trim_start().strip_prefix("max=")?;
    let max = loose(max.split_whitespace().next()?)?.value;
    Some(vec![
        heading.measure(line, "min", loose(min)?.value),
        heading.measure(line, "max", max),
    ])
}

/// `average rps: 9415.98`, also with a remark behind it.
fn average(line: &Line) -> Option<Measure> {
    let rest = after(&line.text, "average rps:")?;
    let value = loose(rest.split_whitespace().next()?)?.value;
    Some(Measure::value(
        line.number,
        "average rps",
        "requests/s",
        Some(HigherIsBetter),
        value,
    ))
}
