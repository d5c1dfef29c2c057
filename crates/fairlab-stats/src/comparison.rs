//! Is B better than A?

use core::fmt;

use crate::runs_needed::runs_for_delta;
use crate::table::{Rounding, percent};
use crate::{
    Bootstrap, Center, Interval, Sample, Summary, holm, mann_whitney, permutation_test,
    welch_t_test,
};

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Latencies, times, misses.
    LowerIsBetter,
    /// Throughput.
    HigherIsBetter,
}

/// How it is tested whether a difference could come from chance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Test {
    /// Ranks; assumes nothing about the distribution.
    #[default]
    MannWhitney,
    /// Relabelling; tests the difference of the centres themselves.
    Permutation,
    /// Student's t with unequal variances; for means of near normal samples.
    Welch,
}

impl Test {
    /// Its name in a report.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MannWhitney => "Mann-Whitney U",
            Self::Permutation => "permutation test",
            Self::Welch => "Welch's t",
        }
    }
}

/// What may be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// B is better than A.
    Better,
    /// B is worse than A.
    Worse,
    /// The runs do not show a difference; that is not proof of equality.
    NoDifferenceProven,
}

/// How a comparison is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparisonOptions {
    /// Which way is better.
    pub direction: Direction,
    /// What is compared.
    pub center: Center,
    /// The test behind the p value.
    pub test: Test,
    /// The level of intervals and verdict, 0.95 for 95 percent.
    pub confidence: f64,
    /// Samples drawn for an interval, and relabellings for a permutation test.
    pub resamples: u32,
    /// Where the draws come from.
    pub seed: u64,
}

impl ComparisonOptions {
    /// Medians, by Mann-Whitney U, at 95 percent, with 5000 resamples from seed 1.
    #[must_use]
    pub fn new(direction: Direction) -> Self {
        Self {
            direction,
            center: Center::Median,
            test: Test::MannWhitney,
            confidence: 0.95,
            resamples: 5000,
            seed: 1,
        }
    }
}

/// Two samples compared.
///
/// A difference is claimed only when the test's p value is at most `1 - confidence` *and* the
/// interval of the difference lies on one side of zero. So comparing a thing with itself claims a
/// difference in at most `1 - confidence` of all cases (less with few runs, where p values are
/// coarse), and no verdict contradicts the interval printed beside it.
///
/// ```
/// use fairlab_stats::{Comparison, ComparisonOptions, Direction, Sample, Verdict};
/// let before = Sample::new([31.0, 30.2, 32.5, 31.9, 30.8])?;
/// let after = Sample::new([27.1, 26.4, 28.0, 27.7, 26.9])?;
/// let options = ComparisonOptions::new(Direction::LowerIsBetter);
/// let comparison = Comparison::of(&before, &after, &options);
/// assert_eq!(comparison.verdict(), Verdict::Better);
/// # Ok::<(), fairlab_stats::SampleError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The first sample, the baseline.
    pub a: Summary,
    /// The second sample.
    pub b: Summary,
    /// How they were compared.
    pub options: ComparisonOptions,
    /// Centre of B minus centre of A, in the unit of the samples.
    pub difference: Interval,
    /// The same as a part of A: -0.05 for five percent less. `None` when A's values are not all of
    /// one sign.
    pub change: Option<Interval>,
    /// Two-sided. `None` when the test cannot be made (Welch's t without spread).
    pub p_value: Option<f64>,
    /// The p value adjusted for the number of rows that are read together; `p_value` itself until
    /// [`adjust_for_many`].
    pub adjusted_p_value: Option<f64>,
    /// Cliff's delta, -1 to 1: how much more often a run of B is larger than one of A, than smaller.
    pub delta: f64,
    /// Runs of each that would show a difference like this in four of five cases; `None` when there
    /// is no tendency.
    pub runs_needed: Option<u64>,
}

/// Probability of finding a difference for which [`Comparison::runs_needed`] is computed.
const POWER: f64 = 0.8;

impl Comparison {
    /// Compares `b` with the baseline `a`.
    #[must_use]
    pub fn of(a: &Sample, b: &Sample, options: &ComparisonOptions) -> Self {
        let bootstrap = Bootstrap {
            resamples: options.resamples,
            confidence: options.confidence,
            seed: options.seed,
        };
        let ranks = mann_whitney(a, b);
        let p_value = match options.test {
            Test::MannWhitney => Some(ranks.p_value),
            Test::Permutation => {
                let draws = u64::from(options.resamples);
                Some(permutation_test(a, b, options.center, draws, options.seed).p_value)
            }
            Test::Welch => welch_t_test(a, b, options.confidence).map(|welch| welch.p_value),
        };
        let (difference, ratio) = bootstrap.difference_and_ratio(a, b, options.center);
        let sign = a.median().signum();
        Self {
            a: a.summary(),
            b: b.summary(),
            options: *options,
            difference,
            change: ratio.map(|ratio| ratio.map(|x| (x - 1.0) * sign)),
            p_value,
            adjusted_p_value: p_value,
            delta: ranks.delta,
            runs_needed: runs_for_delta(ranks.delta, options.confidence, POWER),
        }
    }

    /// What may be claimed.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let is_rare = self
            .adjusted_p_value
            .is_some_and(|p| p <= 1.0 - self.options.confidence);
        if !is_rare || self.difference.contains(0.0) {
            return Verdict::NoDifferenceProven;
        }
        let is_lower = self.difference.high < 0.0;
        if is_lower == (self.options.direction == Direction::LowerIsBetter) {
            Verdict::Better
        } else {
            Verdict::Worse
        }
    }

    /// The verdict in words, with its level: `no difference proven at 95.0% confidence`.
    #[must_use]
    pub fn verdict_text(&self) -> String {
        let claim = match self.verdict() {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::NoDifferenceProven => "no difference proven",
        };
        format!(
            "{claim} at {:.1}% confidence",
            self.options.confidence * 100.0
        )
    }

    /// The change in percent with its interval: `-29.23 % [-35.10 %, -22.02 %]`; the difference in
    /// the unit of the samples where a percentage has no meaning.
    #[must_use]
    pub fn change_text(&self) -> String {
        match &self.change {
            Some(change) => {
                let percent = |x| percent(x, Rounding::Nearest);
                format!(
                    "{} % [{} %, {} %]",
                    percent(change.estimate),
                    percent(change.low),
                    percent(change.high)
                )
            }
            None => {
                let Interval {
                    estimate,
                    low,
                    high,
                    ..
                } = self.difference;
                format!("{estimate:+.6} [{low:+.6}, {high:+.6}]")
            }
        }
    }
}

impl fmt::Display for Comparison {
    /// One line: change, test and verdict.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.options.center.name(), self.change_text())?;
        match self.adjusted_p_value {
            Some(p) if p < 0.0001 => write!(f, ", p < 0.0001")?,
            Some(p) => write!(f, ", p = {p:.4}")?,
            None => write!(f, ", no p value")?,
        }
        let (a, b) = (self.a.n, self.b.n);
        write!(
            f,
            " ({}, {a} and {b} runs): {}",
            self.options.test.name(),
            self.verdict_text()
        )?;
        match (self.verdict(), self.runs_needed) {
            (Verdict::NoDifferenceProven, Some(runs)) if runs > a.min(b) => {
                write!(
                    f,
                    "; a difference like this needs about {runs} runs of each"
                )
            }
            _ => Ok(()),
        }
    }
}

/// Adjusts the p values of comparisons that are read together as one table (Holm), so that the level
/// holds for the whole table and not only for each row.
pub fn adjust_for_many(comparisons: &mut [Comparison]) {
    let known: Vec<f64> = comparisons.iter().filter_map(|row| row.p_value).collect();
    let mut adjusted = holm(&known).into_iter();
    for row in comparisons.iter_mut().filter(|row| row.p_value.is_some()) {
        row.adjusted_p_value = adjusted.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_rng::Rng;

    fn options(direction: Direction) -> ComparisonOptions {
        ComparisonOptions {
            resamples: 300,
            ..ComparisonOptions::new(direction)
        }
    }

    fn sample(values: impl Into<Vec<f64>>) -> Sample {
        Sample::new(values).unwrap()
    }

    /// Exponential times on top of a constant: skewed, as latencies are.
    fn draw(rng: &mut Rng, n: u64) -> Sample {
        Sample::from_integers((0..n).map(|_| 1000 + rng.exponential(500))).unwrap()
    }

    #[test]
    fn the_direction_decides_what_better_means() {
        let low = sample([10.0, 11.0, 12.0, 13.0, 14.0]);
        let high = sample([20.0, 21.0, 22.0, 23.0, 24.0]);
        let verdict = |a, b, direction| Comparison::of(a, b, &options(direction)).verdict();
        assert_eq!(
            verdict(&low, &high, Direction::LowerIsBetter),
            Verdict::Worse
        );
        assert_eq!(
            verdict(&low, &high, Direction::HigherIsBetter),
            Verdict::Better
        );
        assert_eq!(
            verdict(&high, &low, Direction::LowerIsBetter),
            Verdict::Better
        );
        assert_eq!(
            verdict(&high, &low, Direction::HigherIsBetter),
            Verdict::Worse
        );
    }

    #[test]
    fn three_runs_prove_nothing_however_far_apart() {
        let comparison = Comparison::of(
            &sample([1.0, 1.1, 1.2]),
            &sample([9.0, 9.1, 9.2]),
            &options(Direction::LowerIsBetter),
        );
        assert_eq!(comparison.verdict(), Verdict::NoDifferenceProven);
        assert_eq!(
            comparison.verdict_text(),
            "no difference proven at 95.0% confidence"
        );
        assert_eq!(comparison.runs_needed, Some(6));
        assert!(comparison.to_string().ends_with(
            "(Mann-Whitney U, 3 and 3 runs): no difference proven at 95.0% confidence; \
             a difference like this needs about 6 runs of each"
        ));
    }

    #[test]
    fn equal_values_prove_nothing_by_any_test() {
        let same = sample([5.0; 12]);
        for test in [Test::MannWhitney, Test::Permutation, Test::Welch] {
            let options = ComparisonOptions {
                test,
                ..options(Direction::LowerIsBetter)
            };
            let comparison = Comparison::of(&same, &same, &options);
            assert_eq!(comparison.verdict(), Verdict::NoDifferenceProven);
            assert_eq!(comparison.change.unwrap().estimate, 0.0);
        }
    }

    #[test]
    fn the_change_is_relative_to_the_size_of_a() {
        let comparison = Comparison::of(
            &sample([-10.0; 5]),
            &sample([-12.0; 5]),
            &options(Direction::HigherIsBetter),
        );
        let change = comparison.change.unwrap();
        assert!((change.estimate + 0.2).abs() < 1e-12, "{change:?}");
        assert_eq!(comparison.verdict(), Verdict::Worse);
        let zeros = Comparison::of(
            &sample([0.0; 5]),
            &sample([1.0; 5]),
            &options(Direction::LowerIsBetter),
        );
        assert_eq!(zeros.change, None);
        assert_eq!(zeros.verdict(), Verdict::Worse);
        assert_eq!(zeros.change_text(), "+1.000000 [+1.000000, +1.000000]");
    }

    #[test]
    fn comparing_a_thing_with_itself_claims_a_difference_at_most_at_the_stated_level() {
        const TRIALS: usize = 1000;
        for (test, center, n) in [
            (Test::MannWhitney, Center::Median, 5),
            (Test::MannWhitney, Center::Median, 20),
            (Test::MannWhitney, Center::Mean, 40),
            (Test::Welch, Center::Mean, 20),
            (Test::Permutation, Center::Median, 6),
        ] {
            let options = ComparisonOptions {
                test,
                center,
                ..options(Direction::LowerIsBetter)
            };
            let mut rng = Rng::stream(31, test.name());
            let claims = (0..TRIALS)
                .filter(|_| {
                    let (a, b) = (draw(&mut rng, n), draw(&mut rng, n));
                    Comparison::of(&a, &b, &options).verdict() != Verdict::NoDifferenceProven
                })
                .count();
            // Five percent, and three standard deviations (6.9 each) of a count of 1000.
            assert!(
                claims <= 50 + 21,
                "{test:?} with {n} runs: {claims} of {TRIALS}"
            );
        }
    }

    #[test]
    fn a_difference_of_two_standard_deviations_is_found_in_25_runs() {
        let mut rng = Rng::new(37);
        let found = (0..100)
            .filter(|_| {
                let a = draw(&mut rng, 25);
                let b = Sample::from_integers((0..25).map(|_| rng.exponential(500))).unwrap();
                let comparison = Comparison::of(&a, &b, &options(Direction::LowerIsBetter));
                comparison.verdict() == Verdict::Better
            })
            .count();
        assert!(found >= 98, "{found} of 100");
    }

    #[test]
    fn rows_read_together_are_held_to_a_higher_standard() {
        // Five against five without overlap: p = 2 / 252 = 0.0079, seven of which make 0.056.
        let row = Comparison::of(
            &sample([1.0, 2.0, 3.0, 4.0, 5.0]),
            &sample([6.0, 7.0, 8.0, 9.0, 10.0]),
            &options(Direction::LowerIsBetter),
        );
        assert_eq!(row.verdict(), Verdict::Worse);
        let mut rows = [row; 7];
        adjust_for_many(&mut rows);
        assert!(
            rows.iter()
                .all(|row| row.verdict() == Verdict::NoDifferenceProven)
        );
        assert_eq!(rows[0].p_value, row.p_value);
        let mut rows = [row; 6];
        adjust_for_many(&mut rows);
        assert!(rows.iter().all(|row| row.verdict() == Verdict::Worse));
    }
}
