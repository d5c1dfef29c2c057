//! The header of a file, and what a pipe says in its place.

use super::attr::Attr;
use super::features::Features;
use crate::context::Context;
use crate::endian::Endian;
use crate::error::OpenError;
use crate::format::EventFormat;
use crate::metadata::{Format, Metadata};
use crate::source::Source;
use crate::trace_dat;

/// What records mean.
#[derive(Clone, Debug)]
pub(super) struct Description {
    pub endian: Endian,
    pub attrs: Vec<Attr>,
    pub formats: Vec<EventFormat>,
}

/// A file's header.
pub(super) struct Header {
    pub description: Description,
    pub metadata: Metadata,
    pub data_offset: u64,
    pub data_size: u64,
}

/// Size of a pipe's header.
const PIPE_HEADER: u64 = 16;
/// Attributes that are read; perf itself has a few hundred at most.
const MOST_ATTRS: u64 = 1 << 16;
/// Numbers of attributes: events times CPUs.
const MOST_IDS: u64 = 1 << 20;
/// The feature that holds the formats of tracepoints.
const TRACING_DATA: u32 = 1;
/// Bits of features.
const NR_FEATURES: u32 = 256;

impl Header {
    /// Reads the header.
    pub(super) fn read(source: &Source, ctx: &mut Context) -> Result<Self, OpenError> {
        let head = source.bytes(0, 104);
        let endian = Endian {
            is_big: head.starts_with(b"2ELIFREP"),
        };
        let broken = |what: &str| OpenError::Broken {
            name: source.name().to_owned(),
            format: Format::PerfData,
            what: what.to_owned(),
        };
        let Some(size) = endian.u64(&head, 8) else {
            return Err(broken("the header is cut off"));
        };
        let mut header = Self {
            description: Description {
                endian,
                attrs: Vec::new(),
                formats: Vec::new(),
            },
            metadata: Metadata {
                is_big_endian: Some(endian.is_big),
                tool: Some("perf".into()),
                clock: Some("perf".into()),
                ..Metadata::default()
            },
            data_offset: PIPE_HEADER,
            data_size: u64::MAX,
        };
        if size == PIPE_HEADER {
            header.look_ahead(source);
            return Ok(header);
        }
        if head.len() < 104 {
            return Err(broken("the header is cut off"));
        }
        header.file(source, &head, endian, ctx);
        Ok(header)
    }

    fn file(&mut self, source: &Source, head: &[u8], endian: Endian, ctx: &mut Context) {
        let field = |at| endian.u64(head, at).unwrap_or(0);
        let attr_size = field(16);
        let (attrs_offset, attrs_size) = (field(24), field(32));
        self.data_offset = field(40);
        self.data_size = field(48);
        if self.data_size == 0 {
            ctx.ledger.problem(
                source.name(),
                "the recording was not finished (perf was killed); everything to the end of the file is \
                 read as records",
            );
            self.data_size = u64::MAX;
        } else if self.data_offset.saturating_add(self.data_size) > source.len() {
            ctx.ledger.problem(
                format!("{} at byte {}", source.name(), source.len()),
                "the file ends within the records; read up to there",
            );
        }
        if attr_size < 64 + 16 {
            ctx.ledger.problem(
                source.name(),
                format!("attributes of {attr_size} bytes cannot be; the records have no meaning"),
            );
        } else {
            let count = (attrs_size / attr_size).min(MOST_ATTRS);
            let mut room = MOST_IDS;
            for index in 0..count {
                let entry = source.bytes(
                    attrs_offset.saturating_add(index * attr_size),
                    attr_size.min(4096),
                );
                let Some(mut attr) = Attr::parse(&entry, endian) else {
                    break;
                };
                let end = entry.len().saturating_sub(16);
                if let (Some(offset), Some(size)) =
                    (endian.u64(&entry, end), endian.u64(&entry, end + 8))
                {
                    attr.ids = numbers(&source.bytes(offset, size.min(room * 8)), endian);
                    room = room.saturating_sub(attr.ids.len() as u64);
                }
                self.take_attr(attr);
            }
        }
        if self.data_size == u64::MAX {
            // The sections behind the records were not written.
            return;
        }
        let mut table = self.data_offset.saturating_add(self.data_size);
        for bit in 0..NR_FEATURES {
            let word = field(72 + (bit / 64) as usize * 8);
            if word >> (bit % 64) & 1 == 0 {
                continue;
            }
            let entry = source.bytes(table, 16);
            table = table.saturating_add(16);
            let (Some(offset), Some(size)) = (endian.u64(&entry, 0), endian.u64(&entry, 8)) else {
                ctx.ledger.problem(
                    format!("{} at byte {table}", source.name()),
                    "the table of sections is cut off",
                );
                break;
            };
            self.feature(bit, &source.slice(offset, size), ctx);
        }
    }

    fn feature(&mut self, bit: u32, section: &Source, ctx: &mut Context) {
        if bit == TRACING_DATA {
            let (formats, is_whole) = trace_dat::read_formats(section);
            self.description.formats = formats;
            if !is_whole {
                ctx.ledger.problem(
                    section.name(),
                    "the formats of events are cut off; events without one are only counted",
                );
            }
            return;
        }
        Features::new(&mut self.metadata, self.description.endian).read(bit, section);
    }

    fn take_attr(&mut self, attr: Attr) {
        if let Some(clock) = attr.clock {
            self.metadata.clock = Some(match clock {
                0 => "realtime".into(),
                1 => "mono".into(),
                4 => "mono_raw".into(),
                7 => "boot".into(),
                11 => "tai".into(),
                other => format!("clock {other}"),
            });
        }
        self.description.attrs.push(attr);
    }

    /// Takes facts from the first records of a pipe, so that they are known before the first event.
    fn look_ahead(&mut self, source: &Source) {
        let endian = self.description.endian;
        let mut at = PIPE_HEADER;
        // What describes the recording comes before any of its records.
        for _ in 0..100_000 {
            let head = source.bytes(at, 8);
            let (Some(kind), Some(size)) = (endian.u32(&head, 0), endian.u16(&head, 6)) else {
                return;
            };
            if size < 8 {
                return;
            }
            match kind {
                super::record::HEADER_ATTR => {
                    let bytes = source.bytes(at + 8, u64::from(size) - 8);
                    if let Some(attr) = pipe_attr(&bytes, endian) {
                        self.take_attr(attr);
                    }
                }
                super::record::TRACING_DATA => {
                    let length = endian.u32(&source.bytes(at + 8, 4), 0).unwrap_or(0);
                    let section = source.slice(at + u64::from(size), u64::from(length));
                    self.description.formats = trace_dat::read_formats(&section).0;
                    at += u64::from(length.saturating_add(7) & !7);
                }
                super::record::HEADER_FEATURE => {
                    let bit = endian.u64(&source.bytes(at + 8, 8), 0).unwrap_or(0) as u32;
                    let section = source.slice(at + 16, u64::from(size).saturating_sub(16));
                    Features::new(&mut self.metadata, endian).read(bit, &section);
                }
                super::record::SAMPLE
                | super::record::FINISHED_ROUND
                | super::record::COMPRESSED
                | super::record::COMPRESSED2 => {
                    return;
                }
                _ => {}
            }
            at += u64::from(size);
        }
    }
}

/// An attribute in a pipe, with its numbers behind it.
fn pipe_attr(bytes: &[u8], endian: Endian) -> Option<Attr> {
    let mut attr = Attr::parse(bytes, endian)?;
    let size = endian.u32(bytes, 4)? as usize;
    attr.ids = numbers(bytes.get(size..).unwrap_or_default(), endian);
    Some(attr)
}

fn numbers(bytes: &[u8], endian: Endian) -> Vec<u64> {
    bytes
        .chunks_exact(8)
        .filter_map(|bytes| endian.u64(bytes, 0))
        .collect()
}
