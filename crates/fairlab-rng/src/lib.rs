//! One seeded, integer-only random generator with a named stream per use.
//!
//! ```text
//!   seed, "arrivals"  --hash-->  Rng  --next_u64()-->  below, range, chance, shuffle, exponential
//!   seed, "run times" --hash-->  Rng     (independent: a new draw in one shifts no other)
//! ```
//!
//! A result that says which seed made it is only worth something when the same seed makes it again
//! on another machine. So there are no floats here (`ln` and `exp` differ between platforms), no
//! global state and no entropy from outside, and the numbers that a stream gives are part of this
//! crate's promise: the tests hold them.
//!
//! This is not a cryptographic generator.
//!
//! ```
//! use fairlab_rng::Rng;
//! let mut arrivals = Rng::stream(42, "arrivals");
//! let gap_ns = arrivals.exponential(250_000);
//! let cpu = arrivals.below(8);
//! assert!(cpu < 8 && gap_ns < 45 * 250_000);
//! ```
#![no_std]

mod exponential;
mod hash;
mod xoshiro;

pub use hash::fnv1a;
pub use xoshiro::Rng;

use hash::SplitMix64;

impl Rng {
    /// The generator of `seed` for the use called `name`.
    ///
    /// The state is four draws of SplitMix64 from `mix(seed) ^ fnv1a(name)`, where `mix` is
    /// SplitMix64's own finaliser; so near seeds and near names give unrelated streams.
    #[must_use]
    pub fn stream(seed: u64, name: &str) -> Self {
        Self::from_state(SplitMix64::new(derive(seed, name)).state())
    }

    /// The generator of `seed`, for code that has one use only: four draws of SplitMix64 from
    /// `seed`, as the authors of xoshiro advise.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::from_state(SplitMix64::new(seed).state())
    }

    /// A number in `0..n`, all equally likely.
    ///
    /// # Panics
    /// When `n` is 0: there is no such number.
    ///
    /// # Source
    /// Lemire, "Fast random integer generation in an interval", 2019 (arXiv:1805.10941).
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "nothing is below 0");
        let mut product = u128::from(self.next_u64()) * u128::from(n);
        // The low half tells whether the draw fell in the part of the range that would be
        // favoured. The threshold needs a division, so it is computed only when it can matter.
        if (product as u64) < n {
            let threshold = n.wrapping_neg() % n;
            while (product as u64) < threshold {
                product = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// A number in `range`, all equally likely.
    ///
    /// # Panics
    /// When `range` is empty.
    pub fn range(&mut self, range: core::ops::Range<u64>) -> u64 {
        assert!(range.start < range.end, "the range {range:?} is empty");
        // Cannot overflow: the draw is below `end - start`.
        range.start + self.below(range.end - range.start)
    }

    /// True in `numerator` of `denominator` cases.
    ///
    /// # Panics
    /// When `denominator` is 0.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    /// Puts `items` into random order, all orders equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.index(end + 1));
        }
    }

    /// One of `items`, or `None` when there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() {
            None
        } else {
            items.get(self.index(items.len()))
        }
    }

    /// An index of `weights`, each as likely as its weight says; `None` when all are 0.
    ///
    /// # Panics
    /// When the sum of the weights does not fit into 64 bits.
    pub fn weighted(&mut self, weights: &[u64]) -> Option<usize> {
        let sum = weights.iter().try_fold(0_u64, |sum, w| sum.checked_add(*w));
        let sum = sum.expect("the weights sum up to less than 2^64");
        if sum == 0 {
            return None;
        }
        let mut rest = self.below(sum);
        weights.iter().position(|weight| {
            let found = rest < *weight;
            rest = rest.wrapping_sub(*weight);
            found
        })
    }

    /// A number in `0..n` as an index.
    fn index(&mut self, n: usize) -> usize {
        // Both ways are lossless: `usize` has at most 64 bits, and the result is below `n`.
        self.below(n as u64) as usize
    }
}

/// A seed for something below `seed` that is called `name`: the run of a series, a task of a load.
///
/// Where there are many of them, add their number: `derive(seed, "run").wrapping_add(i)`. Such near seeds are
/// fine, because [`Rng::stream`] and [`Rng::new`] mix them.
#[must_use]
pub fn derive(seed: u64, name: &str) -> u64 {
    hash::mix(seed) ^ fnv1a(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_one_seed_differ_and_are_reproducible() {
        let first = |seed, name| Rng::stream(seed, name).next_u64();
        assert_eq!(first(1, "a"), first(1, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
        assert_ne!(first(1, "a"), first(2, "a"));
        // The promise: these numbers do not change between versions.
        let mut rng = Rng::stream(42, "arrivals");
        assert_eq!(
            [rng.next_u64(), rng.next_u64(), rng.below(1000)],
            STREAM_42_ARRIVALS
        );
    }

    const STREAM_42_ARRIVALS: [u64; 3] =
        [13_350_248_372_804_110_633, 4_028_494_295_840_711_473, 542];

    #[test]
    fn below_reaches_everything_about_equally_often() {
        let mut rng = Rng::new(7);
        let mut counts = [0_u32; 6];
        for _ in 0..60_000 {
            counts[rng.below(6) as usize] += 1;
        }
        // Standard deviation is about 91, so 400 is more than four of them.
        assert!(
            counts.iter().all(|c| c.abs_diff(10_000) < 400),
            "{counts:?}"
        );
        assert_eq!(rng.below(1), 0);
        // A range that is just above half of 2^64 is where a plain multiplication is most unfair.
        let n = (1 << 63) + 1;
        let low = (0..10_000).filter(|_| rng.below(n) < n / 2).count();
        assert!(low.abs_diff(5_000) < 250, "{low}");
    }

    #[test]
    fn ranges_hold_their_bounds() {
        let mut rng = Rng::new(1);
        for _ in 0..1000 {
            assert!((5..8).contains(&rng.range(5..8)));
        }
        assert_eq!(rng.range(u64::MAX - 1..u64::MAX), u64::MAX - 1);
    }

    #[test]
    #[should_panic(expected = "is empty")]
    fn an_empty_range_is_a_mistake_of_the_caller() {
        Rng::new(1).range(5..5);
    }

    #[test]
    fn chances_are_met() {
        let mut rng = Rng::new(3);
        let hits = (0..10_000).filter(|_| rng.chance(1, 4)).count();
        assert!(hits.abs_diff(2_500) < 200, "{hits}");
        assert!(!rng.chance(0, 5));
        assert!(rng.chance(5, 5));
    }

    #[test]
    fn a_shuffle_keeps_the_items_and_reaches_all_orders() {
        let mut rng = Rng::new(5);
        let mut counts = [0_u32; 6];
        for _ in 0..6_000 {
            let mut items = [0, 1, 2];
            rng.shuffle(&mut items);
            let order = match items {
                [0, 1, 2] => 0,
                [0, 2, 1] => 1,
                [1, 0, 2] => 2,
                [1, 2, 0] => 3,
                [2, 0, 1] => 4,
                [2, 1, 0] => 5,
                other => panic!("{other:?} is not an order of 0, 1, 2"),
            };
            counts[order] += 1;
        }
        assert!(counts.iter().all(|c| c.abs_diff(1_000) < 130), "{counts:?}");
        rng.shuffle::<u8>(&mut []);
    }

    #[test]
    fn picks_follow_the_weights() {
        let mut rng = Rng::new(9);
        let mut counts = [0_u32; 4];
        for _ in 0..10_000 {
            counts[rng.weighted(&[1, 0, 3, 6]).unwrap()] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!(counts[0].abs_diff(1_000) < 130, "{counts:?}");
        assert!(counts[3].abs_diff(6_000) < 220, "{counts:?}");
        assert_eq!(rng.weighted(&[0, 0]), None);
        assert_eq!(rng.weighted(&[]), None);
        assert_eq!(rng.pick::<u8>(&[]), None);
        assert!(rng.pick(&["a", "b"]).is_some());
    }
}
