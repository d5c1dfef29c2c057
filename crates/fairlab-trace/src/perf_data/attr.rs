//! Attributes: what was recorded, and which fields a sample has.

use crate::endian::Endian;

/// Kinds of attributes.
const TYPE_TRACEPOINT: u32 = 2;

/// Fields of a sample.
mod sample {
    pub(super) const IP: u64 = 1 << 0;
    pub(super) const TID: u64 = 1 << 1;
    pub(super) const TIME: u64 = 1 << 2;
    pub(super) const ADDR: u64 = 1 << 3;
    pub(super) const READ: u64 = 1 << 4;
    pub(super) const CALLCHAIN: u64 = 1 << 5;
    pub(super) const ID: u64 = 1 << 6;
    pub(super) const CPU: u64 = 1 << 7;
    pub(super) const PERIOD: u64 = 1 << 8;
    pub(super) const STREAM_ID: u64 = 1 << 9;
    pub(super) const RAW: u64 = 1 << 10;
    pub(super) const IDENTIFIER: u64 = 1 << 16;
}

/// Fields of counters within a sample.
mod read {
    pub(super) const TOTAL_TIME_ENABLED: u64 = 1 << 0;
    pub(super) const TOTAL_TIME_RUNNING: u64 = 1 << 1;
    pub(super) const ID: u64 = 1 << 2;
    pub(super) const GROUP: u64 = 1 << 3;
    pub(super) const LOST: u64 = 1 << 4;
}

/// Flags of an attribute.
const SAMPLE_ID_ALL: u32 = 18;
const USE_CLOCKID: u32 = 25;

/// One attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attr {
    pub is_tracepoint: bool,
    /// For tracepoints: the number of the event.
    pub config: u64,
    pub layout: SampleLayout,
    /// The clock, where one was chosen.
    pub clock: Option<i32>,
    /// The numbers by which samples name their attribute.
    pub ids: Vec<u64>,
}

/// Where the fields are, in bytes from the end of the record's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleLayout {
    pub is_tracepoint: bool,
    pub tid: Option<u16>,
    pub time: Option<u16>,
    pub id: Option<u16>,
    pub cpu: Option<u16>,
    /// Where the fields of fixed size end.
    end: u16,
    has_read: bool,
    read_format: u64,
    has_callchain: bool,
    has_raw: bool,
    /// What other records carry at their end, if they do.
    pub trailer: Trailer,
}

/// Bytes of a sample that are looked at as words at once; each of these samples is longer.
const HEAD: usize = 64;

/// The same for samples that have all of these among their first words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plain {
    tid: u16,
    time: u16,
    cpu: u16,
    /// Where the size of the tracepoint's bytes is.
    raw: u16,
}

/// What a sample says of a tracepoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told<'a> {
    pub time: u64,
    pub cpu: u32,
    pub tid: u32,
    pub raw: &'a [u8],
}

impl Plain {
    /// Takes a sample apart; `None` when it is too short, or has its bytes in the other order.
    #[inline]
    pub(super) fn read<'a>(&self, sample: &'a [u8], endian: Endian) -> Option<Told<'a>> {
        let head: &[u8; HEAD] = sample.first_chunk()?;
        if endian.is_big {
            return None;
        }
        let (words, _) = head.as_chunks();
        // The numbers are below the length; the remainder lets the compiler know it.
        let word = |at: u16| u64::from_le_bytes(words[usize::from(at) % (HEAD / 8)]);
        let at = usize::from(self.raw);
        let size = endian.u32(sample, at)? as usize;
        Some(Told {
            time: word(self.time),
            cpu: word(self.cpu) as u32,
            tid: (word(self.tid) >> 32) as u32,
            raw: sample.get(at + 4..)?.get(..size)?,
        })
    }
}

/// Time and CPU at the end of records other than samples, in bytes from the record's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Trailer {
    pub time: Option<u16>,
    pub cpu: Option<u16>,
}

impl Attr {
    /// Reads an attribute, without its numbers.
    pub(super) fn parse(bytes: &[u8], endian: Endian) -> Option<Self> {
        let kind = endian.u32(bytes, 0)?;
        let config = endian.u64(bytes, 8)?;
        let sample_type = endian.u64(bytes, 24)?;
        let read_format = endian.u64(bytes, 32)?;
        let mut flags = endian.u64(bytes, 40)?;
        if endian.is_big {
            // Bit fields begin at the high end there.
            flags = flags.reverse_bits();
        }
        let clock = endian.u32(bytes, 92).map(|clock| clock as i32);
        let is_tracepoint = kind == TYPE_TRACEPOINT;
        Some(Self {
            is_tracepoint,
            config,
            layout: SampleLayout::new(
                sample_type,
                read_format,
                is_tracepoint,
                flags >> SAMPLE_ID_ALL & 1 != 0,
            ),
            clock: clock.filter(|_| flags >> USE_CLOCKID & 1 != 0),
            ids: Vec::new(),
        })
    }
}

impl SampleLayout {
    fn new(sample_type: u64, read_format: u64, is_tracepoint: bool, has_trailer: bool) -> Self {
        let has = |field| sample_type & field != 0;
        let mut at = 0;
        let mut place = |field| {
            has(field).then(|| {
                at += 8;
                at - 8
            })
        };
        let identifier = place(sample::IDENTIFIER);
        place(sample::IP);
        let tid = place(sample::TID);
        let time = place(sample::TIME);
        place(sample::ADDR);
        let id = place(sample::ID);
        place(sample::STREAM_ID);
        let cpu = place(sample::CPU);
        place(sample::PERIOD);
        let mut trailer = Trailer::default();
        if has_trailer {
            // From the end: identifier, CPU, stream, number, time, task.
            let mut back = 0;
            for field in [
                sample::IDENTIFIER,
                sample::CPU,
                sample::STREAM_ID,
                sample::ID,
                sample::TIME,
            ] {
                if has(field) {
                    back += 8;
                }
                if field == sample::CPU && has(field) {
                    trailer.cpu = Some(back);
                }
                if field == sample::TIME && has(field) {
                    trailer.time = Some(back);
                }
            }
        }
        Self {
            is_tracepoint,
            tid: tid.map(|at| at + 4),
            time,
            id: identifier.or(id),
            cpu,
            end: at,
            has_read: has(sample::READ),
            read_format,
            has_callchain: has(sample::CALLCHAIN),
            has_raw: has(sample::RAW),
            trailer,
        }
    }

    /// Where the fields of a tracepoint are, if all are there and nothing of changing size comes before
    /// its bytes.
    pub(super) fn plain(&self) -> Option<Plain> {
        let word = |at: Option<u16>| at.filter(|at| at + 8 <= HEAD as u16).map(|at| at / 8);
        let is_plain = self.is_tracepoint && self.has_raw && !self.has_read && !self.has_callchain;
        Some(Plain {
            tid: word(self.tid?.checked_sub(4))?,
            time: word(self.time)?,
            cpu: word(self.cpu)?,
            raw: self.end,
        })
        .filter(|_| is_plain)
    }

    /// The bytes of the tracepoint in a sample.
    #[inline]
    pub(super) fn raw<'a>(&self, sample: &'a [u8], endian: Endian) -> Option<&'a [u8]> {
        if !self.has_raw {
            return None;
        }
        let mut at = usize::from(self.end);
        if self.has_read {
            at = at.checked_add(self.read_size(sample, at, endian)?)?;
        }
        if self.has_callchain {
            let count = usize::try_from(endian.u64(sample, at)?).ok()?;
            at = at.checked_add(count.checked_add(1)?.checked_mul(8)?)?;
        }
        let size = endian.u32(sample, at)? as usize;
        sample.get(at.checked_add(4)?..)?.get(..size)
    }

    fn read_size(&self, sample: &[u8], at: usize, endian: Endian) -> Option<usize> {
        let has = |field| usize::from(self.read_format & field != 0);
        let times = has(read::TOTAL_TIME_ENABLED) + has(read::TOTAL_TIME_RUNNING);
        let per_value = 1 + has(read::ID) + has(read::LOST);
        let words = if self.read_format & read::GROUP == 0 {
            times + per_value
        } else {
            let count = usize::try_from(endian.u64(sample, at)?).ok()?;
            count.checked_mul(per_value)?.checked_add(1 + times)?
        };
        words.checked_mul(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_tracepoint_are_found_behind_counters_and_callchains() {
        let fields = sample::TID | sample::TIME | sample::READ | sample::CALLCHAIN | sample::RAW;
        let layout = SampleLayout::new(fields, read::GROUP | read::ID, true, true);
        let mut bytes = vec![0; 16];
        // A group of two counters.
        bytes.extend(2u64.to_le_bytes());
        bytes.extend([0; 32]);
        // Three addresses.
        bytes.extend(3u64.to_le_bytes());
        bytes.extend([0; 24]);
        bytes.extend(4u32.to_le_bytes());
        bytes.extend([1, 2, 3, 4]);
        let endian = Endian::LITTLE;
        assert_eq!(layout.raw(&bytes, endian), Some(&[1, 2, 3, 4][..]));
        for end in 0..bytes.len() {
            assert_eq!(layout.raw(&bytes[..end], endian), None);
        }
        assert_eq!(layout.trailer.time, Some(8));
    }
}
