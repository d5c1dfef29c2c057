//! Reading which decisions are to be explained.

use fairlab::sim::Explain;
use fairlab::units::{TaskId, Timestamp};

const WANTED: &str = "a task number like 12, or a time like 250us, 1.5ms or 0.2s is wanted";

/// Reads `12` as a task and `1.5ms` as a time since the start.
pub fn parse_explain(text: &str) -> Result<Explain, String> {
    if let Ok(task) = text.parse() {
        return Ok(Explain::Task(TaskId(task)));
    }
    parse_time(text)
        .map(Explain::From)
        .map_err(|_| WANTED.to_owned())
}

/// Reads `1.5ms` as a time since the start.
pub fn parse_time(text: &str) -> Result<Timestamp, String> {
    let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let time = units.iter().find_map(|(unit, scale)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        (number >= 0.0 && number * scale < 1e18).then_some((number * scale) as u64)
    });
    time.map(Timestamp)
        .ok_or_else(|| "a time like 250us, 1.5ms or 0.2s is wanted".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_tasks_and_units_make_times() {
        assert_eq!(parse_explain("12"), Ok(Explain::Task(TaskId(12))));
        let at = |ns| Ok(Explain::From(Timestamp(ns)));
        assert_eq!(parse_explain("1.5ms"), at(1_500_000));
        assert_eq!(parse_explain("250us"), at(250_000));
        assert_eq!(parse_explain("2s"), at(2_000_000_000));
        for bad in ["", "x", "-1ms", "1.5", "1e99s", "nans"] {
            assert!(parse_explain(bad).is_err(), "{bad}");
        }
    }
}
