//! Numbers as they are printed.

/// A number with what its print says about its precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// The value; finite.
    pub value: f64,
    /// Digits after the decimal point.
    pub decimals: u8,
}

impl Printed {
    /// Half a unit of the last printed digit: how far off rounding may have put it.
    #[must_use]
    pub fn half_unit(&self) -> f64 {
        0.5 * 10_f64.powi(-i32::from(self.decimals))
    }
}

/// `word` as a number: digits with an optional sign, fraction and exponent. No names (`inf`, `nan`),
/// no hexadecimal.
pub(crate) fn printed(word: &str) -> Option<Printed> {
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    let starts_well = digits.starts_with(|c: char| c.is_ascii_digit())
        || (digits.starts_with('.') && digits[1..].starts_with(|c: char| c.is_ascii_digit()));
    let is_plain = digits
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    if !starts_well || !is_plain {
        return None;
    }
    let value: f64 = word.parse().ok()?;
    if !value.is_finite() {
        return None;
    }
    let mantissa = digits.split(['e', 'E']).next().unwrap_or(digits);
    let decimals = mantissa
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len());
    Some(Printed {
        value,
        decimals: u8::try_from(decimals).unwrap_or(u8::MAX),
    })
}

/// The value of [`printed`].
pub(crate) fn number(word: &str) -> Option<f64> {
    printed(word).map(|printed| printed.value)
}

/// A number without what people put around it: `(12`, `12)`, `12,`, `12;`, `*12`, `12%`.
pub(crate) fn loose(word: &str) -> Option<Printed> {
    printed(word.trim_matches(|c: char| {
        matches!(
            c,
            '(' | ')' | ',' | ';' | '*' | '%' | '[' | ']' | '|' | '=' | '"' | ':'
        )
    }))
}

/// A number and the unit that follows it without a blank: `12.5ms`, `3.2K`; the unit may be empty.
pub(crate) fn with_suffix(word: &str) -> Option<(Printed, &str)> {
    let end = word
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || *c == '.' || (*at == 0 && matches!(c, '+' | '-'))))
        .map_or(word.len(), |(at, _)| at);
    let (digits, unit) = word.split_at(end);
    Some((printed(digits)?, unit))
}

/// What follows `label` in `text`, when it begins with it (letters of either case count the same).
pub(crate) fn after<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let text = text.trim_start();
    let head = text.get(..label.len())?;
    head.eq_ignore_ascii_case(label)
        .then(|| &text[label.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits() {
        let p = |text| printed(text).map(|p| (p.value, p.decimals));
        assert_eq!(p("22.630"), Some((22.63, 3)));
        assert_eq!(p("-5"), Some((-5.0, 0)));
        assert_eq!(p("105."), Some((105.0, 0)));
        assert_eq!(p(".5"), Some((0.5, 1)));
        assert_eq!(p("1.5e3"), Some((1500.0, 1)));
        for bad in [
            "inf", "nan", "0x10", "1e999", "", "-", ".", "1.2.3", "1-2", "e5",
        ] {
            assert_eq!(p(bad), None, "{bad}");
        }
        assert_eq!(with_suffix("12.5ms").unwrap().1, "ms");
        assert_eq!(loose("(12%)").unwrap().value, 12.0);
        assert_eq!(after("  total Time: 5", "Total time:"), Some(" 5"));
    }
}
