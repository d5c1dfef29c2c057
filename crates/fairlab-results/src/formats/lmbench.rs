//! Lines of lmbench's programs: `Process fork+exit: 294.4118 microseconds`.

use fairlab_stats::Direction::{HigherIsBetter, LowerIsBetter};

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::{number, printed};
use crate::text::Line;

/// Reads one line.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let line = lines.first()?;
    let measure = latency(line).or_else(|| bandwidth(line))?;
    Some(Found::new(Format::Lmbench, 1, vec![measure]))
}

/// `NAME: VALUE microseconds`, and the names of other units.
fn latency(line: &Line) -> Option<Measure> {
    let (name, rest) = line.trimmed().rsplit_once(':')?;
    let mut words = rest.split_whitespace();
    let value = number(words.next()?)?;
    let unit = match words.next()? {
        "microseconds" => "us",
        "nanoseconds" => "ns",
        "milliseconds" => "ms",
        "MB/sec" => {
            return Some(Measure::value(
                line.number,
                name.trim(),
                "MB/s",
                Some(HigherIsBetter),
                value,
            ));
        }
        _ => return None,
    };
    // `Process fork+exit` is `fork+exit` in every table.
    let name = name.trim();
    let name = name.strip_prefix("Process ").unwrap_or(name);
    Some(Measure::value(
        line.number,
        name,
        unit,
        Some(LowerIsBetter),
        value,
    ))
}

/// `Pipe bandwidth: 1234.56 MB/sec` is above; this is `bw_mem`'s `NAME: 1.05 MB in ... `.
fn bandwidth(line: &Line) -> Option<Measure> {
    let text = line.trimmed();
    let (name, rest) = text.split_once(" bandwidth: ")?;
    let mut words = rest.split_whitespace();
    let value = printed(words.next()?)?.value;
    let unit = words.next()?;
    let unit = match unit {
        "MB/sec" | "MB/s" => "MB/s",
        "KB/sec" | "KB/s" => "KB/s",
        "GB/sec" | "GB/s" => "GB/s",
        _ => return None,
    };
    Some(Measure::value(
        line.number,
        format!("{name} bandwidth"),
        unit,
        Some(HigherIsBetter),
        value,
    ))
}
