//! Do two quantities rise together?

/// Spearman's rho: the correlation of the ranks of the pairs, -1 to 1, with midranks for ties. `None` with
/// fewer than three pairs, when one side does not vary, or with a value that is not a number.
///
/// # Source
/// Spearman, "The Proof and Measurement of Association between Two Things", 1904.
#[must_use]
pub fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    let of = |side: fn(&(f64, f64)) -> f64| midranks(&pairs.iter().map(side).collect::<Vec<_>>());
    let (a, b) = (of(|p| p.0)?, of(|p| p.1)?);
    let n = pairs.len() as f64;
    let mean = (n + 1.0) / 2.0;
    let product = |x: &[f64], y: &[f64]| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum()
    };
    let spread = (product(&a, &a) * product(&b, &b)).sqrt();
    (pairs.len() >= 3 && spread > 0.0).then(|| product(&a, &b) / spread)
}

/// Kendall's tau-b: how much more often two pairs are in the same order on both sides than in opposite
/// orders, -1 to 1, corrected for ties. `None` as for [`spearman`].
///
/// The time is quadratic in the number of pairs.
///
/// # Source
/// Kendall, "The Treatment of Ties in Ranking Problems", Biometrika 33, 1945.
#[must_use]
pub fn kendall(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 || pairs.iter().any(|(x, y)| x.is_nan() || y.is_nan()) {
        return None;
    }
    let order = |a: f64, b: f64| i64::from(a > b) - i64::from(a < b);
    // Concordant minus discordant, and the pairs that are tied on neither side of a.
    let (mut agreement, mut untied_a, mut untied_b) = (0, 0, 0);
    for (i, first) in pairs.iter().enumerate() {
        for second in &pairs[i + 1..] {
            let (a, b) = (order(first.0, second.0), order(first.1, second.1));
            agreement += a * b;
            untied_a += a * a;
            untied_b += b * b;
        }
    }
    let spread = (untied_a as f64 * untied_b as f64).sqrt();
    (spread > 0.0).then(|| agreement as f64 / spread)
}

/// The rank of each value, from 1; equal values share the mean of theirs.
fn midranks(values: &[f64]) -> Option<Vec<f64>> {
    if values.iter().any(|x| x.is_nan()) {
        return None;
    }
    let rank = |x: &f64| {
        let below = values.iter().filter(|y| *y < x).count();
        let equal = values.iter().filter(|y| *y == x).count();
        below as f64 + (equal as f64 + 1.0) / 2.0
    };
    Some(values.iter().map(rank).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: d = 1, 1, 1, 1, 0; rho = 1 - 6 * 4 / (5 * 24) = 0.8. Two of ten pairs are discordant.
    #[test]
    fn correlations_are_those_of_a_hand_count() {
        let pairs = [
            (1.0, 20.0),
            (2.0, 10.0),
            (3.0, 40.0),
            (4.0, 30.0),
            (5.0, 50.0),
        ];
        assert_eq!(spearman(&pairs), Some(0.8));
        assert_eq!(kendall(&pairs), Some(0.6));
    }

    #[test]
    fn ties_share_their_rank() {
        // Ranks of the left side: 1.5, 1.5, 3.
        let pairs = [(1.0, 1.0), (1.0, 2.0), (2.0, 3.0)];
        let rho = spearman(&pairs).unwrap();
        assert!((rho - 0.75_f64.sqrt()).abs() < 1e-12, "{rho}");
        let tau = kendall(&pairs).unwrap();
        assert!((tau - 2.0 / 6.0_f64.sqrt()).abs() < 1e-12, "{tau}");
    }

    #[test]
    fn what_does_not_vary_has_no_correlation() {
        assert_eq!(spearman(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(kendall(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(spearman(&[(1.0, f64::NAN), (2.0, 1.0), (3.0, 2.0)]), None);
    }
}
