//! The description of version 6, and the parts of it that version 7 has as sections.

use super::scan::Scan;
use super::{Buffer, CpuData, Description, options};
use crate::format::EventFormat;
use crate::ring::PageLayout;

/// CPUs above this do not exist.
const MOST_CPUS: u32 = 1 << 16;

/// Buffer instances that are read.
const MOST_INSTANCES: usize = 64;

/// Reads everything up to the pages. `None` when it breaks off; what was read is kept.
pub(super) fn read(scan: &mut Scan, description: &mut Description) -> Option<()> {
    pages(scan, description)?;
    ftrace_formats(scan, description)?;
    event_formats(scan, description)?;
    // The kernel's symbols and the formats of `trace_printk` are of no use here.
    for _ in 0..2 {
        let size = scan.u32()?;
        scan.skip(u64::from(size))?;
    }
    cmdlines(scan, description)?;
    let nr_cpus = scan.u32()?;
    description.metadata.nr_cpus = Some(nr_cpus).filter(|&nr| nr > 0 && nr < MOST_CPUS);
    data(scan, nr_cpus, String::new(), description)
}

/// `header_page` and `header_event`.
pub(super) fn pages(scan: &mut Scan, description: &mut Description) -> Option<()> {
    let text = page_text(scan)?;
    description.page = PageLayout::parse(&String::from_utf8_lossy(&text), scan.endian);
    skip_entry_text(scan)
}

/// The same without a look.
pub(super) fn skip_pages(scan: &mut Scan) -> Option<()> {
    page_text(scan)?;
    skip_entry_text(scan)
}

fn page_text(scan: &mut Scan) -> Option<Vec<u8>> {
    if scan.string(12)? != "header_page" {
        return None;
    }
    let size = scan.u64()?;
    scan.bytes(size)
}

fn skip_entry_text(scan: &mut Scan) -> Option<()> {
    if scan.string(13)? != "header_event" {
        return None;
    }
    let size = scan.u64()?;
    scan.skip(size)
}

/// The formats of ftrace's own events.
pub(super) fn ftrace_formats(scan: &mut Scan, description: &mut Description) -> Option<()> {
    let count = scan.u32()?;
    formats(scan, count, &mut description.formats)
}

/// The formats of all tracepoints, by system.
pub(super) fn event_formats(scan: &mut Scan, description: &mut Description) -> Option<()> {
    systems(scan, &mut description.formats)
}

/// A count of systems, and for each its name and its formats.
pub(super) fn systems(scan: &mut Scan, into: &mut Vec<EventFormat>) -> Option<()> {
    let systems = scan.u32()?;
    for _ in 0..systems {
        let _system = scan.string(4096)?;
        let count = scan.u32()?;
        formats(scan, count, into)?;
    }
    Some(())
}

/// `count` formats, each with its size before it.
pub(super) fn formats(scan: &mut Scan, count: u32, into: &mut Vec<EventFormat>) -> Option<()> {
    for _ in 0..count {
        let size = scan.u64()?;
        let text = scan.bytes(size)?;
        into.extend(EventFormat::parse(&String::from_utf8_lossy(&text)));
    }
    Some(())
}

/// The names of tasks.
pub(super) fn cmdlines(scan: &mut Scan, description: &mut Description) -> Option<()> {
    let size = scan.u64()?;
    description.cmdlines = scan.bytes(size)?;
    Some(())
}

/// Options, and where the pages are; or the text of a latency tracer.
pub(super) fn data(
    scan: &mut Scan,
    nr_cpus: u32,
    name: String,
    description: &mut Description,
) -> Option<()> {
    let mut kind = scan.bytes(10)?;
    if kind.starts_with(b"options  ") {
        let mut instances = Vec::new();
        loop {
            let id = scan.u16()?;
            if id == 0 {
                break;
            }
            let size = scan.u32()?;
            let data = scan.bytes(u64::from(size))?;
            if id == options::BUFFER {
                instances.extend(options::instance(&data, scan.endian));
            } else {
                options::read(id, &data, scan.endian, description);
            }
        }
        if name.is_empty() {
            let here = scan.at;
            for (offset, name) in instances.into_iter().take(MOST_INSTANCES) {
                scan.at = offset;
                // A broken instance does not take the main buffer with it.
                let _ = data_of_instance(scan, nr_cpus, name, description);
            }
            scan.at = here;
        }
        kind = scan.bytes(10)?;
    }
    if kind.starts_with(b"latency  ") {
        let rest = scan.source.len() - scan.at;
        description.text = Some(scan.source.slice(scan.at, rest));
        return Some(());
    }
    if !kind.starts_with(b"flyrecord") || nr_cpus > MOST_CPUS {
        return None;
    }
    let mut cpus = Vec::new();
    for cpu in 0..nr_cpus {
        let (Some(offset), Some(size)) = (scan.u64(), scan.u64()) else {
            break;
        };
        cpus.push(CpuData { cpu, offset, size });
    }
    let is_whole = cpus.len() == nr_cpus as usize;
    description.buffers.push(Buffer {
        name,
        page_size: None,
        cpus,
    });
    is_whole.then_some(())
}

fn data_of_instance(
    scan: &mut Scan,
    nr_cpus: u32,
    name: String,
    description: &mut Description,
) -> Option<()> {
    // A name tells an instance from the main buffer.
    let name = if name.is_empty() {
        "(no name)".to_owned()
    } else {
        name
    };
    data(scan, nr_cpus, name, description)
}
