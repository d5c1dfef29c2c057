//! Order for formats that nearly have it.

use crate::context::Context;
use crate::raw::RawEvent;

/// Events that are sorted together. Text and streams of several CPUs are out of order by no more than
/// the events of one flush of a buffer.
const SIZE: usize = 16_384;

/// Holds back the latest events until earlier ones cannot come any more.
#[derive(Debug, Default)]
pub(crate) struct Window {
    pending: Vec<RawEvent>,
}

impl Window {
    pub(crate) fn push(&mut self, event: RawEvent) {
        self.pending.push(event);
    }

    /// Should [`Window::drain`] be called?
    pub(crate) fn is_full(&self) -> bool {
        self.pending.len() >= SIZE
    }

    /// Gives the earlier half, or all of it at the end.
    pub(crate) fn drain(&mut self, ctx: &mut Context, is_end: bool) {
        // Stable: events of the same time keep the order of the file.
        self.pending.sort_by_key(|event| event.time);
        let nr = if is_end {
            self.pending.len()
        } else {
            self.pending.len() / 2
        };
        ctx.ready.extend(self.pending.drain(..nr));
    }
}
