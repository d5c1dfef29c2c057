//! Lines of lmbench's programs: `Process fork+exit: 294.4118 microseconds`, and the ones without
//! words, which begin with a quote mark for gnuplot:
//!
//! ```text
//! "size=16k ovr=4.77
//! 2 3.80
//! 4 13.49
//! ```

use fairlab_stats::Direction::{HigherIsBetter, LowerIsBetter};

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::{number, printed};
use crate::text::Line;

/// Reads one line, or a list of sizes or processes.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let line = lines.first()?;
    if let Some(found) = contexts(lines)
        .or_else(|| memory(lines))
        .or_else(|| files(lines))
    {
        return Some(found);
    }
    let measure = latency(line)
        .or_else(|| bandwidth(line))
        .or_else(|| of_size(line))
        .or_else(|| clock(line))?;
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

/// `0.065536 123.45 MB/sec` of bw_tcp.
fn of_size(line: &Line) -> Option<Measure> {
    let words = line.words();
    let [size, value, "MB/sec"] = words.as_slice() else {
        return None;
    };
    number(size)?;
    let name = format!("bandwidth {size} MB");
    Some(Measure::value(
        line.number,
        name,
        "MB/s",
        Some(HigherIsBetter),
        number(value)?,
    ))
}

/// `3004 MHz, 0.3329 nanosec clock`
fn clock(line: &Line) -> Option<Measure> {
    let words = line.words();
    let [value, "MHz,", _, "nanosec", "clock"] = words.as_slice() else {
        return None;
    };
    Some(Measure::value(
        line.number,
        "clock",
        "MHz",
        None,
        number(value)?,
    ))
}

/// Lines of two numbers from `from` on, as rows called by `name` of the first.
fn pairs(lines: &[Line], from: usize, unit: &str, name: impl Fn(&str) -> String) -> Option<Found> {
    let mut measures = Vec::new();
    for line in &lines[from..] {
        let words = line.words();
        let [first, value] = words.as_slice() else {
            break;
        };
        let (Some(_), Some(value)) = (number(first), number(value)) else {
            break;
        };
        let better = Some(LowerIsBetter);
        measures.push(Measure::value(
            line.number,
            name(first),
            unit,
            better,
            value,
        ));
    }
    let taken = from + measures.len();
    (!measures.is_empty()).then(|| Found::new(Format::Lmbench, taken, measures))
}

/// lat_ctx: `"size=16k ovr=4.77`, then processes and microseconds per switch.
fn contexts(lines: &[Line]) -> Option<Found> {
    let rest = lines.first()?.trimmed().strip_prefix("\"size=")?;
    let (size, overhead) = rest.split_once(" ovr=")?;
    number(overhead)?;
    pairs(lines, 1, "us", |processes| {
        format!("lat_ctx {processes}p/{}", size.to_uppercase())
    })
}

/// lat_mem_rd: `"stride=64`, then megabytes and nanoseconds per load.
fn memory(lines: &[Line]) -> Option<Found> {
    let stride = lines.first()?.trimmed().strip_prefix("\"stride=")?;
    number(stride)?;
    pairs(lines, 1, "ns", |size| {
        format!("lat_mem_rd stride {stride} size {size} MB")
    })
}

/// lat_fs: `4k   377   4208   30361`, size, files, files created and deleted in a second; four sizes.
fn files(lines: &[Line]) -> Option<Found> {
    const SIZES: [&str; 4] = ["0k", "1k", "4k", "10k"];
    let mut measures = Vec::new();
    for (line, size) in lines.iter().zip(SIZES) {
        let words = line.words();
        let [own, _, created, deleted] = words.as_slice() else {
            return None;
        };
        if *own != size {
            return None;
        }
        for (what, value) in [("creations", created), ("deletions", deleted)] {
            let name = format!("lat_fs {size} {what}");
            let better = Some(HigherIsBetter);
            measures.push(Measure::value(
                line.number,
                name,
                "1/s",
                better,
                number(value)?,
            ));
        }
    }
    (measures.len() == 2 * SIZES.len()).then(|| Found::new(Format::Lmbench, SIZES.len(), measures))
}
