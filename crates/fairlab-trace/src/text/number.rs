//! Numbers and words in lines.

/// Is `needle` in `line`?
pub(super) fn has(line: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(line, needle).is_some()
}

/// The digits at the start and what follows them; `None` without any, or for too large a number.
pub(super) fn leading(text: &[u8]) -> Option<(u64, &[u8])> {
    let end = text
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    let mut number = 0u64;
    for digit in digits {
        number = number
            .checked_mul(10)?
            .checked_add(u64::from(digit - b'0'))?;
    }
    Some((number, rest))
}

/// A number that may have a minus before it.
pub(super) fn leading_signed(text: &[u8]) -> Option<(i64, &[u8])> {
    let (is_negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (number, rest) = leading(digits)?;
    let number = i64::try_from(number).ok()?;
    Some((if is_negative { -number } else { number }, rest))
}

/// The whole text as a number.
pub(super) fn whole(text: &[u8]) -> Option<u64> {
    match leading(text)? {
        (number, []) => Some(number),
        _ => None,
    }
}

/// The number after `key`, wherever it is.
pub(super) fn after(text: &[u8], key: &[u8]) -> Option<u64> {
    let at = memchr::memmem::find(text, key)?;
    Some(leading(&text[at + key.len()..])?.0)
}

/// A time in ns: `12.345678` or `12.345678901` seconds, `123us` with a mark of the latency tracers
/// behind it, or plain ticks.
pub(super) fn time(text: &[u8]) -> Option<u64> {
    let (whole, rest) = leading(text)?;
    match rest {
        [] => Some(whole),
        [b'.', fraction @ ..] => {
            let (number, rest) = leading(fraction)?;
            if !rest.is_empty() || fraction.len() > 9 || fraction.len() < 3 {
                return None;
            }
            let scale = 10u64.pow(9 - fraction.len() as u32);
            whole
                .checked_mul(1_000_000_000)?
                .checked_add(number.checked_mul(scale)?)
        }
        [b'u', b's'] | [b'u', b's', b'+' | b'!' | b'#' | b'*' | b'@' | b'$'] => {
            whole.checked_mul(1000)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_writers_are_in_ns() {
        for (text, ns) in [
            ("76.211513", Some(76_211_513_000)),
            ("76.211513001", Some(76_211_513_001)),
            ("10347723897us", Some(10_347_723_897_000)),
            ("12us!", Some(12_000)),
            ("1234", Some(1234)),
            ("1.2", None),
            ("12:34", None),
            ("99999999999999999999.000000", None),
        ] {
            assert_eq!(time(text.as_bytes()), ns, "{text}");
        }
    }
}
