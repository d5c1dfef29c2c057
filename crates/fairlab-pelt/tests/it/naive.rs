//! A slow model of the arithmetic, written afresh: wide integers, powers from roots of large
//! numbers instead of a table, one step of the rule after the other.

use std::cmp::Ordering;
use std::sync::OnceLock;

/// A large natural number, least significant word first.
#[derive(Clone)]
struct Large(Vec<u32>);

impl Large {
    fn of(value: u64) -> Self {
        Self(vec![value as u32, (value >> 32) as u32])
    }

    fn times(&self, other: &Self) -> Self {
        let mut product = vec![0; self.0.len() + other.0.len()];
        for (i, a) in self.0.iter().enumerate() {
            let mut carry = 0;
            for (j, b) in other.0.iter().enumerate() {
                let sum = u64::from(*a) * u64::from(*b) + u64::from(product[i + j]) + carry;
                product[i + j] = sum as u32;
                carry = sum >> 32;
            }
            product[i + other.0.len()] = carry as u32;
        }
        Self(product)
    }

    fn to_the_32nd(value: u64) -> Self {
        (0..5).fold(Self::of(value), |power, _| power.times(&power))
    }

    fn compare(&self, other: &Self) -> Ordering {
        let words = self.0.len().max(other.0.len());
        let word = |number: &Self, i: usize| number.0.get(i).copied().unwrap_or(0);
        (0..words)
            .rev()
            .map(|i| word(self, i).cmp(&word(other, i)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

/// `(2^32 - 1) * y^n` rounded down, as the largest `t` with `t^32 * 2^n <= (2^32 - 1)^32`.
fn root(n: u32) -> u64 {
    let limit = Large::to_the_32nd(u64::from(u32::MAX));
    let (mut low, mut high) = (0, u64::from(u32::MAX));
    while low < high {
        let middle = (low + high).div_ceil(2);
        let scaled = Large::to_the_32nd(middle).times(&Large::of(1 << n));
        if scaled.compare(&limit).is_le() {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// `y^n` in units of `2^-32`, for `n` of 0 to 31.
pub fn powers() -> &'static [u64; 32] {
    static POWERS: OnceLock<[u64; 32]> = OnceLock::new();
    POWERS.get_or_init(|| std::array::from_fn(|n| root(n as u32)))
}

pub fn decay(sum: u128, periods: u128) -> u128 {
    let halvings = periods / 32;
    if periods > 2016 || halvings > 127 {
        return 0;
    }
    let halved = sum / (1 << halvings);
    halved * u128::from(powers()[(periods % 32) as usize]) / (1 << 32)
}

/// What the kernel's rule gives, from its definition.
pub fn segments(periods: u128, first: u128, last: u128) -> u128 {
    decay(first, periods) + (47742 - decay(47742, periods) - 1024) + last
}

/// The series itself, period by period, with 32 more bits: what `segments` stands for.
pub fn series(periods: u128, first: u128, last: u128) -> u128 {
    let fraction = |units: u128, n: u128| {
        if n > 2016 {
            0
        } else {
            let scaled = (units << 32) * u128::from(powers()[(n % 32) as usize]);
            scaled >> (n / 32 + 32)
        }
    };
    let whole: u128 = (1..periods.min(4000)).map(|n| fraction(1024, n)).sum();
    (fraction(first, periods) + whole + (last << 32)) >> 32
}

/// The sums of one set of signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sums {
    pub last_update: u64,
    pub load: u128,
    pub runnable: u128,
    pub util: u128,
    pub contrib: u128,
}

impl Sums {
    /// Steps 1 to 9 of the rule. Wraps where the kernel's types do.
    pub fn update(&mut self, now: u64, load: u128, runnable: u128, running: bool) -> bool {
        let elapsed = i128::from(now) - i128::from(self.last_update);
        // As a signed 64-bit difference.
        let elapsed = elapsed.rem_euclid(1 << 64);
        if elapsed >= 1 << 63 {
            self.last_update = now;
            return false;
        }
        let delta = elapsed as u128 / 1024;
        if delta == 0 {
            return false;
        }
        self.last_update = self.last_update.wrapping_add(delta as u64 * 1024);
        let (runnable, running) = if load == 0 {
            (0, false)
        } else {
            (runnable, running)
        };
        let total = delta + self.contrib;
        let periods = total / 1024;
        let mut gathered = delta;
        if periods > 0 {
            self.load = decay(self.load, periods);
            self.runnable = decay(self.runnable, periods);
            self.util = decay(self.util, periods);
            gathered = segments(periods, 1024 - self.contrib, total % 1024);
        }
        self.contrib = total % 1024;
        if load > 0 {
            self.load = (self.load + load * gathered) % (1 << 64);
        }
        if runnable > 0 {
            self.runnable = (self.runnable + runnable * gathered * 1024) % (1 << 64);
        }
        if running {
            self.util = (self.util + gathered * 1024) % (1 << 32);
        }
        periods > 0
    }
}
