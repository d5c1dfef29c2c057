//! Our own files in TOML: workloads ([`parse`]), and what hardware costs ([`CostFile`]).
//!
//! A workload is tasks, and the operations that they perform:
//!
//! ```toml
//! runtime = "1s"
//!
//! [[task]]
//! name = "worker"
//! count = 4
//! do = [
//!     { forever = ["sleep ~2ms", "begin request", "run 500us+-10%", "end request"] },
//! ]
//! ```
//!
//! Names (mutexes, conditions, semaphores, futexes, lists, metrics) exist by being used; what needs more than a
//! name has a table: `[pipe.NAME]`, `[barrier.NAME]`, `[timer.NAME]`, `[semaphore.NAME]`, `[group.NAME]`. The files in
//! `examples/workloads` show all of it, and every error has its line and column.

mod error;

mod span;

mod costs;
mod file;
mod groups;
mod names;
mod steps;
mod table;

pub use costs::{CostFile, CostNote};
pub use error::{Place, WorkFileError};
pub use file::parse;
