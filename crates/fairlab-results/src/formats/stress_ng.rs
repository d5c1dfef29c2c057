//! stress-ng's metrics: one line per stressor.

use fairlab_stats::Direction::HigherIsBetter;

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::number;
use crate::text::Line;

/// Reads one line.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let line = lines.first()?;
    let rest = line.trimmed().strip_prefix("stress-ng: ")?;
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
        return Some(Found::talk(Format::StressNg, 1));
    }
    let name = words[0];
    let measures = [
        ("bogo ops/s (real time)", numbers[4]),
        ("bogo ops/s (usr+sys time)", numbers[5]),
    ]
    .map(|(what, value)| {
        Measure::value(
            line.number,
            format!("{name} {what}"),
            "1/s",
            Some(HigherIsBetter),
            value,
        )
    });
    Some(Found::new(Format::StressNg, 1, measures.to_vec()))
}
