//! Quantiles, histograms, intervals, tests and honest A/B comparison.
//!
//! ```text
//!   numbers --> Sample --> Summary, quantiles
//!                 |  \
//!                 |   `--> Bootstrap --> Interval
//!   Sample A,     v
//!   Sample B --> Comparison { change with interval, p value, verdict } --> table::*
//!
//!   latencies --> LatencyHistogram (integers, bounded memory, mergeable)
//! ```
//!
//! Rules of the house: every interval and verdict says its level, every p value its test; a
//! difference is claimed only when the test *and* the interval agree; what cannot be said is `None`
//! and not a number that looks like an answer. Resampling draws from `fairlab-rng` with a seed, so a
//! report can be made again.
//!
//! This is the only crate where floats are at home. It knows no scheduling terms, no files and no
//! clock.

mod sample;
mod summary;

mod histogram;

mod bootstrap;
mod distribution;
mod holm;
mod interval;
mod mann_whitney;
mod permutation;
mod rank_correlation;
mod runs_needed;
mod signed_rank;
mod trend;
mod welch;

mod comparison;
pub mod table;

pub use bootstrap::{Bootstrap, Center};
pub use comparison::{Comparison, ComparisonOptions, Direction, Test, Verdict, adjust_for_many};
pub use distribution::{normal_cdf, normal_quantile, student_t_two_sided};
pub use histogram::LatencyHistogram;
pub use holm::holm;
pub use interval::Interval;
pub use mann_whitney::{MannWhitney, mann_whitney};
pub use permutation::{Permutation, permutation_test};
pub use rank_correlation::{kendall, spearman};
pub use runs_needed::runs_needed;
pub use sample::{Sample, SampleError};
pub use signed_rank::{SignedRank, signed_rank};
pub use summary::Summary;
pub use trend::{Trend, trend};
pub use welch::{Welch, cohens_d, welch_from_moments, welch_t_test};
