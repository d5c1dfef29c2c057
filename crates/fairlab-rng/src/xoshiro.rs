//! The generator itself.

/// xoshiro256**, with 256 bits of state and a period of 2^256 - 1.
///
/// # Source
/// Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM Transactions on
/// Mathematical Software 47(4), 2021 (arXiv:1805.01407); the variant with multipliers 5 and 9.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A generator with exactly this state, which must not be all zero.
    pub(crate) const fn from_state(state: [u64; 4]) -> Self {
        Self { state }
    }

    /// The next 64 random bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = self.state;
        let result = s1.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let (s2, s3) = (s2 ^ s0, s3 ^ s1);
        self.state = [s0 ^ s3, s1 ^ s2, s2 ^ (s1 << 17), s3.rotate_left(45)];
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xoshiro_gives_the_values_of_the_reference_implementation() {
        let mut rng = Rng::from_state([1, 2, 3, 4]);
        let draws = [(); 10].map(|()| rng.next_u64());
        assert_eq!(
            draws,
            [
                11_520,
                0,
                1_509_978_240,
                1_215_971_899_390_074_240,
                1_216_172_134_540_287_360,
                607_988_272_756_665_600,
                16_172_922_978_634_559_625,
                8_476_171_486_693_032_832,
                10_595_114_339_597_558_777,
                2_904_607_092_377_533_576,
            ]
        );
    }
}
