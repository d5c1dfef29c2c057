//! Why a file is refused.

use std::fmt;

/// A place in a file, counted from 1; columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
pub struct RtAppError {
    /// Where.
    pub place: Place,
    /// What is wrong, and what would be accepted.
    pub message: String,
}

impl RtAppError {
    pub(crate) fn new(place: Place, message: impl Into<String>) -> Self {
        Self {
            place,
            message: message.into(),
        }
    }
}

pub(crate) type Result<T> = std::result::Result<T, RtAppError>;

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
