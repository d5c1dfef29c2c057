//! Numbers as text.

/// What happens to digits that are not printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest.
    Nearest,
    /// Cut off, towards zero, as `bc` does. Tables made with shell scripts do this, the published
    /// ones on select_idle_core and on the cluster domain among them; it never claims more than was
    /// measured.
    TowardsZero,
}

/// `fraction` in percent with two decimals and without the sign for percent: `-5.42` for -0.0542.
#[must_use]
pub fn percent(fraction: f64, rounding: Rounding) -> String {
    let hundredths = fraction * 10_000.0;
    let hundredths = match rounding {
        Rounding::Nearest => hundredths.round(),
        // A whole number of hundredths may have come out a little below itself.
        Rounding::TowardsZero => (hundredths + hundredths.signum() * 1e-6).trunc(),
    };
    // Adding 0.0 turns -0.0 into 0.0: nothing is not negative.
    format!("{:.2}", hundredths / 100.0 + 0.0)
}

/// `value` with at most `digits` significant digits and without trailing zeros, like C's `%.8g` but
/// never with an exponent below a quintillion.
#[must_use]
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{}", value + 0.0);
    }
    if value.abs() >= 1e18 {
        return format!("{value:.*e}", digits.saturating_sub(1));
    }
    // The exponent after rounding, so that 9.9999 with two digits counts as 10.
    let scientific = format!("{value:.*e}", digits.saturating_sub(1));
    let exponent: i32 = scientific
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or(0);
    let decimals = usize::try_from(digits as i32 - 1 - exponent).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if decimals == 0 {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `value` as C's `%.{digits}g` prints it: at most `digits` significant digits, an exponent where it
/// is below -4 or does not fit, no trailing zeros.
#[must_use]
pub fn general(value: f64, digits: usize) -> String {
    let digits = digits.max(1);
    if value == 0.0 {
        return if value.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    if !value.is_finite() {
        return format!("{value}").to_lowercase();
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trim(mantissa), exponent.abs());
    }
    let decimals = usize::try_from(digits as i32 - 1 - exponent).unwrap_or(0);
    trim(&format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_numbers_are_those_of_c() {
        // printf "%.6g"
        for (value, text) in [
            (-0.273_486_2, "-0.273486"),
            (1_234_567.0, "1.23457e+06"),
            (123_456.0, "123456"),
            (0.000_012_345_6, "1.23456e-05"),
            (0.000_1, "0.0001"),
            (999_999.5, "1e+06"),
            (2.0, "2"),
            (0.0, "0"),
        ] {
            assert_eq!(general(value, 6), text);
        }
    }

    #[test]
    fn digits_are_significant_ones() {
        for (value, digits, text) in [
            (322.723_076_923, 8, "322.72308"),
            (144.414_94, 8, "144.41494"),
            (151.0, 8, "151"),
            (0.000_123_456, 3, "0.000123"),
            (9.999_9, 2, "10"),
            (-1_234_567.0, 3, "-1234567"),
            (0.0, 8, "0"),
            (-0.0, 8, "0"),
        ] {
            assert_eq!(significant(value, digits), text);
        }
        assert_eq!(significant(1e300, 3), "1.00e300");
    }

    #[test]
    fn percentages_round_or_cut() {
        assert_eq!(percent(0.300_352, Rounding::Nearest), "30.04");
        assert_eq!(percent(0.300_352, Rounding::TowardsZero), "30.03");
        assert_eq!(percent(-0.108_283, Rounding::TowardsZero), "-10.82");
        assert_eq!(percent(-0.000_04, Rounding::TowardsZero), "0.00");
        assert_eq!(percent(-0.000_04, Rounding::Nearest), "0.00");
        // 1.15 is not exact in binary.
        assert_eq!(percent(0.0115, Rounding::TowardsZero), "1.15");
        assert_eq!(percent(-0.0029, Rounding::TowardsZero), "-0.29");
    }
}
