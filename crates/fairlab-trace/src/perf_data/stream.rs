//! Records as events in time order.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::attr::{Plain, SampleLayout};
use super::header::Description;
use super::record;
use super::rounds::Rounds;
use super::unpack::Unpacker;
use crate::context::Context;
use crate::counts::CountId;
use crate::endian::Endian;
use crate::known::Known;
use crate::layout::Layouts;
use crate::merge::Stream;
use crate::raw::{NONE, RawEvent, RawKind};
use crate::source::{Piece, Source};

/// Records have sizes of 16 bits.
const LARGEST_RECORD: usize = 1 << 16;
/// Events that wait for the end of their round. A round is what perf takes from all buffers at one
/// time; more than this is not put in order.
const MOST_PENDING: usize = 1_500_000;
/// Events that are given at once: few enough to stay in the caches until they are used.
const BATCH: usize = 4096;
/// Numbers of attributes whose layout is at hand.
const RECENT: usize = 64;
/// The size of a record's header.
const HEADER: usize = 8;

/// Reads the records of one file.
pub(super) struct PerfStream {
    piece: Piece,
    unpacker: Unpacker,
    decoder: SampleDecoder,
    /// Events that may still be preceded by others.
    pending: Rounds,
    /// Up to this time nothing earlier comes any more.
    sure_to: u64,
    /// Events that are given even though earlier ones may come, since too many wait.
    unsure: usize,
    /// Up to this time everything has been seen when the round ends.
    flush_to: u64,
    newest: u64,
    is_at_end: bool,
}

/// Makes events of records.
struct SampleDecoder {
    name: String,
    endian: Endian,
    layouts: Layouts,
    /// The fields of samples; by number only where attributes differ.
    layout: Option<SampleLayout>,
    /// The same in short, where all samples are alike.
    plain: Option<Plain>,
    by_id: BTreeMap<u64, SampleLayout>,
    /// The layouts that were found last, by the low bits of the number: there are as many numbers as
    /// events times CPUs, and a tree of them costs more than all else about a sample.
    recent: Box<[Recent; RECENT]>,
    /// Forks and exits are told by tracepoints, too.
    has_fork: bool,
    has_exit: bool,
    others: CountId,
    no_cpu_told: bool,
    foreign: u64,
}

/// The fields of samples of one number.
#[derive(Clone, Copy, Debug)]
struct Recent {
    id: u64,
    layout: Option<SampleLayout>,
    plain: Option<Plain>,
}

impl Recent {
    const NONE: Self = Self {
        id: u64::MAX,
        layout: None,
        plain: None,
    };
}

impl PerfStream {
    pub(super) fn new(data: Source, description: Rc<Description>, ctx: &mut Context) -> Self {
        Self {
            decoder: SampleDecoder::new(data.name(), &description, ctx),
            piece: Piece::new(data, 0),
            unpacker: Unpacker::new(),
            pending: Rounds::default(),
            sure_to: 0,
            unsure: 0,
            flush_to: 0,
            newest: 0,
            is_at_end: false,
        }
    }

    /// Reads records until a round ends or enough is pending; false at the end.
    fn read_round(&mut self, ctx: &mut Context) -> bool {
        // The next piece is read when what is there holds no record any more: so little is left of it then
        // that nothing is copied twice.
        let mut least = HEADER;
        while self.pending.len() < MOST_PENDING {
            let chunk = self.piece.peek(least);
            if chunk.is_empty() {
                return false;
            }
            let mut used = 0;
            let mut stop = Stop::No;
            while let Some((kind, body, size)) = next_record(&chunk[used..], self.decoder.endian) {
                match kind {
                    record::SAMPLE => {
                        if let Some(event) = self.decoder.sample(body, ctx) {
                            self.newest = self.newest.max(event.time);
                            self.pending.push(event);
                        }
                        used += size;
                        if self.pending.len() >= MOST_PENDING {
                            break;
                        }
                        continue;
                    }
                    record::FINISHED_ROUND => stop = Stop::Round,
                    record::COMPRESSED | record::COMPRESSED2 => stop = Stop::Packed,
                    record::AUXTRACE => {
                        let skipped = self.decoder.endian.u64(body, 0).unwrap_or(0);
                        stop = Stop::Skip(skipped);
                    }
                    record::TRACING_DATA => {
                        let length = self.decoder.endian.u32(body, 0).unwrap_or(0);
                        stop = Stop::Skip(u64::from(length.saturating_add(7) & !7));
                    }
                    _ => {
                        if let Some(event) = self.decoder.other(kind, body, self.newest, ctx) {
                            self.newest = self.newest.max(event.time);
                            self.pending.push(event);
                        }
                    }
                }
                used += size;
                if stop != Stop::No {
                    break;
                }
            }
            if used == 0 && least < LARGEST_RECORD {
                least = LARGEST_RECORD;
                continue;
            }
            least = HEADER;
            if used == 0 {
                // The rest is no record.
                let (left, word) = (chunk.len(), self.decoder.endian.u16(chunk, 6));
                let at = self.piece.position();
                ctx.ledger.problem(
                    format!("{}, {at} bytes into the records", self.decoder.name),
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
            match stop {
                Stop::No => self.piece.take(used as u64),
                Stop::Round => {
                    self.piece.take(used as u64);
                    return true;
                }
                Stop::Skip(more) => self.piece.take((used as u64).saturating_add(more)),
                Stop::Packed => {
                    let is_round_over = self.packed(used, ctx);
                    self.piece.take(used as u64);
                    if is_round_over {
                        return true;
                    }
                }
            }
        }
        true
    }

    /// Reads the records in a packed one, which is the last of the first `used` bytes that are peeked.
    /// Says whether a round ended within.
    fn packed(&mut self, used: usize, ctx: &mut Context) -> bool {
        let endian = self.decoder.endian;
        // Walks again to the last record: packed ones are few and large.
        let chunk = self.piece.peek(used);
        let mut at = 0;
        let mut packed: &[u8] = &[];
        while at < used {
            let Some((kind, body, size)) = next_record(&chunk[at..], endian) else {
                break;
            };
            packed = match kind {
                record::COMPRESSED2 => {
                    let length = endian.u64(body, 0).unwrap_or(0) as usize;
                    let data = body.get(8..).unwrap_or_default();
                    data.get(..length).unwrap_or(data)
                }
                _ => body,
            };
            at += size;
        }
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
            let mut used = 0;
            while let Some((kind, body, size)) = next_record(&self.unpacker.bytes[used..], endian) {
                let event = match kind {
                    record::SAMPLE => self.decoder.sample(body, ctx),
                    record::FINISHED_ROUND => {
                        is_round_over = true;
                        None
                    }
                    record::COMPRESSED | record::COMPRESSED2 => {
                        ctx.ledger.problem(
                            self.decoder.name.clone(),
                            "a compressed record within a compressed one; left out",
                        );
                        None
                    }
                    _ => self.decoder.other(kind, body, self.newest, ctx),
                };
                if let Some(event) = event {
                    self.newest = self.newest.max(event.time);
                    self.pending.push(event);
                }
                used += size;
            }
            if used == 0 && self.unpacker.bytes.len() > LARGEST_RECORD {
                ctx.ledger.problem(
                    self.decoder.name.clone(),
                    "what was unpacked is no record; left out",
                );
                used = self.unpacker.bytes.len();
            }
            self.unpacker.bytes.drain(..used);
            if packed.is_empty() && !is_full {
                break;
            }
        }
        is_round_over
    }
}

/// Why the walk over a chunk stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    No,
    Round,
    Packed,
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

impl Stream for PerfStream {
    fn refill(&mut self, ctx: &mut Context, out: &mut Vec<RawEvent>) -> bool {
        loop {
            let taken = self.pending.take(self.sure_to, self.unsure, BATCH, out);
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
                self.flush_to = self.newest;
                if self.pending.len() >= MOST_PENDING {
                    self.unsure = self.pending.len() / 2;
                }
            } else {
                self.is_at_end = true;
                self.sure_to = u64::MAX;
                self.decoder.finish(ctx);
            }
        }
    }
}

impl SampleDecoder {
    fn new(name: &str, description: &Description, ctx: &mut Context) -> Self {
        let mut layouts = Layouts::new(description.endian, ctx);
        for format in &description.formats {
            layouts.add(format, ctx);
        }
        let traced: BTreeSet<u64> = description
            .attrs
            .iter()
            .filter(|attr| attr.is_tracepoint)
            .map(|attr| attr.config)
            .collect();
        let has = |known: Known| {
            description.formats.iter().any(|format| {
                Known::from_name(&format.name) == Some(known)
                    && traced.contains(&u64::from(format.id))
            })
        };
        let first = description.attrs.first().map(|attr| attr.layout);
        let is_uniform = description
            .attrs
            .iter()
            .all(|attr| Some(attr.layout) == first);
        let mut by_id = BTreeMap::new();
        if !is_uniform {
            for attr in &description.attrs {
                by_id.extend(attr.ids.iter().map(|&id| (id, attr.layout)));
            }
        }
        if description.attrs.is_empty() {
            ctx.ledger.problem(
                name,
                "nothing says what the records mean (no attributes); no event can be read",
            );
        }
        Self {
            name: name.to_owned(),
            endian: description.endian,
            layouts,
            layout: first,
            plain: first
                .filter(|_| is_uniform)
                .and_then(|layout| layout.plain()),
            by_id,
            recent: Box::new([Recent::NONE; RECENT]),
            has_fork: has(Known::Fork),
            has_exit: has(Known::Exit),
            others: ctx.counts.id("(other samples)", false),
            no_cpu_told: false,
            foreign: 0,
        }
    }

    /// Which fields this sample has, where samples differ.
    #[inline]
    fn recent(&mut self, body: &[u8]) -> Option<&Recent> {
        // The number is at the same place in all of them, or there would be no telling.
        let id = self.endian.u64(body, usize::from(self.layout?.id?))?;
        let recent = &mut self.recent[id as usize % RECENT];
        if recent.id != id {
            let layout = self.by_id.get(&id).copied();
            *recent = Recent {
                id,
                layout,
                plain: layout.and_then(|layout| layout.plain()),
            };
        }
        Some(recent)
    }

    #[inline]
    fn plain_of(&mut self, body: &[u8]) -> Option<Plain> {
        if self.by_id.is_empty() {
            return self.plain;
        }
        self.recent(body)?.plain
    }

    fn layout_of(&mut self, body: &[u8]) -> Option<SampleLayout> {
        if self.by_id.is_empty() {
            return self.layout;
        }
        self.recent(body)?.layout
    }

    #[inline]
    fn sample(&mut self, body: &[u8], ctx: &mut Context) -> Option<RawEvent> {
        let plain = self.plain_of(body);
        if let Some(told) = plain.and_then(|plain| plain.read(body, self.endian)) {
            let current = Some(told.tid);
            return self
                .layouts
                .decode(told.raw, told.time, told.cpu, current, ctx);
        }
        self.odd_sample(body, ctx)
    }

    /// A sample whose fields are elsewhere, or not all there.
    fn odd_sample(&mut self, body: &[u8], ctx: &mut Context) -> Option<RawEvent> {
        let Some(layout) = self.layout_of(body) else {
            self.foreign += 1;
            return None;
        };
        if !layout.is_tracepoint {
            ctx.counts.add(self.others);
            return None;
        }
        let word = |at: Option<u16>| self.endian.u32(body, usize::from(at?));
        let (Some(raw), Some(time)) = (
            layout.raw(body, self.endian),
            layout
                .time
                .and_then(|at| self.endian.u64(body, usize::from(at))),
        ) else {
            self.foreign += 1;
            return None;
        };
        let current = word(layout.tid);
        let cpu = word(layout.cpu);
        if cpu.is_none() && !self.no_cpu_told {
            self.no_cpu_told = true;
            ctx.ledger.problem(
                self.name.clone(),
                "samples do not say their CPU; they are only counted (record with --sample-cpu or -a)",
            );
        }
        let event = self
            .layouts
            .decode(raw, time, cpu.unwrap_or(0), current, ctx)?;
        cpu.is_some().then_some(event)
    }

    /// Records other than samples.
    fn other(
        &mut self,
        kind: u32,
        body: &[u8],
        newest: u64,
        ctx: &mut Context,
    ) -> Option<RawEvent> {
        let word = |at| self.endian.u32(body, at);
        let trailer = self.layout.map(|layout| layout.trailer).unwrap_or_default();
        let from_end = |back: u16| body.len().checked_sub(usize::from(back));
        let time = trailer
            .time
            .and_then(|back| self.endian.u64(body, from_end(back)?));
        let cpu = trailer
            .cpu
            .and_then(|back| self.endian.u32(body, from_end(back)?));
        let on_cpu = cpu.unwrap_or(NONE);
        match kind {
            record::LOST | record::LOST_SAMPLES => {
                let at = if kind == record::LOST { 8 } else { 0 };
                let count = self.endian.u64(body, at)?;
                let time = time.filter(|&time| time > 0).unwrap_or(newest);
                Some(RawEvent::lost(time, on_cpu, Some(count)))
            }
            record::COMM => {
                let (process, tid) = (word(0)?, word(4)?);
                let text = body.get(8..)?;
                let end = memchr::memchr(0, text)?;
                let name = ctx.comm(tid, &text[..end]);
                // What perf says of tasks that ran before has no time; it names them once they are seen.
                let Some(time) = time.filter(|&time| time > 0) else {
                    ctx.tasks.belongs(tid, process, NONE);
                    return None;
                };
                let mut event = RawEvent::new(time, on_cpu, RawKind::Process);
                event.value = u64::from(process);
                event.a = tid;
                event.a_name = name;
                Some(event)
            }
            record::FORK | record::EXIT => {
                let (process, tid, parent) = (word(0)?, word(8)?, word(12)?);
                let Some(time) = self.endian.u64(body, 16).filter(|&time| time > 0) else {
                    if kind == record::FORK {
                        ctx.tasks.belongs(tid, process, parent);
                    }
                    return None;
                };
                if (kind == record::EXIT && self.has_exit) || cpu.is_none() {
                    return None;
                }
                if kind == record::FORK && self.has_fork {
                    let mut event = RawEvent::new(time, on_cpu, RawKind::Process);
                    event.value = u64::from(process);
                    event.current = parent;
                    event.a = tid;
                    return Some(event);
                }
                let mut event = RawEvent::new(time, on_cpu, RawKind::Exit);
                event.a = tid;
                if kind == record::FORK {
                    event.kind = RawKind::Fork;
                    event.value = u64::from(process);
                    event.a = parent;
                    event.b = tid;
                }
                Some(event)
            }
            _ => None,
        }
    }

    fn finish(&mut self, ctx: &mut Context) {
        if self.foreign > 0 {
            ctx.ledger.problem(
                self.name.clone(),
                format!(
                    "{} samples fit no attribute and are left out",
                    std::mem::take(&mut self.foreign)
                ),
            );
        }
    }
}
