//! Did something drift while it was measured?

use crate::Sample;
use crate::distribution::normal_two_sided;
use crate::sample::median_of_sorted;

/// A trend over the order of measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// The change from the first value to the last along the median slope.
    pub change: f64,
    /// Two-sided: the probability of an order at least as rising or falling when there is no trend.
    pub p_value: f64,
}

/// The trend of `sample` in the order of measurement; `None` with fewer than four values.
///
/// # Source
/// The slope: Theil, "A Rank-Invariant Method of Linear and Polynomial Regression Analysis", 1950.
/// The test: Mann, "Nonparametric Tests Against Trend", Econometrica 13, 1945, by the normal
/// approximation with a correction for continuity; ties lower the statistic and are not corrected
/// for, which makes the p value larger.
#[must_use]
pub fn trend(sample: &Sample) -> Option<Trend> {
    let values = sample.values();
    if values.len() < 4 {
        return None;
    }
    let mut slopes = Vec::with_capacity(values.len() * (values.len() - 1) / 2);
    let mut rising = 0_i64;
    for (first, a) in values.iter().enumerate() {
        for (distance, b) in values[first + 1..].iter().enumerate() {
            slopes.push((b - a) / (distance + 1) as f64);
            rising += i64::from(b > a) - i64::from(b < a);
        }
    }
    slopes.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let distance = (rising.unsigned_abs() as f64 - 1.0).max(0.0);
    Some(Trend {
        change: median_of_sorted(&slopes) * (n - 1.0),
        p_value: normal_two_sided(distance / deviation),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_is_a_trend_and_a_zigzag_is_none() {
        let line = Sample::from_integers(10..30).unwrap();
        let rising = trend(&line).unwrap();
        assert_eq!(rising.change, 19.0);
        assert!(rising.p_value < 1e-6);
        let zigzag: Vec<f64> = (0..20).map(|i| f64::from(i % 2)).collect();
        assert!(trend(&Sample::new(zigzag).unwrap()).unwrap().p_value > 0.5);
        assert_eq!(trend(&Sample::new([1.0, 2.0, 3.0]).unwrap()), None);
    }

    #[test]
    fn one_wild_value_does_not_tilt_the_line() {
        let mut values: Vec<f64> = vec![5.0; 20];
        values[19] = 1000.0;
        assert_eq!(trend(&Sample::new(values).unwrap()).unwrap().change, 0.0);
    }

    #[test]
    fn the_statistic_is_that_of_mann() {
        // 1 3 2 4: five of six pairs rise, S = 4, variance 4 * 3 * 13 / 18 = 8.667,
        // z = 3 / 2.944 = 1.019, p = 0.308.
        let p_value = trend(&Sample::new([1.0, 3.0, 2.0, 4.0]).unwrap())
            .unwrap()
            .p_value;
        assert!((p_value - 0.308).abs() < 0.001, "{p_value}");
    }
}
