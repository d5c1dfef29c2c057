//! Events as trace files that other tools open: ftrace text, Perfetto, Trace Event JSON.
//!
//! ```text
//!   SchedEvent ──> TraceWriter ──> State    who runs where, names, priorities
//!                      │
//!                      └──> Form ──> bytes  ftrace.rs, perfetto.rs, json.rs
//! ```
//!
//! What [`crate::open`] reads back from the result are the events that were written, to the
//! nanosecond; what a form cannot say is counted, see [`Unsaid`].

mod ftrace;
mod json;
mod mark;
mod perfetto;
mod state;
mod tracks;

use std::io::{self, Write};
use std::path::Path;

use fairlab_event::{EventKind, SchedEvent};

use crate::names::Names;
use state::State;

pub use mark::{Mark, MarkValue};

/// The forms that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFormat {
    /// Text as tracefs and `trace-cmd report -t` print it, with nanoseconds.
    FtraceText,
    /// Perfetto's protobuf with ftrace events, for ui.perfetto.dev and its SQL.
    Perfetto,
    /// Trace Event Format, for `chrome://tracing`, Perfetto and scripts.
    Json,
}

impl WriteFormat {
    /// All forms with the suffixes that stand for them.
    pub const ALL: [(Self, &'static [&'static str]); 3] = [
        (Self::Perfetto, &["pftrace", "perfetto-trace"]),
        (Self::Json, &["json"]),
        (Self::FtraceText, &["txt"]),
    ];

    /// The form that the suffix of `path` stands for.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<Self> {
        let suffix = path.extension()?.to_str()?;
        Self::ALL
            .iter()
            .find(|(_, suffixes)| suffixes.contains(&suffix))
            .map(|(format, _)| *format)
    }
}

/// What is said of a trace as a whole.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Number of possible CPUs.
    pub nr_cpus: u32,
    /// Release of the kernel, as `uname -r` prints it; decides how viewers read states.
    pub release: String,
    /// Architecture, as `uname -m` prints it.
    pub machine: String,
    /// What the trace is, in a line.
    pub title: String,
}

/// Events that a form has no words for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsaid {
    /// How many events are not in the file.
    pub events: u64,
    /// How many marks are not in the file.
    pub marks: u64,
}

/// One way to write events down.
trait Form {
    fn begin(&mut self, about: &About, out: &mut Vec<u8>);
    /// Appends `event`, which says something beside what the state keeps; `state` is what was true
    /// just before it.
    fn event(
        &mut self,
        event: &SchedEvent,
        state: &State,
        names: &Names,
        out: &mut Vec<u8>,
    ) -> Said;
    /// Appends a mark.
    fn mark(&mut self, _mark: &Mark<'_>, _out: &mut Vec<u8>) -> Said {
        Said::No
    }
    fn end(&mut self, state: &State, names: &Names, out: &mut Vec<u8>);
}

/// Has an event been written?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Yes,
    /// The form has no words for it.
    No,
}

/// Writes events to a file. Give it all events in time order, then [`TraceWriter::finish`].
pub struct TraceWriter<W> {
    out: W,
    buffer: Vec<u8>,
    form: Box<dyn Form>,
    state: State,
    unsaid: Unsaid,
}

impl<W> std::fmt::Debug for TraceWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceWriter").finish_non_exhaustive()
    }
}

/// Bytes that are gathered before they are handed on.
const BUFFER: usize = 256 << 10;

impl<W: Write> TraceWriter<W> {
    /// Begins a trace.
    pub fn new(format: WriteFormat, about: &About, out: W) -> Self {
        let mut form: Box<dyn Form> = match format {
            WriteFormat::FtraceText => Box::new(ftrace::Ftrace),
            WriteFormat::Perfetto => Box::<perfetto::Perfetto>::default(),
            WriteFormat::Json => Box::<json::Json>::default(),
        };
        let mut buffer = Vec::with_capacity(BUFFER + (BUFFER >> 2));
        form.begin(about, &mut buffer);
        Self {
            out,
            buffer,
            form,
            state: State::default(),
            unsaid: Unsaid::default(),
        }
    }

    /// Writes one event. Its names are in `names`.
    ///
    /// # Errors
    /// Those of the file.
    pub fn event(&mut self, event: &SchedEvent, names: &Names) -> io::Result<()> {
        let is_silent = match event.kind {
            EventKind::Running { .. } | EventKind::Priority { .. } | EventKind::Process { .. } => {
                true
            }
            // Every event of the task will carry it; only a change is told by itself.
            EventKind::Named { task, .. } => self.state.name(task).is_none(),
            _ => false,
        };
        if !is_silent && self.form.event(event, &self.state, names, &mut self.buffer) == Said::No {
            self.unsaid.events += 1;
        }
        self.state.follow(event);
        self.spill()
    }

    /// Writes a mark beside the events, which need not be written yet. Marks of a track come in the
    /// order of their begins. Only Perfetto's form has words for them.
    ///
    /// # Errors
    /// Those of the file.
    pub fn mark(&mut self, mark: &Mark<'_>) -> io::Result<()> {
        if self.form.mark(mark, &mut self.buffer) == Said::No {
            self.unsaid.marks += 1;
        }
        self.spill()
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.buffer.len() >= BUFFER {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Ends the trace, and says what could not be written.
    ///
    /// # Errors
    /// Those of the file.
    pub fn finish(mut self, names: &Names) -> io::Result<(W, Unsaid)> {
        self.form.end(&self.state, names, &mut self.buffer);
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok((self.out, self.unsaid))
    }
}
