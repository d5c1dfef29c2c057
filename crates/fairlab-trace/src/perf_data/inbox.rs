//! Records on their way to events that wait for the end of their round.

use super::decode::Decoder;
use super::record;
use super::rounds::Rounds;
use super::unpack::Unpacker;
use crate::context::Context;
use crate::endian::Endian;
use crate::raw::RawEvent;

/// Records have sizes of 16 bits.
pub(super) const LARGEST_RECORD: usize = 1 << 16;
/// Events that wait for the end of their round. A round is what perf takes from all buffers at one
/// time; more than this is not put in order.
pub(super) const MOST_PENDING: usize = 1_500_000;
/// The size of a record's header.
pub(super) const HEADER: usize = 8;

/// Takes records in.
pub(super) struct Inbox {
    pub decoder: Decoder,
    unpacker: Unpacker,
    /// Events that may still be preceded by others.
    pub events: Rounds,
    /// The latest time of all.
    pub newest: u64,
}

/// Why the walk over records stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// There is no whole record any more.
    End,
    /// Too many events wait.
    Full,
    /// The round is over.
    Round,
    /// Packed records are in the last one, which begins here.
    Packed(usize),
    /// Data without a record's form follows.
    Skip(u64),
}

/// The first record: its kind, what follows its header, its size.
#[inline]
fn next_record(bytes: &[u8], endian: Endian) -> Option<(u32, &[u8], usize)> {
    // Kind, flags and size are one word.
    let word = endian.u64(bytes, 0)?;
    let (kind, size) = if endian.is_big {
        ((word >> 32) as u32, word as u16)
    } else {
        (word as u32, (word >> 48) as u16)
    };
    let size = usize::from(size);
    let body = bytes.get(HEADER..size)?;
    Some((kind, body, size))
}

impl Inbox {
    pub(super) fn new(decoder: Decoder) -> Self {
        Self {
            decoder,
            unpacker: Unpacker::new(),
            events: Rounds::default(),
            newest: 0,
        }
    }

    #[inline(always)]
    fn push(&mut self, event: RawEvent) {
        self.newest = self.newest.max(event.time);
        self.events.push(&event);
    }

    /// Takes in the records of `bytes`, and says how many bytes they were.
    pub(super) fn walk(&mut self, bytes: &[u8], ctx: &mut Context) -> (usize, Stop) {
        let mut used = 0;
        while let Some((kind, body, size)) = next_record(&bytes[used..], self.decoder.endian) {
            let start = used;
            used += size;
            if kind == record::SAMPLE {
                if let Some(event) = self.decoder.sample(body, ctx) {
                    self.push(event);
                    if self.events.len() >= MOST_PENDING {
                        return (used, Stop::Full);
                    }
                }
                continue;
            }
            let stop = match kind {
                record::FINISHED_ROUND => Stop::Round,
                record::COMPRESSED | record::COMPRESSED2 => Stop::Packed(start),
                record::AUXTRACE => Stop::Skip(self.decoder.endian.u64(body, 0).unwrap_or(0)),
                record::TRACING_DATA => {
                    let length = self.decoder.endian.u32(body, 0).unwrap_or(0);
                    Stop::Skip(u64::from(length.saturating_add(7) & !7))
                }
                _ => {
                    if let Some(event) = self.decoder.other(kind, body, self.newest, ctx) {
                        self.push(event);
                    }
                    continue;
                }
            };
            return (used, stop);
        }
        (used, Stop::End)
    }

    /// Takes in what is packed in a record. Says whether a round ended within.
    pub(super) fn unpack(&mut self, record: &[u8], ctx: &mut Context) -> bool {
        let endian = self.decoder.endian;
        let Some((kind, body, _)) = next_record(record, endian) else {
            return false;
        };
        let mut packed = match kind {
            record::COMPRESSED2 => {
                let length = endian.u64(body, 0).unwrap_or(0) as usize;
                let data = body.get(8..).unwrap_or_default();
                data.get(..length).unwrap_or(data)
            }
            _ => body,
        };
        let mut is_round_over = false;
        loop {
            let before = self.unpacker.bytes.len();
            if self.unpacker.unpack(&mut packed).is_none() {
                ctx.ledger.problem(
                    self.decoder.name.clone(),
                    "a compressed record is broken; its events are left out",
                );
                self.unpacker.bytes.clear();
                break;
            }
            let is_full = self.unpacker.is_full(before);
            is_round_over |= self.walk_unpacked(ctx);
            if packed.is_empty() && !is_full {
                break;
            }
        }
        is_round_over
    }

    /// Takes in what was unpacked, up to the last whole record. Says whether a round ended within.
    fn walk_unpacked(&mut self, ctx: &mut Context) -> bool {
        let mut bytes = std::mem::take(&mut self.unpacker.bytes);
        let mut is_round_over = false;
        let mut used = 0;
        loop {
            let (more, stop) = self.walk(&bytes[used..], ctx);
            used += more;
            match stop {
                Stop::End => break,
                Stop::Round => is_round_over = true,
                Stop::Packed(_) => ctx.ledger.problem(
                    self.decoder.name.clone(),
                    "a compressed record within a compressed one; left out",
                ),
                // What is unpacked at once is not much more.
                Stop::Full | Stop::Skip(_) => {}
            }
        }
        if used == 0 && bytes.len() > LARGEST_RECORD {
            ctx.ledger.problem(
                self.decoder.name.clone(),
                "what was unpacked is no record; left out",
            );
            used = bytes.len();
        }
        bytes.drain(..used);
        self.unpacker.bytes = bytes;
        is_round_over
    }
}
