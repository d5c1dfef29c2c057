//! Why a file is refused.

use std::fmt;
use std::ops::Range;

/// A place in a file, counted from 1; columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a file is refused, and where. Written as `4:17: message`, to follow the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct WorkFileError {
    /// Where.
    pub place: Place,
    /// What is wrong, and what would be accepted.
    pub message: String,
}

/// An error that knows bytes instead of lines yet.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) message: String,
}

pub(crate) type Result<T> = std::result::Result<T, Fault>;

impl Fault {
    pub(crate) fn new(span: &Range<usize>, message: impl Into<String>) -> Self {
        Self {
            at: span.start,
            message: message.into(),
        }
    }

    /// With the place in `text`.
    pub(crate) fn locate(self, text: &str) -> WorkFileError {
        let before: String = text
            .char_indices()
            .take_while(|(i, _)| *i < self.at)
            .map(|(_, c)| c)
            .collect();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        WorkFileError {
            place: Place {
                line: line as u32,
                column: column as u32,
            },
            message: self.message,
        }
    }
}

/// `; did you mean 'x'?`, or nothing when no candidate is near `word`.
pub(crate) fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let word = word.to_lowercase();
    let limit = (word.chars().count() / 3).max(1);
    let distance = |name: &str| strsim::damerau_levenshtein(&word, &name.to_lowercase());
    let nearest = names.into_iter().min_by_key(|name| distance(name));
    nearest
        .filter(|name| distance(name) <= limit)
        .map(|name| format!("; did you mean '{name}'?"))
        .unwrap_or_default()
}
