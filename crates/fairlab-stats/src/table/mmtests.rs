//! Means with their gain in percent, in the form of mmtests.

use core::fmt::Write;

/// One cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MmtestsCell {
    /// The value.
    pub value: f64,
    /// The gain against the first column as a part of it; positive is better.
    pub gain: Option<f64>,
    /// Is the difference proven? Then the gain stands between stars.
    pub is_significant: bool,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct MmtestsRow {
    /// `Hmean`, `Amean`, `Gmean`.
    pub mean: String,
    /// `send-64`, a number of clients.
    pub name: String,
    /// One per column, the baseline first; `None` where it was not measured.
    pub cells: Vec<Option<MmtestsCell>>,
}

/// Width of a cell: 12 for the value, 11 for the gain.
const CELL: usize = 23;

/// The table: `Amean     1        22.63 (   0.00%)       20.54 *   9.23%*`.
#[must_use]
pub fn mmtests<'a>(
    columns: impl IntoIterator<Item = &'a str>,
    rows: impl IntoIterator<Item = MmtestsRow>,
) -> String {
    let rows: Vec<MmtestsRow> = rows.into_iter().collect();
    let name_width = rows
        .iter()
        .map(|row| row.name.chars().count())
        .max()
        .unwrap_or(0)
        .max(8);
    let mean_width = rows
        .iter()
        .map(|row| row.mean.chars().count())
        .max()
        .unwrap_or(0)
        .max(9);
    let mut text = " ".repeat(mean_width + 1 + name_width);
    for column in columns {
        // A long name moves what follows, as it does there.
        let _ = write!(text, "{column:>CELL$}");
    }
    text.push('\n');
    for row in &rows {
        let _ = write!(text, "{:<mean_width$} {:<name_width$}", row.mean, row.name);
        for cell in &row.cells {
            match cell {
                Some(MmtestsCell {
                    value,
                    gain: Some(gain),
                    is_significant,
                }) => {
                    let percent = gain * 100.0 + 0.0;
                    let (open, close) = if *is_significant {
                        ('*', '*')
                    } else {
                        ('(', ')')
                    };
                    let _ = write!(text, "{value:>12.2} {open}{percent:>7.2}%{close}");
                }
                Some(MmtestsCell { value, .. }) => {
                    let _ = write!(text, "{value:>12.2}           ");
                }
                None => {
                    let _ = write!(text, "{:>12}           ", "-");
                }
            }
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_mark_what_is_proven() {
        let cell = |value, gain, is_significant| {
            Some(MmtestsCell {
                value,
                gain: Some(gain),
                is_significant,
            })
        };
        let row = |name: &str, cells| MmtestsRow {
            mean: "Amean".into(),
            name: name.into(),
            cells,
        };
        assert_eq!(
            mmtests(
                ["before", "after"],
                [
                    row(
                        "1",
                        vec![cell(22.63, 0.0, false), cell(20.54, 0.0923, true)]
                    ),
                    row(
                        "8",
                        vec![cell(37.66, 0.0, false), cell(37.68, -0.0005, false)]
                    ),
                    row("16", vec![cell(1.0, 0.0, false), None]),
                ]
            ),
            "                                   before                  after\n\
             Amean     1              22.63 (   0.00%)       20.54 *   9.23%*\n\
             Amean     8              37.66 (   0.00%)       37.68 (  -0.05%)\n\
             Amean     16              1.00 (   0.00%)           -\n"
        );
    }
}
