//! Lengths of time as they are written: `5ms`, `5ms..7ms`, `5ms+-10%`, `~5ms`.

use fairlab_units::Nanos;
use fairlab_workload::Span;

/// The longest time that a file may name: a day.
const MOST: u64 = 86_400_000_000_000;

/// `1.5ms`, with a unit of ns, us, ms or s.
pub(crate) fn time(text: &str) -> Option<Nanos> {
    let digits = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(digits);
    let unit: u64 = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let all_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let mut ns = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    if !fraction.is_empty() {
        let scale = 10_u64.pow(fraction.len() as u32);
        ns = ns.checked_add(fraction.parse::<u64>().ok()?.checked_mul(unit)? / scale)?;
    }
    (ns <= MOST).then_some(Nanos(ns))
}

/// A time, perhaps a random one.
pub(crate) fn span(text: &str) -> Option<Span> {
    if let Some(mean) = text.strip_prefix('~') {
        return Some(Span::Exponential { mean: time(mean)? });
    }
    if let Some((low, high)) = text.split_once("..") {
        let (low, high) = (time(low)?, time(high)?);
        return (low <= high).then_some(Span::Uniform { low, high });
    }
    if let Some((mean, percent)) = text.split_once("+-") {
        let percent: u64 = percent.strip_suffix('%')?.parse().ok()?;
        let mean = time(mean)?;
        return (percent <= 100).then(|| Span::around(mean, percent));
    }
    Some(Span::Fixed(time(text)?))
}

/// What a time looks like, for messages.
pub(crate) const TIME: &str = "a time like 5ms (ns, us, ms, s; a day at most)";
/// What a span looks like, for messages.
pub(crate) const SPAN: &str = "a time like 5ms, 5ms..7ms, 5ms+-10% or ~5ms (exponential)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(time("1.5ms"), Some(Nanos(1_500_000)));
        assert_eq!(time("3s"), Some(Nanos(3_000_000_000)));
        for wrong in [
            "5",
            "ms",
            "-5ms",
            "5 ms",
            "1.2.3s",
            "5m",
            "9999999s",
            "1.0000000001s",
        ] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn spans_may_be_random() {
        let ms = Nanos::from_millis;
        assert_eq!(
            span("5ms..7ms"),
            Some(Span::Uniform {
                low: ms(5),
                high: ms(7)
            })
        );
        assert_eq!(span("10ms+-10%"), Some(Span::around(ms(10), 10)));
        assert_eq!(span("~5ms"), Some(Span::Exponential { mean: ms(5) }));
        assert_eq!(span("7ms..5ms"), None);
        assert_eq!(span("5ms+-200%"), None);
    }
}
