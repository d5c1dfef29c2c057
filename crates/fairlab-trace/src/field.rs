//! Numbers and names among the bytes of an event, where a `format` file says that they are.

use crate::context::Context;
use crate::endian::Endian;
use crate::format::Field;

/// Where a number is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number {
    /// Where the word of 8 bytes begins that ends with the number.
    word: u32,
    /// The bits of the word before the number.
    before: u32,
    /// What is left of the number if it has no sign.
    mask: u64,
}

/// Bytes of a word.
const WORD: u32 = 8;

impl Number {
    /// `None` for what is no number, or among the first bytes of an event, which are the same in all events.
    pub(crate) fn of(field: &Field) -> Option<Self> {
        if !matches!(field.size, 1 | 2 | 4 | 8) {
            return None;
        }
        let before = 64 - 8 * field.size;
        Some(Self {
            word: field.offset.checked_add(field.size)?.checked_sub(WORD)?,
            before,
            mask: if field.is_signed {
                u64::MAX
            } else {
                u64::MAX >> before
            },
        })
    }

    // Seven of them make an event, and calls would cost more than what they do: one load, whatever the size and
    // the sign.
    #[inline(always)]
    pub(crate) fn read(&self, endian: Endian, bytes: &[u8]) -> Option<i64> {
        let start = self.word as usize;
        let word = bytes.get(start..start + WORD as usize)?.first_chunk()?;
        // The word's last bytes are its highest ones, or its lowest.
        let word = if endian.is_big {
            i64::from_be_bytes(*word).wrapping_shl(self.before)
        } else {
            i64::from_le_bytes(*word)
        };
        Some(word.wrapping_shr(self.before) & self.mask.cast_signed())
    }
}

/// Where a task's name is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Comm {
    /// The usual array.
    Sixteen(usize),
    /// An array of another size.
    Array(usize, usize),
    /// Somewhere behind the fields.
    Located { at: usize, is_relative: bool },
}

impl Comm {
    pub(crate) fn of(field: &Field) -> Self {
        let offset = field.offset as usize;
        if field.is_data_loc || field.is_rel_loc {
            Self::Located {
                at: offset,
                is_relative: field.is_rel_loc,
            }
        } else if field.size == 16 {
            Self::Sixteen(offset)
        } else {
            Self::Array(offset, field.size as usize)
        }
    }

    /// The number of the name that task `pid` has here.
    #[inline(always)]
    pub(crate) fn read(
        &self,
        endian: Endian,
        bytes: &[u8],
        pid: u32,
        ctx: &mut Context,
    ) -> Option<u32> {
        match *self {
            Self::Sixteen(offset) => {
                let comm = bytes.get(offset..)?.first_chunk()?;
                Some(ctx.comm16(pid, u128::from_le_bytes(*comm)))
            }
            Self::Located { at, is_relative } => {
                let packed = endian.u32(bytes, at)?;
                let mut offset = (packed & 0xffff) as usize;
                if is_relative {
                    offset += at + 4;
                }
                Self::read_located(
                    bytes.get(offset..)?,
                    (packed >> 16) as usize,
                    bytes,
                    pid,
                    ctx,
                )
            }
            Self::Array(offset, size) => {
                Some(Self::long(bytes.get(offset..)?.get(..size)?, pid, ctx))
            }
        }
    }

    /// A name of `length` bytes at the start of `text`, which is the end of `event`.
    #[inline]
    fn read_located(
        text: &[u8],
        length: usize,
        event: &[u8],
        pid: u32,
        ctx: &mut Context,
    ) -> Option<u32> {
        // Names have at most 16 bytes. They are read as one word, which may reach behind the name, or, at
        // the end of the event, begin before it.
        let word = match (text.first_chunk(), event.last_chunk()) {
            (Some(word), _) => Some(u128::from_le_bytes(*word)),
            (None, Some(word)) if !text.is_empty() => {
                Some(u128::from_le_bytes(*word) >> (128 - 8 * text.len()))
            }
            _ => None,
        };
        if let Some(word) = word
            && (1..=text.len()).contains(&length)
            && let Some(mask) = NAME_MASKS.get(length)
        {
            return Some(ctx.comm16(pid, word & mask));
        }
        Some(Self::long(text.get(..length)?, pid, ctx))
    }

    #[cold]
    fn long(text: &[u8], pid: u32, ctx: &mut Context) -> u32 {
        let end = memchr::memchr(0, text).unwrap_or(text.len());
        ctx.comm(pid, &text[..end])
    }
}

/// By a name's length, its bytes in a word.
const NAME_MASKS: [u128; 17] = {
    let mut masks = [0; 17];
    let mut length = 1;
    while length <= 16 {
        masks[length] = u128::MAX >> (128 - 8 * length);
        length += 1;
    }
    masks
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that lie anywhere in an event, and events that end anywhere behind them.
    #[test]
    fn a_located_name_is_read_wherever_the_event_ends() {
        let text = b"0123456789abcdef";
        for length in 0..=text.len() {
            for behind in 0..20 {
                let mut bytes = vec![0xff; 8];
                bytes.extend(((length as u32) << 16 | 12).to_le_bytes());
                bytes.extend(&text[..length]);
                bytes.resize(bytes.len() + behind, b'x');
                let comm = Comm::Located {
                    at: 8,
                    is_relative: false,
                };
                let mut ctx = Context::new();
                let number = comm.read(Endian::LITTLE, &bytes, 7, &mut ctx);
                let name = ctx.names.get(fairlab_event::NameId(number.unwrap()));
                assert_eq!(name.as_bytes(), &text[..length], "{behind} bytes behind it");
            }
        }
        let beyond = [20, 0, 3, 0];
        let comm = Comm::Located {
            at: 0,
            is_relative: false,
        };
        let read = comm.read(Endian::LITTLE, &beyond, 7, &mut Context::new());
        assert_eq!(read, None);
    }
}
