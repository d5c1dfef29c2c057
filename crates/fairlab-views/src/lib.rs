//! A recording as `perf sched` shows it: every switch with its times ([`Timehist`]), delays by task
//! ([`Latency`]), who ran where ([`Map`]).
//!
//! The columns, their meaning and their digits are perf's, so that what people know how to read can
//! be read from any format that [`fairlab_trace`] reads, and compared with perf on a `perf.data`. Each
//! view takes the events one by one and keeps what it needs of every task; rows of [`Timehist`] and
//! [`Map`] go out as the events come in.
//!
//! ```
//! use fairlab_views::{Latency, LatencyOptions};
//!
//! let text = "  sh-7 [000] d..2 1.000: sched_wakeup: comm=cc pid=8 prio=120 target_cpu=000\n  \
//!     sh-7 [000] d..2 1.002: sched_switch: prev_comm=sh prev_pid=7 prev_prio=120 prev_state=S ==> \
//!     next_comm=cc next_pid=8 next_prio=120\n";
//! let mut recording = fairlab_trace::from_bytes("trace.txt", text.into())?;
//! let mut latency = Latency::new(LatencyOptions::default());
//! while let Some(event) = recording.next() {
//!     latency.event(&event);
//! }
//! let table = latency.finish(recording.names());
//! assert_eq!((table.rows[0].name.as_str(), table.rows[0].max_delay.0), ("cc", 2_000_000));
//! # Ok::<(), fairlab_trace::OpenError>(())
//! ```
//!
//! # Where perf differs
//! perf takes who was switched out from the sample, which of a task that has just ended knows no number
//! (`:-1`); here it is the task that the switch names. perf prints `:70` for tasks whose names nothing
//! but tracepoints tell; here they have their names. The letters of `--state` are those of the recorded
//! kernel, where perf 6.1 has those of older ones. CPUs that never idle are said to, where perf says
//! that they idled all the time.
//!
//! # What this crate is not
//! It finds nothing and judges nothing; that is what `fairlab-audit` does.

mod filter;
mod lives;
mod print;
mod tasks;

mod latency;
mod map;
mod timehist;

pub use filter::Filter;
pub use latency::{Latency, LatencyOptions, LatencyRow, LatencyTable, SortKey};
pub use map::{Map, MapOptions};
pub use timehist::{Columns, Row, Summary, TaskSummary, Timehist, TimehistOptions, Who};
