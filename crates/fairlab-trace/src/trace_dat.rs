//! `trace.dat` of trace-cmd, versions 6 and 7.
//!
//! A file is a description (the formats of the kernel's events, of its pages, names of tasks,
//! options) and the kernel's own ring-buffer pages, CPU by CPU. Version 6 is one sequence of parts;
//! version 7 is sections that options point to, and may be compressed.

mod cpu;
mod file;
mod header;
mod options;
mod scan;
mod sections;

use crate::context::{Context, Reader};
use crate::detect::Opened;
use crate::endian::Endian;
use crate::error::OpenError;
use crate::format::EventFormat;
use crate::layout::Layouts;
use crate::merge::Merge;
use crate::metadata::{Format, Metadata};
use crate::ring::PageLayout;
use crate::source::Source;
use crate::text;

use scan::Scan;

pub(crate) use cpu::CpuStream;
pub use file::{CpuPages, TraceDatFile};
pub(crate) use options::Clock;

/// How a file begins.
pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// How the parts of a version 7 file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Zlib,
    Zstd,
}

/// What the description says, as far as it has been read.
struct Description {
    endian: Endian,
    page_size: usize,
    page: Option<PageLayout>,
    formats: Vec<EventFormat>,
    cmdlines: Vec<u8>,
    metadata: Metadata,
    buffers: Vec<Buffer>,
    /// The text of a latency tracer, in place of pages.
    text: Option<Source>,
    clock: Clock,
    overruns: Vec<(u32, u64)>,
}

/// The pages of one buffer: the main one or an instance.
struct Buffer {
    name: String,
    page_size: Option<usize>,
    cpus: Vec<CpuData>,
}

/// The pages of one CPU.
struct CpuData {
    cpu: u32,
    offset: u64,
    size: u64,
}

/// Opens a file that begins with [`MAGIC`].
pub(crate) fn open(source: &Source, ctx: &mut Context) -> Result<Opened, OpenError> {
    let mut scan = Scan::new(source.clone(), MAGIC.len() as u64);
    let start = begin(&mut scan);
    let Some((version, endian, page_size)) = start else {
        return Err(broken(source, 0, "the first bytes are cut off"));
    };
    let format = Format::TraceDat(version);
    if !matches!(version, 6 | 7) {
        return Err(broken(
            source,
            version,
            "only versions 6 and 7 are understood; convert it with `trace-cmd convert`",
        ));
    }
    scan.endian = endian;
    let mut description = Description {
        endian,
        page_size,
        page: None,
        formats: Vec::new(),
        cmdlines: Vec::new(),
        metadata: Metadata {
            is_big_endian: Some(endian.is_big),
            tool: Some("trace-cmd".into()),
            ..Metadata::default()
        },
        buffers: Vec::new(),
        text: None,
        clock: Clock::default(),
        overruns: Vec::new(),
    };
    let compression = if version == 6 {
        if header::read(&mut scan, &mut description).is_none() {
            tell_cut(source, &scan, ctx);
        }
        Compression::None
    } else {
        let Some(compression) = sections::compression(&mut scan) else {
            return Err(broken(
                source,
                7,
                "its compression is unknown; convert it with `trace-cmd convert --compression none`",
            ));
        };
        sections::read(&mut scan, compression, &mut description, ctx);
        compression
    };
    finish(source, format, compression, description, ctx)
}

/// The formats of events in the section that perf.data has of them, which begins like a file of
/// trace-cmd; and whether the section is whole.
pub(crate) fn read_formats(source: &Source) -> (Vec<EventFormat>, bool) {
    let mut scan = Scan::new(source.clone(), MAGIC.len() as u64);
    let mut formats = Vec::new();
    let mut read = || -> Option<()> {
        let _version = scan.string(16)?;
        let is_big = scan.bytes(1)?.first() == Some(&1);
        let _long_size = scan.bytes(1)?;
        scan.endian = Endian { is_big };
        let _page_size = scan.u32()?;
        header::skip_pages(&mut scan)?;
        let count = scan.u32()?;
        header::formats(&mut scan, count, &mut formats)?;
        header::systems(&mut scan, &mut formats)
    };
    let is_whole = read().is_some();
    (formats, is_whole)
}

fn begin(scan: &mut Scan) -> Option<(u8, Endian, usize)> {
    let version = scan.string(16)?.parse().ok()?;
    let is_big = scan.bytes(1)?.first() == Some(&1);
    let _long_size = scan.bytes(1)?;
    scan.endian = Endian { is_big };
    let page_size = scan.u32()? as usize;
    Some((version, scan.endian, page_size))
}

fn broken(source: &Source, version: u8, what: &str) -> OpenError {
    OpenError::Broken {
        name: source.name().to_owned(),
        format: Format::TraceDat(version),
        what: what.to_owned(),
    }
}

fn tell_cut(source: &Source, scan: &Scan, ctx: &mut Context) {
    ctx.ledger.problem(
        format!("{} at byte {}", source.name(), scan.at),
        "the description ends here; what was read before it is used",
    );
}

/// Puts the reader together.
fn finish(
    source: &Source,
    format: Format,
    compression: Compression,
    mut description: Description,
    ctx: &mut Context,
) -> Result<Opened, OpenError> {
    read_cmdlines(&description.cmdlines, ctx);
    for &(cpu, count) in &description.overruns {
        ctx.ledger.overrun(cpu, count);
    }
    if let Some(text) = &description.text {
        let mut opened = text::open(text, ctx)?;
        opened.format = format;
        opened.metadata = description.metadata;
        return Ok(opened);
    }
    let page_size = match description.page_size {
        size @ 64..=0x400_0000 => size,
        size => {
            ctx.ledger.problem(
                source.name(),
                format!("pages of {size} bytes cannot be; taken for 4096"),
            );
            4096
        }
    };
    let page = description
        .page
        .unwrap_or_else(|| PageLayout::usual(description.endian, 8, page_size));
    description.metadata.long_bits = Some(page.long_bits());
    let mut layouts = Layouts::new(description.endian, ctx);
    for event in &description.formats {
        layouts.add(event, ctx);
    }
    if !layouts.is_any_decoded() {
        ctx.ledger.problem(
            source.name(),
            "no format of a scheduling event in the file; its events can only be counted",
        );
    }
    let layouts = std::rc::Rc::new(layouts);
    // Instances repeat the events of the main buffer where both trace them.
    let has_main = description
        .buffers
        .iter()
        .any(|buffer| buffer.name.is_empty() && buffer.cpus.iter().any(|cpu| cpu.size > 0));
    // The parts of CPUs do not overlap, so together they are no larger than the file; a file that
    // claims more would take memory without end.
    let mut budget = source.len();
    let nr_streams: usize = description
        .buffers
        .iter()
        .map(|buffer| buffer.cpus.len())
        .sum();
    let mut streams = Vec::new();
    for buffer in &description.buffers {
        if has_main && !buffer.name.is_empty() && buffer.cpus.iter().any(|cpu| cpu.size > 0) {
            ctx.ledger.note(format!(
                "the buffer instance `{}` is left out beside the main buffer",
                buffer.name
            ));
            continue;
        }
        for data in &buffer.cpus {
            if data.size == 0 {
                continue;
            }
            if data.offset.saturating_add(data.size) > source.len() {
                ctx.ledger.problem(
                    format!("{} at byte {}", source.name(), source.len()),
                    format!(
                        "the file ends within the events of CPU {}; read up to there",
                        data.cpu
                    ),
                );
            }
            budget = match budget.checked_sub(data.size.min(source.len()) / 2) {
                Some(left) => left,
                None => {
                    ctx.ledger.problem(
                        source.name(),
                        format!(
                            "the parts of CPUs overlap; from CPU {} on they are left out",
                            data.cpu
                        ),
                    );
                    break;
                }
            };
            // The size of compressed pages counts some of the headers and not others; the number of
            // chunks says where they end.
            let size = match compression {
                Compression::None => data.size,
                _ => u64::MAX,
            };
            streams.push(CpuStream::new(
                source.slice(data.offset, size),
                data.offset,
                data.cpu,
                compression,
                buffer.page_size.unwrap_or(page_size),
                nr_streams,
                page,
                layouts.clone(),
                description.clock,
            ));
        }
    }
    let reader: Box<dyn Reader> = Box::new(Merge::new(streams));
    Ok(Opened {
        reader,
        format,
        metadata: description.metadata,
    })
}

/// Lines of a number and a name.
fn read_cmdlines(text: &[u8], ctx: &mut Context) {
    for line in text.split(|&byte| byte == b'\n') {
        let Some(space) = memchr::memchr(b' ', line) else {
            continue;
        };
        let pid = std::str::from_utf8(&line[..space])
            .ok()
            .and_then(|pid| pid.parse::<u32>().ok());
        if let Some(pid) = pid.filter(|&pid| pid != 0) {
            ctx.list(pid, &line[space + 1..]);
        }
    }
}
