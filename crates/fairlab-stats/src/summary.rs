//! The numbers that describe a sample.

/// Number, extremes, centres and spread of a sample, also when only they are known (a published
/// table) and not the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of values.
    pub n: u64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Middle value.
    pub median: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (`n - 1`).
    pub stddev: f64,
}

impl Summary {
    /// Coefficient of variation: the standard deviation as a part of the mean; `None` when the mean
    /// is 0.
    #[must_use]
    pub fn variation(&self) -> Option<f64> {
        (self.mean != 0.0).then(|| self.stddev / self.mean.abs())
    }
}
