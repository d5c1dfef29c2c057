//! Tables in the forms that scheduler patches carry.
//!
//! [`Table`] aligns cells and writes text, Markdown or CSV. The other modules know the columns:
//! `ministat` (N Min Max Median Avg Stddev Improvement), `change` (before, after, diff; and
//! `value (x.xx pct)` by load) and `schbench` (percentiles of a histogram).

mod change;
mod ministat;
mod number;
mod schbench;
mod text;

pub use change::{BeforeAfter, PctRow, before_after, value_pct};
pub use ministat::ministat;
pub use number::{Rounding, percent, significant};
pub use schbench::{LATENCY_PERCENTILES, Percentile, RPS_PERCENTILES, schbench};
pub use text::{Align, Table};
