//! Figures from rounds.

use fairlab_stats::{Bootstrap, Center, Sample};

use crate::BenchError;

/// A number of one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// The entry of the cost table.
    pub entry: &'static str,
    /// Which of its numbers, from 0.
    pub index: usize,
    /// The number, in the entry's unit.
    pub value: f64,
}

/// A number of the cost table, as measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The entry of the cost table.
    pub entry: &'static str,
    /// Which of its numbers, from 0.
    pub index: usize,
    /// Median over the rounds.
    pub median: f64,
    /// Bounds of its 95 percent interval.
    pub interval: (f64, f64),
    /// Rounds.
    pub rounds: usize,
}

/// Collects the numbers of the rounds.
#[derive(Default)]
pub(super) struct Rounds {
    values: Vec<(&'static str, usize, Vec<f64>)>,
}

impl Rounds {
    pub(super) fn add(&mut self, parts: Vec<Part>) {
        for part in parts {
            let known = self
                .values
                .iter_mut()
                .find(|(entry, index, _)| *entry == part.entry && *index == part.index);
            match known {
                Some((_, _, values)) => values.push(part.value),
                None => self.values.push((part.entry, part.index, vec![part.value])),
            }
        }
    }

    pub(super) fn finish(self) -> Result<Vec<Figure>, BenchError> {
        let figure = |(entry, index, values): (&'static str, usize, Vec<f64>)| {
            let sample =
                Sample::new(values).map_err(|error| BenchError::Option(error.to_string()))?;
            let interval = Bootstrap::default().center(&sample, Center::Median);
            Ok(Figure {
                entry,
                index,
                median: sample.median(),
                interval: (interval.low, interval.high),
                rounds: sample.len(),
            })
        };
        self.values.into_iter().map(figure).collect()
    }
}

/// What an operation takes by its own account: the median of `count`.
pub(super) fn median_of<E>(count: u32, mut work: impl FnMut() -> Result<f64, E>) -> Result<f64, E> {
    let times: Result<Vec<f64>, E> = (0..count.max(1)).map(|_| work()).collect();
    Ok(median(times?))
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
