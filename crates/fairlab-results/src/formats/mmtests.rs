//! Compare tables of mmtests, with one column per kernel:
//!
//! ```text
//!                           5.5.0-rc7              5.5.0-rc7
//!                   tipsched-20200124           kworkerstack
//! Amean     1        22.63 (   0.00%)       20.54 *   9.23%*
//! ```
//!
//! A percentage counts a gain as positive whatever is measured; so it also says which way is better.

use std::collections::BTreeMap;

use fairlab_stats::Direction::{self, HigherIsBetter, LowerIsBetter};

use super::Found;
use crate::document::{Basis, Claim, Measure};
use crate::format::Format;
use crate::model::{Data, Figures};
use crate::number::{Printed, printed};
use crate::text::Line;

/// Reads a table with the lines of names above it.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let start = (0..3).find(|&at| {
        lines
            .get(at)
            .is_some_and(|line| cells(&line.text).is_some())
    })?;
    if lines.get(..start)?.iter().any(Line::is_blank) {
        return None;
    }
    let (_, first) = cells(&lines.get(start)?.text)?;
    let width = first.len();
    let headings: Vec<Vec<&str>> = lines[..start].iter().map(Line::words).collect();
    if headings.iter().any(|words| words.len() != width) || (start == 0 && width < 2) {
        return None;
    }
    let names = column_names(&headings, width);
    let mut found = Found::new(Format::Mmtests, start, Vec::new());
    let mut rows = Vec::new();
    let mut at = start;
    while let Some(line) = lines.get(at) {
        // A mail program may have put the last columns on lines of their own.
        let mut text = line.text.clone();
        let mut taken = 1;
        while let Some(next) = lines.get(at + taken) {
            let has = cells(&text).map_or(0, |(_, cells)| cells.len());
            let is_rest = cells(&next.text).is_some_and(|(name, _)| name.is_empty());
            if has == 0 || has >= width || !is_rest {
                break;
            }
            text.push(' ');
            text.push_str(next.trimmed());
            taken += 1;
        }
        match cells(&text) {
            Some((name, cells)) if !name.is_empty() && cells.len() <= width => {
                rows.push((line.number, name, cells));
            }
            _ => break,
        }
        at += taken;
    }
    found.lines = at;
    let votes = votes(&rows);
    for (line, name, cells) in rows {
        let metric = name.split_whitespace().next().unwrap_or("");
        let better = direction(metric, votes.get(metric).copied().unwrap_or(0));
        let baseline = cells.first().map(|cell| cell.value);
        for (at, cell) in cells.iter().enumerate() {
            found.measures.push(Measure {
                name: name.clone(),
                column: names.get(at).cloned(),
                unit: String::new(),
                better,
                data: Data::Figures(Figures {
                    mean: Some(cell.value.value),
                    ..Figures::default()
                }),
                line,
            });
            if let (Some(baseline), true) = (baseline, at > 0) {
                found.claims.push(Claim {
                    line,
                    row: name.clone(),
                    stated: cell.percent,
                    from: Basis::Percent(baseline, cell.value),
                });
            }
        }
    }
    (!found.measures.is_empty()).then_some(found)
}

#[derive(Clone, Copy)]
struct Cell {
    value: Printed,
    percent: Printed,
}

/// The name of a row and its cells, `VALUE ( PCT%)` or `VALUE * PCT%*`, also with a `+-` part.
fn cells(text: &str) -> Option<(String, Vec<Cell>)> {
    let mut cells = Vec::new();
    let mut name: Option<&str> = None;
    let mut rest = text;
    while let Some(end) = rest.find('%') {
        let behind = rest[end + 1..].chars().next();
        if !matches!(behind, Some(')' | '*')) {
            return None;
        }
        let open = rest[..end].rfind(['(', '*'])?;
        let percent = printed(rest[open + 1..end].trim())?;
        let before = rest[..open].trim_end();
        // `VALUE +- SPREAD%` stands before the bracket in some versions.
        let before = before.split(" +- ").next().unwrap_or(before).trim_end();
        let word = before.split_whitespace().next_back()?;
        let value = printed(word)?;
        let left = before[..before.len() - word.len()].trim();
        match name {
            None => name = Some(left),
            Some(_) if !left.is_empty() => return None,
            Some(_) => {}
        }
        cells.push(Cell { value, percent });
        rest = &rest[end + 2..];
    }
    if !rest.trim().is_empty() {
        return None;
    }
    let name: Vec<&str> = name?.split_whitespace().collect();
    Some((name.join(" "), cells))
}

fn column_names(headings: &[Vec<&str>], width: usize) -> Vec<String> {
    let column = |at: usize| -> Vec<&str> {
        headings
            .iter()
            .filter_map(|words| words.get(at).copied())
            .collect()
    };
    let last: Vec<&str> = (0..width)
        .filter_map(|at| column(at).last().copied())
        .collect();
    let mut distinct = last.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let names: Vec<String> = if headings.is_empty() {
        (1..=width).map(|at| format!("column {at}")).collect()
    } else if distinct.len() == width {
        last.iter().map(|name| (*name).to_owned()).collect()
    } else {
        (0..width).map(|at| column(at).join(" ")).collect()
    };
    // Two columns of the same name are still two.
    let mut unique: Vec<String> = Vec::new();
    for name in names {
        let times = unique
            .iter()
            .filter(|other| **other == name || other.starts_with(&format!("{name} (")))
            .count();
        unique.push(if times == 0 {
            name
        } else {
            format!("{name} ({})", times + 1)
        });
    }
    unique
}

/// For each kind of row, how often a larger value was called a gain, minus how often a loss.
fn votes(rows: &[(usize, String, Vec<Cell>)]) -> BTreeMap<String, i64> {
    let mut votes = BTreeMap::new();
    for (_, name, cells) in rows {
        let metric = name.split_whitespace().next().unwrap_or("");
        let vote = votes.entry(metric.to_owned()).or_insert(0);
        let Some(first) = cells.first() else { continue };
        for cell in &cells[1..] {
            let grew = (cell.value.value - first.value.value).signum();
            if cell.percent.value != 0.0 && cell.value.value != first.value.value {
                *vote += (grew * cell.percent.value.signum()) as i64;
            }
        }
    }
    votes
}

fn direction(metric: &str, votes: i64) -> Option<Direction> {
    match (votes, metric) {
        (1.., _) | (0, "Hmean") => Some(HigherIsBetter),
        (..0, _) | (0, "Amean" | "Stddev" | "CoeffVar") => Some(LowerIsBetter),
        _ => None,
    }
}
