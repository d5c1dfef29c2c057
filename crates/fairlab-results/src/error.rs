//! Why results cannot be had.

/// Why an input gives no results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// A file cannot be read.
    #[error("cannot read {name}")]
    Io {
        /// The file.
        name: String,
        /// Why.
        source: std::io::Error,
    },
    /// The text is not what it should be.
    #[error("{name}:{line}: {problem}")]
    Text {
        /// The file.
        name: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong, and what would be accepted.
        problem: String,
    },
    /// The input as a whole cannot be used.
    #[error("{name}: {problem}")]
    Input {
        /// The file.
        name: String,
        /// What is wrong, and what would be accepted.
        problem: String,
    },
}
