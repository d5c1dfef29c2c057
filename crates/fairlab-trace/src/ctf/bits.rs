//! Numbers at any bit.

/// Reads `size` bits at bit `at`; `None` where there are not so many.
///
/// In little-endian order the first bits are the low ones of a byte, in big-endian order the high ones.
#[inline]
pub(super) fn read(bytes: &[u8], at: u64, size: u32, is_big: bool) -> Option<u64> {
    let end = at.checked_add(u64::from(size))?;
    if end > bytes.len() as u64 * 8 || size > 64 {
        return None;
    }
    let first = (at / 8) as usize;
    // Whole bytes, which is nearly always.
    if at.is_multiple_of(8) {
        let rest = bytes.get(first..)?;
        match (size, is_big) {
            (8, _) => return rest.first().map(|&byte| u64::from(byte)),
            (32, false) => {
                return rest
                    .first_chunk()
                    .map(|b| u64::from(u32::from_le_bytes(*b)));
            }
            (32, true) => {
                return rest
                    .first_chunk()
                    .map(|b| u64::from(u32::from_be_bytes(*b)));
            }
            (64, false) => return rest.first_chunk().map(|b| u64::from_le_bytes(*b)),
            (64, true) => return rest.first_chunk().map(|b| u64::from_be_bytes(*b)),
            _ => {}
        }
    }
    let mut number = 0u64;
    let mut done = 0;
    while done < size {
        let bit = at + u64::from(done);
        let byte = u64::from(*bytes.get((bit / 8) as usize)?);
        let within = (bit % 8) as u32;
        let take = (8 - within).min(size - done);
        if is_big {
            let part = (byte >> (8 - within - take)) & ((1 << take) - 1);
            number = (number << take) | part;
        } else {
            let part = (byte >> within) & ((1 << take) - 1);
            number |= part << done;
        }
        done += take;
    }
    Some(number)
}

/// `number` of `size` bits with its sign.
pub(super) const fn sign(number: u64, size: u32) -> i64 {
    let shift = 64 - size;
    ((number << shift) as i64) >> shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_from_the_right_end() {
        // 5 and 27 bits of the number that LTTng packs into one word.
        let word: u32 = 9 | 0x123_4567 << 5;
        let bytes = word.to_le_bytes();
        assert_eq!(read(&bytes, 0, 5, false), Some(9));
        assert_eq!(read(&bytes, 5, 27, false), Some(0x123_4567));
        let word: u32 = 9 << 27 | 0x123_4567;
        let bytes = word.to_be_bytes();
        assert_eq!(read(&bytes, 0, 5, true), Some(9));
        assert_eq!(read(&bytes, 5, 27, true), Some(0x123_4567));
        assert_eq!(read(&bytes, 6, 27, true), None);
        assert_eq!(sign(0x1f, 5), -1);
    }
}
