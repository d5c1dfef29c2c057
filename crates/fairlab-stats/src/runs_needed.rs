//! How many runs would show a difference of this size?

use crate::distribution::normal_quantile;
use crate::{Sample, mann_whitney};

/// Runs of A, and as many of B, after which a difference like the one between `a` and `b` would be
/// found by a two-sided Mann-Whitney test of level `1 - confidence` with probability `power`.
///
/// `None` when the samples show no tendency at all. An estimate from the samples themselves: with
/// few runs it is rough. It is never below the number from which the exact test can answer at all.
///
/// # Source
/// Noether, "Sample Size Determination for Some Common Nonparametric Tests", Journal of the American
/// Statistical Association 82, 1987.
#[must_use]
pub fn runs_needed(a: &Sample, b: &Sample, confidence: f64, power: f64) -> Option<u64> {
    runs_for_delta(mann_whitney(a, b).delta, confidence, power)
}

/// The same for a known Cliff's delta.
pub(crate) fn runs_for_delta(delta: f64, confidence: f64, power: f64) -> Option<u64> {
    if delta == 0.0 {
        return None;
    }
    let level = 1.0 - confidence;
    let z = normal_quantile(1.0 - level / 2.0) + normal_quantile(power);
    // Noether's total for equal halves, z^2 / (3 (p - 1/2)^2), with p - 1/2 = delta / 2; then half.
    let per_side = 2.0 * z * z / (3.0 * delta * delta);
    // Saturates, should somebody ask for certainty.
    Some((per_side.ceil() as u64).max(smallest_able(level)))
}

/// The smallest n for which the most extreme of the C(2n, n) splits is rare enough.
fn smallest_able(level: f64) -> u64 {
    let mut rarest = 1.0;
    for n in 1..500_u32 {
        // C(2n, n) = C(2n - 2, n - 1) * 2 (2n - 1) / n
        rarest *= f64::from(n) / (2.0 * f64::from(2 * n - 1));
        if 2.0 * rarest <= level {
            return u64::from(n);
        }
    }
    500
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_rng::Rng;

    #[test]
    fn four_runs_are_the_least_that_can_show_anything() {
        assert_eq!(smallest_able(0.05), 4);
        assert_eq!(smallest_able(0.01), 5);
        let (a, b) = (Sample::new([1.0]).unwrap(), Sample::new([2.0]).unwrap());
        assert_eq!(runs_needed(&a, &b, 0.95, 0.8), Some(6));
        assert_eq!(runs_needed(&a, &a, 0.95, 0.8), None);
    }

    #[test]
    fn the_estimate_gives_about_the_power_that_it_promises() {
        let mut rng = Rng::new(17);
        let mut draw = |n: u64, shift: u64| {
            Sample::from_integers((0..n).map(|_| rng.range(0..1000) + shift)).unwrap()
        };
        let (a, b) = (draw(2000, 0), draw(2000, 250));
        let n = runs_needed(&a, &b, 0.95, 0.8).unwrap();
        let found = (0..400)
            .filter(|_| mann_whitney(&draw(n, 0), &draw(n, 250)).p_value < 0.05)
            .count();
        // 0.8 of 400, with four standard deviations.
        assert!(found.abs_diff(320) < 35, "{n} runs: {found} of 400");
    }
}
