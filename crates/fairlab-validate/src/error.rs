//! Why a scenario is refused.

use fairlab_experiment::PlanError;

/// Why a scenario is refused or cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The file is not a scenario.
    #[error("{file}:{line}:{column}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1, in characters.
        column: usize,
        /// What is wrong, and what would be accepted.
        message: String,
    },
    /// A value is not what it should be.
    #[error("{file}: {at}: {message}")]
    Value {
        /// The file.
        file: String,
        /// Which part of it: `kernel_a`, or `point "8 groups": workload`.
        at: String,
        /// What is wrong, and what would be accepted.
        message: String,
    },
    /// The simulation failed.
    #[error("{id}: point \"{load}\"")]
    Run {
        /// The case.
        id: String,
        /// The point.
        load: String,
        /// Why.
        source: Box<PlanError>,
    },
}

/// Line and column of a byte offset, from 1.
pub(crate) fn place(text: &str, at: usize) -> (usize, usize) {
    let before: &str = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    (line, column)
}
