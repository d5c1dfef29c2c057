//! The scenarios of the repository.

use crate::error::ScenarioError;
use crate::scenario::Scenario;

const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

/// The scenarios that this build carries, by name.
///
/// # Errors
/// When one is not right; a test reads them all.
pub fn embedded() -> Result<Vec<Scenario>, ScenarioError> {
    FILES
        .iter()
        .map(|(name, text)| Scenario::parse(text, name))
        .collect()
}
