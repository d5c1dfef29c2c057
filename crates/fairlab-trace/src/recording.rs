//! An open recording: the iterator over its events, and its tables.

use std::path::Path;

use fairlab_event::SchedEvent;

use crate::context::{Context, Reader};
use crate::counts::Counts;
use crate::detect::{self, Opened};
use crate::emit::Emitter;
use crate::error::OpenError;
use crate::ledger::Ledger;
use crate::metadata::{Format, Metadata};
use crate::names::Names;
use crate::source::Source;
use crate::unwrap::{self, Input};

/// A recorded trace. Iterate over it for its events; see the [crate documentation](crate).
pub struct Recording {
    name: String,
    input: Input,
    format: Format,
    metadata: Metadata,
    reader: Box<dyn Reader>,
    ctx: Context,
    emitter: Emitter,
    batch: Vec<SchedEvent>,
    next: usize,
    is_at_end: bool,
    /// The ledger after opening, for [`Recording::rewind`].
    unpacking: Ledger,
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording")
            .field("name", &self.name)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

/// Opens the trace at `path`: a file, packed (`.gz`, `.xz`, `.zst`, `.bz2`) or not, an archive, a
/// folder, or `-` for standard input.
///
/// # Errors
/// When it cannot be read or is no trace.
pub fn open(path: impl AsRef<Path>) -> Result<Recording, OpenError> {
    let path = path.as_ref();
    let mut ledger = Ledger::default();
    let input = unwrap::open_input(path, &mut ledger)?;
    Recording::new(path.display().to_string(), input, ledger)
}

/// Opens several files of one recording, and merges them by time.
///
/// # Errors
/// When one cannot be read or is no trace, or they are of different formats.
pub fn open_many<P: AsRef<Path>>(paths: &[P]) -> Result<Recording, OpenError> {
    if let [path] = paths {
        return open(path);
    }
    let mut ledger = Ledger::default();
    let mut sources = Vec::new();
    for path in paths {
        match unwrap::open_input(path.as_ref(), &mut ledger)? {
            Input::One(source) => sources.push(source),
            _ => {
                return Err(OpenError::Unknown {
                    name: path.as_ref().display().to_string(),
                    what: "a folder or archive cannot be merged with others; give it alone".into(),
                });
            }
        }
    }
    let name = format!("{} files", sources.len());
    Recording::new(name, Input::Together(sources), ledger)
}

/// Opens a trace that is in memory; `name` is for messages.
///
/// # Errors
/// When it is no trace.
pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Recording, OpenError> {
    let mut ledger = Ledger::default();
    let input = unwrap::unwrap(Source::memory(name, bytes), &mut ledger)?;
    Recording::new(name.to_owned(), input, ledger)
}

impl Recording {
    fn new(name: String, input: Input, unpacking: Ledger) -> Result<Self, OpenError> {
        let mut ctx = Context::new();
        ctx.ledger = unpacking.clone();
        let Opened {
            reader,
            format,
            metadata,
        } = detect::open_reader(&name, &input, &mut ctx)?;
        Ok(Self {
            name,
            input,
            format,
            metadata,
            reader,
            ctx,
            emitter: Emitter::default(),
            batch: Vec::new(),
            next: 0,
            is_at_end: false,
            unpacking,
        })
    }

    /// What was opened, as given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The format.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// What the recording says about the machine and the tool.
    #[must_use]
    pub const fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The tasks' names. Grows while events are read; a name is here before the event that uses it.
    #[must_use]
    pub const fn names(&self) -> &Names {
        &self.ctx.names
    }

    /// What is lost, out of order or broken. Complete after the last event.
    #[must_use]
    pub const fn ledger(&self) -> &Ledger {
        &self.ctx.ledger
    }

    /// How many events of which name were read so far. Complete after the last event.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.ctx.counts
    }

    /// Replaces the content of `events` by the next events, some thousands; false after the last.
    /// Quicker than the iterator for those who want them all.
    pub fn next_batch(&mut self, events: &mut Vec<SchedEvent>) -> bool {
        events.clear();
        self.append(events)
    }

    /// Appends the next events; false after the last.
    pub(crate) fn append(&mut self, events: &mut Vec<SchedEvent>) -> bool {
        if self.next < self.batch.len() {
            events.extend_from_slice(&self.batch[self.next..]);
            self.next = self.batch.len();
            return true;
        }
        let before = events.len();
        while events.len() == before {
            if self.is_at_end {
                return false;
            }
            self.is_at_end = !self.reader.fill(&mut self.ctx);
            let mut ready = std::mem::take(&mut self.ctx.ready);
            for raw in &ready {
                self.emitter.emit(raw, &mut self.ctx, events);
            }
            ready.clear();
            self.ctx.ready = ready;
        }
        true
    }

    /// Was the last event read from the file? It may still have to be handed over.
    pub(crate) const fn is_at_end(&self) -> bool {
        self.is_at_end
    }

    /// Reads all events that are left, for the tables alone.
    pub fn finish(&mut self) {
        let mut events = Vec::new();
        while self.next_batch(&mut events) {}
    }

    /// Goes back to the first event. All tables begin anew; numbers of names stay the same only
    /// because reading is deterministic.
    ///
    /// # Errors
    /// As for [`open`]; only when the file has changed.
    pub fn rewind(&mut self) -> Result<(), OpenError> {
        let mut ctx = Context::new();
        ctx.ledger = self.unpacking.clone();
        let opened = detect::open_reader(&self.name, &self.input, &mut ctx)?;
        self.reader = opened.reader;
        self.ctx = ctx;
        self.emitter = Emitter::default();
        self.batch.clear();
        self.next = 0;
        self.is_at_end = false;
        Ok(())
    }
}

impl Iterator for Recording {
    type Item = SchedEvent;

    fn next(&mut self) -> Option<SchedEvent> {
        if self.next == self.batch.len() {
            let mut batch = std::mem::take(&mut self.batch);
            self.next = 0;
            let has_more = self.next_batch(&mut batch);
            self.batch = batch;
            if !has_more {
                return None;
            }
        }
        let event = self.batch.get(self.next).copied();
        self.next += 1;
        event
    }
}
