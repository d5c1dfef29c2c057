//! Machines from hwloc: XML exports (schemas 1.x, 2.x, 3.x) and synthetic strings.
//!
//! What a kernel sees is rebuilt from the objects: CPUs are the PUs; a CPU's core, package and die
//! are the objects around it; caches are objects with a level; the nodes of 1.x are objects around
//! CPUs and those of 2.x and 3.x are attached beside them with a `cpuset`, so the `cpuset` decides
//! in both.

mod document;
mod machine;
pub(crate) mod synthetic;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use fairlab_topology::Machine;

use crate::MachineLoadError;

/// XML files may be this large; 8192 CPUs take about 10 MB.
const SIZE_LIMIT: u64 = 64 << 20;

/// Do these first bytes of a file belong to an XML document?
pub(crate) fn is_xml(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let text = head.trim_ascii_start();
    text.starts_with(b"<?xml") || text.starts_with(b"<!DOCTYPE") || text.starts_with(b"<topology")
}

/// Reads an XML export.
pub(crate) fn load(path: &Path, name: &str) -> Result<Machine, MachineLoadError> {
    let io_error = |source| MachineLoadError::Io {
        path: path.to_owned(),
        source,
    };
    let place = path.display().to_string();
    let file = File::open(path).map_err(io_error)?;
    let size = file.metadata().map_err(io_error)?.len();
    if size > SIZE_LIMIT {
        return Err(MachineLoadError::UnknownFormat {
            path: path.to_owned(),
            found: format!("{size} bytes of XML, above {SIZE_LIMIT} it is refused"),
        });
    }
    let mut bytes = Vec::new();
    file.take(SIZE_LIMIT)
        .read_to_end(&mut bytes)
        .map_err(io_error)?;
    let text = String::from_utf8_lossy(&bytes);
    parse(&text, &place, name)
}

/// Reads the text of an XML export.
pub(crate) fn parse(text: &str, place: &str, name: &str) -> Result<Machine, MachineLoadError> {
    let document = document::read(text).map_err(|e| {
        let before = &text[..text.floor_char_boundary_at(e.offset)];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        MachineLoadError::Text {
            place: place.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            problem: e.problem,
        }
    })?;
    machine::build(document, place, name)
}

trait FloorBoundary {
    /// The largest character boundary at or below `at`.
    fn floor_char_boundary_at(&self, at: usize) -> usize;
}

impl FloorBoundary for str {
    fn floor_char_boundary_at(&self, at: usize) -> usize {
        (0..=at.min(self.len()))
            .rev()
            .find(|i| self.is_char_boundary(*i))
            .unwrap_or(0)
    }
}
