//! UnixBench: a line per test, then the index.
//!
//! ```text
//! Dhrystone 2 using register variables       34872897.7 lps   (10.0 s, 7 samples)
//! System Benchmarks Index Values               BASELINE       RESULT    INDEX
//! Dhrystone 2 using register variables         116700.0   34872897.7   2988.3
//!                                                                    ========
//! System Benchmarks Index Score                                        1234.5
//! ```

use fairlab_stats::Direction::HigherIsBetter;

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::number::number;
use crate::text::Line;

/// Reads a line of a test, or the index.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let line = lines.first()?;
    if let Some(measure) = test(line) {
        return Some(Found::new(Format::Unixbench, 1, vec![measure]));
    }
    let words = line.words();
    let is_index = words.ends_with(&["BASELINE", "RESULT", "INDEX"]);
    is_index.then(|| index(lines))?
}

/// `NAME VALUE UNIT (SECONDS s, N samples)`: the mean of the samples, which are not shown.
fn test(line: &Line) -> Option<Measure> {
    let (left, samples) = line.trimmed().rsplit_once(" (")?;
    let (seconds, samples) = samples.strip_suffix(" samples)")?.split_once(" s, ")?;
    number(seconds)?;
    number(samples)?;
    let mut words: Vec<&str> = left.split_whitespace().collect();
    let (unit, value) = (words.pop()?, number(words.pop()?)?);
    let name = words.join(" ");
    let unit = match unit {
        "lps" => "loops/s",
        "KBps" => "KB/s",
        "lpm" => "loops/min",
        other => other,
    };
    (!name.is_empty()).then(|| Measure::value(line.number, name, unit, Some(HigherIsBetter), value))
}

/// The indices of the tests, and their score.
fn index(lines: &[Line]) -> Option<Found> {
    let mut measures = Vec::new();
    let mut taken = 1;
    for (at, line) in lines.iter().enumerate().skip(1) {
        let words = line.words();
        let is_total = line.trimmed().starts_with("System Benchmarks Index Score");
        let (name, score) = match words.as_slice() {
            [rule] if rule.starts_with("===") => {
                taken = at + 1;
                continue;
            }
            [name @ .., score] if is_total => (name.join(" "), score),
            [name @ .., baseline, result, score]
                if !name.is_empty() && number(baseline).is_some() && number(result).is_some() =>
            {
                (format!("{} index", name.join(" ")), score)
            }
            _ => break,
        };
        let (better, score) = (Some(HigherIsBetter), number(score)?);
        measures.push(Measure::value(line.number, name, "", better, score));
        taken = at + 1;
        if is_total {
            break;
        }
    }
    (!measures.is_empty()).then(|| Found::new(Format::Unixbench, taken, measures))
}
