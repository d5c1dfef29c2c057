//! Separated values: a header or none, columns of names and of numbers.

use crate::document::Measure;
use crate::format::Format;
use crate::labels::is_variant;
use crate::number::number;
use crate::text::{Commas, Line, plain_numbers};

use super::Found;
use super::grid::{self, Grid};
use super::key_value::by_unit;
use super::table::direction;

/// The separator of `lines`, when they are separated values: every line has as many of it, and at
/// least one.
pub(crate) fn guess(lines: &[Line], is_named_so: bool) -> Option<char> {
    let full: Vec<&Line> = lines
        .iter()
        .filter(|line| !line.is_blank() && !line.text.starts_with('#'))
        .collect();
    if full.len() < 2 {
        return None;
    }
    [';', '\t', ',', '|'].into_iter().find(|&separator| {
        let counts: Vec<usize> = full
            .iter()
            .map(|line| fields(&line.text, separator).len())
            .collect();
        let width = counts[0];
        let is_even = width >= 2 && counts.iter().all(|count| *count == width);
        if !is_even {
            return false;
        }
        let has_number = |line: &Line| {
            fields(&line.text, separator)
                .iter()
                .any(|field| value(field, separator).is_some())
        };
        // Bars frame tables and plots; those have other readers.
        let is_framed = separator == '|' && full[0].text.trim_start().starts_with(['|', '+']);
        if is_framed || !full[1..].iter().all(|line| has_number(line)) {
            return false;
        }
        // `1,5` over `1,6` are numbers with a decimal comma, unless something says otherwise.
        let are_digits = |line: &&Line| {
            fields(&line.text, separator).iter().all(|field| {
                field
                    .trim_start_matches('-')
                    .bytes()
                    .all(|b| b.is_ascii_digit())
            })
        };
        let is_ambiguous = separator == ',' && width == 2 && full.iter().all(are_digits);
        is_named_so || !is_ambiguous
    })
}

/// Reads all of `lines`; what is not a row is left for the caller to tell.
pub(crate) fn read(lines: &[Line], separator: char, column: Option<usize>) -> Option<Found> {
    let mut rows: Vec<(usize, Vec<String>)> = lines
        .iter()
        .filter(|line| !line.is_blank() && !line.text.starts_with('#'))
        .map(|line| (line.number, fields(&line.text, separator)))
        .collect();
    let is_number = |field: &String| value(field, separator).is_some();
    let header: Option<Vec<String>> = match rows.first() {
        Some((_, first)) if !first.iter().any(is_number) && rows.len() > 1 => {
            Some(rows.remove(0).1)
        }
        _ => None,
    };
    let has_header = header.is_some();
    let grid = Grid {
        title: None,
        headings: header.unwrap_or_default(),
        rows,
    };
    let known = (has_header && column.is_none())
        .then(|| grid::read(&grid))
        .flatten();
    let found = match known {
        Some(found) => found,
        None => of_rows(&grid, separator, column)?,
    };
    Some(Found {
        lines: lines.len(),
        ..found
    })
}

/// A table of another form that has cells.
pub(super) fn of_grid(grid: &Grid) -> Option<Found> {
    // No cell holds this separator, so that a comma may be a decimal sign.
    of_rows(grid, '|', None).map(|found| Found {
        format: Format::Markdown,
        ..found
    })
}

/// Columns of names say which row it is, columns of numbers are its figures.
fn of_rows(grid: &Grid, separator: char, column: Option<usize>) -> Option<Found> {
    let rows = &grid.rows;
    let header = (!grid.headings.is_empty()).then_some(&grid.headings);
    let width = rows.iter().map(|(_, fields)| fields.len()).max()?;
    let is_number = |field: &String| value(field, separator).is_some();
    let title = |at: usize| -> String {
        match header.and_then(|header| header.get(at)) {
            Some(name) if !name.is_empty() => name.clone(),
            _ => format!("column {}", at + 1),
        }
    };
    let numeric: Vec<bool> = (0..width)
        .map(|at| {
            let mut cells = rows
                .iter()
                .filter_map(|(_, fields)| fields.get(at))
                .filter(|c| !c.is_empty())
                .peekable();
            cells.peek().is_some() && cells.all(|cell| is_number(cell) || is_missing(cell))
        })
        .collect();
    let is_chosen = |at: usize| column.is_none_or(|column| column == at + 1);
    let is_load = |at: usize| {
        header.is_some() && numeric.iter().filter(|n| **n).count() > 1 && is_load(&title(at))
    };
    let unit = (0..width).find(|&at| !numeric[at] && title(at) == "unit");
    let ids: Vec<usize> = (0..width)
        .filter(|&at| Some(at) != unit)
        .filter(|&at| !numeric[at] || is_load(at) || is_variant_heading(&title(at)))
        .collect();
    let figures: Vec<usize> = (0..width)
        .filter(|&at| numeric[at] && !ids.contains(&at) && is_chosen(at))
        .collect();
    // A column of names is that of the variants when its heading or its names say so.
    let variant = ids.iter().copied().find(|&at| {
        is_variant_heading(&title(at))
            || (!numeric[at]
                && rows
                    .iter()
                    .filter_map(|(_, fields)| fields.get(at))
                    .any(|name| is_variant(name)))
    });
    let columns_are_variants =
        variant.is_none() && figures.iter().any(|&at| is_variant(&title(at)));
    let mut measures = Vec::new();
    // Beside a column of units, the columns of figures are series, as in our own tables.
    let columns_are_variants = columns_are_variants || (unit.is_some() && variant.is_none());
    for (line, fields) in rows {
        let unit = unit
            .and_then(|at| fields.get(at))
            .map_or("", String::as_str);
        let mut name: Vec<String> = Vec::new();
        for &at in ids.iter().filter(|at| Some(**at) != variant) {
            let Some(field) = fields.get(at) else {
                continue;
            };
            name.push(if numeric[at] {
                format!("{} {field}", title(at))
            } else {
                field.clone()
            });
        }
        let name = name.join(" ");
        for &at in &figures {
            let Some(value) = fields.get(at).and_then(|field| value(field, separator)) else {
                continue;
            };
            let title = title(at);
            let row = match (name.is_empty(), columns_are_variants) {
                (true, true) => "value".to_owned(),
                (false, true) => name.clone(),
                (true, false) if figures.len() == 1 && header.is_none() => "value".to_owned(),
                (true, false) => title.clone(),
                (false, false) if figures.len() == 1 && header.is_none() => name.clone(),
                (false, false) => format!("{name} {title}"),
            };
            let better = by_unit(unit).or_else(|| direction(&row));
            let mut measure = Measure::value(*line, row, unit, better, value);
            measure.column = if columns_are_variants {
                Some(title)
            } else {
                variant.and_then(|at| fields.get(at).cloned())
            };
            measures.push(measure);
        }
    }
    (!measures.is_empty()).then(|| Found::new(Format::Csv, 1, measures))
}

/// The heading over the names of variants, which may look like numbers (`6.12`).
fn is_variant_heading(title: &str) -> bool {
    let title = title.to_lowercase();
    [
        "kernel", "variant", "series", "version", "config", "build", "branch", "host",
    ]
    .contains(&title.as_str())
}

fn is_load(title: &str) -> bool {
    let title = title.to_lowercase();
    [
        "clients",
        "threads",
        "groups",
        "procs",
        "workers",
        "tasks",
        "size",
        "load",
        "nr_threads",
        "nr_groups",
    ]
    .contains(&title.as_str())
}

fn is_missing(cell: &str) -> bool {
    matches!(
        cell,
        "" | "-" | "NA" | "N/A" | "n/a" | "nan" | "NaN" | "null"
    )
}

/// A cell as a number. Where the separator is not a comma, a comma is a decimal sign.
fn value(field: &str, separator: char) -> Option<f64> {
    let field = field.trim().trim_end_matches('%');
    if separator != ',' && field.contains(',') {
        return number(plain_numbers(field, Commas::Decimal).trim());
    }
    number(field)
}

/// The fields of a line; a field in quotes may hold separators and doubled quotes.
fn fields(text: &str, separator: char) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let Some(field) = fields.last_mut() else {
            break;
        };
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' => is_quoted = !is_quoted,
            _ if letter == separator && !is_quoted => fields.push(String::new()),
            _ => field.push(letter),
        }
    }
    fields.iter().map(|field| field.trim().to_owned()).collect()
}
