//! Protobuf as it is on the wire.

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub(super) const fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Number(_) => None,
            Self::Bytes(bytes) => Some(bytes),
        }
    }

    /// Signed numbers are written as 64 bits.
    pub(super) const fn signed(self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(number as i64),
            Self::Bytes(_) => None,
        }
    }
}

/// A number of 7 bits per byte, and what follows it.
#[inline]
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    if let Some((&first, rest)) = bytes.split_first()
        && first < 0x80
    {
        return Some((u64::from(first), rest));
    }
    let mut number = 0u64;
    for (at, &byte) in bytes.iter().take(10).enumerate() {
        number |= u64::from(byte & 0x7f).wrapping_shl(7 * at as u32);
        if byte < 0x80 {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}

/// The fields of a message. Gives `None` once where they are broken, and nothing after that.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) const fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    #[inline]
    fn read(&mut self) -> Option<(u32, Value<'a>)> {
        let (tag, rest) = varint(self.rest)?;
        let number = u32::try_from(tag >> 3).ok()?;
        let (value, rest) = match tag & 7 {
            0 => {
                let (value, rest) = varint(rest)?;
                (Value::Number(value), rest)
            }
            1 => (
                Value::Number(u64::from_le_bytes(*rest.first_chunk()?)),
                &rest[8..],
            ),
            2 => {
                let (len, rest) = varint(rest)?;
                let (bytes, rest) = rest.split_at_checked(usize::try_from(len).ok()?)?;
                (Value::Bytes(bytes), rest)
            }
            5 => (
                Value::Number(u64::from(u32::from_le_bytes(*rest.first_chunk()?))),
                &rest[4..],
            ),
            _ => return None,
        };
        self.rest = rest;
        Some((number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Option<(u32, Value<'a>)>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.read();
        if field.is_none() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// The numbers of a packed field.
pub(super) struct Packed<'a>(pub &'a [u8]);

impl Iterator for Packed<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let (number, rest) = varint(self.0)?;
        self.0 = rest;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_until_they_break() {
        let message = [0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i', 0x1a, 0x05, b'x'];
        let fields: Vec<_> = Fields::new(&message).collect();
        assert_eq!(
            fields,
            [
                Some((1, Value::Number(150))),
                Some((2, Value::Bytes(b"hi"))),
                None
            ]
        );
        let minus_one = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(varint(&minus_one), Some((u64::MAX, &[][..])));
        assert_eq!(varint(&[0xff; 12]), None);
    }
}
