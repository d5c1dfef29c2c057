//! The pages of one CPU as a stream of events.

use std::rc::Rc;

use super::options::Clock;
use super::{Compression, sections};
use crate::context::Context;
use crate::layout::{Layouts, Stamp};
use crate::merge::Stream;
use crate::raw::RawEvent;
use crate::ring::PageLayout;
use crate::source::Source;

/// Bytes that are read at once. There is one such buffer per CPU.
const AT_ONCE: usize = 128 * 1024;
/// Largest chunk, unpacked; trace-cmd's have ten pages.
const LARGEST_CHUNK: usize = 4 << 20;
/// The chunks of all CPUs together, of which each has one at a time.
const ALL_CHUNKS: usize = 256 << 20;

/// Reads the pages of one CPU.
pub(crate) struct CpuStream {
    source: Source,
    /// Where `source` begins in the file, for messages.
    file_offset: u64,
    cpu: u32,
    compression: Compression,
    page_size: usize,
    largest_chunk: usize,
    page: PageLayout,
    layouts: Rc<Layouts>,
    clock: Clock,
    /// The next byte to read.
    at: u64,
    /// Chunks that are left, once their number has been read.
    chunks: Option<u32>,
    /// Pages that were read, and how much of it was used.
    bytes: Vec<u8>,
    used: usize,
}

impl CpuStream {
    #[allow(clippy::too_many_arguments, reason = "all are facts about one stream")]
    pub(crate) fn new(
        source: Source,
        file_offset: u64,
        cpu: u32,
        compression: Compression,
        page_size: usize,
        nr_streams: usize,
        page: PageLayout,
        layouts: Rc<Layouts>,
        clock: Clock,
    ) -> Self {
        Self {
            source,
            file_offset,
            cpu,
            compression,
            page_size,
            largest_chunk: (ALL_CHUNKS / nr_streams.max(1)).clamp(1 << 20, LARGEST_CHUNK),
            page,
            layouts,
            clock,
            at: 0,
            chunks: None,
            bytes: Vec::new(),
            used: 0,
        }
    }

    fn problem(&self, ctx: &mut Context, what: &str) {
        ctx.ledger.problem(
            format!(
                "{} at byte {}",
                self.source.name(),
                self.file_offset + self.at
            ),
            format!("CPU {}: {what}", self.cpu),
        );
    }

    /// Reads more pages; false at the end.
    fn load(&mut self, ctx: &mut Context) -> bool {
        self.used = 0;
        if self.compression == Compression::None {
            let at_once = (AT_ONCE / self.page_size).max(1) * self.page_size;
            let left = self.source.len().saturating_sub(self.at);
            let at_once = (at_once as u64).min(left) as usize;
            self.bytes.resize(at_once, 0);
            let nr = self.source.read_at(self.at, &mut self.bytes);
            self.bytes.truncate(nr);
            self.at += nr as u64;
            return nr > 0;
        }
        self.bytes.clear();
        let endian = self.layouts.endian();
        let chunks = match self.chunks {
            Some(chunks) => chunks,
            None => {
                let Some(count) = endian.u32(&self.source.bytes(0, 4), 0) else {
                    return false;
                };
                self.at = 4;
                count
            }
        };
        self.chunks = Some(chunks.saturating_sub(1));
        if chunks == 0 {
            return false;
        }
        let head = self.source.bytes(self.at, 8);
        let (Some(packed), Some(size)) = (endian.u32(&head, 0), endian.u32(&head, 4)) else {
            self.problem(ctx, "the compressed events break off");
            return false;
        };
        let packed = self.source.bytes(self.at + 8, u64::from(packed));
        match sections::unpack(
            &packed,
            (size as usize).min(self.largest_chunk),
            self.compression,
        ) {
            Some(bytes) => self.bytes = bytes,
            None => self.problem(ctx, "a compressed chunk is broken; its events are left out"),
        }
        self.at += 8 + packed.len() as u64;
        true
    }
}

impl Stream for CpuStream {
    fn refill(&mut self, ctx: &mut Context, out: &mut Vec<RawEvent>) -> bool {
        if self.used >= self.bytes.len() && !self.load(ctx) {
            return false;
        }
        let end = (self.used + self.page_size).min(self.bytes.len());
        let bytes = &self.bytes[self.used..end];
        self.used = end;
        if bytes.is_empty() {
            return true;
        }
        let Some(mut page) = self.page.page(bytes) else {
            self.problem(ctx, "a page is cut off");
            return true;
        };
        if let Some(count) = page.lost {
            let time = self.clock.to_ns(page.time());
            out.push(RawEvent::lost(time, self.cpu, count));
        }
        while let Some((time, bytes)) = page.next_event() {
            let time = self.clock.to_ns(time);
            let stamp = Stamp {
                time,
                cpu: self.cpu,
                current: None,
            };
            out.extend(self.layouts.decode(bytes, stamp, ctx));
        }
        if !page.is_whole {
            self.problem(ctx, "a page is broken; its events are read up to there");
        }
        true
    }
}
