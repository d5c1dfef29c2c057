//! Pipe tables of Markdown: a line of headings, a rule, lines of cells; and our own, which have a
//! title above them.
//!
//! ```text
//! **fork+exit (us)**
//!
//! |        |  N | Min |
//! |--------|---:|----:|
//! | before | 10 | 317 |
//! ```

use super::grid::{self, Grid};
use super::{Found, csv};
use crate::text::Line;

/// Reads a table. The title goes with a table of moments, whose figure it names; elsewhere it is a
/// label like any other.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let first = lines.first()?.trimmed();
    let title = first
        .strip_prefix("**")
        .and_then(|text| text.strip_suffix("**"));
    let Some(title) = title else {
        let (grid, taken) = table(lines)?;
        let found = grid::read(&grid);
        return found.or_else(|| csv::of_grid(&grid)).map(|found| Found {
            lines: taken,
            ..found
        });
    };
    let start = 1 + lines[1..]
        .iter()
        .take(2)
        .take_while(|l| l.is_blank())
        .count();
    let (grid, taken) = table(lines.get(start..)?)?;
    let grid = Grid {
        title: Some(title.to_owned()),
        ..grid
    };
    let found = grid::read(&grid)?;
    // A name that no row took would be lost.
    let name = title.split(" (").next()?;
    let is_taken = found.measures.iter().any(|measure| measure.name == name);
    is_taken.then(|| Found {
        lines: start + taken,
        ..found
    })
}

/// The table that begins here, and its lines.
fn table(lines: &[Line]) -> Option<(Grid, usize)> {
    let headings = cells(lines.first()?)?;
    let rule = cells(lines.get(1)?)?;
    let is_rule = |cell: &String| {
        let dashes = cell.trim_start_matches(':').trim_end_matches(':');
        !dashes.is_empty() && dashes.bytes().all(|b| b == b'-')
    };
    if headings.len() < 2 || rule.len() != headings.len() || !rule.iter().all(is_rule) {
        return None;
    }
    let rows: Vec<(usize, Vec<String>)> = lines[2..]
        .iter()
        .map_while(|line| Some((line.number, cells(line)?)))
        .collect();
    let taken = 2 + rows.len();
    let grid = Grid {
        title: None,
        headings,
        rows,
    };
    Some((grid, taken))
}

/// The cells of a line with bars around them; a bar behind a backslash is part of a cell.
fn cells(line: &Line) -> Option<Vec<String>> {
    let inner = line.trimmed().strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let mut cells = vec![String::new()];
    let mut letters = inner.chars().peekable();
    while let Some(letter) = letters.next() {
        let cell = cells.last_mut()?;
        match letter {
            '\\' if letters.peek() == Some(&'|') => cell.extend(letters.next()),
            '|' => cells.push(String::new()),
            other => cell.push(other),
        }
    }
    Some(cells.iter().map(|cell| cell.trim().to_owned()).collect())
}
