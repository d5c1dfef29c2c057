//! The normal and Student's t distribution.

use std::f64::consts::{PI, SQRT_2};

/// Probability that a standard normal variable is at most `x`.
#[must_use]
pub fn normal_cdf(x: f64) -> f64 {
    if x > 0.0 {
        1.0 - upper_tail(x)
    } else {
        upper_tail(-x)
    }
}

/// Probability that a standard normal variable is further from 0 than `z`, on either side.
pub(crate) fn normal_two_sided(z: f64) -> f64 {
    (2.0 * upper_tail(z.abs())).min(1.0)
}

/// Probability that a standard normal variable exceeds `x`, for `x` of at least 0; keeps its
/// precision far out.
fn upper_tail(x: f64) -> f64 {
    let square = x * x / 2.0;
    if x < 2.0 {
        // erf(x / sqrt 2) as a series with positive terms only.
        let t = x / SQRT_2;
        let (mut term, mut sum, mut n) = (t, t, 0.0);
        while term > sum * 1e-17 && n < 200.0 {
            n += 1.0;
            term *= 2.0 * t * t / (2.0 * n + 1.0);
            sum += term;
        }
        0.5 - sum * (-square).exp() / PI.sqrt()
    } else {
        // The continued fraction of Mills' ratio, from the inside out.
        let mut fraction = x;
        for k in (1..=200_u32).rev() {
            fraction = x + f64::from(k) / fraction;
        }
        (-square).exp() / ((2.0 * PI).sqrt() * fraction)
    }
}

/// The `x` that a standard normal variable does not exceed with probability `p`; infinite at 0 and
/// 1.
///
/// Starts from a rough guess and takes Newton steps on [`normal_cdf`], in the lower half, where the
/// tail has its full precision.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    // Abramowitz and Stegun 26.2.23, right to 4.5e-4.
    let t = (-2.0 * p.ln()).sqrt();
    let top = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let bottom = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut x = -(t - top / bottom);
    for _ in 0..4 {
        let density = (-x * x / 2.0).exp() / (2.0 * PI).sqrt();
        if density <= 0.0 {
            break;
        }
        let u = (normal_cdf(x) - p) / density;
        // Halley's correction makes each step cubic.
        x -= u / (1.0 + x * u / 2.0);
    }
    x
}

/// Probability that a variable of Student's t distribution with `degrees` degrees of freedom (above
/// 0, not necessarily whole) is further from 0 than `t`, on either side.
#[must_use]
pub fn student_t_two_sided(t: f64, degrees: f64) -> f64 {
    let x = degrees / (degrees + t * t);
    regularized_beta(degrees / 2.0, 0.5, x).clamp(0.0, 1.0)
}

/// The `t` that a variable of Student's t distribution exceeds in size, on either side, with
/// probability `p`.
#[must_use]
pub(crate) fn student_t_critical(p: f64, degrees: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while student_t_two_sided(high, degrees) > p && high < 1e12 {
        high *= 2.0;
    }
    // Halving an interval 100 times leaves nothing of it.
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if student_t_two_sided(middle, degrees) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// The regularized incomplete beta function I_x(a, b).
///
/// # Source
/// DLMF 8.17.22 (continued fraction) and 8.17.4 (symmetry), <https://dlmf.nist.gov/8.17>.
fn regularized_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on this side only.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - regularized_beta(b, a, 1.0 - x);
    }
    let front = a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    front.exp() / a / beta_fraction(a, b, x)
}

/// 1 + d1/(1 + d2/(1 + ...)) of DLMF 8.17.22, by Lentz's method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let nonzero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut fraction, mut c, mut d) = (1.0, 1.0, 0.0);
    for i in 1..10_000_u32 {
        let m = f64::from(i / 2);
        let numerator = if i % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        d = 1.0 / nonzero(1.0 + numerator * d);
        c = nonzero(1.0 + numerator / c);
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    fraction
}

/// The natural logarithm of the gamma function, for `x` above 0.
///
/// # Source
/// Stirling's series (DLMF 5.11.1) after the recurrence moved `x` to where eight terms suffice.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut product) = (x, 1.0_f64);
    while x < 15.0 {
        product *= x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = (1.0 / 12.0
        - y * (1.0 / 360.0
            - y * (1.0 / 1260.0
                - y * (1.0 / 1680.0 - y * (1.0 / 1188.0 - y * (691.0 / 360_360.0))))))
        / x;
    (x - 0.5) * x.ln() - x + (2.0 * PI).ln() / 2.0 + series - product.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(ours: f64, theirs: f64, tolerance: f64) {
        assert!(
            (ours - theirs).abs() <= tolerance * theirs.abs(),
            "{ours} {theirs}"
        );
    }

    #[test]
    fn normal_probabilities_are_those_of_the_tables() {
        // Values of R's pnorm().
        near(normal_cdf(0.0), 0.5, 1e-15);
        near(normal_cdf(1.0), 0.841_344_746_068_542_9, 1e-14);
        near(normal_cdf(-1.96), 0.024_997_895_148_220_43, 1e-13);
        near(normal_cdf(-6.0), 9.865_876_450_376_98e-10, 1e-13);
        near(normal_cdf(-2.0), 0.022_750_131_948_179_21, 1e-13);
        near(normal_two_sided(1.959_963_984_540_054), 0.05, 1e-12);
    }

    #[test]
    fn normal_quantiles_invert_the_probabilities() {
        near(normal_quantile(0.975), 1.959_963_984_540_054, 1e-12);
        near(normal_quantile(0.8), 0.841_621_233_572_914_3, 1e-12);
        near(normal_quantile(1e-10), -6.361_340_902_404_056, 1e-12);
        assert!(normal_quantile(0.5).abs() < 1e-15);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
    }

    #[test]
    fn ln_gamma_knows_factorials() {
        near(ln_gamma(5.0), 24.0_f64.ln(), 1e-14);
        near(ln_gamma(0.5), PI.sqrt().ln(), 1e-13);
        near(ln_gamma(100.0), 359.134_205_369_575_4, 1e-14);
    }

    #[test]
    fn student_t_agrees_with_closed_forms_and_tables() {
        // One degree of freedom is the Cauchy distribution: 1 - 2 atan(t) / pi.
        near(student_t_two_sided(1.0, 1.0), 0.5, 1e-13);
        near(student_t_two_sided(12.706_204_736, 1.0), 0.05, 1e-9);
        // Two degrees: 1 - t / sqrt(2 + t^2).
        near(
            student_t_two_sided(2.0, 2.0),
            1.0 - 2.0 / 6.0_f64.sqrt(),
            1e-13,
        );
        near(student_t_critical(0.05, 10.0), 2.228_138_851_964_939, 1e-10);
        near(student_t_critical(0.05, 30.0), 2.042_272_456_301_238, 1e-10);
        assert_eq!(student_t_two_sided(0.0, 3.0), 1.0);
    }
}
