//! Does one sample tend to be larger than the other?

use crate::Sample;
use crate::distribution::normal_two_sided;

/// Above this many values together the exact distribution gives way to the normal approximation.
/// Up to here the number of ways to split the values, C(64, 32) = 1.8e18, fits into 64 bits.
const EXACT_LIMIT: usize = 64;

/// The outcome of a Mann-Whitney U test (Wilcoxon rank sum test).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// U of A: the number of pairs in which A is larger, ties count half.
    pub u: f64,
    /// Two-sided: the probability of a U at least this far from its mean when there is no
    /// difference.
    pub p_value: f64,
    /// True when `p_value` counts all ways to split the values, false when it is the normal
    /// approximation.
    pub is_exact: bool,
    /// Cliff's delta, equal to the rank-biserial correlation: the part of pairs in which B is larger
    /// minus the part in which A is; -1 to 1, 0 for no tendency.
    pub delta: f64,
}

/// Tests whether values of `b` tend to be larger or smaller than those of `a`.
///
/// With up to 64 values together the p value is exact, also with ties (the permutation distribution
/// of the midranks). Above that it is the normal approximation with corrections for ties and
/// continuity.
///
/// # Source
/// Mann and Whitney, "On a Test of Whether one of Two Random Variables is Stochastically Larger than
/// the Other", Annals of Mathematical Statistics 18, 1947. Ties: Lehmann, "Nonparametrics", 1.4.
#[must_use]
pub fn mann_whitney(a: &Sample, b: &Sample) -> MannWhitney {
    let ranks = DoubledRanks::of(a, b);
    let (n_a, n_b) = (a.len() as f64, b.len() as f64);
    let u = ranks.sum_of_a as f64 / 2.0 - n_a * (n_a + 1.0) / 2.0;
    let is_exact = a.len() + b.len() <= EXACT_LIMIT;
    MannWhitney {
        u,
        p_value: if is_exact {
            ranks.exact_p_value(a.len())
        } else {
            ranks.normal_p_value(u, n_a, n_b)
        },
        is_exact,
        // Whole halves up to the division, so that swapping A and B only turns the sign.
        delta: (n_a * n_b - 2.0 * u) / (n_a * n_b),
    }
}

/// The ranks of all values together, from 1, doubled so that the midranks of ties are whole.
struct DoubledRanks {
    /// One per value, ascending.
    all: Vec<u64>,
    /// Sum of those of A.
    sum_of_a: u64,
    /// The sum of t^3 - t over groups of t equal values.
    ties: f64,
}

impl DoubledRanks {
    fn of(a: &Sample, b: &Sample) -> Self {
        let (mut rest_a, mut rest_b) = (a.sorted(), b.sorted());
        let mut ranks = Self {
            all: Vec::with_capacity(a.len() + b.len()),
            sum_of_a: 0,
            ties: 0.0,
        };
        loop {
            let value = match (rest_a.first(), rest_b.first()) {
                (Some(x), Some(y)) => x.min(*y),
                (Some(x), None) | (None, Some(x)) => *x,
                (None, None) => return ranks,
            };
            let equal_in_a = rest_a.iter().take_while(|x| **x == value).count();
            let equal_in_b = rest_b.iter().take_while(|x| **x == value).count();
            rest_a = &rest_a[equal_in_a..];
            rest_b = &rest_b[equal_in_b..];
            ranks.push(equal_in_a, equal_in_b);
        }
    }

    /// Appends a group of equal values.
    fn push(&mut self, in_a: usize, in_b: usize) {
        let (before, equal) = (self.all.len() as u64, (in_a + in_b) as u64);
        // The mean of the ranks before + 1 to before + equal, doubled.
        let rank = 2 * before + equal + 1;
        self.all.extend((0..equal).map(|_| rank));
        self.sum_of_a += rank * in_a as u64;
        let equal = equal as f64;
        self.ties += equal * equal * equal - equal;
    }

    /// The part of all choices of `n_a` of the ranks whose sum is at least as far from its mean as
    /// that of A.
    fn exact_p_value(&self, n_a: usize) -> f64 {
        // Without ties all doubled ranks are even, and the table of sums can be half as wide.
        let unit = if self.all.iter().all(|rank| rank % 2 == 0) {
            2
        } else {
            1
        };
        let ranks: Vec<usize> = self.all.iter().map(|rank| (rank / unit) as usize).collect();
        let ways = ways_to_sum(&ranks, n_a);
        // The mean of the sums is total * n_a / n; all is multiplied by n to stay whole.
        let n = ranks.len();
        let mean = ranks.iter().sum::<usize>() * n_a;
        let distance = ((self.sum_of_a / unit) as usize * n).abs_diff(mean);
        let (mut extreme, mut all) = (0_u64, 0_u64);
        for (sum, &ways) in ways.iter().enumerate() {
            all += ways;
            if (sum * n).abs_diff(mean) >= distance {
                extreme += ways;
            }
        }
        extreme as f64 / all as f64
    }

    fn normal_p_value(&self, u: f64, n_a: f64, n_b: f64) -> f64 {
        let n = n_a + n_b;
        let variance = n_a * n_b / 12.0 * (n + 1.0 - self.ties / (n * (n - 1.0)));
        if variance <= 0.0 {
            // All values are equal.
            return 1.0;
        }
        // Half a step towards the mean, because U moves in steps.
        let distance = ((u - n_a * n_b / 2.0).abs() - 0.5).max(0.0);
        normal_two_sided(distance / variance.sqrt())
    }
}

/// For every sum, the number of ways to choose `count` of `ranks` (ascending) with that sum.
fn ways_to_sum(ranks: &[usize], count: usize) -> Vec<u64> {
    // The largest sum of k ranks is that of the last k.
    let largest_sum = |ranks: &[usize], k: usize| ranks.iter().rev().take(k).sum::<usize>();
    let width = largest_sum(ranks, count) + 1;
    // ways[k * width + sum]: choices of k ranks.
    let mut ways = vec![0_u64; (count + 1) * width];
    ways[0] = 1;
    for (done, &rank) in ranks.iter().enumerate() {
        // Downwards, so that no rank is taken twice.
        for k in (0..count.min(done + 1)).rev() {
            let end = largest_sum(&ranks[..done], k) + 1;
            let (fewer, more) = ways.split_at_mut((k + 1) * width);
            let from = &fewer[k * width..k * width + end];
            for (to, from) in more[rank..rank + end].iter_mut().zip(from) {
                *to += from;
            }
        }
    }
    ways.split_off(count * width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values).unwrap()
    }

    #[test]
    fn small_samples_without_ties_give_the_tabled_probabilities() {
        // All of A below all of B: 2 of C(6, 3) = 20 and 2 of C(8, 4) = 70 splits.
        let three = mann_whitney(&sample(&[1.0, 2.0, 3.0]), &sample(&[4.0, 5.0, 6.0]));
        assert_eq!((three.u, three.is_exact, three.delta), (0.0, true, 1.0));
        assert!((three.p_value - 0.1).abs() < 1e-15);
        let four = mann_whitney(
            &sample(&[5.0, 6.0, 7.0, 8.0]),
            &sample(&[1.0, 2.0, 3.0, 4.0]),
        );
        assert_eq!((four.u, four.delta), (16.0, -1.0));
        assert!((four.p_value - 2.0 / 70.0).abs() < 1e-15);
        // Mann and Whitney's own table: for n = m = 5, P(U <= 2) = .016.
        let a = sample(&[1.0, 2.0, 3.0, 4.0, 7.0]);
        let b = sample(&[5.0, 6.0, 8.0, 9.0, 10.0]);
        let five = mann_whitney(&a, &b);
        assert_eq!(five.u, 2.0);
        assert!(
            (five.p_value / 2.0 - 0.016).abs() < 0.0005,
            "{}",
            five.p_value
        );
    }

    #[test]
    fn ties_are_exact_too() {
        // The normal approximation would call this significant (p = 0.047) with three runs each,
        // although one split in ten looks like it.
        let ones_and_twos = mann_whitney(&sample(&[1.0; 3]), &sample(&[2.0; 3]));
        assert!((ones_and_twos.p_value - 0.1).abs() < 1e-15);
        let same = mann_whitney(&sample(&[1.0; 3]), &sample(&[1.0; 3]));
        assert_eq!((same.p_value, same.delta), (1.0, 0.0));
    }

    #[test]
    fn the_approximation_agrees_with_the_exact_value_where_they_meet() {
        let a: Vec<f64> = (0..32).map(|i| f64::from(i * 7 % 32)).collect();
        let b: Vec<f64> = (0..32).map(|i| f64::from(i * 5 % 32) + 4.5).collect();
        let (a, b) = (sample(&a), sample(&b));
        let exact = mann_whitney(&a, &b);
        assert!(exact.is_exact);
        let normal = DoubledRanks::of(&a, &b).normal_p_value(exact.u, 32.0, 32.0);
        assert!(
            (exact.p_value - normal).abs() < 0.002,
            "{} {normal}",
            exact.p_value
        );
    }

    #[test]
    fn large_samples_and_huge_ties_do_not_overflow() {
        let a = sample(&vec![1.0; 5000]);
        let b = sample(&[vec![1.0; 4000], vec![2.0; 1000]].concat());
        let result = mann_whitney(&a, &b);
        assert!(!result.is_exact && result.p_value < 1e-100, "{result:?}");
        assert!((result.delta - 0.2).abs() < 1e-12);
        assert_eq!(mann_whitney(&a, &a).p_value, 1.0);
    }

    #[test]
    fn swapping_the_samples_turns_the_sign_and_nothing_else() {
        let (a, b) = (
            sample(&[1.0, 3.0, 3.0, 9.0]),
            sample(&[2.0, 3.0, 8.0, 10.0, 11.0]),
        );
        let (there, back) = (mann_whitney(&a, &b), mann_whitney(&b, &a));
        assert!((there.p_value - back.p_value).abs() < 1e-15);
        assert_eq!(there.delta, -back.delta);
    }
}
