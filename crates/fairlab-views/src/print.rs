//! Numbers as perf prints them. Tables have millions of them, so no formatter is in the way.

use fairlab_units::Timestamp;

/// `number`, filled up with `fill` to `width`.
pub(crate) fn padded(out: &mut Vec<u8>, mut number: u64, width: usize, fill: u8) {
    // 20 digits are the longest number, and no column is as wide.
    let mut digits = [fill; 32];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    let start = at.min(digits.len().saturating_sub(width));
    out.extend_from_slice(&digits[start..]);
}

/// Seconds with six digits after the point, cut off, in a column of `width` (at least 8).
pub(crate) fn seconds(out: &mut Vec<u8>, time: Timestamp, width: usize) {
    padded(out, time.0 / 1_000_000_000, width.saturating_sub(7), b' ');
    out.push(b'.');
    padded(out, time.0 % 1_000_000_000 / 1000, 6, b'0');
}

/// Milliseconds with three digits after the point, cut off; `width` is that of the digits before it.
pub(crate) fn milliseconds(out: &mut Vec<u8>, ns: u64, width: usize) {
    padded(out, ns / 1_000_000, width, b' ');
    out.push(b'.');
    padded(out, ns % 1_000_000 / 1000, 3, b'0');
}

/// `text`, then spaces up to `width`.
pub(crate) fn left(out: &mut Vec<u8>, text: &[u8], width: usize) {
    out.extend_from_slice(text);
    out.resize(out.len() + width.saturating_sub(text.len()), b' ');
}

/// As many spaces.
pub(crate) fn spaces(out: &mut Vec<u8>, count: usize) {
    out.resize(out.len() + count, b' ');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_cut_off_and_not_rounded() {
        let mut out = Vec::new();
        seconds(&mut out, Timestamp(24_285_012_528_999), 15);
        milliseconds(&mut out, 4_329_999, 6);
        padded(&mut out, 123, 2, b' ');
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "   24285.012528     4.329123"
        );
    }
}
