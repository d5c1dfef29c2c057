//! Bytes as text: numbers of variable length, deflated, in base64.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;

/// Appends `value`, seven bits to a byte, the lowest first; all bytes but the last have the highest
/// bit set.
pub(crate) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// `bytes` deflated (RFC 1951, as `DecompressionStream("deflate-raw")` reads it), in base64.
pub(crate) fn deflated(bytes: &[u8]) -> String {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    text(&packed.unwrap_or_default())
}

/// `bytes` in base64.
pub(crate) fn text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_a_byte_per_seven_bits() {
        let mut bytes = Vec::new();
        varint(&mut bytes, 0);
        varint(&mut bytes, 300);
        varint(&mut bytes, u64::MAX);
        assert_eq!(bytes[..3], [0, 0xac, 0x02]);
        assert_eq!(bytes.len(), 3 + 10);
    }
}
