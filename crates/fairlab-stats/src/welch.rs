//! Do two means differ, for samples of near normal distribution with unequal variances?

use crate::distribution::{student_t_critical, student_t_two_sided};
use crate::{Interval, Sample};

/// The outcome of Welch's t test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// The statistic; positive when B's mean is larger.
    pub t: f64,
    /// Degrees of freedom by Welch and Satterthwaite.
    pub degrees: f64,
    /// Two-sided.
    pub p_value: f64,
    /// Mean of B minus mean of A, with its interval.
    pub difference: Interval,
}

/// Tests whether the means of `a` and `b` differ; the interval has level `confidence`.
///
/// `None` when a sample has a single value, or when neither has any spread: the test has nothing to
/// compare the difference with.
///
/// # Source
/// Welch, "The generalization of 'Student's' problem when several different population variances are
/// involved", Biometrika 34, 1947.
#[must_use]
pub fn welch_t_test(a: &Sample, b: &Sample, confidence: f64) -> Option<Welch> {
    let moments = |sample: &Sample| (sample.len() as u64, sample.mean(), sample.variance());
    welch(moments(a), moments(b), confidence)
}

/// The same from number, mean and standard deviation of both, for published tables.
///
/// `None` when one has less than two values, or when neither has any spread.
#[must_use]
pub fn welch_from_moments(
    (n_a, mean_a, stddev_a): (u64, f64, f64),
    (n_b, mean_b, stddev_b): (u64, f64, f64),
    confidence: f64,
) -> Option<Welch> {
    welch(
        (n_a, mean_a, stddev_a * stddev_a),
        (n_b, mean_b, stddev_b * stddev_b),
        confidence,
    )
}

/// Number, mean and variance of each.
fn welch(a: (u64, f64, f64), b: (u64, f64, f64), confidence: f64) -> Option<Welch> {
    if a.0 < 2 || b.0 < 2 {
        return None;
    }
    let (n_a, n_b) = (a.0 as f64, b.0 as f64);
    let (error_a, error_b) = (a.2 / n_a, b.2 / n_b);
    let error = error_a + error_b;
    if error <= 0.0 || !error.is_finite() {
        return None;
    }
    let estimate = b.1 - a.1;
    let t = estimate / error.sqrt();
    // Parts of the whole first, so that tiny variances do not underflow when squared.
    let (part_a, part_b) = (error_a / error, error_b / error);
    let degrees = 1.0 / (part_a * part_a / (n_a - 1.0) + part_b * part_b / (n_b - 1.0));
    let reach = student_t_critical(1.0 - confidence, degrees) * error.sqrt();
    Some(Welch {
        t,
        degrees,
        p_value: student_t_two_sided(t, degrees),
        difference: Interval {
            estimate,
            low: estimate - reach,
            high: estimate + reach,
            confidence,
        },
    })
}

/// The difference of two means in standard deviations (Cohen's d, pooled), from number, mean and
/// standard deviation of each; positive when B's is larger. `None` without spread or degrees of
/// freedom.
///
/// # Source
/// Cohen, "Statistical Power Analysis for the Behavioral Sciences", 1988, chapter 2.
#[must_use]
pub fn cohens_d(a: (u64, f64, f64), b: (u64, f64, f64)) -> Option<f64> {
    let degrees = (a.0 + b.0).checked_sub(2).filter(|degrees| *degrees > 0)? as f64;
    let squares = |(n, _, stddev): (u64, f64, f64)| (n as f64 - 1.0).max(0.0) * stddev * stddev;
    let pooled = ((squares(a) + squares(b)) / degrees).sqrt();
    (pooled > 0.0).then(|| (b.1 - a.1) / pooled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_example_is_reproduced() {
        // Rosetta Code, "Welch's t-test", first data set: p = 0.021378001462867.
        let a = [
            27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7,
            21.4,
        ];
        let b = [
            27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5,
            24.4,
        ];
        let (a, b) = (Sample::new(a).unwrap(), Sample::new(b).unwrap());
        let result = welch_t_test(&a, &b, 0.95).unwrap();
        assert!(
            (result.p_value - 0.021_378_001_462_867).abs() < 1e-12,
            "{result:?}"
        );
        assert!(result.t > 0.0 && !result.difference.contains(0.0));
    }

    #[test]
    fn the_interval_holds_zero_exactly_when_the_test_says_nothing() {
        let a = Sample::new([1.0, 2.0, 3.0, 4.0]).unwrap();
        for shift in 0..40 {
            let b = Sample::new([1.0, 2.0, 3.0, 4.5].map(|x| x + f64::from(shift) / 8.0)).unwrap();
            let result = welch_t_test(&a, &b, 0.95).unwrap();
            assert_eq!(
                result.p_value >= 0.05,
                result.difference.contains(0.0),
                "{shift}"
            );
        }
    }

    #[test]
    fn published_moments_give_the_same_as_the_values() {
        let a = Sample::new([1.0, 2.0, 3.0, 5.0]).unwrap();
        let b = Sample::new([2.0, 4.0, 6.0]).unwrap();
        let moments = |s: &Sample| (s.len() as u64, s.mean(), s.stddev());
        let from_values = welch_t_test(&a, &b, 0.95).unwrap();
        let published = welch_from_moments(moments(&a), moments(&b), 0.95).unwrap();
        assert!((from_values.p_value - published.p_value).abs() < 1e-12);
        // Means 2.75 and 4, variances 35/12 and 4: pooled (3 * 35/12 + 2 * 4) / 5 = 3.35.
        let d = cohens_d(moments(&a), moments(&b)).unwrap();
        assert!((d - 1.25 / 3.35_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn without_spread_there_is_no_answer() {
        let flat = Sample::new([1.0, 1.0]).unwrap();
        let single = Sample::new([1.0]).unwrap();
        assert_eq!(welch_t_test(&flat, &flat, 0.95), None);
        assert_eq!(welch_t_test(&flat, &single, 0.95), None);
    }
}
