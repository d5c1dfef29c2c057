//! The time that a command took: `time` of shells, GNU time, kernbench.

use fairlab_stats::Direction::{self, HigherIsBetter, LowerIsBetter};

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::model::{Data, Figures};
use crate::number::{loose, number};
use crate::text::Line;

/// Reads one line.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let line = lines.first()?;
    let measures = shell(line)
        .or_else(|| gnu(line))
        .or_else(|| zsh(line))
        .or_else(|| verbose(line))
        .or_else(|| kernbench(line))?;
    Some(Found::new(Format::Time, 1, measures))
}

fn measure(line: &Line, name: &str, unit: &str, value: f64) -> Measure {
    Measure::value(line.number, name, unit, Some(LowerIsBetter), value)
}

/// `real    0m1.234s`, `real 1.23`
fn shell(line: &Line) -> Option<Vec<Measure>> {
    let words = line.words();
    let [name @ ("real" | "user" | "sys"), value] = words.as_slice() else {
        return None;
    };
    Some(vec![measure(line, name, "s", seconds(value)?)])
}

/// Seconds in `1.23`, `1m2.3s`, `1h2m3.4s`, `0:01.23`, `1:02:03`.
fn seconds(text: &str) -> Option<f64> {
    if text.contains(':') {
        let mut sum = 0.0;
        for part in text.split(':') {
            sum = sum * 60.0 + number(part)?;
        }
        return Some(sum);
    }
    let mut sum = 0.0;
    let mut rest = text.trim_end_matches('s');
    for (unit, scale) in [('h', 3600.0), ('m', 60.0)] {
        if let Some((value, behind)) = rest.split_once(unit) {
            sum += number(value)? * scale;
            rest = behind;
        }
    }
    if !rest.is_empty() {
        sum += number(rest)?;
    }
    Some(sum)
}

/// `0.01user 0.00system 0:00.01elapsed 98%CPU (0avgtext+0avgdata 1234maxresident)k`
fn gnu(line: &Line) -> Option<Vec<Measure>> {
    let words = line.words();
    if words.len() == 2
        && words
            .iter()
            .all(|w| w.contains("inputs+") || w.contains("pagefaults"))
    {
        return Some(Vec::new());
    }
    let [user, system, elapsed, ..] = words.as_slice() else {
        return None;
    };
    Some(vec![
        measure(line, "user", "s", number(user.strip_suffix("user")?)?),
        measure(line, "sys", "s", number(system.strip_suffix("system")?)?),
        measure(
            line,
            "real",
            "s",
            seconds(elapsed.strip_suffix("elapsed")?)?,
        ),
    ])
}

/// `make -j8  10.1s user 2.3s system 98% cpu 1:02.34 total`
fn zsh(line: &Line) -> Option<Vec<Measure>> {
    let words = line.words();
    let (tail, _) = (words.len().checked_sub(8)?, ());
    let [user, "user", system, "system", _, "cpu", total, "total"] = words.get(tail..)? else {
        return None;
    };
    Some(vec![
        measure(line, "user", "s", seconds(user)?),
        measure(line, "sys", "s", seconds(system)?),
        measure(line, "real", "s", seconds(total)?),
    ])
}

/// Lines of `time -v`.
fn verbose(line: &Line) -> Option<Vec<Measure>> {
    const NAMES: [(&str, &str, &str); 7] = [
        ("User time (seconds)", "user", "s"),
        ("System time (seconds)", "sys", "s"),
        ("Maximum resident set size (kbytes)", "max resident", "kB"),
        (
            "Voluntary context switches",
            "voluntary context switches",
            "",
        ),
        (
            "Involuntary context switches",
            "involuntary context switches",
            "",
        ),
        ("Minor (reclaiming a frame) page faults", "minor faults", ""),
        ("Major (requiring I/O) page faults", "major faults", ""),
    ];
    let text = line.trimmed();
    if let Some(rest) = text.strip_prefix("Elapsed (wall clock) time (h:mm:ss or m:ss):") {
        return Some(vec![measure(line, "real", "s", seconds(rest.trim())?)]);
    }
    let (label, rest) = text.rsplit_once(": ")?;
    let (_, name, unit) = NAMES.iter().find(|(known, _, _)| *known == label)?;
    Some(vec![measure(line, name, unit, number(rest.trim())?)])
}

/// `Elapsed Time 100.1 (1.2)`, with the standard deviation.
fn kernbench(line: &Line) -> Option<Vec<Measure>> {
    const NAMES: [&str; 6] = [
        "Elapsed Time",
        "User Time",
        "System Time",
        "Percent CPU",
        "Context Switches",
        "Sleeps",
    ];
    let text = line.trimmed();
    if text.starts_with("Average ") && text.ends_with("Run (std deviation):") {
        return Some(Vec::new());
    }
    let name = *NAMES.iter().find(|name| text.starts_with(**name))?;
    let words: Vec<&str> = text.strip_prefix(name)?.split_whitespace().collect();
    let [value, deviation] = words.as_slice() else {
        return None;
    };
    let (unit, better): (_, Option<Direction>) = match name {
        "Percent CPU" => ("%", Some(HigherIsBetter)),
        "Context Switches" | "Sleeps" => ("", None),
        _ => ("s", Some(LowerIsBetter)),
    };
    let data = Data::Figures(Figures {
        mean: Some(number(value)?),
        stddev: Some(loose(deviation)?.value),
        ..Figures::default()
    });
    Some(vec![Measure {
        data,
        ..Measure::value(line.number, name, unit, better, 0.0)
    }])
}
