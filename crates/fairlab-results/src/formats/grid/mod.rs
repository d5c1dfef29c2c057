//! Rows of cells below headings, as Markdown and separated values have them, where the headings say
//! what the cells are: moments, values before and after, values with their change.

mod changes;
mod findings;
mod hyperfine;
mod moments;

use super::Found;
use crate::number::{Printed, loose};

/// A table in cells.
pub(crate) struct Grid {
    /// The title above it, which our own tables have: `fork+exit (us)`.
    pub title: Option<String>,
    /// The headings of the columns.
    pub headings: Vec<String>,
    /// The number of each line, and its cells.
    pub rows: Vec<(usize, Vec<String>)>,
}

/// Reads a table whose headings are known; the caller says how many lines it had.
pub(crate) fn read(grid: &Grid) -> Option<Found> {
    hyperfine::read(grid)
        .or_else(|| moments::read(grid))
        .or_else(|| findings::read(grid))
        .or_else(|| changes::read(grid))
}

impl Grid {
    /// The column under this heading, in letters of either case.
    fn column(&self, name: &str) -> Option<usize> {
        self.headings
            .iter()
            .position(|heading| heading.eq_ignore_ascii_case(name))
    }

    /// The unit of a row, where there is a column of units.
    fn unit<'a>(&self, cells: &'a [String]) -> &'a str {
        self.column("unit")
            .and_then(|at| cells.get(at))
            .map_or("", String::as_str)
    }
}

/// The number in a cell.
fn printed(cells: &[String], at: usize) -> Option<Printed> {
    loose(cells.get(at)?.trim())
}
