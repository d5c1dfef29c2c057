//! stress-ng's metrics: one line per stressor, and its export in YAML.

mod yaml;

use fairlab_stats::Direction::HigherIsBetter;

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::number;
use crate::text::Line;

/// The rates that every form has.
pub(super) const REAL_TIME: &str = "bogo ops/s (real time)";
pub(super) const CPU_TIME: &str = "bogo ops/s (usr+sys time)";

/// Reads one line, or a part of the YAML.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let line = lines.first()?;
    let Some(rest) = line.trimmed().strip_prefix("stress-ng: ") else {
        return yaml::read(lines);
    };
    // `info:  [1234] cpu  12345  10.00  39.9  0.01  1234.5  309.0`
    let rest = rest.split_once(']').map_or(rest, |(_, rest)| rest);
    let words: Vec<&str> = rest.split_whitespace().collect();
    let numbers: Vec<f64> = words
        .iter()
        .skip(1)
        .map_while(|word| number(word))
        .collect();
    let is_metric = words.len() >= 7 && numbers.len() >= 6 && number(words[0]).is_none();
    if !is_metric {
        let measures = miscellaneous(line.number, rest).into_iter().collect();
        return Some(Found::new(Format::StressNg, 1, measures));
    }
    let name = words[0];
    let measures = [(REAL_TIME, numbers[4]), (CPU_TIME, numbers[5])].map(|(what, value)| {
        let better = Some(HigherIsBetter);
        Measure::value(line.number, format!("{name} {what}"), "1/s", better, value)
    });
    Some(Found::new(Format::StressNg, 1, measures.to_vec()))
}

/// `pipe  40.53 MB per sec pipe write rate (geometic mean of 1 instances)`, in any spelling of it.
fn miscellaneous(line: usize, rest: &str) -> Option<Measure> {
    let (left, mean) = rest.rsplit_once('(')?;
    if !mean.contains(" mean of ") {
        return None;
    }
    let (name, left) = left.trim().split_once(char::is_whitespace)?;
    let (value, what) = left.trim_start().split_once(char::is_whitespace)?;
    Some(yaml::metric(line, name, what.trim(), number(value)?))
}
