//! JSON of other tools: those that are known, and numbers in any arrangement.

mod any;
mod cyclictest;
mod fio;
mod hyperfine;
mod iperf;

use serde_json::Value;

use super::Found;
use crate::format::Format;

/// The figures in `value`: those that its tool is run for, or else all of them, each named by its
/// path.
pub(crate) fn read(value: &Value) -> Option<Found> {
    hyperfine::read(value)
        .or_else(|| iperf::read(value))
        .or_else(|| cyclictest::read(value))
        .or_else(|| fio::read(value))
        .or_else(|| any::read(value))
}

/// Has the tool of this format a form in JSON?
pub(crate) fn is_json(format: Format) -> bool {
    matches!(
        format,
        Format::Json
            | Format::HyperfineJson
            | Format::Results
            | Format::Iperf
            | Format::Cyclictest
            | Format::Fio
    )
}
