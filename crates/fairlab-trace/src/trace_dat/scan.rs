//! Reading a description in order.

use crate::endian::Endian;
use crate::source::Source;

/// A position in a source.
pub(super) struct Scan {
    pub source: Source,
    pub at: u64,
    pub endian: Endian,
}

/// Largest part that is taken into memory at once. Formats, names and pages' descriptions are far
/// smaller; the kernel's symbols are passed over.
const LARGEST: u64 = 64 << 20;

impl Scan {
    pub(super) fn new(source: Source, at: u64) -> Self {
        Self {
            source,
            at,
            endian: Endian::LITTLE,
        }
    }

    /// The next `len` bytes, if there are so many.
    pub(super) fn bytes(&mut self, len: u64) -> Option<Vec<u8>> {
        if len > LARGEST {
            return None;
        }
        let bytes = self.source.bytes(self.at, len);
        if bytes.len() as u64 != len {
            return None;
        }
        self.at += len;
        Some(bytes)
    }

    pub(super) fn skip(&mut self, len: u64) -> Option<()> {
        let at = self.at.checked_add(len)?;
        if at > self.source.len() {
            return None;
        }
        self.at = at;
        Some(())
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.endian.u16(&self.bytes(2)?, 0)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.endian.u32(&self.bytes(4)?, 0)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.endian.u64(&self.bytes(8)?, 0)
    }

    /// Text up to a zero, which is at most `longest` bytes away.
    pub(super) fn string(&mut self, longest: u64) -> Option<String> {
        let bytes = self.source.bytes(self.at, longest);
        let end = memchr::memchr(0, &bytes)?;
        self.at += end as u64 + 1;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}
