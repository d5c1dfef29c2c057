//! Pages of the kernel's ring buffer.

use crate::endian::Endian;
use crate::format::Field;

/// Where things are in a page, from `header_page`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageLayout {
    endian: Endian,
    commit_offset: usize,
    /// Bytes of the recorded kernel's `long`.
    long_size: u8,
    data_offset: usize,
    /// The size that the description gives.
    pub page_size: usize,
}

/// Flags in the commit field.
const MISSED_EVENTS: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
const COMMIT_MASK: u64 = (1 << 27) - 1;

/// Kinds of entries that are no event.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of a time delta in an entry's header.
const DELTA_BITS: u32 = 27;
/// The bits that an absolute time stamp has no room for.
const MISSING_BITS: u64 = 0xf8 << 56;

impl PageLayout {
    /// Reads `header_page`; `None` if it says nothing usable.
    pub(crate) fn parse(text: &str, endian: Endian) -> Option<Self> {
        let fields: Vec<Field> = text
            .lines()
            .filter_map(|line| Field::parse(line.trim().strip_prefix("field:")?))
            .collect();
        let field = |name| fields.iter().find(|field| field.name == name);
        let (commit, data) = (field("commit")?, field("data")?);
        let long_size = u8::try_from(commit.size).ok()?;
        if !matches!(long_size, 4 | 8) || data.offset > 1 << 16 || data.size > 1 << 26 {
            return None;
        }
        Some(Self {
            endian,
            commit_offset: commit.offset as usize,
            long_size,
            data_offset: data.offset as usize,
            page_size: (data.offset + data.size) as usize,
        })
    }

    /// As kernels of 64 or 32 bits have it; for files that lost their description.
    pub(crate) const fn usual(endian: Endian, long_size: u8, page_size: usize) -> Self {
        Self {
            endian,
            commit_offset: 8,
            long_size,
            data_offset: 8 + long_size as usize,
            page_size,
        }
    }

    /// Bits of `long`.
    pub(crate) const fn long_bits(&self) -> u32 {
        self.long_size as u32 * 8
    }

    /// Begins to read a page. `None` for what is no page.
    pub(crate) fn page<'a>(&self, bytes: &'a [u8]) -> Option<Page<'a>> {
        let time = self.endian.u64(bytes, 0)?;
        let commit = self
            .endian
            .int(bytes, self.commit_offset, self.long_size, false)? as u64;
        let size = (commit & COMMIT_MASK) as usize;
        let data = bytes.get(self.data_offset..)?;
        let is_whole = size <= data.len();
        let lost = if commit & MISSED_EVENTS == 0 {
            None
        } else if commit & MISSED_STORED != 0 {
            let count = self.endian.int(data, size, self.long_size, false);
            Some(count.and_then(|count| u64::try_from(count).ok()))
        } else {
            Some(None)
        };
        Some(Page {
            endian: self.endian,
            data: data.get(..size).unwrap_or(data),
            next: 0,
            time,
            lost,
            is_whole,
        })
    }
}

/// The entries of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'a> {
    endian: Endian,
    data: &'a [u8],
    next: usize,
    time: u64,
    /// Events were lost before this page, and how many if that is known.
    pub lost: Option<Option<u64>>,
    /// Does the page hold what it says, or is its end missing?
    pub is_whole: bool,
}

impl<'a> Page<'a> {
    /// The time at which the page begins.
    pub(crate) const fn time(&self) -> u64 {
        self.time
    }

    /// The next event: its time and its bytes. `None` at the end, and where an entry is broken
    /// (then [`Page::is_whole`] is false).
    #[inline]
    pub(crate) fn next_event(&mut self) -> Option<(u64, &'a [u8])> {
        loop {
            if self.next + 4 > self.data.len() {
                return None;
            }
            let header = self.endian.u32(self.data, self.next)?;
            // Bit fields begin at the low end on little endian machines and at the high end on others.
            let (kind, delta) = if self.endian.is_big {
                (header >> DELTA_BITS, header & ((1 << DELTA_BITS) - 1))
            } else {
                (header & 31, header >> 5)
            };
            self.next += 4;
            let length = match kind {
                PADDING => {
                    if delta == 0 {
                        // The rest of the page is void.
                        self.next = self.data.len();
                        return None;
                    }
                    let length = self.word()? as usize;
                    self.time = self.time.wrapping_add(u64::from(delta));
                    self.skip(length)?;
                    continue;
                }
                TIME_EXTEND => {
                    let high = u64::from(self.word()?) << DELTA_BITS;
                    self.next += 4;
                    self.time = self.time.wrapping_add(high + u64::from(delta));
                    continue;
                }
                TIME_STAMP => {
                    let high = u64::from(self.word()?) << DELTA_BITS;
                    self.next += 4;
                    let mut time = high + u64::from(delta);
                    if self.time & MISSING_BITS != 0 {
                        time |= self.time & MISSING_BITS;
                        if time < self.time {
                            time = time.wrapping_add(1 << 59);
                        }
                    }
                    self.time = time;
                    continue;
                }
                0 => {
                    // The length counts itself.
                    let length = self.word()?;
                    self.next += 4;
                    (length.wrapping_sub(4) as usize).saturating_add(3) & !3
                }
                _ => kind as usize * 4,
            };
            self.time = self.time.wrapping_add(u64::from(delta));
            let start = self.next;
            self.skip(length)?;
            return Some((self.time, &self.data[start..start + length]));
        }
    }

    /// The word at the position; marks the page as broken when there is none.
    fn word(&mut self) -> Option<u32> {
        let word = self.endian.u32(self.data, self.next);
        if word.is_none() {
            self.is_whole = false;
            self.next = self.data.len();
        }
        word
    }

    fn skip(&mut self, length: usize) -> Option<()> {
        if length > self.data.len() - self.next.min(self.data.len()) {
            self.is_whole = false;
            self.next = self.data.len();
            return None;
        }
        self.next += length;
        Some(())
    }
}
