//! Benchmark results: what was measured, by which tool, in which variants.
//!
//! ```text
//!   bytes --> lines --> readers, one per tool --> Document { blocks of measures and claims }
//!                                                     |
//!   fairlab-results/1 (JSON) <--> Results { series: [ Series { rows: [ Row { values } ] } ] }
//! ```
//!
//! A [`Series`] is one variant (a kernel, a setting, a file), a [`Row`] one figure of it (a
//! percentile, a number of clients), with one value per run, or with a published summary where the
//! values are not known. Rows of two series are matched by group and name.
//!
//! Not here: how results are measured (`fairlab-bench`), and what object files hold.

mod model;

mod assemble;
mod claims;
mod compare;
mod condition;
mod document;
mod format;
mod reader;

mod formats;
mod labels;
mod number;
mod scan;
mod text;
mod unit;

mod error;
mod json;

pub use assemble::{By, assemble};
pub use claims::{ClaimReport, Contradiction, check_claims};
pub use compare::{
    CompareOptions, Finding, Mean, RowComparison, SeriesComparison, Side, Tests, compare, side,
};
pub use condition::{Condition, Failure, Outcome, row_matches};
pub use document::{Basis, Block, Claim, Document, Leftover, Measure};
pub use error::ResultsError;
pub use fairlab_stats::Direction;
pub use format::Format;
pub use json::{FORMAT, from_json, to_json};
pub use model::{Data, Environment, Figures, Results, Row, Series};
pub use number::Printed;
pub use reader::{ReadOptions, read, read_bytes, read_file};
