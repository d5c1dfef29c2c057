//! Benchmark results: what was measured, by which tool, in which variants.
//!
//! ```text
//!   fairlab-results/1 (JSON) <--> Results { series: [ Series { rows: [ Row { values } ] } ] }
//! ```
//!
//! A [`Series`] is one variant (a kernel, a setting, a file), a [`Row`] one figure of it (a
//! percentile, a number of clients), with one value per run, or with a published summary where the
//! values are not known. Rows of two series are matched by group and name.
//!
//! Not here: how results are measured (`fairlab-bench`), and what object files hold.

mod error;
mod json;
mod model;

pub use error::ResultsError;
pub use fairlab_stats::Direction;
pub use json::{FORMAT, from_json, to_json};
pub use model::{Data, Environment, Figures, Results, Row, Series};
