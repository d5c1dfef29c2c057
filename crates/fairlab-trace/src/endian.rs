//! Numbers in bytes of either order.

/// The order of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endian {
    pub is_big: bool,
}

impl Endian {
    pub(crate) const LITTLE: Self = Self { is_big: false };

    #[inline]
    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let array = bytes.get(at..)?.first_chunk()?;
        Some(if self.is_big {
            u16::from_be_bytes(*array)
        } else {
            u16::from_le_bytes(*array)
        })
    }

    #[inline]
    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let array = bytes.get(at..)?.first_chunk()?;
        Some(if self.is_big {
            u32::from_be_bytes(*array)
        } else {
            u32::from_le_bytes(*array)
        })
    }

    #[inline]
    pub(crate) fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let array = bytes.get(at..)?.first_chunk()?;
        Some(if self.is_big {
            u64::from_be_bytes(*array)
        } else {
            u64::from_le_bytes(*array)
        })
    }

    /// A number of 1, 2, 4 or 8 bytes, with its sign if it has one.
    #[inline]
    pub(crate) fn int(self, bytes: &[u8], at: usize, size: u8, is_signed: bool) -> Option<i64> {
        Some(match (size, is_signed) {
            (4, true) => i64::from(self.u32(bytes, at)? as i32),
            (4, false) => i64::from(self.u32(bytes, at)?),
            (8, _) => self.u64(bytes, at)? as i64,
            (2, true) => i64::from(self.u16(bytes, at)? as i16),
            (2, false) => i64::from(self.u16(bytes, at)?),
            (1, true) => i64::from(*bytes.get(at)? as i8),
            (1, false) => i64::from(*bytes.get(at)?),
            _ => return None,
        })
    }
}
