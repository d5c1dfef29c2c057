//! Bytes to lines that a reader of tables can use.
//!
//! What people paste has been through terminals, mail programs and spreadsheets. Here it loses what
//! they added: byte order marks, colours, quote marks, time stamps, tabs, exotic blanks and signs,
//! separators of thousands, decimal commas. Line numbers stay those of the file.

mod clean;
mod commas;
mod decode;
mod side_by_side;

pub(crate) use clean::clean;
pub(crate) use commas::{Commas, guess_commas, plain_numbers};
pub(crate) use decode::decode;
pub(crate) use side_by_side::split_columns;

/// A line, cleaned.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Line {
    /// Its number in the file, from 1.
    pub number: usize,
    /// What is left of it, without blanks at the end.
    pub text: String,
    /// It stands above or between two columns and belongs to both.
    pub is_shared: bool,
}

/// The lines of `text` as they are, for tests.
#[cfg(test)]
pub(crate) fn lines(text: &str) -> Vec<Line> {
    text.lines()
        .enumerate()
        .map(|(i, text)| Line {
            number: i + 1,
            text: text.to_owned(),
            is_shared: false,
        })
        .collect()
}

impl Line {
    /// The text without blanks around it.
    pub fn trimmed(&self) -> &str {
        self.text.trim()
    }

    /// Nothing on it?
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The words between blanks.
    pub fn words(&self) -> Vec<&str> {
        self.text.split_whitespace().collect()
    }
}

/// Words of `text` with the column (in letters) where each begins.
pub(crate) fn words_at(text: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let (mut start, mut column) = (None, 0);
    for (offset, letter) in text.char_indices() {
        match (letter.is_whitespace(), start) {
            (false, None) => start = Some((column, offset)),
            (true, Some((at, from))) => {
                words.push((at, &text[from..offset]));
                start = None;
            }
            _ => {}
        }
        column += 1;
    }
    if let Some((at, from)) = start {
        words.push((at, &text[from..]));
    }
    words
}
