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
    // `0inputs+0outputs (0major+70minor)pagefaults 0swaps`
    if let [io, faults, swaps] = words.as_slice()
        && io.ends_with("outputs")
        && swaps.ends_with("swaps")
    {
        let (major, minor) = faults
            .strip_prefix('(')?
            .strip_suffix("minor)pagefaults")?
            .split_once("major+")?;
        return Some(vec![
            measure(line, "major faults", "", number(major)?),
            measure(line, "minor faults", "", number(minor)?),
        ]);
    }
    let [user, system, elapsed, rest @ ..] = words.as_slice() else {
        return None;
    };
    let mut measures = vec![
        measure(line, "user", "s", number(user.strip_suffix("user")?)?),
        measure(line, "sys", "s", number(system.strip_suffix("system")?)?),
        measure(
            line,
            "real",
            "s",
            seconds(elapsed.strip_suffix("elapsed")?)?,
        ),
    ];
    for word in rest {
        let resident = word
            .strip_suffix("maxresident)k")
            .and_then(|rest| number(rest.rsplit_once('+').map_or(rest, |(_, last)| last)));
        if let Some(percent) = word.strip_suffix("%CPU").and_then(number) {
            measures.push(Measure::value(line.number, "CPU", "%", None, percent));
        } else if let Some(resident) = resident {
            measures.push(measure(line, "max resident", "kB", resident));
        }
    }
    Some(measures)
}

/// `make -j8  10.1s user 2.3s system 98% cpu 1:02.34 total`
fn zsh(line: &Line) -> Option<Vec<Measure>> {
    let words = line.words();
    let tail = words.len().checked_sub(8)?;
    let [user, "user", system, "system", _, "cpu", total, "total"] = words.get(tail..)? else {
        return None;
    };
    Some(vec![
        measure(line, "user", "s", seconds(user)?),
        measure(line, "sys", "s", seconds(system)?),
        measure(line, "real", "s", seconds(total)?),
    ])
}

/// Lines of `time -v`: label, row, unit, and whether less of it is better.
const VERBOSE: [(&str, &str, &str, bool); 22] = [
    ("User time (seconds)", "user", "s", true),
    ("System time (seconds)", "sys", "s", true),
    ("Percent of CPU this job got", "CPU", "%", false),
    (
        "Elapsed (wall clock) time (h:mm:ss or m:ss)",
        "real",
        "s",
        true,
    ),
    (
        "Average shared text size (kbytes)",
        "average shared text",
        "kB",
        true,
    ),
    (
        "Average unshared data size (kbytes)",
        "average unshared data",
        "kB",
        true,
    ),
    ("Average stack size (kbytes)", "average stack", "kB", true),
    ("Average total size (kbytes)", "average total", "kB", true),
    (
        "Maximum resident set size (kbytes)",
        "max resident",
        "kB",
        true,
    ),
    (
        "Average resident set size (kbytes)",
        "average resident",
        "kB",
        true,
    ),
    (
        "Major (requiring I/O) page faults",
        "major faults",
        "",
        true,
    ),
    (
        "Minor (reclaiming a frame) page faults",
        "minor faults",
        "",
        true,
    ),
    (
        "Voluntary context switches",
        "voluntary context switches",
        "",
        true,
    ),
    (
        "Involuntary context switches",
        "involuntary context switches",
        "",
        true,
    ),
    ("Swaps", "swaps", "", true),
    ("File system inputs", "file system inputs", "", true),
    ("File system outputs", "file system outputs", "", true),
    ("Socket messages sent", "socket messages sent", "", false),
    (
        "Socket messages received",
        "socket messages received",
        "",
        false,
    ),
    ("Signals delivered", "signals delivered", "", false),
    ("Page size (bytes)", "page size", "bytes", false),
    ("Exit status", "exit status", "", false),
];

/// A line of `time -v`.
fn verbose(line: &Line) -> Option<Vec<Measure>> {
    let text = line.trimmed();
    if text.starts_with("Command being timed: ") || text.starts_with("Command exited with ") {
        return Some(Vec::new());
    }
    // The label of the elapsed time holds colons, and so does its value.
    let (label, rest) = text.rsplit_once(": ")?;
    let (_, name, unit, is_cost) = VERBOSE.iter().find(|(known, ..)| *known == label)?;
    let value = match *name {
        "real" => seconds(rest.trim())?,
        "CPU" => number(rest.trim().strip_suffix('%')?)?,
        _ => number(rest.trim())?,
    };
    let better = is_cost.then_some(LowerIsBetter);
    Some(vec![Measure::value(
        line.number,
        *name,
        *unit,
        better,
        value,
    )])
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
