//! An estimate and how far off it may be.

/// An estimate with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The estimate from the sample itself.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The level, 0.95 for 95 percent.
    pub confidence: f64,
}

impl Interval {
    /// Does it hold `value`? Its ends count as inside.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Do two intervals have nothing in common?
    #[must_use]
    pub fn is_apart_from(&self, other: &Self) -> bool {
        self.high < other.low || other.high < self.low
    }

    /// The same interval of `f(x)` instead of `x`, for a monotonous `f`.
    #[must_use]
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        let (low, high) = (f(self.low), f(self.high));
        Self {
            estimate: f(self.estimate),
            low: low.min(high),
            high: low.max(high),
            confidence: self.confidence,
        }
    }
}
