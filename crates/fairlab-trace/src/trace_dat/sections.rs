//! Version 7: sections, and options that point to them.

use std::collections::BTreeSet;

use super::scan::Scan;
use super::{Compression, Description, header, options};
use crate::context::Context;
use crate::source::Source;

const COMPRESSED: u16 = 1;
/// Options sections that follow each other; more are a ring.
const MOST_SECTIONS: u32 = 10_000;
/// Buffers that are read.
const MOST_BUFFERS: usize = 64;
/// Largest section, unpacked.
const LARGEST: u32 = 64 << 20;

/// The name of the compression; `None` for one that we do not have.
pub(super) fn compression(scan: &mut Scan) -> Option<Compression> {
    let name = scan.string(64)?;
    let _version = scan.string(256)?;
    match name.as_str() {
        "none" => Some(Compression::None),
        "zlib" => Some(Compression::Zlib),
        "zstd" => Some(Compression::Zstd),
        _ => None,
    }
}

/// Reads all options and the sections that they point to.
pub(super) fn read(
    scan: &mut Scan,
    compression: Compression,
    description: &mut Description,
    ctx: &mut Context,
) {
    let file = scan.source.clone();
    let Some(mut next) = scan.u64() else {
        super::tell_cut(&file, scan, ctx);
        return;
    };
    // Each is read once, or a small file could have them read without end.
    let mut seen = BTreeSet::new();
    for _ in 0..MOST_SECTIONS {
        if next == 0 {
            return;
        }
        if !seen.insert(next) {
            ctx.ledger.problem(
                format!("{} at byte {next}", file.name()),
                "sections of options form a ring; read once",
            );
            return;
        }
        let problem = |ctx: &mut Context| {
            ctx.ledger.problem(
                format!("{} at byte {next}", file.name()),
                "a section of options is broken; what was read before it is used",
            );
        };
        let Some(mut section) = section(&file, next, compression, scan) else {
            problem(ctx);
            return;
        };
        match section_of_options(
            &mut section,
            &file,
            compression,
            description,
            &mut seen,
            ctx,
        ) {
            Some(following) => next = following,
            None => {
                problem(ctx);
                return;
            }
        }
    }
}

/// Reads the options of one section; gives where the next section is.
fn section_of_options(
    section: &mut Scan,
    file: &Source,
    compression: Compression,
    description: &mut Description,
    seen: &mut BTreeSet<u64>,
    ctx: &mut Context,
) -> Option<u64> {
    loop {
        let id = section.u16()?;
        let size = section.u32()?;
        let data = section.bytes(u64::from(size))?;
        let endian = section.endian;
        match id {
            options::DONE => return endian.u64(&data, 0),
            options::BUFFER if description.buffers.len() < MOST_BUFFERS => {
                options::buffer(&data, endian, description);
            }
            options::BUFFER_TEXT => {
                let offset = endian.u64(&data, 0)?;
                let text = self::section(file, offset, compression, section);
                description.text = text.map(|text| text.source);
            }
            options::HEADER_INFO
            | options::FTRACE_EVENTS
            | options::EVENT_FORMATS
            | options::CMDLINES => {
                let offset = endian.u64(&data, 0)?;
                if !seen.insert(offset) {
                    continue;
                }
                let read = self::section(file, offset, compression, section).and_then(
                    |mut part| match id {
                        options::HEADER_INFO => header::pages(&mut part, description),
                        options::FTRACE_EVENTS => header::ftrace_formats(&mut part, description),
                        options::EVENT_FORMATS => header::event_formats(&mut part, description),
                        _ => header::cmdlines(&mut part, description),
                    },
                );
                if read.is_none() {
                    ctx.ledger.problem(
                        format!("{} at byte {offset}", file.name()),
                        "a section is broken; read up to there",
                    );
                }
            }
            _ => options::read(id, &data, endian, description),
        }
    }
}

/// The content of the section at `offset`, unpacked.
fn section(file: &Source, offset: u64, compression: Compression, like: &Scan) -> Option<Scan> {
    let mut head = Scan::new(file.clone(), offset);
    head.endian = like.endian;
    let _id = head.u16()?;
    let flags = head.u16()?;
    let _name = head.u32()?;
    let size = head.u64()?;
    let content = if flags & COMPRESSED == 0 {
        file.slice(head.at, size)
    } else {
        let packed_size = head.u32()?;
        let size = head.u32()?.min(LARGEST);
        let packed = head.bytes(u64::from(packed_size))?;
        Source::memory(file.name(), unpack(&packed, size as usize, compression)?)
    };
    let mut scan = Scan::new(content, 0);
    scan.endian = like.endian;
    Some(scan)
}

/// Unpacks what becomes `size` bytes at most.
pub(super) fn unpack(packed: &[u8], size: usize, compression: Compression) -> Option<Vec<u8>> {
    match compression {
        Compression::None => Some(packed.to_vec()),
        Compression::Zlib => {
            use std::io::Read as _;
            let mut unpacked = Vec::new();
            let mut decoder = flate2::read::ZlibDecoder::new(packed).take(size as u64);
            // What was unpacked before an error is good.
            let result = decoder.read_to_end(&mut unpacked);
            (result.is_ok() || !unpacked.is_empty()).then_some(unpacked)
        }
        Compression::Zstd => zstd::bulk::decompress(packed, size).ok(),
    }
}
