//! Recorded traces as scheduling events: many formats in, one stream of [`SchedEvent`]s out.
//!
//! [`open`] recognises a format by its content, not by its name. What comes back is a
//! [`Recording`]: an iterator over events in time order, with what is known about the machine and the
//! tool ([`Metadata`]) from the start, and with tables that fill up while the events go by: the
//! tasks' names ([`Names`]), how many events of which name there were ([`Counts`]), and what is
//! missing or odd ([`Ledger`]).
//!
//! ```
//! use fairlab_event::EventKind;
//!
//! let text = b"  bash-7 [001] d..2 12.000001: sched_switch: prev_comm=bash prev_pid=7 prev_prio=120 \
//!     prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120\n";
//! let mut recording = fairlab_trace::from_bytes("trace.txt", text.to_vec())?;
//! while let Some(event) = recording.next() {
//!     if let EventKind::Named { task, name } = event.kind {
//!         assert_eq!((task.0, recording.names().get(name)), (7, "bash"));
//!     }
//! }
//! assert_eq!(recording.counts().get("sched_switch"), 1);
//! assert!(recording.ledger().is_clean());
//! # Ok::<(), fairlab_trace::OpenError>(())
//! ```
//!
//! # Order and memory
//! Events come in time order, whatever the order in the file: per-CPU streams are merged, and
//! formats that promise no order are sorted within a bounded window. What arrives too late for the
//! window is delivered late with the time of its predecessor, and a clock that jumps back is bridged;
//! the ledger tells of both. Memory does not grow with the file. Compressed files are unpacked into
//! memory while small and into an unnamed temporary file when large.
//!
//! # Broken files
//! A damaged file gives what could be read, and a [`Problem`] that says where and what. Only what
//! cannot be read at all, or is no trace, is an [`OpenError`].
//!
//! # What this crate is not
//! It judges nothing: no waits, no placements, no verdicts.

mod counts;
mod error;
mod feed;
mod ledger;
mod metadata;
mod names;
mod recording;

mod context;
mod emit;
mod merge;
mod raw;
mod tasks;
mod window;

mod source;
mod unwrap;

mod assemble;
mod cpu_list;
mod endian;
mod field;
mod format;
mod layout;
mod ring;

pub mod schedstat;

mod ctf;
mod detect;
mod known;
mod perf_data;
mod perfetto;
mod schedviz;
mod state;
mod text;
mod trace_dat;

mod write;

pub use counts::{Count, Counts};
pub use error::OpenError;
pub use fairlab_event::{DelayCause, EventKind, NameId, SchedEvent, SwitchState};
pub use ledger::{Jump, Ledger, Loss, MissingKind, Problem};
pub use metadata::{CacheShare, CpuPlace, Format, Metadata, NodeCpus, Snapshot, Topology};
pub use names::Names;
pub use recording::{Recording, from_bytes, open, open_many};
pub use trace_dat::{CpuPages, TraceDatFile};
pub use write::{About, Mark, MarkValue, TraceWriter, Unsaid, WriteFormat};
