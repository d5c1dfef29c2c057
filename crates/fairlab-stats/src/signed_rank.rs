//! Are differences of pairs symmetric around zero, and if not, around what?

use crate::distribution::{normal_quantile, normal_two_sided};
use crate::{Interval, Sample};

/// Above this many differences the exact distribution gives way to the normal approximation, whose
/// error is below 0.001 by then.
const EXACT_LIMIT: usize = 100;

/// The outcome of Wilcoxon's signed rank test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// The sum of the ranks of positive differences.
    pub w: f64,
    /// Two-sided: the probability of a sum at least this far from its mean when each difference was
    /// as likely to have the other sign.
    pub p_value: f64,
    /// True when `p_value` counts all ways to give signs, false when it is the normal approximation.
    pub is_exact: bool,
    /// The centre of the differences (Hodges and Lehmann: the median of all means of two) with its
    /// interval; without bounds when there are too few differences for the level.
    pub center: Interval,
}

/// Tests whether `differences` of pairs lie around zero; the interval has at least level
/// `confidence`.
///
/// When a fair coin decided in each pair which side was first, the p value with up to 100
/// differences is exact whatever the values look like: conditional on their sizes, the signs are the
/// coins. The interval also needs that a difference between the sides is a shift.
///
/// Differences of exactly zero have no sign and do not count for the test, but do for the centre.
///
/// # Source
/// Wilcoxon, "Individual Comparisons by Ranking Methods", Biometrics Bulletin 1, 1945. The interval:
/// Hollander and Wolfe, "Nonparametric Statistical Methods", 3.3.
#[must_use]
pub fn signed_rank(differences: &Sample, confidence: f64) -> SignedRank {
    let ranks = DoubledRanks::of(differences);
    let n = ranks.all.len();
    let is_exact = n <= EXACT_LIMIT;
    SignedRank {
        w: ranks.positive as f64 / 2.0,
        p_value: if is_exact {
            ranks.exact_p_value()
        } else {
            ranks.normal_p_value()
        },
        is_exact,
        center: center(differences, confidence),
    }
}

/// The ranks of the sizes of all differences but zeros, from 1, doubled so that the midranks of ties
/// are whole.
struct DoubledRanks {
    all: Vec<usize>,
    /// The sum of those of positive differences.
    positive: usize,
}

impl DoubledRanks {
    fn of(differences: &Sample) -> Self {
        let mut sizes: Vec<f64> = differences
            .values()
            .iter()
            .copied()
            .filter(|d| *d != 0.0)
            .collect();
        sizes.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        let mut ranks = Self {
            all: Vec::with_capacity(sizes.len()),
            positive: 0,
        };
        for group in sizes.chunk_by(|a, b| a.abs() == b.abs()) {
            let before = ranks.all.len();
            // The mean of the ranks before + 1 to before + equal, doubled.
            let rank = 2 * before + group.len() + 1;
            ranks.all.extend(group.iter().map(|_| rank));
            ranks.positive += rank * group.iter().filter(|d| **d > 0.0).count();
        }
        ranks
    }

    fn exact_p_value(&self) -> f64 {
        let chances = chances_of_sums(&self.all);
        let total = chances.len() - 1;
        // Sums lie symmetric around half of the total; all is doubled to stay whole.
        let distance = (2 * self.positive).abs_diff(total);
        let extreme = chances
            .iter()
            .enumerate()
            .filter(|(sum, _)| (2 * sum).abs_diff(total) >= distance);
        extreme.map(|(_, chance)| chance).sum::<f64>().min(1.0)
    }

    fn normal_p_value(&self) -> f64 {
        let squares: f64 = self.all.iter().map(|rank| (*rank as f64).powi(2)).sum();
        let total: usize = self.all.iter().sum();
        // Ranks are doubled, so a step is two; half a step towards the mean.
        let distance = ((self.positive as f64 - total as f64 / 2.0).abs() - 1.0).max(0.0);
        normal_two_sided(distance / (squares / 4.0).sqrt())
    }
}

/// The chance of each sum of `ranks` when each of them counts with probability one half.
fn chances_of_sums(ranks: &[usize]) -> Vec<f64> {
    let mut chances = vec![1.0];
    for &rank in ranks {
        let mut next = vec![0.0; chances.len() + rank];
        for (sum, chance) in chances.iter().enumerate() {
            next[sum] += chance / 2.0;
            next[sum + rank] += chance / 2.0;
        }
        chances = next;
    }
    chances
}

/// The median of the means of all pairs of differences, each also with itself, and its interval.
fn center(differences: &Sample, confidence: f64) -> Interval {
    let values = differences.sorted();
    let mut means: Vec<f64> = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (index, a) in values.iter().enumerate() {
        // By halves, so that huge values do not overflow.
        means.extend(values[index..].iter().map(|b| a / 2.0 + b / 2.0));
    }
    means.sort_by(f64::total_cmp);
    let estimate = crate::sample::median_of_sorted(&means);
    let outside = means_outside(values.len(), 1.0 - confidence);
    let (low, high) = if outside == 0 {
        (f64::NEG_INFINITY, f64::INFINITY)
    } else {
        (means[outside - 1], means[means.len() - outside])
    };
    Interval {
        estimate,
        low,
        high,
        confidence,
    }
}

/// The number `k` so that the interval from the `k`th smallest to the `k`th largest of all means
/// misses the centre with probability `level` at most; 0 when there is none.
fn means_outside(n: usize, level: f64) -> usize {
    if n > EXACT_LIMIT {
        let n = n as f64;
        let (mean, deviation) = (
            n * (n + 1.0) / 4.0,
            (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt(),
        );
        return (mean + normal_quantile(level / 2.0) * deviation)
            .floor()
            .max(0.0) as usize;
    }
    let ranks: Vec<usize> = (1..=n).collect();
    let mut below = 0.0;
    // The largest k with P(W < k) of at most half the level. Chances are sums of halves and exact,
    // so that a level of exactly 2^-5 works.
    let chances = chances_of_sums(&ranks);
    chances
        .iter()
        .take_while(|chance| {
            below += **chance;
            below <= level / 2.0
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlab_rng::Rng;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values).unwrap()
    }

    #[allow(clippy::approx_constant, reason = "a published sample holds 3.14")]
    #[test]
    fn a_published_example_is_reproduced() {
        // Hollander and Wolfe, table 3.1 (depression scale, nine patients): R's
        // wilcox.test(x, y, paired = TRUE) gives V = 40, p = 0.03906, and with conf.int = TRUE an
        // estimate of 0.46 with the interval 0.010 to 0.786.
        let x = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let y = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let differences: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).collect();
        let result = signed_rank(&sample(&differences), 0.95);
        assert_eq!((result.w, result.is_exact), (40.0, true));
        assert!((result.p_value - 0.039_062_5).abs() < 1e-12, "{result:?}");
        assert!((result.center.estimate - 0.46).abs() < 0.001, "{result:?}");
        assert!((result.center.low - 0.010).abs() < 0.001, "{result:?}");
        assert!((result.center.high - 0.786).abs() < 0.001, "{result:?}");
    }

    #[test]
    fn all_of_one_sign_is_one_way_in_all() {
        // Of 2^6 ways to give signs two are as extreme.
        let six = signed_rank(&sample(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 0.95);
        assert!((six.p_value - 2.0 / 64.0).abs() < 1e-15);
        assert_eq!((six.center.low, six.center.high), (1.0, 6.0));
        // Five differences cannot show anything at 95 percent.
        let five = signed_rank(&sample(&[1.0, 2.0, 3.0, 4.0, 5.0]), 0.95);
        assert!((five.p_value - 2.0 / 32.0).abs() < 1e-15);
        assert_eq!(five.center.low, f64::NEG_INFINITY);
    }

    #[test]
    fn zeros_have_no_sign() {
        let zeros = signed_rank(&sample(&[0.0; 10]), 0.95);
        assert_eq!((zeros.p_value, zeros.center.estimate), (1.0, 0.0));
        let some = signed_rank(&sample(&[0.0, 1.0, 1.0, 1.0]), 0.95);
        assert!((some.p_value - 2.0 / 8.0).abs() < 1e-15);
    }

    #[test]
    fn the_approximation_agrees_with_the_exact_value_where_they_meet() {
        let values: Vec<f64> = (1..=100_i32)
            .map(|i| f64::from(if i % 5 < 2 { -i } else { i }))
            .collect();
        let ranks = DoubledRanks::of(&sample(&values));
        let (exact, normal) = (ranks.exact_p_value(), ranks.normal_p_value());
        assert!((exact - normal).abs() < 0.001, "{exact} {normal}");
        assert!(means_outside(100, 0.05).abs_diff(means_outside(101, 0.05)) < 60);
    }

    #[test]
    fn the_interval_holds_zero_exactly_when_the_test_says_nothing() {
        let mut rng = Rng::stream(1, "signed rank");
        for shift in 0..60_u32 {
            // Distinct sizes, so without ties.
            let values: Vec<f64> = (0..14)
                .map(|_| {
                    rng.below(1 << 40) as f64 / f64::from(1 << 20) - 5e5 + f64::from(shift) * 2e4
                })
                .collect();
            let result = signed_rank(&sample(&values), 0.95);
            assert_eq!(
                result.p_value > 0.05,
                result.center.contains(0.0),
                "{shift} {result:?}"
            );
        }
    }
}
