//! Many runs of the simulator, and what they say together.
//!
//! ```text
//!   Plan { machine, workload, kernels A and B, runs, seed }
//!     --> jobs A1 B1 B2 A2 A3 B3 ...   (interleaved, spread over worker threads)
//!     --> Outcome per job              (in the order of the plan, whatever thread it ran on)
//!     --> rows: metric, A, B, change with interval, p, verdict
//! ```
//!
//! A run is one thread and knows nothing of the others; this crate is where threads are. What is
//! simulated is the same for any number of them. What is *measured on this host* meanwhile (ticks
//! around the policy's own code) is not, and is kept apart.

mod outcome;
mod plan;
mod rows;
mod sections;
mod stretch;
mod worker;

pub use outcome::{MetricOutcome, Outcome};
pub use plan::{Plan, PlanError};
pub use rows::{LOOPS, Row, RowUnit, rows};
pub use sections::{REPETITIONS, SectionSamples, TickClock};
pub use stretch::{Point, Stretch};
pub use worker::{execute, single};
