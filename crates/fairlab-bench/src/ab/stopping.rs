//! When it is enough: a rule that does not know which value was whose.

use fairlab_stats::{Sample, signed_rank};

/// The half width that the interval of the change can be expected to have, as a part of the value;
/// `None` when there are too few values, or when they are around zero.
///
/// Exchanging `before` and `after` in any block gives the same answer: only the sum of the two values of a block
/// (of their logarithms, when all are positive) is looked at. The spread of a difference is that
/// of a sum, when the two values are independent; and of two successive sums, the difference has
/// that spread times the root of two, which leaves slow drift and the size of the values out. The
/// interval of these differences around their centre has the width that is asked for.
#[must_use]
pub fn half_width(before: &[f64], after: &[f64], confidence: f64) -> Option<f64> {
    let is_positive = before.iter().chain(after).all(|value| *value > 0.0);
    let scale = |value: f64| if is_positive { value.ln() } else { value };
    let sums: Vec<f64> = before
        .iter()
        .zip(after)
        .map(|(a, b)| scale(*a) + scale(*b))
        .collect();
    let steps: Vec<f64> = sums
        .windows(2)
        .filter_map(|pair| Some((pair.last()? - pair.first()?) / 2_f64.sqrt()))
        .collect();
    let n = steps.len() as f64;
    let interval = signed_rank(&Sample::new(steps).ok()?, confidence).center;
    // There is one step less than there are blocks.
    let half = (interval.high - interval.low) / 2.0 * (n / (n + 1.0)).sqrt();
    if !half.is_finite() {
        return None;
    }
    if is_positive {
        return Some(half.exp_m1());
    }
    let typical = Sample::new(sums).ok()?.median().abs() / 2.0;
    (typical > 0.0).then(|| half / typical)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanging_the_sides_changes_nothing() {
        let before = [100.0, 103.0, 99.0, 101.0, 120.0, 98.0, 100.5, 102.0];
        let after = [101.0, 99.0, 104.0, 100.0, 97.0, 100.0, 99.5, 101.0];
        let straight = half_width(&before, &after, 0.95).unwrap();
        for flips in 0..256_u32 {
            let pick = |turned: bool| -> Vec<f64> {
                let pairs = before.iter().zip(after).enumerate();
                pairs
                    .map(|(i, (a, b))| {
                        if (flips >> i & 1 == 1) == turned {
                            *a
                        } else {
                            b
                        }
                    })
                    .collect()
            };
            let other = half_width(&pick(false), &pick(true), 0.95).unwrap();
            assert!((straight - other).abs() < 1e-12, "{flips}");
        }
    }

    #[test]
    fn a_difference_between_the_sides_does_not_widen_it() {
        let before = [100.0, 103.0, 99.0, 101.0, 98.0, 100.5, 102.0, 101.5];
        let same = half_width(&before, &before, 0.95).unwrap();
        let twice = before.map(|value| value * 2.0);
        assert!((half_width(&before, &twice, 0.95).unwrap() - same).abs() < 1e-12);
    }

    #[test]
    fn few_values_have_no_width() {
        assert_eq!(half_width(&[], &[], 0.95), None);
        assert_eq!(half_width(&[1.0; 4], &[1.0; 4], 0.95), None);
        assert_eq!(half_width(&[0.0; 20], &[0.0; 20], 0.95), None);
        assert_eq!(half_width(&[1.0; 20], &[1.0; 20], 0.95), Some(0.0));
    }
}
