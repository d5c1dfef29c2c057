//! Tables in the forms that scheduler patches carry.
//!
//! [`Table`] aligns cells and writes text, Markdown or CSV. The other modules know the columns:
//! `ministat` (N Min Max Median Avg Stddev Improvement), `change` (before, after, diff; and
//! `value (x.xx pct)` by load), `schbench` (percentiles of a histogram), `ministat_report` (plot,
//! rows and verdict) and `mmtests` (means with starred significance).

mod change;
mod ministat;
mod ministat_report;
mod mmtests;
mod number;
mod schbench;
mod text;

pub use change::{BeforeAfter, PctRow, before_after, value_pct};
pub use ministat::ministat;
pub use ministat_report::{MinistatOptions, ministat_report};
pub use mmtests::{MmtestsCell, MmtestsRow, mmtests};
pub use number::{Rounding, general, percent, significant};
pub use schbench::{LATENCY_PERCENTILES, Percentile, RPS_PERCENTILES, schbench};
pub use text::{Align, Table, html};
