//! What may be said at the end.

use std::time::Duration;

use fairlab_stats::{
    Direction, Interval, Sample, Summary, Trend, Verdict, holm, signed_rank, trend,
};

use super::{AbOptions, Side};
use crate::Row;

/// Why no further run was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The interval is as narrow as was asked for.
    NarrowEnough,
    /// The limit of runs.
    Runs,
    /// The limit of time.
    Time,
    /// Somebody interrupted it.
    Interrupted,
}

/// The comparison.
#[derive(Clone, Debug)]
pub struct AbOutcome {
    /// The figures that were there in every run.
    pub rows: Vec<AbRow>,
    /// The side that was first, for each block.
    pub firsts: Vec<Side>,
    /// Why it ended.
    pub stop: StopReason,
    /// The half width that the rule expected at the end.
    pub half_width: Option<f64>,
    /// Rows that were there in some runs only, and are left out.
    pub incomplete: Vec<String>,
    /// The time it took.
    pub elapsed: Duration,
    /// How it was made.
    pub options: AbOptions,
}

/// One figure, compared.
#[derive(Clone, Debug)]
pub struct AbRow {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which way is better.
    pub better: Direction,
    /// The values of before and after, one per block.
    pub values: [Vec<f64>; 2],
    /// What they look like.
    pub summaries: [Summary; 2],
    /// The change as a part of before: -0.05 for five percent less. `None` when before is around zero.
    pub change: Option<Interval>,
    /// Of the signed rank test.
    pub p_value: f64,
    /// The same, adjusted for the number of rows.
    pub adjusted_p_value: f64,
    /// Does the p value count all cases?
    pub is_exact: bool,
    /// What may be claimed about after.
    pub verdict: Verdict,
    /// The trend of both sides together over the blocks, as a part of the value.
    pub drift: Option<Trend>,
    /// Blocks, from 0, in which a side's value is far from the others of its side (Tukey's outer
    /// fences: three times the distance between the quartiles).
    pub outliers: [Vec<usize>; 2],
}

/// Judges rows of values that are finite, and as many on both sides.
pub fn judge(rows: Vec<(Row, [Vec<f64>; 2])>, confidence: f64) -> Vec<AbRow> {
    let rows = rows
        .into_iter()
        .filter_map(|(row, values)| AbRow::of(row, values, confidence));
    let mut rows: Vec<AbRow> = rows.collect();
    let p_values: Vec<f64> = rows.iter().map(|row| row.p_value).collect();
    for (row, adjusted) in rows.iter_mut().zip(holm(&p_values)) {
        row.adjusted_p_value = adjusted;
        let claim = row
            .change
            .filter(|change| !change.contains(0.0) && adjusted <= 1.0 - confidence);
        row.verdict = match claim {
            None => Verdict::NoDifferenceProven,
            Some(change)
                if (change.estimate > 0.0) == (row.better == Direction::HigherIsBetter) =>
            {
                Verdict::Better
            }
            Some(_) => Verdict::Worse,
        };
    }
    rows
}

impl AbRow {
    fn of(row: Row, values: [Vec<f64>; 2], confidence: f64) -> Option<Self> {
        let [before, after] = &values;
        let (a, b) = (
            Sample::new(before.clone()).ok()?,
            Sample::new(after.clone()).ok()?,
        );
        let is_positive = a.min() > 0.0 && b.min() > 0.0;
        let scale = |value: f64| if is_positive { value.ln() } else { value };
        let pairs = || before.iter().zip(after);
        let differences: Vec<f64> = pairs().map(|(a, b)| scale(*b) - scale(*a)).collect();
        let middles: Vec<f64> = pairs()
            .map(|(a, b)| (scale(*a) + scale(*b)) / 2.0)
            .collect();
        let test = signed_rank(&Sample::new(differences).ok()?, confidence);
        let drift = Sample::new(middles)
            .ok()
            .and_then(|middles| trend(&middles));
        let typical = a.median().abs();
        let part = |value: f64| {
            if is_positive {
                value.exp_m1()
            } else {
                value / typical
            }
        };
        let is_known = is_positive || typical > 0.0;
        Some(Self {
            name: row.name,
            unit: row.unit,
            better: row.better,
            summaries: [a.summary(), b.summary()],
            change: is_known.then(|| test.center.map(part)),
            p_value: test.p_value,
            adjusted_p_value: test.p_value,
            is_exact: test.is_exact,
            verdict: Verdict::NoDifferenceProven,
            drift: drift.filter(|_| is_known).map(|drift| Trend {
                change: part(drift.change),
                ..drift
            }),
            outliers: [outliers(&a), outliers(&b)],
            values,
        })
    }
}

fn outliers(sample: &Sample) -> Vec<usize> {
    let (low, high) = (sample.quantile(0.25), sample.quantile(0.75));
    let reach = 3.0 * (high - low);
    let is_far = |value: f64| value < low - reach || value > high + reach;
    let values = sample.values().iter().enumerate();
    values
        .filter(|(_, value)| is_far(**value))
        .map(|(index, _)| index)
        .collect()
}
