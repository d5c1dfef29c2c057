//! `perf sched latency`: one task per line between bars.

use fairlab_stats::Direction::LowerIsBetter;

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::number;
use crate::text::Line;

/// Reads the heading, a rule, the sum, or lines of tasks.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?;
    let text = first.trimmed();
    if text.starts_with("Task ") && text.contains("| Switches |") {
        return Some(Found::talk(Format::PerfSchedLatency, 1));
    }
    if text.starts_with("TOTAL:") && text.contains("ms |") {
        return Some(Found::talk(Format::PerfSchedLatency, 1));
    }
    let mut measures = Vec::new();
    let mut taken = 0;
    for line in lines {
        let Some(found) = task(line) else { break };
        measures.extend(found);
        taken += 1;
    }
    (taken > 0).then(|| Found::new(Format::PerfSchedLatency, taken, measures))
}

/// `netperf:4337 | 21709.193 ms | 2932 | avg: 0.002 ms | max: 0.041 ms | max at: 112.154512 s`
fn task(line: &Line) -> Option<Vec<Measure>> {
    let cells: Vec<&str> = line.trimmed().split('|').map(str::trim).collect();
    if cells.len() < 5 {
        return None;
    }
    // The pid of a task is another one in every run.
    let name = match cells[0].rsplit_once(':') {
        Some((name, pid)) if pid.trim_matches(['(', ')']).parse::<u32>().is_ok() => name,
        _ => cells[0],
    };
    let in_ms = |cell: &str, label: &str| {
        number(cell.strip_prefix(label)?.trim().strip_suffix("ms")?.trim())
    };
    let runtime = in_ms(cells[1], "")?;
    let switches = number(cells[2])?;
    let measure = |what: &str, unit: &str, better, value| {
        Measure::value(line.number, format!("{name} {what}"), unit, better, value)
    };
    let mut measures = vec![
        measure("runtime", "ms", None, runtime),
        measure("switches", "", None, switches),
    ];
    for (cell, label) in [(cells[3], "avg:"), (cells[4], "max:")] {
        let value = in_ms(cell, label)?;
        let what = format!("{} delay", label.trim_end_matches(':'));
        measures.push(measure(&what, "ms", Some(LowerIsBetter), value));
    }
    Some(measures)
}
