//! Records as events in time order.

use std::rc::Rc;

use super::decode::Decoder;
use super::header::Description;
use super::inbox::{HEADER, Inbox, LARGEST_RECORD, MOST_PENDING, Stop};
use crate::context::Context;
use crate::merge::Stream;
use crate::raw::RawEvent;
use crate::source::{Piece, Source};

/// Events that are given at once: few enough to stay in a CPU's first cache, or nearly, until they are used.
const BATCH: usize = 1024;

/// Reads the records of one file.
pub(super) struct PerfStream {
    piece: Piece,
    /// What was read, with the events that may still be preceded by others.
    inbox: Inbox,
    /// Up to this time nothing earlier comes any more.
    sure_to: u64,
    /// Events that are given even though earlier ones may come, since too many wait.
    unsure: usize,
    /// Up to this time everything has been seen when the round ends.
    flush_to: u64,
    is_at_end: bool,
}

impl PerfStream {
    pub(super) fn new(data: Source, description: Rc<Description>, ctx: &mut Context) -> Self {
        Self {
            inbox: Inbox::new(Decoder::new(data.name(), &description, ctx)),
            piece: Piece::new(data, 0),
            sure_to: 0,
            unsure: 0,
            flush_to: 0,
            is_at_end: false,
        }
    }

    /// Reads records until a round ends or enough is pending; false at the end.
    fn read_round(&mut self, ctx: &mut Context) -> bool {
        // The next piece is read when what is there holds no record any more: so little is left of it then
        // that nothing is copied twice.
        let mut least = HEADER;
        while self.inbox.events.len() < MOST_PENDING {
            let chunk = self.piece.peek(least);
            if chunk.is_empty() {
                return false;
            }
            let (used, stop) = self.inbox.walk(chunk, ctx);
            if used == 0 && least < LARGEST_RECORD {
                least = LARGEST_RECORD;
                continue;
            }
            least = HEADER;
            if used == 0 {
                // The rest is no record.
                let (left, word) = (chunk.len(), self.inbox.decoder.endian.u16(chunk, 6));
                let at = self.piece.position();
                ctx.ledger.problem(
                    format!("{}, {at} bytes into the records", self.inbox.decoder.name),
                    match word {
                        Some(size) if left >= LARGEST_RECORD || usize::from(size) < HEADER => {
                            format!("a record of {size} bytes cannot be; read up to here")
                        }
                        _ => format!("the last record is cut off after {left} bytes"),
                    },
                );
                self.piece.take(u64::MAX / 2);
                return false;
            }
            let mut is_round_over = stop == Stop::Round;
            let mut skipped = 0;
            match stop {
                Stop::End | Stop::Full | Stop::Round => {}
                Stop::Skip(more) => skipped = more,
                Stop::Packed(start) => {
                    is_round_over = self.inbox.unpack(&chunk[start..used], ctx);
                }
            }
            self.piece.take((used as u64).saturating_add(skipped));
            if is_round_over {
                return true;
            }
        }
        true
    }
}

impl Stream for PerfStream {
    fn refill(&mut self, ctx: &mut Context, out: &mut Vec<RawEvent>) -> bool {
        loop {
            let taken = self
                .inbox
                .events
                .take(self.sure_to, self.unsure, BATCH, out);
            if taken > 0 {
                self.unsure = self.unsure.saturating_sub(taken);
                return true;
            }
            if self.is_at_end {
                return false;
            }
            if self.read_round(ctx) {
                // What was newest when the round before ended is older than anything still to come: each
                // buffer has been emptied since.
                self.sure_to = self.flush_to;
                self.flush_to = self.inbox.newest;
                if self.inbox.events.len() >= MOST_PENDING {
                    self.unsure = self.inbox.events.len() / 2;
                }
            } else {
                self.is_at_end = true;
                self.sure_to = u64::MAX;
                self.inbox.decoder.finish(ctx);
            }
        }
    }
}
