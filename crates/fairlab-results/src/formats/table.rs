//! A line of headings, and lines of as many numbers: what most tools print that have no reader of
//! their own (turbostat, mpstat, vmstat, lparstat and tables made by hand).

use fairlab_stats::Direction::{self, HigherIsBetter, LowerIsBetter};

use super::Found;
use super::pct_table::{is_rule, split_wide};
use crate::document::Measure;
use crate::format::Format;
use crate::labels::is_variant;
use crate::number::loose;
use crate::text::{Line, words_at};

/// Headings of columns that say which row it is.
const IDS: [&str; 12] = [
    "cr", "pk", "CPU", "Core", "Package", "Node", "Die", "core", "cpu", "CORE", "SOCKET", "L3",
];

/// First headings over the names of variants: the rows are what is compared.
const VARIANT_HEADINGS: [&str; 8] = [
    "kernel", "host", "config", "version", "build", "variant", "branch", "patch",
];

/// Reads a table.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let heading = lines.first()?;
    let text = bare(&heading.text);
    let words = words_at(&text);
    let has_letters = |word: &str| word.contains(|c: char| c.is_alphabetic());
    let has_numbers = words.iter().any(|(_, word)| loose(word).is_some());
    if words.len() < 2 || has_numbers || !words.iter().any(|(_, word)| has_letters(word)) {
        return None;
    }
    // A line of prose is no heading: the line below must have numbers, and about as many words.
    let mut start = 1;
    while lines.get(start).is_some_and(|line| is_rule(line.trimmed())) && start < 3 {
        start += 1;
    }
    let mut columns: Vec<(usize, String)> = words
        .iter()
        .map(|(at, word)| (*at, (*word).to_owned()))
        .collect();
    let first = cells(lines.get(start)?)?;
    if first.len() != columns.len() && first.len() + 1 != columns.len() {
        // Headings of several words, two blanks apart.
        let wide = split_wide(&text);
        let places = wide
            .iter()
            .map(|part| text.find(part.as_str()).unwrap_or(0));
        let wide: Vec<(usize, String)> = places.zip(wide.clone()).collect();
        if wide.len() >= 2 && (wide.len() == first.len() || wide.len() + 1 == first.len()) {
            columns = wide;
        }
    }
    let format = kind(&columns);
    let is_known = format != Format::Table;
    let mut rows = Vec::new();
    let mut taken = start;
    for (at, line) in lines.iter().enumerate().skip(start) {
        if is_rule(line.trimmed()) && !line.is_blank() {
            continue;
        }
        let Some(cells) = cells(line) else { break };
        let Some(row) = Row::of(&cells, &columns, is_known) else {
            break;
        };
        rows.push((line.number, row));
        taken = at + 1;
    }
    // Prose over a number or two is not a table.
    let is_enough = rows.iter().map(|(_, row)| row.values.len()).sum::<usize>() >= 2;
    if rows.is_empty() || !(is_enough || is_known) {
        return None;
    }
    let titles: Vec<&str> = columns.iter().map(|(_, name)| name.as_str()).collect();
    let measures = measures(&titles, rows, format);
    Some(Found::new(format, taken, measures))
}

/// Without the bars of a Markdown table.
fn bare(text: &str) -> String {
    if text.trim_start().starts_with('|') {
        text.replace('|', " ")
    } else {
        text.to_owned()
    }
}

/// The words of a line of the table; `None` when none of them is a number.
fn cells(line: &Line) -> Option<Vec<(usize, String)>> {
    let text = bare(&line.text);
    let words: Vec<(usize, String)> = words_at(&text)
        .into_iter()
        .map(|(at, word)| (at, word.to_owned()))
        .collect();
    words
        .iter()
        .any(|(_, word)| loose(word).is_some())
        .then_some(words)
}

struct Row {
    label: String,
    /// Number of the column and value.
    values: Vec<(usize, f64)>,
}

impl Row {
    /// Cells under headings: one for each, or with a label more than headings, or by their place.
    fn of(cells: &[(usize, String)], columns: &[(usize, String)], is_known: bool) -> Option<Self> {
        let value = |cell: &str| match cell {
            "-" | "n/a" | "N/A" | "nan" | "--" => Some(None),
            _ => loose(cell).map(|printed| Some(printed.value)),
        };
        // The words before the numbers are the label.
        let labels = cells
            .iter()
            .take_while(|(_, cell)| value(cell).is_none())
            .count();
        let label = cells[..labels]
            .iter()
            .map(|(_, cell)| cell.as_str())
            .collect::<Vec<_>>()
            .join(" ");
        let numbers = &cells[labels..];
        let values: Vec<Option<f64>> = numbers
            .iter()
            .map(|(_, cell)| value(cell))
            .collect::<Option<_>>()?;
        let label = label.trim_end_matches(':').to_owned();
        let offset = match (columns.len().checked_sub(numbers.len()), labels) {
            // The labels have a heading, or not.
            (Some(offset), 1..) if offset <= labels => offset,
            (Some(0), 0) => 0,
            (Some(_), 0) if is_known => {
                let values = numbers
                    .iter()
                    .zip(values)
                    .filter_map(|((at, cell), value)| Some((nearest(*at, cell, columns), value?)));
                return Some(Self {
                    label,
                    values: values.collect(),
                });
            }
            _ => return None,
        };
        let values = values
            .into_iter()
            .enumerate()
            .filter_map(|(at, value)| Some((at + offset, value?)));
        Some(Self {
            label,
            values: values.collect(),
        })
    }
}

/// The column whose heading ends nearest to where the cell ends.
fn nearest(at: usize, cell: &str, columns: &[(usize, String)]) -> usize {
    let end = at + cell.chars().count();
    let distance = |column: &(usize, String)| (column.0 + column.1.chars().count()).abs_diff(end);
    (0..columns.len())
        .min_by_key(|column| distance(&columns[*column]))
        .unwrap_or(0)
}

fn measures(titles: &[&str], rows: Vec<(usize, Row)>, format: Format) -> Vec<Measure> {
    let first = titles
        .first()
        .map_or(String::new(), |title| title.to_lowercase());
    let first = first.trim_start_matches(['%', '#']).trim_end_matches(':');
    let rows_are_variants = VARIANT_HEADINGS.contains(&first) || format == Format::Lparstat;
    let columns_are_variants = !rows_are_variants
        && format == Format::Table
        && titles.iter().any(|title| is_variant(title));
    let has_one_row = rows.len() == 1;
    let mut measures = Vec::new();
    for (line, row) in rows {
        let mut ids = Vec::new();
        let mut label = row.label.clone();
        let is_id = |at: usize| {
            titles.get(at).is_some_and(|title| IDS.contains(title))
                || (columns_are_variants
                    && at == 0
                    && row.label.is_empty()
                    && !is_variant(titles[0]))
                || (format == Format::Table
                    && at == 0
                    && row.label.is_empty()
                    && is_load(titles[0]))
        };
        for (at, value) in &row.values {
            if is_id(*at) {
                ids.push(format!("{} {value}", titles[*at].trim_end_matches(':')));
            }
        }
        if label.is_empty() && ids.is_empty() && titles.iter().any(|title| IDS.contains(title)) {
            label = "all".to_owned();
        }
        ids.extend((!label.is_empty()).then(|| label.clone()));
        let name = ids.join(" ");
        for (at, value) in row.values.iter().filter(|(at, _)| !is_id(*at)) {
            let title = titles.get(*at).copied().unwrap_or("");
            let measure = |name: String| Measure::value(line, name, "", direction(title), *value);
            measures.push(if rows_are_variants && !name.is_empty() {
                measure(title.to_owned()).in_column(name.clone())
            } else if columns_are_variants {
                let row = if name.is_empty() {
                    "value".to_owned()
                } else {
                    name.clone()
                };
                Measure {
                    better: None,
                    ..measure(row)
                }
                .in_column(title.trim_end_matches(':'))
            } else if name.is_empty() || (has_one_row && label.is_empty() && ids.is_empty()) {
                measure(title.to_owned())
            } else {
                measure(format!("{name} {title}"))
            });
        }
    }
    measures
}

/// Is this the heading over numbers of clients, threads and the like?
fn is_load(title: &str) -> bool {
    let title = title.to_lowercase();
    let title = title.trim_matches(['#', ':', '(', ')']);
    [
        "clients",
        "client",
        "threads",
        "thread",
        "groups",
        "group",
        "procs",
        "workers",
        "tasks",
        "size",
        "load",
        "run",
        "iteration",
        "n_threads",
    ]
    .contains(&title)
}

fn kind(columns: &[(usize, String)]) -> Format {
    let has = |name: &str| columns.iter().any(|(_, column)| column == name);
    if has("physc") && (has("%entc") || has("lbusy")) {
        Format::Lparstat
    } else if (has("%c0") || has("Busy%") || has("Bzy_MHz"))
        && (has("CPU") || has("cr") || has("TSC_MHz") || has("TSC"))
    {
        Format::Turbostat
    } else if (has("%usr") && has("%idle"))
        || (has("r") && has("b") && has("swpd"))
        || (has("%user") && has("%idle") && has("%iowait"))
    {
        Format::Mpstat
    } else {
        Format::Table
    }
}

/// Which way is better under a heading, where its words say so.
pub(super) fn direction(title: &str) -> Option<Direction> {
    let title = title.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| title.contains(word));
    if has(&[
        "latency", "_ns", "_us", "_ms", "time", "delay", "seconds", "p50", "p90", "p95", "p99",
    ]) {
        Some(LowerIsBetter)
    } else if has(&[
        "throughput",
        "ops/s",
        "rps",
        "qps",
        "tps",
        "mb/s",
        "bandwidth",
        "bogo",
        "/sec",
    ]) {
        Some(HigherIsBetter)
    } else {
        None
    }
}
