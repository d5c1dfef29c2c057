//! Bytes to text.

/// The text of `bytes`, and a remark when it was not plain UTF-8.
///
/// UTF-16 is known by its mark; what is neither that nor UTF-8 is read as Latin-1, in which every
/// byte is a letter. The figures of a benchmark are ASCII in all of them.
pub(crate) fn decode(bytes: &[u8]) -> (String, Option<&'static str>) {
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        let (text, remark) = decode(rest);
        return (text, remark);
    }
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        return (utf16(rest, u16::from_le_bytes), Some("read as UTF-16"));
    }
    if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        return (utf16(rest, u16::from_be_bytes), Some("read as UTF-16"));
    }
    match core::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => (
            bytes.iter().copied().map(char::from).collect(),
            Some("not UTF-8: read as Latin-1"),
        ),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units)
        .map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_taken_off_and_other_encodings_told() {
        assert_eq!(decode(b"\xef\xbb\xbf1.5"), ("1.5".into(), None));
        assert_eq!(decode(b"\xff\xfe1\0.\x005\0").0, "1.5");
        assert_eq!(decode(b"\xfe\xff\x001\0.\x005").0, "1.5");
        let (text, remark) = decode(b"12 \xb5s");
        assert_eq!(text, "12 \u{b5}s");
        assert!(remark.unwrap().contains("Latin-1"));
    }
}
