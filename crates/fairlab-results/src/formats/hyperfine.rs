//! hyperfine's text:
//!
//! ```text
//! Benchmark 1: sleep 0.1
//!   Time (mean ± σ):     101.5 ms ±   0.3 ms    [User: 0.7 ms, System: 0.9 ms]
//!   Range (min … max):   101.0 ms … 102.3 ms    28 runs
//! ```

use fairlab_stats::Direction::LowerIsBetter;

use super::Found;
use crate::document::Measure;
use crate::format::Format;
use crate::model::{Data, Figures};
use crate::number::number;
use crate::text::Line;

/// Reads one benchmark.
pub(crate) fn read(lines: &[Line]) -> Option<Found> {
    let command = benchmark(lines.first()?.trimmed())?;
    let (time_at, time) =
        lines.iter().enumerate().take(4).find_map(|(at, line)| {
            Some((at, (line.number, line.trimmed().strip_prefix("Time (")?)))
        })?;
    let (line, time) = time;
    let is_single = time.starts_with("abs");
    let mut numbers = quantities(time.split_once(':')?.1);
    let (mean, unit) = numbers.next()?;
    let scale = scale(unit)?;
    let mut figures = Figures {
        n: Some(1),
        mean: Some(mean * scale),
        ..Figures::default()
    };
    let mut taken = time_at + 1;
    if !is_single {
        figures.n = None;
        figures.stddev = numbers
            .next()
            .and_then(|(value, unit)| Some(value * self::scale(unit)?));
        if let Some(range) = lines
            .get(time_at + 1)
            .and_then(|line| line.trimmed().strip_prefix("Range ("))
        {
            let (_, range) = range.split_once(':')?;
            let mut ends = quantities(range).map(|(v, u)| self::scale(u).map(|s| v * s));
            figures.min = ends.next().flatten();
            figures.max = ends.next().flatten();
            figures.n = range
                .trim_end()
                .strip_suffix(" runs")
                .and_then(|rest| rest.rsplit(' ').next()?.parse().ok());
            taken += 1;
        }
    }
    let measure = Measure {
        name: "time".to_owned(),
        column: Some(command.to_owned()),
        unit: "ms".to_owned(),
        better: Some(LowerIsBetter),
        data: Data::Figures(figures),
        line,
    };
    Some(Found::new(Format::Hyperfine, taken, vec![measure]))
}

/// The command of `Benchmark 1: CMD` (`Benchmark #1: CMD` in old versions).
fn benchmark(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("Benchmark ")?.trim_start_matches('#');
    let (id, command) = rest.split_once(": ")?;
    id.parse::<u32>().ok()?;
    Some(command)
}

/// Numbers with the unit behind them.
fn quantities(text: &str) -> impl Iterator<Item = (f64, &str)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs: Vec<(f64, &str)> = words
        .windows(2)
        .filter_map(|pair| Some((number(pair[0])?, pair[1].trim_end_matches([',', ']']))))
        .collect();
    pairs.into_iter()
}

/// Milliseconds in a unit.
fn scale(unit: &str) -> Option<f64> {
    match unit {
        "us" => Some(0.001),
        "ms" => Some(1.0),
        "s" => Some(1000.0),
        _ => None,
    }
}
