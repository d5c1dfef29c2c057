//! Series against a baseline, row by row.

use fairlab_stats::{
    Center, Comparison, ComparisonOptions, Direction, Interval, Sample, Test, Verdict, cohens_d,
    holm, mann_whitney, welch_from_moments, welch_t_test,
};

use crate::model::{Data, Figures, Results, Row};
use crate::unit::scale_between;

/// Above this many values together, intervals come from Welch's t and not from resampling.
const RESAMPLED: usize = 20_000;

/// Which mean stands for the runs of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mean {
    /// The harmonic one for rates, the geometric one for ratios, else the arithmetic one.
    #[default]
    Auto,
    /// The arithmetic mean.
    Arithmetic,
    /// The harmonic mean.
    Harmonic,
    /// The geometric mean.
    Geometric,
    /// The middle value.
    Median,
}

/// How series are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompareOptions {
    /// The level of intervals and verdicts, 0.95 for 95 percent.
    pub confidence: f64,
    /// What stands for the runs.
    pub mean: Mean,
    /// Which way is better, for all rows, whatever their tool says.
    pub better: Option<Direction>,
    /// Are p values adjusted for the number of rows?
    pub adjusts: bool,
    /// Samples drawn for an interval.
    pub resamples: u32,
    /// Where the draws come from.
    pub seed: u64,
}

impl Default for CompareOptions {
    /// 95 percent, fitting means, adjusted, 2000 resamples from seed 1.
    fn default() -> Self {
        Self {
            confidence: 0.95,
            mean: Mean::Auto,
            better: None,
            adjusts: true,
            resamples: 2000,
            seed: 1,
        }
    }
}

/// What may be said about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Proven better.
    Better,
    /// Proven worse.
    Worse,
    /// Proven different; nobody said which way is better.
    Different,
    /// The runs do not show a difference, which is not proof of equality.
    NoDifferenceProven,
    /// There are no repetitions, so nothing can be proven.
    NotTested,
}

impl Finding {
    /// In a word or two.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Different => "different",
            Self::NoDifferenceProven => "no difference proven",
            Self::NotTested => "not tested",
        }
    }
}

/// One side of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// What stands for the runs.
    pub value: f64,
    /// What it is: `Amean`, `Hmean`, `Gmean`, `median`, `value`.
    pub kind: &'static str,
    /// All that is known.
    pub figures: Figures,
    /// The values, where they are known.
    pub sample: Option<Sample>,
}

/// A row of two series.
#[derive(Clone, Debug, PartialEq)]
pub struct RowComparison {
    /// As in the model.
    pub group: String,
    /// As in the model.
    pub name: String,
    /// The unit of the baseline, in which both sides are.
    pub unit: String,
    /// Which way is better.
    pub better: Option<Direction>,
    /// The baseline.
    pub a: Side,
    /// What is compared with it.
    pub b: Side,
    /// The change as a part of the size of the baseline; `None` when that is 0.
    pub change: Option<f64>,
    /// What the tests say; `None` without repetitions.
    pub tests: Option<Tests>,
}

/// What tests say about a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tests {
    /// The difference of the centres with its interval.
    pub difference: Interval,
    /// Welch's t, two-sided.
    pub welch_p: Option<f64>,
    /// Mann-Whitney U, two-sided; `None` when only summaries are known.
    pub mann_whitney_p: Option<f64>,
    /// The p value that decides: Mann-Whitney's, or else Welch's; adjusted for the number of rows.
    pub p: Option<f64>,
    /// The difference in standard deviations.
    pub cohens_d: Option<f64>,
    /// Cliff's delta.
    pub cliffs_delta: Option<f64>,
    /// Runs of each that would show such a difference in four of five cases.
    pub runs_needed: Option<u64>,
    /// The level.
    pub confidence: f64,
}

/// A series compared with the baseline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesComparison {
    /// The name of the series.
    pub name: String,
    /// Rows that both have, in the order of the baseline.
    pub rows: Vec<RowComparison>,
    /// Full names of rows that only the baseline has.
    pub only_in_a: Vec<String>,
    /// Full names of rows that only this series has.
    pub only_in_b: Vec<String>,
    /// Full names of rows whose units do not fit.
    pub other_units: Vec<String>,
}

impl RowComparison {
    /// Group and name.
    #[must_use]
    pub fn full_name(&self) -> String {
        if self.group.is_empty() {
            self.name.clone()
        } else {
            format!("{}: {}", self.group, self.name)
        }
    }

    /// The change as a gain: positive is better. `None` when nobody said which way is better.
    #[must_use]
    pub fn gain(&self) -> Option<f64> {
        let change = self.change?;
        Some(match self.better? {
            Direction::HigherIsBetter => change,
            Direction::LowerIsBetter => -change,
        })
    }

    /// What may be said.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let Some(tests) = &self.tests else {
            return Finding::NotTested;
        };
        let Some(p) = tests.p else {
            return Finding::NotTested;
        };
        if p > 1.0 - tests.confidence || tests.difference.contains(0.0) {
            return Finding::NoDifferenceProven;
        }
        let is_lower = tests.difference.high < 0.0;
        match self.better {
            None => Finding::Different,
            Some(better) if is_lower == (better == Direction::LowerIsBetter) => Finding::Better,
            Some(_) => Finding::Worse,
        }
    }
}

/// Every series of `results` against the first.
#[must_use]
pub fn compare(results: &Results, options: &CompareOptions) -> Vec<SeriesComparison> {
    let Some((baseline, others)) = results.series.split_first() else {
        return Vec::new();
    };
    others
        .iter()
        .map(|series| {
            let mut comparison = SeriesComparison {
                name: series.name.clone(),
                ..SeriesComparison::default()
            };
            for a in &baseline.rows {
                match series.row(&a.group, &a.name) {
                    Some(b) => match scale_between(&b.unit, &a.unit) {
                        Some(scale) => comparison.rows.extend(row(a, b, scale, options)),
                        None => comparison.other_units.push(format!(
                            "{} ({} and {})",
                            a.full_name(),
                            a.unit,
                            b.unit
                        )),
                    },
                    None => comparison.only_in_a.push(a.full_name()),
                }
            }
            let is_new = |b: &&Row| baseline.row(&b.group, &b.name).is_none();
            comparison.only_in_b = series
                .rows
                .iter()
                .filter(is_new)
                .map(Row::full_name)
                .collect();
            if options.adjusts {
                adjust(&mut comparison.rows);
            }
            comparison
        })
        .collect()
}

/// Holm's correction over the rows that are read together.
fn adjust(rows: &mut [RowComparison]) {
    let known: Vec<f64> = rows.iter().filter_map(|row| row.tests?.p).collect();
    let mut adjusted = holm(&known).into_iter();
    for tests in rows.iter_mut().filter_map(|row| row.tests.as_mut()) {
        if tests.p.is_some() {
            tests.p = adjusted.next();
        }
    }
}

/// What stands for the runs of `row`, with the values multiplied by `scale`.
#[must_use]
pub fn side(row: &Row, scale: f64, mean: Mean) -> Option<Side> {
    let scaled = |value: Option<f64>| value.map(|value| value * scale);
    match &row.data {
        Data::Values(values) => {
            let values: Vec<f64> = values.iter().map(|value| value * scale).collect();
            let sample = Sample::new(values).ok()?;
            let fitting = match mean {
                Mean::Auto => fitting(row),
                other => other,
            };
            let (value, kind) = match fitting {
                _ if sample.len() == 1 => (sample.mean(), "value"),
                Mean::Median => (sample.median(), "median"),
                Mean::Harmonic => sample
                    .harmonic_mean()
                    .map_or((sample.mean(), "Amean"), |mean| (mean, "Hmean")),
                Mean::Geometric => sample
                    .geometric_mean()
                    .map_or((sample.mean(), "Amean"), |mean| (mean, "Gmean")),
                Mean::Auto | Mean::Arithmetic => (sample.mean(), "Amean"),
            };
            Some(Side {
                value,
                kind,
                figures: Figures::from(sample.summary()),
                sample: Some(sample),
            })
        }
        Data::Figures(figures) => {
            let figures = Figures {
                n: figures.n,
                min: scaled(figures.min),
                max: scaled(figures.max),
                median: scaled(figures.median),
                mean: scaled(figures.mean),
                stddev: scaled(figures.stddev),
                sem: scaled(figures.sem),
            };
            let (value, kind) = match (mean, figures.mean, figures.median) {
                (Mean::Median, _, Some(median)) | (_, None, Some(median)) => (median, "median"),
                (_, Some(mean), _) => (mean, "mean"),
                (_, None, None) => return None,
            };
            Some(Side {
                value,
                kind,
                figures,
                sample: None,
            })
        }
    }
}

/// The mean that fits a row: harmonic for rates, geometric for ratios.
fn fitting(row: &Row) -> Mean {
    let is_rate = row.unit.ends_with("/s") || row.unit.ends_with("/sec") || row.unit == "Mbit/s";
    match row.unit.as_str() {
        _ if is_rate => Mean::Harmonic,
        "x" | "ratio" => Mean::Geometric,
        _ => Mean::Arithmetic,
    }
}

fn row(a: &Row, b: &Row, scale: f64, options: &CompareOptions) -> Option<RowComparison> {
    let better = options.better.or(a.better).or(b.better);
    let (side_a, side_b) = (side(a, 1.0, options.mean)?, side(b, scale, options.mean)?);
    let tests = match (&side_a.sample, &side_b.sample) {
        (Some(a), Some(b)) if a.len() > 1 && b.len() > 1 => Some(of_samples(a, b, options)),
        _ => of_figures(&side_a.figures, &side_b.figures, options),
    };
    let change = (side_a.value != 0.0)
        .then(|| (side_b.value - side_a.value) / side_a.value.abs())
        .filter(|change| change.is_finite());
    Some(RowComparison {
        group: a.group.clone(),
        name: a.name.clone(),
        unit: a.unit.clone(),
        better,
        a: side_a,
        b: side_b,
        change,
        tests,
    })
}

fn of_samples(a: &Sample, b: &Sample, options: &CompareOptions) -> Tests {
    let center = match options.mean {
        Mean::Median => Center::Median,
        _ => Center::Mean,
    };
    let welch = welch_t_test(a, b, options.confidence);
    let moments = |sample: &Sample| (sample.len() as u64, sample.mean(), sample.stddev());
    let common = Tests {
        difference: exact(b.mean() - a.mean(), options.confidence),
        welch_p: welch.map(|welch| welch.p_value),
        mann_whitney_p: None,
        p: None,
        cohens_d: cohens_d(moments(a), moments(b)),
        cliffs_delta: None,
        runs_needed: None,
        confidence: options.confidence,
    };
    if a.len() + b.len() > RESAMPLED {
        let ranks = mann_whitney(a, b);
        return Tests {
            difference: welch.map_or(common.difference, |welch| welch.difference),
            mann_whitney_p: Some(ranks.p_value),
            p: Some(ranks.p_value),
            cliffs_delta: Some(ranks.delta),
            runs_needed: fairlab_stats::runs_needed(a, b, options.confidence, 0.8),
            ..common
        };
    }
    let comparison = Comparison::of(
        a,
        b,
        &ComparisonOptions {
            direction: Direction::LowerIsBetter,
            center,
            test: Test::MannWhitney,
            confidence: options.confidence,
            resamples: options.resamples,
            seed: options.seed,
        },
    );
    debug_assert!(comparison.verdict() != Verdict::Better || comparison.difference.high < 0.0);
    Tests {
        difference: comparison.difference,
        mann_whitney_p: comparison.p_value,
        p: comparison.p_value,
        cliffs_delta: Some(comparison.delta),
        runs_needed: comparison.runs_needed,
        ..common
    }
}

fn of_figures(a: &Figures, b: &Figures, options: &CompareOptions) -> Option<Tests> {
    let moments = |figures: &Figures| Some((figures.n?, figures.mean?, figures.stddev?));
    let (a, b) = (moments(a)?, moments(b)?);
    let welch = welch_from_moments(a, b, options.confidence)?;
    Some(Tests {
        difference: welch.difference,
        welch_p: Some(welch.p_value),
        mann_whitney_p: None,
        p: Some(welch.p_value),
        cohens_d: cohens_d(a, b),
        cliffs_delta: None,
        runs_needed: None,
        confidence: options.confidence,
    })
}

/// A difference without an interval around it.
fn exact(estimate: f64, confidence: f64) -> Interval {
    Interval {
        estimate,
        low: estimate,
        high: estimate,
        confidence,
    }
}
