//! Exponentially distributed waiting times, without floats.

use crate::Rng;

/// log2(1 + i/256) for i = 0..=256, scaled by 2^32.
static LOG2: [u64; 257] = log2_table();

/// ln 2 scaled by 2^32: 0.693147180559945 * 4294967296, to nearest.
const LN_2: u64 = 2_977_044_472;

impl Rng {
    /// A waiting time of exponential distribution: `mean` on average, at most 45 times that.
    ///
    /// The unit is that of `mean`. Equals `-ln(u) * mean` for a `u` in (0, 1] in steps of 2^-64,
    /// truncated; the table behind it is off by less than `mean / 500_000`.
    ///
    /// Saturates when the result does not fit into 64 bits.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        let scaled = (u128::from(minus_ln(self.next_u64())) * u128::from(mean)) >> 32;
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

/// `-ln((bits + 1) / 2^64)`, scaled by 2^32.
const fn minus_ln(bits: u64) -> u64 {
    // The largest draw stands for u = 1, where the logarithm is 0.
    let Some(u) = bits.checked_add(1) else {
        return 0;
    };
    let zeros = u.leading_zeros();
    // A mantissa in [1, 2) with 63 bits behind the point: 8 index the table, 32 more interpolate.
    let mantissa = u << zeros;
    let index = ((mantissa << 1) >> 56) as usize;
    let rest = (mantissa << 9) >> 32;
    let step = LOG2[index + 1] - LOG2[index];
    let log2_of_mantissa = LOG2[index] + ((step * rest) >> 32);
    // log2(u / 2^64) = 63 - zeros + log2(mantissa) - 64, which is at most 0.
    let minus_log2 = ((1 + zeros as u64) << 32) - log2_of_mantissa;
    // At most 64 * 2^32, so that the product has 70 bits.
    ((minus_log2 as u128 * LN_2 as u128) >> 32) as u64
}

/// Builds the table bit by bit: squaring a number in [1, 2) doubles its logarithm, and the carry
/// out of the square is the next bit.
const fn log2_table() -> [u64; 257] {
    let mut table = [0; 257];
    let mut i = 0;
    while i < 256 {
        // 62 bits behind the point, so that the square fits into 128 bits.
        let mut x = (256 + i as u128) << 54;
        let mut log2 = 0;
        // One bit more than is kept, to round to nearest.
        let mut bit = 0;
        while bit < 33 {
            x = (x * x) >> 62;
            log2 <<= 1;
            if x >> 63 != 0 {
                log2 |= 1;
                x >>= 1;
            }
            bit += 1;
        }
        table[i] = (log2 + 1) >> 1;
        i += 1;
    }
    table[256] = 1 << 32;
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    #[test]
    fn the_table_agrees_with_floating_point() {
        for (i, log2) in LOG2.iter().enumerate() {
            let exact = (1.0 + i as f64 / 256.0).log2() * 4_294_967_296.0;
            assert!((*log2 as f64 - exact).abs() < 1.0, "{i}: {log2} {exact}");
        }
    }

    #[test]
    fn logarithms_are_as_near_as_promised() {
        let mut rng = Rng::new(11);
        for _ in 0..100_000 {
            let bits = rng.next_u64() >> rng.below(64);
            let exact = -((bits as f64 + 1.0) / 18_446_744_073_709_551_616.0).ln();
            let ours = minus_ln(bits) as f64 / 4_294_967_296.0;
            assert!(
                (ours - exact).abs() < 1.0 / 500_000.0,
                "{bits}: {ours} {exact}"
            );
        }
        assert_eq!(minus_ln(u64::MAX), 0);
        // ln(2^64) is 44.36.
        assert_eq!(minus_ln(0) >> 32, 44);
    }

    #[test]
    fn the_mean_and_the_tail_are_those_of_the_distribution() {
        let mut rng = Rng::new(13);
        let draws: [u64; 50_000] = core::array::from_fn(|_| rng.exponential(1_000_000));
        let mean = draws.iter().sum::<u64>() / 50_000;
        // The standard deviation of the mean is 1_000_000 / sqrt(50_000) = 4472.
        assert!(mean.abs_diff(1_000_000) < 18_000, "{mean}");
        // e^-3 of them, 2489, exceed three times the mean; standard deviation 49.
        let tail = draws.iter().filter(|d| **d > 3_000_000).count();
        assert!(tail.abs_diff(2_489) < 200, "{tail}");
        assert_eq!(rng.exponential(0), 0);
    }
}
