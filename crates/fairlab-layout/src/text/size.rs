//! What `size` prints: `text data bss dec hex filename`, also with labels in front as in posts.

use serde::Serialize;

use super::{hexadecimal, number};
use crate::error::{LayoutError, Result, shorten};
use crate::section::Sizes;

/// One row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SizeRow {
    /// What stands in front of the numbers: `before`, a compiler, a machine.
    pub label: Option<String>,
    /// The last column; empty when there is none.
    pub filename: String,
    /// The numbers.
    #[serde(flatten)]
    pub sizes: Sizes,
    /// How text, data and bss were written.
    pub radix: Radix,
    /// Where the row contradicts itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How `size` writes text, data and bss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Radix {
    /// `-o`
    Octal,
    /// `-d`
    #[default]
    Decimal,
    /// `-x`
    Hexadecimal,
}

/// Is this the line above the numbers?
pub(super) fn is_heading(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.any(|word| word == "text")
        && words.next() == Some("data")
        && words.next() == Some("bss")
        && matches!(words.next(), Some("dec" | "oct"))
        && words.next() == Some("hex")
}

/// Reads all rows of all tables in `text`.
pub(super) fn parse(name: &str, text: &str) -> Result<Vec<SizeRow>> {
    let mut rows = Vec::new();
    let mut is_table = false;
    // A line of its own above a table, such as `before:`, names its rows.
    let mut title = None;
    for (i, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if is_heading(line) {
            is_table = true;
            continue;
        }
        if trimmed.is_empty() {
            continue;
        }
        match row(line) {
            Some(mut row) if is_table => {
                if row.label.is_none() {
                    row.label = title.clone();
                }
                rows.push(row);
            }
            _ => {
                let numbers = trimmed.split_whitespace().filter(|w| number(w).is_some());
                if is_table && numbers.count() >= 3 {
                    return Err(LayoutError::Text {
                        name: name.to_owned(),
                        line: i + 1,
                        problem: format!(
                            "`{}` is no row of `text data bss dec hex filename`: five numbers are \
                             wanted, without separators",
                            shorten(trimmed)
                        ),
                    });
                }
                title = trimmed.strip_suffix(':').map(str::to_owned).or(title);
            }
        }
    }
    if rows.is_empty() {
        return Err(LayoutError::Missing {
            name: name.to_owned(),
            problem: "there is no row below `text data bss dec hex filename`".to_owned(),
        });
    }
    Ok(rows)
}

fn row(line: &str) -> Option<SizeRow> {
    let mut words = line.split_whitespace().peekable();
    let mut label = String::new();
    while let Some(word) = words.next_if(|word| number(word).is_none()) {
        if !label.is_empty() {
            label.push(' ');
        }
        label.push_str(word.trim_end_matches(':'));
    }
    let first = words.peek().copied()?;
    let radix = if first.starts_with("0x") {
        Radix::Hexadecimal
    } else if first.len() > 1 && first.starts_with('0') {
        Radix::Octal
    } else {
        Radix::Decimal
    };
    let sizes = Sizes {
        text: number(words.next()?)?,
        data: number(words.next()?)?,
        bss: number(words.next()?)?,
    };
    let total = number(words.next()?)?;
    let hex_word = words.next()?;
    let hex = hexadecimal(hex_word.strip_prefix("0x").unwrap_or(hex_word))?;
    let mut notes = Vec::new();
    let sum = sizes.total();
    if total != sum {
        notes.push(format!("dec is {total}, but text + data + bss is {sum}"));
    }
    if hex != sum {
        notes.push(format!(
            "hex is {hex:x}, but text + data + bss is {sum:x} in hexadecimal"
        ));
    }
    Some(SizeRow {
        label: (!label.is_empty()).then_some(label),
        filename: words.collect::<Vec<_>>().join(" "),
        sizes,
        radix,
        notes,
    })
}
