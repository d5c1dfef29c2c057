//! What `size -A` prints: a table of sections per file.

use serde::Serialize;

use super::number;
use crate::error::{LayoutError, Result, shorten};

/// The sections of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SectionTable {
    /// The file.
    pub filename: String,
    /// Name, bytes and address of each section.
    pub sections: Vec<(String, u64, u64)>,
    /// Where the table contradicts itself.
    pub notes: Vec<String>,
}

pub(super) fn is_heading(line: &str) -> bool {
    line.split_whitespace().eq(["section", "size", "addr"])
}

pub(super) fn parse(name: &str, text: &str) -> Result<Vec<SectionTable>> {
    let mut tables: Vec<SectionTable> = Vec::new();
    let mut filename = String::new();
    let mut is_table = false;
    for (i, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if is_heading(line) {
            is_table = true;
            tables.push(SectionTable {
                filename: std::mem::take(&mut filename),
                sections: Vec::new(),
                notes: Vec::new(),
            });
            continue;
        }
        let Some(table) = tables.last_mut().filter(|_| is_table) else {
            filename = trimmed.trim_end_matches(':').trim_end().to_owned();
            continue;
        };
        if trimmed.is_empty() {
            is_table = false;
            continue;
        }
        let words: Vec<&str> = trimmed.split_whitespace().collect();
        let numbers = |words: &[&str]| -> Option<Vec<u64>> {
            words.iter().map(|word| number(word)).collect()
        };
        match words.as_slice() {
            ["Total", total] => {
                is_table = false;
                let sum = table
                    .sections
                    .iter()
                    .fold(0_u64, |sum, (_, size, _)| sum.wrapping_add(*size));
                if number(total) != Some(sum) {
                    table.notes.push(format!(
                        "the total is {total}, but the sizes add up to {sum}"
                    ));
                }
            }
            [section @ .., size, address] if numbers(&[size, address]).is_some() => {
                let size = number(size).unwrap_or(0);
                let address = number(address).unwrap_or(0);
                table.sections.push((section.join(" "), size, address));
            }
            _ => {
                return Err(LayoutError::Text {
                    name: name.to_owned(),
                    line: i + 1,
                    problem: format!("`{}` is no row of `section size addr`", shorten(trimmed)),
                });
            }
        }
    }
    Ok(tables)
}
