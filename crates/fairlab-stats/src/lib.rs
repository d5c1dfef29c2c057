//! Quantiles, intervals, tests and A/B comparison
