//! Would a random relabelling of the values give as large a difference?

use fairlab_rng::Rng;

use crate::{Center, Sample};

/// Up to this many ways to split the values all are tried.
const EXACT_LIMIT: u64 = 50_000;

/// The outcome of a permutation test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Permutation {
    /// Centre of B minus centre of A.
    pub difference: f64,
    /// Two-sided: the part of relabellings with a difference at least as large.
    pub p_value: f64,
    /// True when all relabellings were tried; else the p value is an estimate that counts the
    /// observed labelling as one of the draws, so it is never 0.
    pub is_exact: bool,
}

/// Tests whether the difference of the centres of `a` and `b` could come from chance alone.
///
/// Tries all relabellings when there are at most 50 000, else `draws` random ones from `seed`.
///
/// # Source
/// Phipson and Smyth, "Permutation P-values Should Never Be Zero", Statistical Applications in
/// Genetics and Molecular Biology 9(1), 2010.
#[must_use]
pub fn permutation_test(
    a: &Sample,
    b: &Sample,
    center: Center,
    draws: u64,
    seed: u64,
) -> Permutation {
    let mut pool = [a.sorted(), b.sorted()].concat();
    let n_a = a.len();
    let difference = center.of_sample(b) - center.of_sample(a);
    // Rounding must not make the observed labelling look less extreme than itself.
    let largest = pool
        .iter()
        .fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let threshold = difference.abs() - largest * 1e-12;
    let is_as_large = |a: &mut [f64], b: &mut [f64]| {
        (center.of_values(b) - center.of_values(a)).abs() >= threshold
    };
    let splits = binomial(pool.len() as u64, n_a as u64, EXACT_LIMIT);
    let p_value = if let Some(splits) = splits {
        exact_hits(&pool, n_a, is_as_large) as f64 / splits as f64
    } else {
        let mut rng = Rng::stream(seed, "permutation");
        let hits = (0..draws).filter(|_| {
            rng.shuffle(&mut pool);
            let (mut a, mut b) = (pool[..n_a].to_vec(), pool[n_a..].to_vec());
            is_as_large(&mut a, &mut b)
        });
        (hits.count() + 1) as f64 / (draws + 1) as f64
    };
    Permutation {
        difference,
        p_value,
        is_exact: splits.is_some(),
    }
}

/// In how many of all choices of `n_a` values for A is the difference large enough?
fn exact_hits(
    pool: &[f64],
    n_a: usize,
    is_as_large: impl Fn(&mut [f64], &mut [f64]) -> bool,
) -> u64 {
    let mut chosen: Vec<usize> = (0..n_a).collect();
    let mut hits = 0;
    loop {
        let (mut a, mut b) = (
            Vec::with_capacity(n_a),
            Vec::with_capacity(pool.len() - n_a),
        );
        let mut next = chosen.iter().peekable();
        for (i, value) in pool.iter().enumerate() {
            if next.next_if_eq(&&i).is_some() {
                a.push(*value);
            } else {
                b.push(*value);
            }
        }
        hits += u64::from(is_as_large(&mut a, &mut b));
        // The next choice in lexicographic order: move the last index that can still move.
        let last = pool.len() - n_a;
        let Some(moved) = (0..n_a).rev().find(|&k| chosen[k] < last + k) else {
            return hits;
        };
        chosen[moved] += 1;
        for k in moved + 1..n_a {
            chosen[k] = chosen[k - 1] + 1;
        }
    }
}

/// The number of ways to choose `k` of `n`, or `None` when there are more than `limit`.
fn binomial(n: u64, k: u64, limit: u64) -> Option<u64> {
    let mut ways = 1_u64;
    for i in 0..k.min(n - k) {
        // Whole at every step, as a product of i + 1 consecutive numbers.
        ways = ways.checked_mul(n - i)? / (i + 1);
        if ways > limit {
            return None;
        }
    }
    Some(ways)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::new(values).unwrap()
    }

    #[test]
    fn a_hand_counted_case_is_exact() {
        // A {1, 2}, B {3, 6}: differences of means over the six splits are
        // 3, 2 ({1,3}), -1 ({1,6}), 1 ({2,3}), -2 ({2,6}), -3: two of six are as large as 3.
        let result = permutation_test(
            &sample(&[1.0, 2.0]),
            &sample(&[3.0, 6.0]),
            Center::Mean,
            0,
            0,
        );
        assert_eq!(result.difference, 3.0);
        assert!(result.is_exact);
        assert!((result.p_value - 2.0 / 6.0).abs() < 1e-15);
    }

    #[test]
    fn draws_come_near_to_what_counting_gives() {
        let a: Vec<f64> = (0..12).map(f64::from).collect();
        let b: Vec<f64> = (0..12).map(|i| f64::from(i) + 3.2).collect();
        let drawn = permutation_test(&sample(&a), &sample(&b), Center::Mean, 20_000, 1);
        assert!(!drawn.is_exact);
        // Counting all C(24, 12) = 2 704 156 relabellings gives 0.043927. The standard error of
        // 20 000 draws is 0.0015.
        assert!(
            (drawn.p_value - 0.043_927).abs() < 0.005,
            "{}",
            drawn.p_value
        );
        let again = permutation_test(&sample(&a), &sample(&b), Center::Mean, 20_000, 1);
        assert_eq!(drawn, again);
    }

    #[test]
    fn the_smallest_p_value_of_drawing_is_not_zero() {
        let a: Vec<f64> = (0..20).map(f64::from).collect();
        let b: Vec<f64> = (0..20).map(|i| f64::from(i) + 1000.0).collect();
        let result = permutation_test(&sample(&a), &sample(&b), Center::Median, 99, 1);
        assert_eq!(result.p_value, 0.01);
    }

    #[test]
    fn binomials_stop_at_the_limit() {
        assert_eq!(binomial(6, 3, 100), Some(20));
        assert_eq!(binomial(18, 9, EXACT_LIMIT), Some(48_620));
        assert_eq!(binomial(1000, 500, EXACT_LIMIT), None);
        assert_eq!(binomial(7, 0, 1), Some(1));
    }
}
